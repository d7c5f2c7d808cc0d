# SPDX-License-Identifier: BSD-2-Clause
"""How long interrupts of an idle VM wait beside a VM that runs: RT-Xen evaluation, Fig. 7.

The interrupt test of the latency lab, interrupt by interrupt. The question is whether a VM of
higher level is there at once, or only when the other has used up its budget. The paper's times
also have RT-Xen's work and the handler in them; ours end where the handler begins, so that in the
simulator, where switches cost nothing, they are what the schedule adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import mean_interval
from hyperperiod.experiments.latency.figures import LabRow
from hyperperiod.experiments.latency.lab import host_of
from hyperperiod.experiments.latency.settings import Scenario, load_scenarios
from hyperperiod.experiments.reproduce.away import Shorter
from hyperperiod.experiments.reproduce.figure import Asked, Progress, refuse_host
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.result import InterruptRow
from hyperperiod.model import format_time, parse_policy
from hyperperiod.model.part import Part
from hyperperiod.model.values import Finding, PositiveTime, Whole
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import Curve, LineChart

OURS = "ours"
IN_FIGURE, IN_TABLE = "paper, Fig. 7", "paper, Table 10"
SCENARIO = "interrupt"


class InterruptFindings(Part):
    """What the paper says of its figure, and of the same test over a longer time."""

    figure_ns: PositiveTime
    table_ns: PositiveTime
    at_once: str


class Interrupts(MeasuredFigure[InterruptRow]):
    """A setting of the lab's interrupt test, a policy, and how much of it is drawn."""

    setting: str
    policy: str
    sets: Annotated[int, Whole(1)]
    shown_ns: PositiveTime
    xen: Shorter
    paper: InterruptFindings

    def _findings(self) -> Iterator[Finding]:
        settings = [one.name for one in _scenario().settings]
        if self.setting not in settings:
            yield Finding(("setting",), self.setting, ", ".join(settings))

    def steps(self, asked: Asked) -> int:
        return self._sets(asked)

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = ("source", "policy", "host", "draws")
        return (*columns, "interrupts", "unanswered", "mean_ns", "mean_interval_ns", "max_ns"), 4

    def answers(self, asked: Asked, seed: int) -> LabRow:
        """The interrupts of one run, which begin at an instant that the seed draws."""
        scenario = _scenario()
        setting = next(one for one in scenario.settings if one.name == self.setting)
        shorter_ns = self.xen.horizon_ns if asked.host == "xen" else setting.test_time_ns
        asked_for = setting.replace(test_time_ns=asked.horizon_ns or shorter_ns)
        return host_of(asked.host)(scenario, asked_for, parse_policy(self.policy), 1, seed)

    def _printed(self) -> Sequence[tuple[str, int]]:
        """The times from interrupt to answer that the paper gives: where it does, and the ns."""
        return (IN_FIGURE, self.paper.figure_ns), (IN_TABLE, self.paper.table_ns)

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[InterruptRow]:
        refuse_host(asked, self.name, "the paper is about a hypervisor", "xen")
        for source, mean_ns in self._printed():
            yield InterruptRow(
                source=source,
                policy=self.policy,
                host="-",
                draws=1,
                interrupts=None,
                unanswered=None,
                mean_ns=mean_ns,
                mean_interval_ns=None,
                max_ns=None,
            )
        runs: list[LabRow] = []
        for draw in range(self._sets(asked)):
            runs.append(self.answers(asked, asked.seed + draw))
            progress(draw + 1)
        found = [run.response for run in runs if run.response is not None]
        longest = [one.max_ns for one in found if one.max_ns is not None]
        means = [float(one.mean_ns) for one in found]
        answered = sum(len(run.series.length_ns) for run in runs if run.series is not None)
        interrupts = sum(run.runs for run in runs)
        yield InterruptRow(
            source=OURS,
            policy=self.policy,
            host=asked.host,
            draws=len(runs),
            interrupts=interrupts,
            unanswered=interrupts - answered,
            mean_ns=float(np.mean(means)) if means else None,
            mean_interval_ns=mean_interval(means),
            max_ns=max(longest, default=None),
        )

    def _judged(self, rows: Sequence[InterruptRow], asked: Asked) -> Judged:
        measured = [row for row in rows if row.source == OURS]
        curves = [self._curve(asked) for _ in measured]
        for source, level_ns in self._printed():
            level = [(at, float(level_ns)) for at in (0.0, float(self.shown_ns))]
            curves.append(Curve(f"{source}, with its handler", level))
        chart = LineChart(
            self.title,
            time_scale("came at", self.shown_ns),
            Scale("waited", "µs", 1000.0),
            curves,
            subtitle=f"{self.source}; the begin of the first of {self._sets(asked)} runs",
            x_max=float(self.shown_ns),
            y_max=1.2 * self.paper.table_ns,
        )
        return [self._claim(row) for row in measured], chart

    def _claim(self, row: InterruptRow) -> Claim:
        longest = "none" if row.max_ns is None else format_time(row.max_ns)
        return Claim(
            "Each interrupt is answered at once, though the other VM has work and budget left:"
            f" within the {format_time(self.paper.figure_ns)} of the paper's figure.",
            self.paper.at_once,
            f"the longest of {row.interrupts} in {row.draws} runs waited {longest};"
            f" {row.unanswered} were not answered",
            row.max_ns is not None and row.max_ns <= self.paper.figure_ns and not row.unanswered,
        )

    def _curve(self, asked: Asked) -> Curve:
        """The interrupts of the first run that came in the time that is shown."""
        found = self.answers(asked, asked.seed).series
        points: list[tuple[float, float]] = []
        if found is not None and len(found.start_ns):
            since = found.start_ns - found.start_ns[0]
            shown = since < self.shown_ns
            pairs = zip(since[shown].tolist(), found.length_ns[shown].tolist(), strict=True)
            points = list(pairs)
        return Curve(f"{self.policy}, up to the handler", points, dots=True)


def _scenario() -> Scenario:
    """The lab's interrupt test."""
    (found,) = load_scenarios((SCENARIO,))
    return found
