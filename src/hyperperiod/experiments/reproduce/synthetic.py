# SPDX-License-Identifier: BSD-2-Clause
"""Drawn workloads of five domains under PTPS, WCPS and CRPS: CSA paper, Figs. 4 to 6.

Tasks are drawn by the paper's rule until the utilization is reached and spread over five domains;
interfaces are those of its Algorithm 1 in whole milliseconds, and priorities are rate monotonic.
From U_W = 0.9 on the interfaces mostly need more than the pcpu: the paper compares how the three
servers degrade. It has one draw for each setting; here there are many, on Xen fewer and shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Literal

from hyperperiod.analysis import resolve
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import ends, with_interval
from hyperperiod.experiments.reproduce.arinc import Reduced
from hyperperiod.experiments.reproduce.figure import Asked, Progress, refuse_host
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.responsiveness import (
    CLIPPED,
    COLUMNS,
    HEADROOM,
    POLICIES,
    Ratios,
    box_mark,
    cdf_chart,
    dom0_claim,
    domains_by_priority,
    interface_overhead,
    lowest_domain,
    measured_on_xen,
    order_claims,
    response_rows,
    simulated,
    tasks_with_deadlines,
)
from hyperperiod.experiments.reproduce.result import ResponseRow
from hyperperiod.model import System, parse_policy
from hyperperiod.model.generate import csa_system
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import Group, GroupChart
from hyperperiod.report.panels import Chart, Panels

ALIKE = 0.02
"""Deadline miss ratios that differ by less are taken for the same."""

Percent = Annotated[int, Whole(1, 100)]


class PaperDmr(Part):
    """What the paper prints of the deadline miss ratio under each server, in 1/100 of a percent."""

    ptps: Annotated[int, Whole(0, 10_000)]
    wcps: Annotated[int, Whole(0, 10_000)]
    crps: Annotated[int, Whole(0, 10_000)]

    @property
    def by_policy(self) -> dict[str, float]:
        """As fractions."""
        return {policy: getattr(self, policy) / 10_000 for policy in POLICIES}


class SyntheticSetting(Part):
    """What is drawn: the utilization in percent, the range of periods in ms, the factor of work.

    `etf` is the least share of their worst case that jobs of the three highest domains take, in
    percent.
    """

    name: str
    utilization: Percent
    low: Annotated[int, Whole(1)]
    high: Annotated[int, Whole(1)]
    etf: Percent = 100
    panel: str
    paper: PaperDmr | None = None


class SyntheticFindings(Part):
    """What the paper says of its figure; not every figure says everything."""

    order: str
    overhead: str = ""
    constant: str = ""
    improves: str = ""
    dom0: str = ""


class Synthetic(MeasuredFigure[ResponseRow]):
    """An experiment: settings, and whether all domains are looked at or the lowest one."""

    shown: Literal["cdf", "box"]
    scope: Literal["all", "lowest"]
    sets: Annotated[int, Whole(1)]
    horizon_ns: PositiveTime
    xen: Reduced
    settings: Annotated[tuple[SyntheticSetting, ...], AtLeast(1)] = key(name="setting")
    paper: SyntheticFindings

    def steps(self, asked: Asked) -> int:
        return len(self.settings) * self._sets(asked)

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        return COLUMNS, COLUMNS.index("draws")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[ResponseRow]:
        refuse_host(asked, self.name, "the paper is about a hypervisor", "xen")
        on_xen, sets = asked.host == "xen", self._sets(asked)
        horizon_ns = asked.horizon_ns or (self.xen.horizon_ns if on_xen else self.horizon_ns)
        measure = measured_on_xen if on_xen else simulated
        done = 0
        for setting in self.settings:
            found = {policy: Ratios() for policy in POLICIES}
            overheads = []
            for number in range(sets):
                system = self.drawn(setting, asked.seed + number)
                overheads.append(interface_overhead(system))
                scope = lowest_domain(system) if self.scope == "lowest" else None
                for policy in POLICIES:
                    ruled = system.replace(policy=parse_policy(policy))
                    run = measure(ruled, horizon_ns, asked.seed + number)
                    found[policy].add(tasks_with_deadlines(system, run, scope))
                done += 1
                progress(done)
            paper = setting.paper.by_policy if setting.paper else {}
            yield from response_rows(
                setting.name, list(found.items()), overheads, paper, asked.host
            )

    @staticmethod
    def drawn(setting: SyntheticSetting, seed: int) -> System:
        """The system of a setting and a seed, with its interfaces."""
        system = csa_system(
            "csa-synthetic",
            parse_policy(POLICIES[0]),
            seed=seed,
            utilization=Fraction(setting.utilization, 100),
            periods_ms=(setting.low, setting.high),
        )
        resolved = resolve(system)
        highest = set(domains_by_priority(resolved)[:3])
        return resolved.replace(
            domains=tuple(
                domain.replace(
                    tasks=tuple(
                        task.replace(etf=Fraction(setting.etf, 100)) for task in domain.tasks
                    )
                )
                if domain.name in highest
                else domain
                for domain in resolved.domains
            )
        )

    def _judged(self, rows: Sequence[ResponseRow], asked: Asked) -> Judged:
        names = [setting.name for setting in self.settings]
        whole = len(rows) == len(names) * len(POLICIES)
        claims = list(self._claims(rows, asked)) if whole else []
        return claims, self._chart(rows)

    def _claims(self, rows: Sequence[ResponseRow], asked: Asked) -> Iterator[Claim]:
        for setting in self.settings:
            if setting.utilization >= 90:
                yield from order_claims(rows, setting.name, self.paper.order)
            if setting.paper:
                yield from _all_miss_claims([row for row in rows if row.setting == setting.name])
        if self.paper.overhead:
            yield self._claim_overhead(rows)
        if self.paper.constant:
            yield from self._claims_etf(rows)
        if self.paper.dom0 and asked.host == "sim":
            yield self._claim_dom0(asked)

    def _claim_overhead(self, rows: Sequence[ResponseRow]) -> Claim:
        """The order of the settings by what their interfaces cost, as the paper has it."""
        first = {row.setting: row for row in reversed(rows)}
        at = [ends(row.overhead, row.overhead_interval) for row in first.values()]
        names = {setting.name: (setting.low, setting.high) for setting in self.settings}
        by_range = {names[name]: spot for name, spot in zip(first, at, strict=True)}
        low, middle, high = by_range[550, 650], by_range[100, 1100], by_range[350, 850]
        return Claim(
            "Periods of 350 to 850 ms cost interfaces most, of 550 to 650 ms least.",
            self.paper.overhead,
            "; ".join(
                f"{name}: {100 * row.overhead:.1f} % of the pcpu (95 %: {100 * spot[0]:.1f} to"
                f" {100 * spot[1]:.1f})"
                for (name, row), spot in zip(first.items(), at, strict=True)
            ),
            low[1] < middle[0] and middle[1] < high[0],
        )

    def _claims_etf(self, rows: Sequence[ResponseRow]) -> Iterator[Claim]:
        """What shorter jobs of the higher domains change for the lowest one at U_W = 0.9."""
        busy = [one for one in self.settings if one.utilization == 90]
        full, short = busy[0].name, busy[-1].name
        found = {(row.setting, row.policy): row for row in rows}
        one, other = found[full, "ptps"].dmr, found[short, "ptps"].dmr
        yield Claim(
            "Under PTPS shorter jobs of the higher domains change nothing for the lowest one.",
            self.paper.constant,
            f"{one:.2%} and {other:.2%} missed",
            abs(one - other) <= ALIKE,
        )
        pairs = [(found[full, policy], found[short, policy]) for policy in ("wcps", "crps")]
        yield Claim(
            "Under WCPS and CRPS the lowest domain misses less if jobs of the higher are shorter.",
            self.paper.improves,
            "; ".join(f"{a.policy}: {_missed(a)} and {_missed(b)}" for a, b in pairs),
            all(ends(b.dmr, b.dmr_interval)[1] < ends(a.dmr, a.dmr_interval)[0] for a, b in pairs),
        )

    def _claim_dom0(self, asked: Asked) -> Claim:
        """The first draw of each setting again."""
        systems = [
            self.drawn(setting, asked.seed).replace(policy=parse_policy(policy))
            for setting in self.settings
            for policy in POLICIES
        ]
        return dom0_claim(systems, asked.horizon_ns or self.horizon_ns, asked.seed, self.paper.dom0)

    def _chart(self, rows: Sequence[ResponseRow]) -> Panels:
        panels: list[Chart] = []
        for name in dict.fromkeys(setting.panel for setting in self.settings):
            inside = [one.name for one in self.settings if one.panel == name]
            here = [row for row in rows if row.setting in inside]
            if self.shown == "cdf":
                panels.append(cdf_chart(f"{self.title}: {name}", self.source, here))
            elif here:
                panels.append(self._boxes(name, here))
        return Panels(panels)

    def _boxes(self, name: str, rows: Sequence[ResponseRow]) -> GroupChart:
        settings = list(dict.fromkeys(row.setting for row in rows))
        return GroupChart(
            f"{self.title}: {name}",
            Scale("response / deadline"),
            [policy.upper() for policy in POLICIES],
            [
                Group(setting, [box_mark(row) for row in rows if row.setting == setting])
                for setting in settings
            ],
            subtitle=f"{self.source}; jobs of {rows[0].draws} draws together",
            ruler=1.0,
            y_max=HEADROOM * CLIPPED,
            plot_height=220.0,
        )


def _all_miss_claims(rows: Sequence[ResponseRow]) -> Iterator[Claim]:
    """Whether all jobs miss in every draw under the servers where all of the paper's draw did."""
    for row in rows:
        if row.paper_dmr == 1:
            yield Claim(
                f"{row.setting}: all jobs of the lowest domain miss under {row.policy.upper()}.",
                "all jobs missed their deadlines under the PTPS",
                _missed(row),
                row.dmr == 1,
            )


def _missed(row: ResponseRow) -> str:
    return with_interval(lambda one: f"{one:.2%}", row.dmr, row.dmr_interval)
