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
from typing import Annotated, NamedTuple

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse
from hyperperiod.experiments.reproduce.result import ServerRunRow
from hyperperiod.experiments.reproduce.server_events import POLICIES, two_level_system
from hyperperiod.model import Interface, System
from hyperperiod.model.part import AtLeast, Part
from hyperperiod.model.values import PositiveTime
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import Curve, LineChart
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind, read
from hyperperiod.trace.intervals import Interval, intervals

COLUMNS = ("policy", "host", "server", "pcpu", "runs", "preemptions", "longest_ns")
HEIGHT = 0.7
"""How far a line is lifted while its server runs; lines are 1 apart."""
MOMENT_NS = 100_000
"""A pause of a server up to this long is no end of a run: the kernel has taken it for itself."""


class Ran(NamedTuple):
    """Who ran when, and by server when its jobs were done."""

    intervals: list[Interval]
    done_ns: dict[str, list[int]]


class TraceFindings(Part):
    """What the paper says of its two traces."""

    one: str
    two: str


class ServerTrace(Part):
    """An experiment: two servers, for how long they run, and how much of it is drawn."""

    name: str
    title: str
    source: str
    horizon_ns: PositiveTime
    shown_ns: PositiveTime
    servers: Annotated[tuple[Interface, ...], AtLeast(2)]
    paper: TraceFindings

    def steps(self, asked: Asked) -> int:  # noqa: ARG002
        return len(POLICIES)

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        refuse(asked, self.name, "sets", "packets", "plays")
        horizon_ns = asked.horizon_ns or self.horizon_ns
        rows: list[ServerRunRow] = []
        curves: list[Curve] = []
        interrupted = False
        try:
            for pcpus in (1, 2):
                sides = [number % pcpus for number in range(len(self.servers))]
                system = two_level_system(self.name, self.servers, sides)
                ran = _ran(asked, system, horizon_ns)
                rows += _rows(asked.host, system, ran)
                curves += self._curves(system, ran.intervals, len(curves))
                progress(pcpus)
        except KeyboardInterrupt:
            interrupted = True
        shown_ns = min(self.shown_ns, horizon_ns)
        chart = LineChart(
            self.title,
            time_scale("time", shown_ns),
            Scale("runs where its line is high"),
            curves,
            y_names=[
                (len(curves) - 1 - at + HEIGHT / 2, curve.name.partition(",")[0])
                for at, curve in enumerate(curves)
            ],
            subtitle=self.source,
            x_max=float(shown_ns),
        )
        claims = [] if interrupted else list(self._claims(rows))
        return Figure(
            self.name, self.title, self.source, rows, claims, chart, COLUMNS, interrupted, keys=4
        )

    def _curves(self, system: System, ran: Sequence[Interval], above: int) -> Iterator[Curve]:
        """A staircase for each server, above those that there are."""
        for number, domain in enumerate(system.domains):
            low = float(2 * len(self.servers) - 1 - above - number)
            points = [(0.0, low)]
            for one in ran:
                if one.run == domain.name and one.start_ns < self.shown_ns:
                    end_ns = min(one.end_ns, self.shown_ns)
                    points += [(float(one.start_ns), low + HEIGHT), (float(end_ns), low)]
            points.append((float(self.shown_ns), low))
            yield Curve(f"{domain.name}, {system.policy}", points, steps=True)

    def _claims(self, rows: Sequence[ServerRunRow]) -> Iterator[Claim]:
        one, two = (
            [row for row in rows if row.policy == policy and row.preemptions] for policy in POLICIES
        )
        yield Claim(
            "On one core the server with the long period is preempted by the other, again and"
            " again.",
            self.paper.one,
            ", ".join(f"{row.server}: {row.preemptions} preemptions" for row in one) or "none",
            [row.server for row in one] == [f"S{len(self.servers) - 1}"] and one[0].preemptions > 1,
        )
        yield Claim(
            "On two cores no server is preempted.",
            self.paper.two,
            ", ".join(f"{row.server}: {row.preemptions} preemptions" for row in two) or "none",
            not two,
        )


def _ran(asked: Asked, system: System, horizon_ns: int) -> Ran:
    """Who ran when. KeyboardInterrupt if Ctrl-C ended the run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.hpt"
        if asked.host != "sim":
            from hyperperiod.experiments.reproduce.server_handlers import traced

            paths = traced(asked.host, system, horizon_ns, asked.seed, Path(folder))
        else:
            paths = [path]
            if simulate(system, horizon_ns, asked.seed, path).interrupted:
                raise KeyboardInterrupt
        ran = Ran([], {})
        for each in paths:
            header, records = read(each)
            ran.intervals.extend(intervals(header, records))
            for number, task in enumerate(header["tasks"]):
                done = records[(records["kind"] == Kind.COMPLETE) & (records["task"] == number)]
                server = task["domain"]
                ran.done_ns[server] = done["time_ns"].tolist()
        return ran


def _rows(host: str, system: System, ran: Ran) -> Iterator[ServerRunRow]:
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


def _stretches(ran: Sequence[Interval], server: str) -> list[tuple[int, int]]:
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
