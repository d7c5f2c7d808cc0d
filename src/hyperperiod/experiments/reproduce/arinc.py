# SPDX-License-Identifier: BSD-2-Clause
"""The seven ARINC-653 workloads of the CSA paper: Table I, Fig. 7 and Table II.

Their tasks are in no public document. All that is measured here is measured on harmonic workloads
drawn to have the utilizations that the paper prints (`hyperperiod.model.arinc`), and titles say so.
Budgets have no room for what switches cost, as in the paper, so deadlines are missed only because
switches take time: how long is a free parameter, since the paper does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Annotated

from hyperperiod.analysis import resolve
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import ends, mean_share_interval, with_interval
from hyperperiod.experiments.reproduce.figure import (
    Asked,
    Progress,
    caption,
    refuse,
    refuse_host,
)
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.on_host import run_on
from hyperperiod.experiments.reproduce.responsiveness import (
    CLASS,
    COLUMNS,
    POLICIES,
    Ratios,
    cdf_chart,
    dom0_claim,
    interface_overhead,
    measured_on_xen,
    response_rows,
    simulated,
    tasks_with_deadlines,
)
from hyperperiod.experiments.reproduce.result import ArincRow, DomainMissRow, ResponseRow
from hyperperiod.model import Overheads, System, format_time, parse_policy
from hyperperiod.model.arinc import TABLE_1, TABLE_2, arinc_workload
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import Group, GroupChart, Mark
from hyperperiod.report.lines import Curve, LineChart
from hyperperiod.report.panels import Panels

ROUNDED = 0.000_51
"""How far a number may be from one that the paper prints with three decimals."""
PTPS_TIMES, WCPS_TIMES = 200, 100
"""How many times as much as CRPS they miss in the paper, where the interface overhead is low."""
ALIKE = 0.001
"""Deadline miss ratios that differ by less are the same."""

Count = Annotated[int, Whole(1)]


def workload(number: int, seed: int) -> System:
    """A drawn workload with its interfaces."""
    return resolve(arinc_workload(number, parse_policy(POLICIES[0]), seed=seed))


def with_switches(system: System, policy: str, switch_ns: int) -> System:
    """The system under a policy, with switches of which no budget knows."""
    overheads = Overheads(context_switch_ns=switch_ns)
    return system.replace(policy=parse_policy(policy), overheads=overheads)


class TableFindings(Part):
    """The paper's sentence on Table I, as the file quotes it: for a claim beside ours."""

    overhead: str


class ArincTable(MeasuredFigure[ArincRow]):
    """Table I: what interfaces of the workloads take, and what of it rounding up has added."""

    sets: Count
    paper: TableFindings

    def steps(self, asked: Asked) -> int:
        return len(TABLE_1) * (asked.sets or self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = (
            *("workload", "draws"),
            *("interfaces", "interfaces_interval", "paper_interfaces"),
            *("tasks", "tasks_interval", "paper_tasks"),
            *("overhead", "overhead_interval", "paper_overhead"),
        )
        return columns, columns.index("interfaces")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[ArincRow]:
        refuse(asked, self.name, "horizon_ns")
        refuse_host(asked, self.name, "nothing runs here")
        done, sets = 0, asked.sets or self.sets
        for number, (interfaces, tasks) in TABLE_1.items():
            overheads, asks = [], []
            for draw in range(sets):
                system = workload(number, asked.seed + draw)
                asks.append(float(sum((d.utilization for d in system.domains), Fraction(0))))
                overheads.append(interface_overhead(system))
                done += 1
                progress(done)
            taken = [ask + overhead for ask, overhead in zip(asks, overheads, strict=True)]
            yield ArincRow(
                workload=number,
                draws=sets,
                interfaces=fmean(taken),
                interfaces_interval=mean_share_interval(taken),
                paper_interfaces=interfaces / 1000,
                tasks=fmean(asks),
                tasks_interval=mean_share_interval(asks),
                paper_tasks=tasks / 1000,
                overhead=fmean(overheads),
                overhead_interval=mean_share_interval(overheads),
                paper_overhead=(interfaces - tasks) / 1000,
            )

    def _judged(self, rows: Sequence[ArincRow], asked: Asked) -> Judged:  # noqa: ARG002
        far = [
            abs(end - theirs)
            for row in rows
            for ours, interval, theirs in (
                (row.interfaces, row.interfaces_interval, row.paper_interfaces),
                (row.tasks, row.tasks_interval, row.paper_tasks),
            )
            for end in ends(ours, interval)
        ]
        claim = Claim(
            "The drawn workloads have the paper's utilizations, with interfaces that are computed.",
            self.paper.overhead,
            f"the furthest end of an interval of 95 % is off by {max(far, default=0):.5f}",
            bool(far) and max(far) <= ROUNDED,
            mark="ours",
        )
        chart = GroupChart(
            self.title,
            Scale("share of the pcpu", "%", 0.01),
            ("tasks", "interfaces", "interfaces, paper"),
            [
                Group(
                    f"workload {row.workload}",
                    [
                        Mark(row.tasks, *ends(row.tasks, row.tasks_interval)),
                        Mark(row.interfaces, *ends(row.interfaces, row.interfaces_interval)),
                        Mark(row.paper_interfaces),
                    ],
                )
                for row in rows
            ],
            subtitle=self.source,
        )
        return [claim] if len(rows) == len(TABLE_1) else [], chart


class Shown(Part):
    """A workload that is drawn in the figure, and what it stands for."""

    workload: Annotated[int, Whole(1, 7)]
    what: str


class ArincFindings(Part):
    """The paper's sentences on Fig. 7, as the experiment's file quotes them: one for each claim."""

    better: str
    reclaims: str
    high: str
    low: str
    alone: str
    cause: str
    dom0: str


class Reduced(Part):
    """How much is measured on the hypervisor."""

    sets: Count
    horizon_ns: PositiveTime


class ArincResponses(MeasuredFigure[ResponseRow]):
    """Fig. 7: responses of drawn workloads, whose budgets know nothing of what switches take.

    On Xen switches take what they take, and nothing is added.
    """

    sets: Count
    horizon_ns: PositiveTime
    switch_ns: PositiveTime
    xen: Reduced
    shown: Annotated[tuple[Shown, ...], AtLeast(1)]
    paper: ArincFindings

    def steps(self, asked: Asked) -> int:
        return len(TABLE_1) * self._sets(asked)

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        return COLUMNS, COLUMNS.index("draws")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[ResponseRow]:
        refuse_host(asked, self.name, "the paper is about a hypervisor", "xen")
        on_xen, sets = asked.host == "xen", self._sets(asked)
        horizon_ns = asked.horizon_ns or (self.xen.horizon_ns if on_xen else self.horizon_ns)
        measure = measured_on_xen if on_xen else simulated
        switch_ns = 0 if on_xen else self.switch_ns
        done = 0
        for number in TABLE_1:
            found = {policy: Ratios() for policy in POLICIES}
            overheads = []
            for draw in range(sets):
                system = workload(number, asked.seed + draw)
                overheads.append(interface_overhead(system))
                for policy in POLICIES:
                    costly = with_switches(system, policy, switch_ns)
                    run = measure(costly, horizon_ns, asked.seed + draw)
                    found[policy].add(tasks_with_deadlines(system, run, None))
                done += 1
                progress(done)
            yield from response_rows(_name(number), list(found.items()), overheads, {}, asked.host)

    def _judged(self, rows: Sequence[ResponseRow], asked: Asked) -> Judged:
        whole = len(rows) == len(TABLE_1) * len(POLICIES)
        panels = [
            cdf_chart(
                f"{self.title}: {one.what}, {_name(one.workload)}",
                self.source,
                [row for row in rows if row.setting == _name(one.workload)],
            )
            for one in self.shown
        ]
        return list(self._claims(rows, asked)) if whole else [], Panels(panels)

    def _claims(self, rows: Sequence[ResponseRow], asked: Asked) -> Iterator[Claim]:
        worse = {row.setting: row.worse_draws for row in rows if row.policy == "wcps"}
        draws = rows[0].draws
        yield Claim(
            f"In every draw WCPS misses no more deadlines than PTPS, with {self._price(asked)}.",
            self.paper.better,
            "; ".join(
                f"{name}: more in {count} of {draws} draws"
                for name, count in worse.items()
                if count
            )
            or f"in all {draws} draws of each workload",
            not any(worse.values()),
        )
        most = [row for row in rows if row.policy == "crps"]
        least = {row.setting: row for row in rows if row.policy == "ptps"}
        yield Claim(
            "CRPS misses the fewest deadlines on average, with every workload.",
            self.paper.reclaims,
            "; ".join(
                f"{row.setting}: {_missed(row)} of {_missed(least[row.setting])} under PTPS"
                for row in most
            ),
            all(
                _is_less(row, other)
                for row in most
                for other in rows
                if other.setting == row.setting and other is not row
            ),
        )
        yield from self._extremes(rows)
        alone = [row for row in rows if row.setting == _name(7)]
        yield Claim(
            "With a single domain the three are the same.",
            self.paper.alone,
            ", ".join(f"{row.dmr:.3%} missed under {row.policy}" for row in alone),
            _are_alike(alone),
        )
        if asked.host == "sim":
            yield from self._simulated_claims(asked)

    def _extremes(self, rows: Sequence[ResponseRow]) -> Iterator[Claim]:
        """The paper's numbers on the workloads of the highest and of a low interface overhead."""
        found = {(row.setting, row.policy): row for row in rows}
        high, low = (_name(one.workload) for one in self.shown[:2])
        ptps, wcps, crps = (found[high, policy] for policy in POLICIES)
        yield Claim(
            f"With a high interface overhead ({high}) nothing misses under CRPS, and something"
            " under the other two.",
            self.paper.high,
            "; ".join(f"{row.policy}: {_missed(row)}" for row in (ptps, wcps, crps)),
            crps.dmr == 0 < min(ptps.dmr, wcps.dmr),
        )
        ptps, wcps, crps = (found[low, policy] for policy in POLICIES)
        times = [
            f"{row.dmr / crps.dmr:.0f}" if crps.dmr else "any number of" for row in (ptps, wcps)
        ]
        yield Claim(
            f"With a low interface overhead ({low}) PTPS misses {PTPS_TIMES} times as much as CRPS"
            f" on average, and WCPS {WCPS_TIMES} times.",
            self.paper.low,
            f"{times[0]} and {times[1]} times: {_missed(ptps)} and {_missed(wcps)} of"
            f" {_missed(crps)} under CRPS",
            0 < ptps.dmr >= PTPS_TIMES * crps.dmr and 0 < wcps.dmr >= WCPS_TIMES * crps.dmr,
        )

    def _price(self, asked: Asked) -> str:
        """What switches take."""
        if asked.host == "xen":
            return "what switches take on Xen"
        return f"{format_time(self.switch_ns)} a switch"

    def _simulated_claims(self, asked: Asked) -> Iterator[Claim]:
        """What is said of runs beside those of the rows."""
        seed, horizon_ns = asked.seed, asked.horizon_ns or self.horizon_ns
        first = [
            with_switches(workload(number, seed), policy, self.switch_ns)
            for number in TABLE_1
            for policy in POLICIES
        ]
        free = [
            simulated(system.replace(overheads=Overheads()), horizon_ns, seed).misses
            for system in first
        ]
        yield Claim(
            "Without cost nothing misses: it is switches of which the budgets know nothing.",
            self.paper.cause,
            f"{sum(free)} misses in the first draws of all workloads under all three",
            not any(free),
        )
        yield dom0_claim(first, horizon_ns, seed, self.paper.dom0)


class DomainFindings(Part):
    """The paper's sentences on Table II, as the file quotes them: one for each claim."""

    less: str
    reclaims: str
    dom0: str


class DomainDmr(Part):
    """The paper's row for a domain of workload 2; its deadline miss ratio in thousandths."""

    domain: Annotated[int, Whole(1, 6)]
    dmr: Annotated[int, Whole(0, 1000)]


class ArincDomains(MeasuredFigure[DomainMissRow]):
    """Table II: which of the domains of workload 2 miss deadlines, under each of the servers.

    On Xen switches take what they take, and nothing is added.
    """

    sets: Count
    horizon_ns: PositiveTime
    switch_ns: PositiveTime
    xen: Reduced
    domains: tuple[DomainDmr, ...] = key(name="domain")
    paper: DomainFindings

    def steps(self, asked: Asked) -> int:
        return self._sets(asked)

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = (
            *("domain", "draws", "overhead", "dmr", "dmr_interval", "paper_dmr"),
            *("wcps_dmr", "wcps_dmr_interval", "crps_dmr", "crps_dmr_interval"),
        )
        return columns, columns.index("overhead")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[DomainMissRow]:
        refuse_host(asked, self.name, "the paper is about a hypervisor", "xen")
        on_xen, sets = asked.host == "xen", self._sets(asked)
        horizon_ns = asked.horizon_ns or (self.xen.horizon_ns if on_xen else self.horizon_ns)
        switch_ns = 0 if on_xen else self.switch_ns
        found: dict[str, dict[int, list[float]]] = {
            policy: {domain: [] for domain in TABLE_2} for policy in POLICIES
        }
        for draw in range(sets):
            system = workload(2, asked.seed + draw)
            for policy, missed in found.items():
                costly = with_switches(system, policy, switch_ns)
                run = run_on(asked.host, costly, horizon_ns, asked.seed + draw)
                for number, domain in enumerate(run.domains, start=1):
                    jobs = sum(task.jobs for task in domain.tasks)
                    missed[number].append(sum(task.misses for task in domain.tasks) / jobs)
            progress(draw + 1)
        for one in self.domains:
            ptps, wcps, crps = (found[policy][one.domain] for policy in POLICIES)
            yield DomainMissRow(
                domain=one.domain,
                host=asked.host,
                draws=sets,
                overhead=TABLE_2[one.domain] / 1000,
                dmr=fmean(ptps),
                dmr_interval=mean_share_interval(ptps),
                paper_dmr=one.dmr / 1000,
                wcps_dmr=fmean(wcps),
                wcps_dmr_interval=mean_share_interval(wcps),
                crps_dmr=fmean(crps),
                crps_dmr_interval=mean_share_interval(crps),
            )

    def _judged(self, rows: Sequence[DomainMissRow], asked: Asked) -> Judged:
        curves = [
            Curve(
                name,
                [(1000 * row.overhead, getattr(row, field)) for row in rows],
                dots=True,
                whiskers=[
                    (1000 * row.overhead, interval.low, interval.high)
                    for row in rows
                    if (interval := getattr(row, f"{field}_interval", None))
                ],
            )
            for name, field in (
                ("PTPS", "dmr"),
                ("WCPS", "wcps_dmr"),
                ("CRPS", "crps_dmr"),
                ("PTPS, paper", "paper_dmr"),
            )
        ]
        chart = LineChart(
            self.title,
            Scale("interface overhead of a domain", "thousandths of the pcpu"),
            Scale("deadlines missed", "%", 0.01),
            curves,
            subtitle=caption(self.source, self._sets(asked)),
        )
        return list(self._claims(rows, asked)) if rows else [], chart

    def _claims(self, rows: Sequence[DomainMissRow], asked: Asked) -> Iterator[Claim]:
        none, most = (pick(rows, key=lambda row: row.overhead) for pick in (min, max))
        yield Claim(
            "The domain without overhead misses most, the one with the largest least.",
            self.paper.less,
            f"{_dmr_text(none)} with {none.overhead:.3f}, {_dmr_text(most)} with"
            f" {most.overhead:.3f}",
            all(
                ends(none.dmr, none.dmr_interval)[0] > ends(row.dmr, row.dmr_interval)[1]
                for row in rows
                if row is not none
            )
            and all(most.dmr <= row.dmr for row in rows),
        )
        yield Claim(
            "Under CRPS the domains without overhead miss less: they reclaim of the others.",
            self.paper.reclaims,
            f"{with_interval(_share, none.crps_dmr, none.crps_dmr_interval)} instead of"
            f" {_dmr_text(none)} with {none.overhead:.3f}",
            ends(none.crps_dmr, none.crps_dmr_interval)[1] < ends(none.dmr, none.dmr_interval)[0],
        )
        if asked.host == "sim":
            first = [
                with_switches(workload(2, asked.seed), policy, self.switch_ns)
                for policy in POLICIES
            ]
            horizon_ns = asked.horizon_ns or self.horizon_ns
            yield dom0_claim(first, horizon_ns, asked.seed, self.paper.dom0)


def _are_alike(rows: Sequence[ResponseRow]) -> bool:
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


def _name(number: int) -> str:
    return f"workload {number}"


def _missed(row: ResponseRow) -> str:
    return with_interval(lambda one: f"{one:.3%}", row.dmr, row.dmr_interval)


def _is_less(row: ResponseRow, other: ResponseRow) -> bool:
    """Whether a miss ratio is below another at the worse ends; or both are nothing in all draws."""
    high, low = ends(row.dmr, row.dmr_interval)[1], ends(other.dmr, other.dmr_interval)[0]
    return high < low or row.dmr == other.dmr == 0


def _share(value: float) -> str:
    return f"{value:.2%}"


def _dmr_text(row: DomainMissRow) -> str:
    return with_interval(_share, row.dmr, row.dmr_interval)
