# SPDX-License-Identifier: BSD-2-Clause
"""Responses over deadlines and deadline misses under PTPS, WCPS and CRPS: CSA paper, Figs. 4 to 7.

A setting draws systems: five domains by the paper's rule (its section IV.B), with interfaces of
its Algorithm 1 in whole milliseconds and rate-monotonic priorities, or an ARINC-653 workload
(`arinc`). From U_W = 0.9 on the interfaces of the first mostly need more than the pcpu: the paper
compares how the three servers degrade. It has one draw for each setting; here there are many, on
Xen fewer and shorter.

Responsiveness is a job's response over its deadline, clipped at 3 as in the paper. Responses come
in the classes of the simulator's histograms, narrow ones (`response_error`), so a ratio is exact to
some percent of itself; on Xen they come one by one from its trace. Deadline misses are counted
exactly. A job that was never finished although its deadline has passed counts as clipped.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from hyperperiod.analysis import resolve
from hyperperiod.experiments.confidence import (
    interval_key,
    mean_interval,
    mean_of,
    mean_share_interval,
)
from hyperperiod.hosts.result import RunResult, RunTask
from hyperperiod.model import Domain, Overheads, System, Task, TaskKind, parse_policy
from hyperperiod.model.arinc import arinc_workload
from hyperperiod.model.generate import csa_system
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Positive, Time, Whole
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.result import ResponseRow
from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import GroupChart, Mark, MarkGroup
from hyperperiod.report.lines import LineChart, LineSeries, Ruler
from hyperperiod.report.panels import Chart, Panels
from hyperperiod.runs import run_on_xen, simulate
from hyperperiod.trace.format import Kind, read

POLICIES = ("ptps", "wcps", "crps")
CLIPPED = 3.0
HEADROOM = 1.04
"""Where a vertical axis ends, as a multiple of its last value."""
_BINS = 600
CLASS = 1.5 * CLIPPED / _BINS
"""Ratios that are no farther apart are in the same class or in neighbours."""

Percent = Annotated[int, Whole(1, 100)]
Hundredths = Annotated[int, Whole(0, 10_000)]


class Ratios:
    """How many jobs had which ratio, and how many missed their deadlines, draw by draw."""

    def __init__(self) -> None:
        self.jobs = 0
        self.missed: list[float] = []
        self._bins = [0] * (_BINS + 1)

    def add(self, tasks: Iterable[tuple[RunTask, int]]) -> None:
        """Counts the jobs of a draw: its tasks with their deadlines (ns)."""
        jobs = misses = 0
        for task, deadline_ns in tasks:
            jobs += task.jobs
            misses += task.misses
            finished = 0
            for low, high, count in task.histogram or ():
                ratio = (low + high) / 2 / deadline_ns
                self._bins[min(int(ratio / CLIPPED * _BINS), _BINS)] += count
                finished += count
            self._bins[_BINS] += min(task.jobs - finished, task.misses)
        self.jobs += jobs
        self.missed.append(misses / jobs if jobs else 0.0)

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The ratios below which 0, 1, ... 100 percent of the jobs are."""
        total = sum(self._bins)
        found: list[float] = []
        seen = at = 0
        for percent in range(101):
            while at < _BINS and seen + self._bins[at] < percent * total / 100:
                seen += self._bins[at]
                at += 1
            found.append(at * CLIPPED / _BINS)
        return tuple(found)


class PaperDmr(Part):
    """What the paper prints of the deadline miss ratio under each server, in 1/100 of a percent."""

    ptps: Hundredths
    wcps: Hundredths
    crps: Hundredths


class ResponseSetting(Part):
    """What is drawn: an ARINC-653 workload by number, or tasks by the paper's rule.

    Of these `utilization` is in percent, the range of periods in ms, and `etf` the least share of
    their worst case that jobs of the three highest domains take, in percent. Settings of one
    `panel` are drawn in one part of the picture; without, in none.
    """

    name: str
    panel: str = ""
    workload: Annotated[int, Whole(1, 7)] | None = None
    utilization: Percent = 100
    low: Positive = 1
    high: Positive = 1
    etf: Percent = 100
    paper: PaperDmr | None = None

    def drawn(self, seed: int) -> System:
        """The system of a seed, with its interfaces."""
        if self.workload is not None:
            return workload(self.workload, seed)
        resolved = resolve(drawn_system(POLICIES[0], self.utilization, self.low, self.high, seed))
        highest = domains_by_priority(resolved)[:3]
        etf = Fraction(self.etf, 100)
        return resolved.replace(
            domains=tuple(
                domain.replace(tasks=tuple(task.replace(etf=etf) for task in domain.tasks))
                if domain.name in highest
                else domain
                for domain in resolved.domains
            )
        )


class ResponseTimes(Experiment):
    """Settings, and whether all domains are looked at or the lowest one.

    `switch_ns` is what a switch takes in the simulator, of which no budget knows; on Xen switches
    take what they take.
    """

    picture: Literal["cdf", "box"]
    scope: Literal["all", "lowest"]
    switch_ns: Time = 0
    settings: Annotated[tuple[ResponseSetting, ...], AtLeast(1)] = key(name="setting")

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(self.settings) * self.sets

    def measured(self, run: Measuring) -> Iterator[ResponseRow]:
        measure = measured_on_xen if run.host == "xen" else simulated
        for setting in self.settings:
            found = {policy: Ratios() for policy in POLICIES}
            overheads = []
            for seed in run.seeds(self.sets):
                system = setting.drawn(seed)
                overheads.append(interface_overhead(system))
                domain = lowest_domain(system) if self.scope == "lowest" else None
                for policy in POLICIES:
                    ran = measure(self._ruled(system, policy), self.horizon_ns, seed)
                    found[policy].add(tasks_with_deadlines(system, ran, domain))
                run.step()
            yield from response_rows(setting.name, found, overheads, setting.paper, run.host)

    def _ruled(self, system: System, policy: str) -> System:
        return with_switches(system, policy, self.switch_ns)

    def names(self, rows: Sequence[ResponseRow], options: FigureOptions) -> Scope:  # noqa: ARG002
        def first_systems() -> list[System]:
            """The first draw of each setting under each policy."""
            drawn = [setting.drawn(options.seed) for setting in self.settings]
            here = self.settled(options)
            return [here._ruled(system, policy) for system in drawn for policy in POLICIES]

        def misses_for_free() -> int:
            """How many deadlines these miss in the simulator if switches take no time."""
            horizon_ns = self.settled(options).horizon_ns
            free = [one.replace(overheads=Overheads()) for one in first_systems()]
            return sum(simulated(one, horizon_ns, options.seed).misses for one in free)

        def same_beside_dom0() -> tuple[int, int]:
            horizon_ns = self.settled(options).horizon_ns
            return same_as_alone(first_systems(), horizon_ns, options.seed)

        return {
            "misses_for_free": misses_for_free,
            "same_beside_dom0": same_beside_dom0,
            "are_alike": are_alike,
        }

    def drawn(self, rows: Sequence[ResponseRow], scope: Scope) -> Panels:  # noqa: ARG002
        panels: list[Chart] = []
        for name in dict.fromkeys(one.panel for one in self.settings if one.panel):
            inside = [one.name for one in self.settings if one.panel == name]
            here = [row for row in rows if row.setting in inside]
            title = f"{self.title}: {name}"
            if self.picture == "cdf":
                panels.append(cdf_chart(title, self.source, here))
            elif here:
                panels.append(box_chart(title, self.source, here))
        return Panels(panels)


def drawn_system(policy: str, utilization: int, low_ms: int, high_ms: int, seed: int) -> System:
    """A system by the paper's rule: its utilization in percent, the range of periods in ms."""
    return csa_system(
        "csa-synthetic",
        parse_policy(policy),
        seed=seed,
        utilization=Fraction(utilization, 100),
        periods_ms=(low_ms, high_ms),
    )


def workload(number: int, seed: int) -> System:
    """A drawn ARINC-653 workload with its interfaces."""
    return resolve(arinc_workload(number, parse_policy(POLICIES[0]), seed=seed))


def with_switches(system: System, policy: str, switch_ns: int) -> System:
    """The system under a policy, with switches of which no budget knows."""
    overheads = Overheads(context_switch_ns=switch_ns)
    return system.replace(policy=parse_policy(policy), overheads=overheads)


def domains_by_priority(system: System) -> list[str]:
    """The names of the domains, the highest rate-monotonic priority first; of equals the first."""
    numbered = sorted(
        (domain.interface.period_ns, index, domain.name)
        for index, domain in enumerate(system.domains)
        if domain.interface is not None
    )
    return [name for _, _, name in numbered]


def lowest_domain(system: System) -> str:
    """The domain of the lowest rate-monotonic priority: the longest period, of equals the last."""
    return domains_by_priority(system)[-1]


def interface_overhead(system: System) -> float:
    """What the interfaces take of a pcpu beyond what the tasks inside ask for."""
    asked = sum((domain.utilization for domain in system.domains), Fraction(0))
    given = sum(
        (domain.interface.bandwidth for domain in system.domains if domain.interface), Fraction(0)
    )
    return float(given - asked)


def simulated(system: System, horizon_ns: int, seed: int) -> RunResult:
    """A run with histograms of responses. KeyboardInterrupt if Ctrl-C ended it."""
    found = simulate(system, horizon_ns, seed, histograms=True)
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def measured_on_xen(system: System, horizon_ns: int, seed: int) -> RunResult:
    """A run on Xen with each response as a class of its own. KeyboardInterrupt as above."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.hpt"
        found = run_on_xen(system, horizon_ns, seed, path)
        if found.interrupted:
            raise KeyboardInterrupt
        header, records = read(path)
    done = records[records["kind"] == Kind.COMPLETE]
    numbers = iter(range(len(header["tasks"])))
    domains = [
        domain.replace(
            tasks=[
                task.replace(
                    histogram=[
                        (response_ns, response_ns, 1)
                        for response_ns in done["value"][done["task"] == next(numbers)].tolist()
                    ]
                )
                for task in domain.tasks
            ]
        )
        for domain in found.domains
    ]
    return found.replace(domains=domains)


def tasks_with_deadlines(
    system: System, found: RunResult, domain: str | None
) -> Iterator[tuple[RunTask, int]]:
    """The tasks of a run, of one domain or of all, with their deadlines (ns)."""
    deadlines = {
        (one.name, task.name): task.deadline_ns for one in system.domains for task in one.tasks
    }
    for one in found.domains:
        for task in one.tasks:
            if domain in (None, one.name):
                deadline_ns = deadlines[one.name, task.name]
                assert deadline_ns is not None, "tasks here are periodic"
                yield task, deadline_ns


def response_rows(
    setting: str,
    found: dict[str, Ratios],
    overheads: Sequence[float],
    paper: PaperDmr | None,
    host: Host = "sim",
) -> Iterator[ResponseRow]:
    """A row for each policy, compared draw by draw with the one before it."""
    before: Ratios | None = None
    for policy, ratios in found.items():
        pairs = zip(before.missed, ratios.missed, strict=True) if before else ()
        less = [theirs - ours for theirs, ours in pairs]
        theirs = getattr(paper, policy) / 10_000 if paper else None
        nothing: dict[str, Any] = {"less": None, interval_key("less"): None}
        percentiles = ratios.percentiles
        yield ResponseRow(
            setting=setting,
            policy=policy,
            host=host,
            draws=len(ratios.missed),
            jobs=ratios.jobs,
            **mean_of("overhead", overheads, mean_interval),
            **mean_of("dmr", ratios.missed, mean_share_interval),
            paper_dmr=theirs,
            paper_quantile=_quantile(ratios.missed, theirs),
            **(mean_of("less", less, mean_interval) if less else nothing),
            worse_draws=sum(one < 0 for one in less),
            median=percentiles[50],
            percentiles=percentiles,
        )
        before = ratios


def _quantile(missed: Sequence[float], theirs: float | None) -> float | None:
    """The share of draws that miss no more than `theirs`, which is given to 1/100 of a percent."""
    if theirs is None:
        return None
    return sum(round(one, 4) <= theirs for one in missed) / len(missed)


def are_alike(rows: Sequence[ResponseRow]) -> bool:
    """Whether responses are the same, on Xen to a class of their ratios: switches take time."""
    first, *others = rows
    apart = CLASS if first.host == "xen" else 0.0
    return all(
        row.dmr == first.dmr
        and all(
            abs(one - other) <= apart
            for one, other in zip(row.percentiles, first.percentiles, strict=True)
        )
        for row in others
    )


def same_as_alone(systems: Sequence[System], horizon_ns: int, seed: int) -> tuple[int, int]:
    """How many of these systems answer beside a busy dom0 as they do alone, of how many."""
    same = 0
    for system in systems:
        alone = simulated(system, horizon_ns, seed)
        beside = simulated(beside_dom0(system), horizon_ns, seed)
        guests = [one for one in beside.domains if one.name != "dom0"]
        same += [one.tasks for one in guests] == [one.tasks for one in alone.domains]
    return same, len(systems)


def beside_dom0(system: System) -> System:
    """The same system on a core of its own, with a dom0 on another core that is always busy."""
    dom0 = Domain(
        name="dom0", pcpu=0, best_effort=True, tasks=(Task(name="work", kind=TaskKind.BUSY),)
    )
    guests = (domain.replace(pcpu=1) for domain in system.domains)
    return system.replace(pcpus=2, domains=(dom0, *guests))


def cdf_chart(title: str, source: str, rows: Sequence[ResponseRow]) -> LineChart:
    """The distribution of ratios under each policy, with the deadline as a ruler."""
    return LineChart(
        title,
        Scale("response / deadline"),
        Scale("jobs", "%"),
        [
            LineSeries(
                f"{row.policy.upper()}: {_missed(row)}",
                [(ratio, float(percent)) for percent, ratio in enumerate(row.percentiles)],
            )
            for row in rows
        ],
        subtitle=f"{source}; jobs of {rows[0].draws} draws together" if rows else source,
        rulers=[Ruler(1.0, "deadline", low=True)],
        x_max=CLIPPED,
        y_max=HEADROOM * 100,
    )


def box_chart(title: str, source: str, rows: Sequence[ResponseRow]) -> GroupChart:
    """Boxes of the ratios under each policy, setting by setting, with the deadline as a ruler."""
    return GroupChart(
        title,
        Scale("response / deadline"),
        [policy.upper() for policy in POLICIES],
        [
            MarkGroup(setting, [box_mark(row) for row in rows if row.setting == setting])
            for setting in dict.fromkeys(row.setting for row in rows)
        ],
        subtitle=f"{source}; jobs of {rows[0].draws} draws together",
        ruler=1.0,
        y_max=HEADROOM * CLIPPED,
        plot_height=220.0,
    )


def _missed(row: ResponseRow) -> str:
    """The share of deadlines missed in percent, with its interval over draws."""
    ends = row.dmr_interval
    interval = f" (95 %: {100 * ends.low:.1f} to {100 * ends.high:.1f})" if ends else ""
    return f"{100 * row.dmr:.1f} % missed{interval}"


def box_mark(row: ResponseRow) -> Mark:
    """The quartiles of the ratios; whiskers as far as percentiles within 1.5 times the box."""
    low, high = row.percentiles[25], row.percentiles[75]
    inside = [
        one
        for one in row.percentiles
        if low - 1.5 * (high - low) <= one <= high + 1.5 * (high - low)
    ]
    return Mark(
        row.median, inside[0], inside[-1], (low, high), (row.percentiles[0], row.percentiles[-1])
    )
