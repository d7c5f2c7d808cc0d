# SPDX-License-Identifier: BSD-2-Clause
"""When two servers ran, on one core and on two: ExSched HSF paper, Figs. 8 and 9.

The picture is a timing diagram: a line for each server, high while it runs. The recorder's traces
in the paper have no scale, so what is compared is who interrupts whom. On Linux and on Xen each
core is a run of its own (`server_handlers`).
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from hyperperiod.model import Interface, System
from hyperperiod.model.part import AtLeast
from hyperperiod.model.values import PositiveTime
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.result import ServerRunRow
from hyperperiod.papers.server_events import POLICIES, two_level_system
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import LineChart, LineSeries
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind, read
from hyperperiod.trace.intervals import IntervalRow, intervals

HEIGHT = 0.7
"""How far a line is lifted while its server runs; lines are 1 apart."""
MOMENT_NS = 100_000
"""A pause of a server up to this long is no end of a run: the kernel has taken it for itself."""


class ServerRuns(NamedTuple):
    """Who ran when, and by server when its jobs were done."""

    intervals: list[IntervalRow]
    done_ns: dict[str, list[int]]


class ServerTrace(Experiment):
    """Servers, for how long they run, and how much of it is drawn."""

    shown_ns: PositiveTime
    servers: Annotated[tuple[Interface, ...], AtLeast(2)]

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(POLICIES)

    def measured(self, run: Measuring) -> Iterator[Any]:
        for pcpus in (1, 2):
            sides = [number % pcpus for number in range(len(self.servers))]
            system = two_level_system(self.name, self.servers, sides)
            ran = _ran(run, system, self.horizon_ns)
            for row in _rows(run.host, system, ran):
                spans = [one for one in ran.intervals if one.run == row.server]
                yield TracedServer(row, spans)
            run.step()

    def standing(self, rows: Sequence[Any]) -> list[ServerRunRow]:
        return [one.row for one in rows]

    def listed(self, rows: Sequence[Any]) -> tuple[()]:  # noqa: ARG002
        return ()

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        preempted = [one.row for one in rows if one.row.preemptions]
        one, two = ([row for row in preempted if row.policy == policy] for policy in POLICIES)
        return {"on_one": one, "on_two": two}

    def drawn(self, rows: Sequence[Any], scope: Scope) -> LineChart:  # noqa: ARG002
        shown_ns = min(self.shown_ns, self.horizon_ns)
        lows = [float(2 * len(self.servers) - 1 - at) for at in range(len(rows))]
        return LineChart(
            self.title,
            time_scale("time", shown_ns),
            Scale("runs where its line is high"),
            [self._staircase(one, low) for one, low in zip(rows, lows, strict=True)],
            y_names=[
                (len(rows) - 1 - at + HEIGHT / 2, one.row.server) for at, one in enumerate(rows)
            ],
            subtitle=self.source,
            x_max=float(shown_ns),
        )

    def _staircase(self, one: TracedServer, low: float) -> LineSeries:
        """A line that is high while the server runs."""
        points = [(0.0, low)]
        for span in one.spans:
            if span.start_ns < self.shown_ns:
                end_ns = min(span.end_ns, self.shown_ns)
                points += [(float(span.start_ns), low + HEIGHT), (float(end_ns), low)]
        points.append((float(self.shown_ns), low))
        return LineSeries(f"{one.row.server}, {one.row.policy}", points, steps=True)


class TracedServer(NamedTuple):
    """The row of a server, and when it ran."""

    row: ServerRunRow
    spans: list[IntervalRow]


def _ran(run: Measuring, system: System, horizon_ns: int) -> ServerRuns:
    """Who ran when. KeyboardInterrupt if Ctrl-C ended the run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.hpt"
        if run.host != "sim":
            from hyperperiod.papers.server_handlers import traced

            paths = traced(run.host, system, horizon_ns, run.seed, Path(folder))
        else:
            paths = [path]
            if simulate(system, horizon_ns, run.seed, path).interrupted:
                raise KeyboardInterrupt
        ran = ServerRuns([], {})
        for each in paths:
            header, records = read(each)
            ran.intervals.extend(intervals(header, records))
            for number, task in enumerate(header["tasks"]):
                done = records[(records["kind"] == Kind.COMPLETE) & (records["task"] == number)]
                server = task["domain"]
                ran.done_ns[server] = done["time_ns"].tolist()
        return ran


def _rows(host: str, system: System, ran: ServerRuns) -> Iterator[ServerRunRow]:
    """How often each server ran, was preempted and how long it ran at a stretch.

    It was preempted where it stopped and another began before its job was done.
    """
    for domain in system.domains:
        assert domain.interface is not None, "every server here has one"
        own = _stretches(ran.intervals, domain.name)
        others = {one.name for one in system.domains} - {domain.name}
        starts = [one.start_ns for one in ran.intervals if one.run in others]
        preemptions = 0
        for _, end_ns in own:
            released = -(-end_ns // domain.interface.period_ns)
            unfinished = bisect_right(ran.done_ns[domain.name], end_ns) < released
            preemptions += unfinished and any(0 <= at - end_ns <= MOMENT_NS for at in starts)
        yield ServerRunRow(
            policy=str(system.policy),
            host=host,
            server=domain.name,
            pcpu=domain.pcpu or 0,
            runs=len(own),
            preemptions=preemptions,
            longest_ns=max((end_ns - start_ns for start_ns, end_ns in own), default=0),
        )


def _stretches(ran: Sequence[IntervalRow], server: str) -> list[tuple[int, int]]:
    """From when to when a server ran, moments between left out."""
    found: list[tuple[int, int]] = []
    for one in ran:
        if one.run != server:
            continue
        if found and one.start_ns - found[-1][1] <= MOMENT_NS:
            found[-1] = (found[-1][0], one.end_ns)
        else:
            found.append((one.start_ns, one.end_ns))
    return found
