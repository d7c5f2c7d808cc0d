# SPDX-License-Identifier: BSD-2-Clause
"""Responsiveness, a job's response over its deadline: its distribution and the deadline misses.

As in the CSA paper ratios are clipped at 3. Responses come in the classes of the simulator's
histograms, narrow ones (`response_error`), so a ratio is exact to some percent of itself; on Xen
they come one by one from its trace. Deadline misses are counted exactly. A job that was never
finished although its deadline has passed counts as clipped.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import mean_interval, mean_share_interval, with_interval
from hyperperiod.experiments.reproduce.on_host import Host
from hyperperiod.experiments.reproduce.result import ResponseRow
from hyperperiod.hosts.result import RunResult, RunTask
from hyperperiod.model import Domain, System, Task, TaskKind
from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import Mark
from hyperperiod.report.lines import Curve, LineChart, Ruler
from hyperperiod.runs import run_on_xen, simulate
from hyperperiod.trace.format import Kind, read

CLIPPED = 3.0
HEADROOM = 1.04
"""Where a vertical axis ends, as a multiple of its last value."""
_BINS = 600
CLASS = 1.5 * CLIPPED / _BINS
"""Ratios that are no farther apart are in the same class or in neighbours."""
POLICIES = ("ptps", "wcps", "crps")
COLUMNS = (
    "setting",
    "policy",
    "host",
    "draws",
    "jobs",
    "overhead",
    "dmr",
    "dmr_interval",
    "paper_dmr",
    "paper_quantile",
    "median",
    "worse_draws",
)


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


def lowest_domain(system: System) -> str:
    """The domain of the lowest rate-monotonic priority: the longest period, of equals the last."""
    numbered = [
        (domain.interface.period_ns, index, domain.name)
        for index, domain in enumerate(system.domains)
        if domain.interface is not None
    ]
    return max(numbered)[2]


def domains_by_priority(system: System) -> list[str]:
    """The names of the domains, the highest rate-monotonic priority first."""
    numbered = sorted(
        (domain.interface.period_ns, index, domain.name)
        for index, domain in enumerate(system.domains)
        if domain.interface is not None
    )
    return [name for _, _, name in numbered]


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
    found: Sequence[tuple[str, Ratios]],
    overheads: Sequence[float],
    paper: dict[str, float],
    host: Host = "sim",
) -> Iterator[ResponseRow]:
    """A row for each policy, compared draw by draw with the one before it."""
    before: Ratios | None = None
    for policy, ratios in found:
        less = (
            []
            if before is None
            else [theirs - ours for theirs, ours in zip(before.missed, ratios.missed, strict=True)]
        )
        percentiles = ratios.percentiles
        yield ResponseRow(
            setting=setting,
            policy=policy,
            host=host,
            draws=len(ratios.missed),
            jobs=ratios.jobs,
            overhead=fmean(overheads),
            overhead_interval=mean_interval(overheads),
            dmr=fmean(ratios.missed),
            dmr_interval=mean_share_interval(ratios.missed),
            paper_dmr=paper.get(policy),
            paper_quantile=_quantile(ratios.missed, paper.get(policy)),
            less=fmean(less) if less else None,
            less_interval=mean_interval(less) if less else None,
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


def order_claims(rows: Sequence[ResponseRow], setting: str, paper: str) -> Iterator[Claim]:
    """Each policy misses fewer deadlines than the one before it, on average over draws."""
    here = [row for row in rows if row.setting == setting]
    said = [
        f"{after.policy} {with_interval(_percent, after.less, after.less_interval)} less than"
        f" {before.policy}"
        for before, after in pairwise(here)
        if after.less is not None
    ]
    fewer = all(
        row.less is not None and (row.less_interval.low if row.less_interval else row.less) > 0
        for row in here[1:]
    )
    yield Claim(
        f"{setting}: WCPS misses fewer deadlines than PTPS, and CRPS fewer than WCPS.",
        paper,
        "; ".join(said),
        fewer,
    )


def dom0_claim(systems: Sequence[System], horizon_ns: int, seed: int, paper: str) -> Claim:
    """Whether each of these systems answers beside a busy dom0 as it does alone."""
    same = 0
    for system in systems:
        alone = simulated(system, horizon_ns, seed)
        beside = simulated(beside_dom0(system), horizon_ns, seed)
        guests = [one for one in beside.domains if one.name != "dom0"]
        same += [one.tasks for one in guests] == [one.tasks for one in alone.domains]
    return Claim(
        "A busy dom0 on a core of its own changes no response.",
        paper,
        f"the same responses in {same} of {len(systems)} runs",
        same == len(systems),
        mark="ours",
    )


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
            Curve(
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


def _missed(row: ResponseRow) -> str:
    """The share of deadlines missed, with its interval over draws."""
    ends = row.dmr_interval
    interval = "" if ends is None else f" (95 %: {_short(ends.low)} to {_short(ends.high)})"
    return f"{_short(row.dmr)} % missed{interval}"


def _short(share: float) -> str:
    return f"{100 * share:.1f}"


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


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
