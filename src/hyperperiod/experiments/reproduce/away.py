# SPDX-License-Identifier: BSD-2-Clause
"""For how long a VM runs and for how long it is away: RT-Xen evaluation, Figs. 3 to 6.

The clock-tick test of the latency lab, in one of its settings, loop by loop. A loop that is longer
than ticks explain was cut in two: the VM was away for what it is too long. Between the begins of
two such loops the VM ran, but for the first one's absence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import Interval, ends, mean_interval, with_interval
from hyperperiod.experiments.latency.lab import host_of
from hyperperiod.experiments.latency.rt_xen_defect import QUIRKS, measure_defect
from hyperperiod.experiments.latency.samples import Samples
from hyperperiod.experiments.latency.settings import (
    SCENARIOS,
    LatencySetting,
    Scenario,
    load_scenarios,
)
from hyperperiod.experiments.reproduce.figure import Asked, Progress, refuse_host
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.result import AwayRow
from hyperperiod.model import format_time, parse_policy
from hyperperiod.model.part import Part
from hyperperiod.model.values import Finding, PositiveTime, Whole
from hyperperiod.report.frame import time_scale
from hyperperiod.report.lines import Curve, LineChart

NEAR = 0.05
"""How far a time may be from the paper's, whose own include a tick and a switch."""
PAPER, OURS = "paper", "ours"


class AwayFindings(Part):
    """What the paper says of its figure."""

    on_ns: PositiveTime
    off_ns: PositiveTime
    longest_ns: PositiveTime
    shape: str


class Shorter(Part):
    """How much is measured on the hypervisor."""

    sets: Annotated[int, Whole(1)]
    horizon_ns: PositiveTime


class Away(MeasuredFigure[AwayRow]):
    """A setting of the lab, a policy, and a defect that the paper saw in that place."""

    scenario: str
    setting: str
    policy: str
    quirk: str = ""
    sets: Annotated[int, Whole(1)]
    shown_ns: PositiveTime
    xen: Shorter
    paper: AwayFindings

    def _findings(self) -> Iterator[Finding]:
        if self.quirk and self.quirk not in QUIRKS:
            yield Finding(("quirk",), self.quirk, ", ".join(QUIRKS))
        if self.scenario not in SCENARIOS:
            yield Finding(("scenario",), self.scenario, ", ".join(SCENARIOS))
            return
        (scenario,) = load_scenarios((self.scenario,))
        settings = [one.name for one in scenario.settings]
        if self.setting not in settings:
            yield Finding(("setting",), self.setting, ", ".join(settings))

    def steps(self, asked: Asked) -> int:
        return len(self._sources(asked)) * self._sets(asked)

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _sources(self, asked: Asked) -> list[str]:
        """Whose loops are measured: the defect is a model of its own, which runs nowhere else."""
        return [self.quirk, OURS] if self.quirk and asked.host == "sim" else [OURS]

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = ("source", "policy", "host", "draws")
        times = ("on_ns", "on_interval_ns", "off_ns", "off_interval_ns", "longest_ns")
        return (*columns, *times), len(columns)

    def samples(self, source: str, asked: Asked, seed: int) -> tuple[Scenario, Samples]:
        """The loops of one test."""
        (scenario,) = load_scenarios((self.scenario,))
        setting = self._setting(scenario, asked)
        if source == OURS:
            measure, policy = host_of(asked.host), parse_policy(self.policy)
            row = measure(scenario, setting, policy, 1, seed)
        else:
            row = measure_defect(source, scenario, setting, 1, seed)
        assert row.series is not None, "a test has loops"
        return scenario, row.series

    def _setting(self, scenario: Scenario, asked: Asked) -> LatencySetting:
        setting = next(one for one in scenario.settings if one.name == self.setting)
        shorter_ns = self.xen.horizon_ns if asked.host == "xen" else setting.test_time_ns
        return setting.replace(test_time_ns=asked.horizon_ns or shorter_ns)

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[AwayRow]:
        refuse_host(asked, self.name, "the paper is about a hypervisor", "xen")
        theirs = self.paper
        yield AwayRow(
            source=PAPER,
            policy=self.policy,
            host="-",
            draws=1,
            on_ns=theirs.on_ns,
            on_interval_ns=None,
            off_ns=theirs.off_ns,
            off_interval_ns=None,
            longest_ns=theirs.longest_ns,
        )
        done, sets = 0, self._sets(asked)
        for source in self._sources(asked):
            on, off, longest_ns = [], [], 0
            for draw in range(sets):
                scenario, found = self.samples(source, asked, asked.seed + draw)
                longest_ns = max(longest_ns, int(found.length_ns.max()))
                times = on_and_off(found, scenario)
                if times is not None:
                    on.append(times[0])
                    off.append(times[1])
                done += 1
                progress(done)
            yield AwayRow(
                source=source,
                policy=self.policy,
                host=asked.host,
                draws=sets,
                on_ns=float(np.mean(on)) if on else None,
                on_interval_ns=mean_interval(on),
                off_ns=float(np.mean(off)) if off else None,
                off_interval_ns=mean_interval(off),
                longest_ns=longest_ns,
            )

    def _judged(self, rows: Sequence[AwayRow], asked: Asked) -> Judged:
        measured = [row for row in rows if row.source != PAPER]
        whole = len(measured) == len(self._sources(asked))
        claims = [self._claim(row) for row in measured] if whole else []
        level = float(self.paper.longest_ns)
        curves = [self._curve(row.source, asked) for row in measured]
        curves.append(Curve("paper's longest", [(0.0, level), (float(self.shown_ns), level)]))
        chart = LineChart(
            self.title,
            time_scale("begun at", self.shown_ns),
            time_scale("loop", self.paper.longest_ns),
            curves,
            subtitle=f"{self.source}; the begin of the first of {self._sets(asked)} tests",
            x_max=float(self.shown_ns),
            y_max=1.2 * level,
        )
        return claims, chart

    def _claim(self, row: AwayRow) -> Claim:
        theirs = self.paper
        if row.source == OURS and self.quirk:
            return Claim(
                f"Under {self.policy} a VM that is alone is never away.",
                theirs.shape,
                f"the longest loop of {row.draws} tests takes {format_time(row.longest_ns)}",
                row.off_ns is None,
                mark="contradicts",
            )
        on = None if row.on_ns is None else with_interval(_time, row.on_ns, row.on_interval_ns)
        off = None if row.off_ns is None else with_interval(_time, row.off_ns, row.off_interval_ns)
        who = f"With the defect {row.source}" if self.quirk else f"Under {self.policy}"
        return Claim(
            f"{who} the VM runs for {format_time(theirs.on_ns)} and is away for"
            f" {format_time(theirs.off_ns)}, again and again.",
            theirs.shape,
            f"it runs for {on} and is away for {off}" if off else "it is never away",
            _near(row.on_ns, row.on_interval_ns, theirs.on_ns)
            and _near(row.off_ns, row.off_interval_ns, theirs.off_ns),
        )

    def _curve(self, source: str, asked: Asked) -> Curve:
        """The loops that began in the time that is shown; of equal ones the first and the last."""
        scenario, found = self.samples(source, asked, asked.seed)
        since = found.start_ns - found.start_ns[0]
        shown = since < self.shown_ns
        since, lengths = since[shown], found.length_ns[shown]
        long = lengths > scenario.loop_ns + scenario.tick_limit_ns
        kept = long | np.roll(long, 1) | np.roll(long, -1)
        kept[[0, -1]] = True
        points = list(zip(since[kept].tolist(), lengths[kept].tolist(), strict=True))
        return Curve(self.policy if source == OURS else source, points, dots=True)


def on_and_off(found: Samples, scenario: Scenario) -> tuple[float, float] | None:
    """For how long (ns) the VM ran between two absences, and for how long it was away, on average.

    None where it was not away twice.
    """
    long = found.length_ns > scenario.loop_ns + scenario.tick_limit_ns
    starts, away = found.start_ns[long], found.length_ns[long] - scenario.loop_ns
    if len(starts) < 2:
        return None
    return float(np.mean(np.diff(starts) - away[:-1])), float(np.mean(away))


def _near(value: float | None, interval: Interval | None, wanted_ns: int) -> bool:
    """Whether a time is the paper's at both ends of its interval."""
    return value is not None and all(
        abs(one / wanted_ns - 1) <= NEAR for one in ends(value, interval)
    )


def _time(span_ns: float) -> str:
    """A time to the microsecond: a test is made of loops that take 68."""
    return format_time(1000 * round(span_ns / 1000))
