# SPDX-License-Identifier: BSD-2-Clause
"""The latency lab test by test and loop by loop: RT-Xen evaluation, Figs. 1 to 7.

`BareLoops`: the busy loop of the clock-tick test with nobody else on the machine (Fig. 1). It is
the reference for all tables of that paper, and for the lab, whose loops and ticks are laid over the
time in which a VM runs (`samples`): here over all time. How long a loop and a tick take is the
paper's; what comes out is how many loops there are, the only thing that is claimed.

`AwayLoops`: for how long a VM runs and for how long it is away (Figs. 3 to 6). A loop that is
longer than ticks explain was cut in two: the VM was away for what it is too long. Between the
begins of two such loops the VM ran, but for the first one's absence.

`Interrupts`: how long interrupts of an idle VM wait beside a VM that runs (Fig. 7). The question is
whether a VM of higher level is there at once, or only when the other has used up its budget. The
paper's times also have RT-Xen's work and the handler in them; ours end where the handler begins, so
that in the simulator, where switches cost nothing, they are what the schedule adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from hyperperiod.experiments.confidence import mean_interval
from hyperperiod.model import parse_policy
from hyperperiod.model.values import Finding, Positive, PositiveTime
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.lab import host_of
from hyperperiod.papers.latency.rt_xen_defect import QUIRKS, measure_defect
from hyperperiod.papers.latency.samples import Samples, Tick, sample
from hyperperiod.papers.latency.settings import (
    SCENARIOS,
    LatencySetting,
    Scenario,
    load_scenarios,
)
from hyperperiod.papers.result import AwayRow, BareLoopRow, InterruptRow

PAPER, OURS = "paper", "ours"
Points = list[tuple[float, float]]


class BareLoops(Experiment):
    """The loop, the tick, how much of the time is drawn, and what the paper prints."""

    loop_ns: PositiveTime
    tick_ns: PositiveTime
    every_ns: PositiveTime
    shown_ns: PositiveTime
    paper_samples: Positive
    paper_shortest_ns: PositiveTime
    paper_with_tick_ns: PositiveTime
    paper_longest_ns: PositiveTime

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return 1

    def samples(self, horizon_ns: int) -> Samples:
        """The loops of a task that is never interrupted but by the tick."""
        spans = np.array([0], np.int64), np.array([horizon_ns], np.int64)
        return sample(*spans, self.loop_ns, Tick(self.every_ns, self.tick_ns))

    def measured(self, run: Measuring) -> Iterator[BareLoopRow]:
        yield BareLoopRow(
            source=PAPER,
            samples=self.paper_samples,
            shortest_ns=self.paper_shortest_ns,
            with_tick_ns=self.paper_with_tick_ns,
            longest_ns=self.paper_longest_ns,
            ticks=None,
        )
        found = self.samples(self.horizon_ns).length_ns
        longer = found[found > found.min()]
        yield BareLoopRow(
            source=OURS,
            samples=len(found),
            shortest_ns=int(found.min()),
            with_tick_ns=int(longer.min()) if len(longer) else None,
            longest_ns=int(found.max()),
            ticks=len(longer),
        )
        run.step()

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        horizon_ns = min(self.shown_ns, self.settled(options).horizon_ns)
        return {"points": lambda: _points(self.samples(horizon_ns))}


class LabTest(Experiment):
    """A setting of a scenario of the lab under a policy, and how much of it is drawn.

    A test is as long as the setting has it, if the horizon is not said.
    """

    scenario: str
    setting: str
    policy: str
    shown_ns: PositiveTime

    def _findings(self) -> Iterator[Finding]:
        yield from super()._findings()
        if self.scenario not in SCENARIOS:
            yield Finding(("scenario",), self.scenario, ", ".join(SCENARIOS))
            return
        settings = [one.name for one in self._scenario().settings]
        if self.setting not in settings:
            yield Finding(("setting",), self.setting, ", ".join(settings))

    def _scenario(self) -> Scenario:
        (found,) = load_scenarios((self.scenario,))
        return found

    def _setting(self) -> LatencySetting:
        setting = next(one for one in self._scenario().settings if one.name == self.setting)
        return setting.replace(test_time_ns=self.horizon_ns or setting.test_time_ns)

    def ours(self, host: Host, seed: int) -> LabRow:
        """One test, which begins at an instant that the seed draws."""
        policy = parse_policy(self.policy)
        return host_of(host)(self._scenario(), self._setting(), policy, 1, seed)


class AwayLoops(LabTest):
    """A test of the lab, and a defect (`quirk`) that the paper saw in that place."""

    quirk: str = ""
    paper_on_ns: PositiveTime
    paper_off_ns: PositiveTime
    paper_longest_ns: PositiveTime

    def _findings(self) -> Iterator[Finding]:
        yield from super()._findings()
        if self.quirk and self.quirk not in QUIRKS:
            yield Finding(("quirk",), self.quirk, ", ".join(QUIRKS))

    def _steps(self, host: Host) -> int:
        return len(self._sources(host)) * self.sets

    def _sources(self, host: Host) -> list[str]:
        """Whose loops are measured: the defect is a model of its own, which runs nowhere else."""
        return [self.quirk, OURS] if self.quirk and host == "sim" else [OURS]

    def samples(self, source: str, host: Host, seed: int) -> Samples:
        """The loops of one test."""
        if source == OURS:
            row = self.ours(host, seed)
        else:
            row = measure_defect(source, self._scenario(), self._setting(), 1, seed)
        assert row.series is not None, "a test has loops"
        return row.series

    def measured(self, run: Measuring) -> Iterator[AwayRow]:
        yield AwayRow(
            source=PAPER,
            policy=self.policy,
            host="-",
            draws=1,
            on_ns=self.paper_on_ns,
            on_interval_ns=None,
            off_ns=self.paper_off_ns,
            off_interval_ns=None,
            longest_ns=self.paper_longest_ns,
        )
        scenario = self._scenario()
        for source in self._sources(run.host):
            on, off, longest_ns = [], [], 0
            for seed in run.seeds(self.sets):
                found = self.samples(source, run.host, seed)
                longest_ns = max(longest_ns, int(found.length_ns.max()))
                times = on_and_off(found, scenario)
                if times is not None:
                    on.append(times[0])
                    off.append(times[1])
                run.step()
            yield AwayRow(
                source=source,
                policy=self.policy,
                host=run.host,
                draws=self.sets,
                on_ns=float(np.mean(on)) if on else None,
                on_interval_ns=mean_interval(on),
                off_ns=float(np.mean(off)) if off else None,
                off_interval_ns=mean_interval(off),
                longest_ns=longest_ns,
            )

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:
        here, scenario = self.settled(options), self._scenario()

        def points(source: str) -> Points:
            """The loops that are shown of a test; of equal ones the first and the last."""
            found = here.samples(source, options.host, options.seed)
            found = _begun_within(found, self.shown_ns)
            long = found.length_ns > scenario.loop_ns + scenario.tick_limit_ns
            kept = long | np.roll(long, 1) | np.roll(long, -1)
            kept[[0, -1]] = True
            return _points(Samples(found.start_ns[kept], found.length_ns[kept]))

        sources = [row.source for row in rows if row.source != PAPER]
        return {"sources": sources, "points": points}


class Interrupts(LabTest):
    """A test of the lab, and the times from interrupt to answer that the paper has.

    One is that of its figure, the other one that of its table, for the same test over a longer
    time.
    """

    paper_figure_ns: PositiveTime
    paper_table_ns: PositiveTime

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return self.sets

    def measured(self, run: Measuring) -> Iterator[InterruptRow]:
        for where, mean_ns in (("Fig. 7", self.paper_figure_ns), ("Table 10", self.paper_table_ns)):
            yield InterruptRow(
                source=f"{PAPER}, {where}",
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
        for seed in run.seeds(self.sets):
            runs.append(self.ours(run.host, seed))
            run.step()
        found = [one.response for one in runs if one.response is not None]
        means = [float(one.mean_ns) for one in found]
        answered = sum(len(one.series.length_ns) for one in runs if one.series is not None)
        interrupts = sum(one.runs for one in runs)
        yield InterruptRow(
            source=OURS,
            policy=self.policy,
            host=run.host,
            draws=len(runs),
            interrupts=interrupts,
            unanswered=interrupts - answered,
            mean_ns=fmean(means) if means else None,
            mean_interval_ns=mean_interval(means),
            max_ns=max((one.max_ns for one in found if one.max_ns is not None), default=None),
        )

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:
        def points() -> Points:
            """The interrupts of the first run that came in the time that is shown."""
            found = self.settled(options).ours(options.host, options.seed).series
            if found is None or not len(found.start_ns):
                return []
            return _points(_begun_within(found, self.shown_ns))

        return {"ours": [row for row in rows if row.source == OURS], "points": points}


def _begun_within(found: Samples, span_ns: int) -> Samples:
    """What began in so much time, counted from the first begin."""
    since = found.start_ns - found.start_ns[0]
    shown = since < span_ns
    return Samples(since[shown], found.length_ns[shown])


def _points(found: Samples) -> Points:
    return list(zip(found.start_ns.tolist(), found.length_ns.tolist(), strict=True))


def on_and_off(found: Samples, scenario: Scenario) -> tuple[float, float] | None:
    """For how long (ns) the VM ran between two absences, and for how long it was away, on average.

    None where it was not away twice.
    """
    long = found.length_ns > scenario.loop_ns + scenario.tick_limit_ns
    starts, away = found.start_ns[long], found.length_ns[long] - scenario.loop_ns
    if len(starts) < 2:
        return None
    return float(np.mean(np.diff(starts) - away[:-1])), float(np.mean(away))
