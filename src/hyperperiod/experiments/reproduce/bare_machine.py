# SPDX-License-Identifier: BSD-2-Clause
"""The busy loop of the clock-tick test with nobody else on the machine: RT-Xen evaluation, Fig. 1.

It is the reference for all tables of that paper, and for the latency lab, whose loops and ticks are
laid over the time in which a VM runs (`samples`): here over all time. How long a loop and a tick
take is the paper's; what comes out is how many loops there are, the only thing that is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.latency.samples import Samples, Tick, sample
from hyperperiod.experiments.reproduce.figure import Asked, Progress, refuse, refuse_host
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.result import BareLoopRow
from hyperperiod.model import format_time
from hyperperiod.model.part import Part
from hyperperiod.model.values import Positive, PositiveTime
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import Curve, LineChart

NEAR = 0.05
"""How far the number of samples may be from the paper's: its loop also reads the clock twice."""


class BareFindings(Part):
    """The numbers (ns, and how many samples) that the paper prints with its figure."""

    samples: Positive
    shortest_ns: PositiveTime
    with_tick_ns: PositiveTime
    longest_ns: PositiveTime


class BareMachine(MeasuredFigure[BareLoopRow]):
    """The loop, the tick, for how long they run and how much of it is drawn."""

    loop_ns: PositiveTime
    tick_ns: PositiveTime
    every_ns: PositiveTime
    horizon_ns: PositiveTime
    shown_ns: PositiveTime
    paper: BareFindings

    def steps(self, asked: Asked) -> int:  # noqa: ARG002
        return 1

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = ("source", "samples", "shortest_ns", "with_tick_ns", "longest_ns", "ticks")
        return columns, columns.index("samples")

    def samples(self, horizon_ns: int) -> Samples:
        """The loops of a task that is never interrupted but by the tick."""
        spans = np.array([0], np.int64), np.array([horizon_ns], np.int64)
        return sample(*spans, self.loop_ns, Tick(self.every_ns, self.tick_ns))

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[BareLoopRow]:
        refuse(asked, self.name, "sets")
        refuse_host(asked, self.name, "there is no hypervisor below a bare machine")
        theirs = self.paper
        yield BareLoopRow(
            source="paper",
            samples=theirs.samples,
            shortest_ns=theirs.shortest_ns,
            with_tick_ns=theirs.with_tick_ns,
            longest_ns=theirs.longest_ns,
            ticks=None,
        )
        found = self.samples(asked.horizon_ns or self.horizon_ns).length_ns
        longer = found[found > found.min()]
        yield BareLoopRow(
            source="ours",
            samples=len(found),
            shortest_ns=int(found.min()),
            with_tick_ns=int(longer.min()) if len(longer) else None,
            longest_ns=int(found.max()),
            ticks=len(longer),
        )
        progress(1)

    def _judged(self, rows: Sequence[BareLoopRow], asked: Asked) -> Judged:
        horizon_ns = asked.horizon_ns or self.horizon_ns
        shown = self.samples(min(self.shown_ns, horizon_ns))
        chart = LineChart(
            self.title,
            time_scale("begun at", self.shown_ns),
            Scale("loop", "µs", 1000.0),
            [
                Curve(
                    "ours",
                    list(zip(shown.start_ns.tolist(), shown.length_ns.tolist(), strict=True)),
                    dots=True,
                ),
                Curve(
                    "paper's longest",
                    [(0.0, self.paper.longest_ns), (float(self.shown_ns), self.paper.longest_ns)],
                ),
            ],
            subtitle=self.source,
            x_max=float(self.shown_ns),
            y_max=1.2 * self.paper.longest_ns,
        )
        return list(self._claims(rows[1], horizon_ns)) if len(rows) > 1 else [], chart

    def _claims(self, ours: BareLoopRow, horizon_ns: int) -> Iterator[Claim]:
        theirs = self.paper
        wanted = theirs.samples * horizon_ns / self.horizon_ns
        yield Claim(
            "There are as many samples as in the paper, up to 5 %.",
            f"{theirs.samples} samples in {format_time(self.horizon_ns)}",
            f"{ours.samples}, {ours.samples / wanted - 1:+.1%}: the paper's loop also reads the"
            " clock and stores",
            abs(ours.samples / wanted - 1) <= NEAR,
        )
