# SPDX-License-Identifier: BSD-2-Clause
"""What the bound of Theorem 1 does for Algorithm 1: CSA paper, section III.B.

Algorithm 1 looks for the interface of the least bandwidth among whole periods and budgets and stops
at a bound that Theorem 1 gives. Here every period up to the longest one of the tasks is tried as
well, which tells what any other bound would have found: one chosen by hand, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Annotated, NamedTuple

from hyperperiod.analysis.domains.algorithm_1 import Grid, optimal_interface
from hyperperiod.analysis.domains.domain_level import components_of, contract_under, shape_for
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import ends, mean_interval, with_interval
from hyperperiod.experiments.reproduce.figure import (
    Asked,
    Progress,
    caption,
    refuse,
    refuse_host,
)
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.result import InterfaceSearchRow
from hyperperiod.model import Domain, System, format_time, parse_policy
from hyperperiod.model.generate import csa_system
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import Group, GroupChart, Mark

QUANTUM_NS = 1_000_000
THEOREM = "Theorem 1"
NONE = "none"
COLUMNS = (
    *("periods", "bound", "draws", "components"),
    *("tried", "tried_interval", "extra", "extra_interval", "optimal"),
)


class PeriodRange(Part):
    """From where to where the periods of tasks are drawn, in ms."""

    name: str
    low: Annotated[int, Whole(1)]
    high: Annotated[int, Whole(1)]


class SearchFindings(Part):
    """What the paper says of bounds."""

    optimal: str
    naive: str


class Search(NamedTuple):
    """What Algorithm 1 found for a component, and every period's least bandwidth."""

    found: Fraction
    tried: int
    by_period: list[Fraction]

    def best(self, periods: int) -> Fraction:
        """The least bandwidth among so many periods, from 1 ms on."""
        return min(self.by_period[:periods])


class InterfaceSearch(MeasuredFigure[InterfaceSearchRow]):
    """An experiment: ranges of periods, and bounds that somebody might choose by hand."""

    utilization: Annotated[int, Whole(1, 100)]
    sets: Annotated[int, Whole(1)]
    bounds_ns: tuple[PositiveTime, ...]
    ranges: Annotated[tuple[PeriodRange, ...], AtLeast(1)] = key(name="range")
    paper: SearchFindings

    def steps(self, asked: Asked) -> int:
        return len(self.ranges) * (asked.sets or self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        return COLUMNS, COLUMNS.index("tried")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[InterfaceSearchRow]:
        refuse(asked, self.name, "horizon_ns")
        refuse_host(asked, self.name, "nothing runs here")
        done, sets = 0, asked.sets or self.sets
        for drawn in self.ranges:
            draws = []
            for number in range(sets):
                system = csa_system(
                    "csa-synthetic",
                    parse_policy("ptps"),
                    seed=asked.seed + number,
                    utilization=Fraction(self.utilization, 100),
                    periods_ms=(drawn.low, drawn.high),
                )
                draws.append([search(system, domain) for domain in system.domains])
                done += 1
                progress(done)
            yield _row(drawn.name, THEOREM, draws, None)
            for bound_ns in self.bounds_ns:
                yield _row(drawn.name, format_time(bound_ns), draws, bound_ns // QUANTUM_NS)
            yield _row(drawn.name, NONE, draws, max(len(o.by_period) for d in draws for o in d))

    def _judged(self, rows: Sequence[InterfaceSearchRow], asked: Asked) -> Judged:
        bounds = [THEOREM, *(format_time(bound) for bound in self.bounds_ns), NONE]
        whole = len(rows) == len(bounds) * len(self.ranges)
        chart = GroupChart(
            self.title,
            Scale("bandwidth above the least", "% of the pcpu", 0.01),
            [one.name for one in self.ranges],
            [
                Group(
                    bound,
                    [
                        Mark(row.extra, *_whisker(row))
                        for one in self.ranges
                        for row in rows
                        if (row.periods, row.bound) == (one.name, bound)
                    ],
                )
                for bound in bounds
            ],
            subtitle=caption(self.source, asked.sets or self.sets),
        )
        return list(self._claims(rows)) if whole else [], chart

    def _claims(self, rows: Sequence[InterfaceSearchRow]) -> Iterator[Claim]:
        theorem = [row for row in rows if row.bound == THEOREM]
        every = [row for row in rows if row.bound == NONE]
        yield Claim(
            "With the bound of Theorem 1 every component gets an interface of the least bandwidth.",
            self.paper.optimal,
            "; ".join(
                f"{row.periods}: {row.optimal:.1%} of {row.components} components, after"
                f" {row.tried:.0f} periods instead of {other.tried:.0f}"
                for row, other in zip(theorem, every, strict=True)
            ),
            all(row.optimal == 1 for row in theorem),
        )
        yield Claim(
            "The bound leaves most of the periods out.",
            self.paper.optimal,
            "; ".join(
                f"{row.periods}: {_tried(row)} of {_tried(other)} are tried"
                for row, other in zip(theorem, every, strict=True)
            ),
            all(
                2 * ends(row.tried, row.tried_interval)[1]
                < ends(other.tried, other.tried_interval)[0]
                for row, other in zip(theorem, every, strict=True)
            ),
            mark="ours",
        )
        lost = [row for row in rows if row.bound not in (THEOREM, NONE) and row.optimal < 1]
        worst = max(rows, key=lambda row: row.extra)
        yield Claim(
            "A bound chosen by hand costs bandwidth.",
            self.paper.naive,
            f"up to {with_interval(_percent, worst.extra, worst.extra_interval)} of the pcpu for a"
            f" component, with {worst.bound} and periods of {worst.periods};"
            f" {min((row.optimal for row in lost), default=1):.0%} of the components still get the"
            " least",
            bool(lost) and ends(worst.extra, worst.extra_interval)[0] > 0,
        )


def _tried(row: InterfaceSearchRow) -> str:
    return with_interval(lambda one: f"{one:.0f}", row.tried, row.tried_interval)


def _percent(share: float) -> str:
    return f"{share:.2%}"


def search(system: System, domain: Domain) -> Search:
    """Algorithm 1 for a domain, and the least budget for every whole period beside it."""
    components = components_of(domain)
    shape = shape_for(contract_under(system.policy, domain, system.sbf), None, components)
    found = optimal_interface(components, shape, Grid.of_quanta(QUANTUM_NS))
    assert found.budget_ns is not None, "one domain alone asks for less than a pcpu"
    longest_ns = max(task.period_ns or 0 for task in domain.tasks)
    by_period = []
    for period_ns in range(QUANTUM_NS, longest_ns + 1, QUANTUM_NS):
        budget_ns = minimal_budget(components, shape, period_ns, QUANTUM_NS).budget_ns
        # Where not even the whole period will do, nothing of that period is an interface.
        by_period.append(Fraction(budget_ns, period_ns) if budget_ns else Fraction(2))
    return Search(Fraction(found.budget_ns, found.period_ns), found.periods_tried, by_period)


def _row(
    periods: str, bound: str, draws: Sequence[Sequence[Search]], limit: int | None
) -> InterfaceSearchRow:
    """What a bound finds (in whole ms; None: that of Theorem 1), as means over draws."""
    extra, tried, optimal, components = [], [], 0, 0
    for draw in draws:
        more = []
        for one in draw:
            found = one.found if limit is None else one.best(limit)
            least = min(one.found, *one.by_period)
            more.append(float(found - least))
            optimal += found == least
            components += 1
        extra.append(fmean(more))
        tried.append(
            fmean(one.tried if limit is None else min(limit, len(one.by_period)) for one in draw)
        )
    return InterfaceSearchRow(
        periods=periods,
        bound=bound,
        draws=len(draws),
        components=components,
        tried=fmean(tried),
        tried_interval=mean_interval(tried),
        extra=fmean(extra),
        extra_interval=mean_interval(extra),
        optimal=optimal / components,
    )


def _whisker(row: InterfaceSearchRow) -> tuple[float, float] | tuple[()]:
    interval = row.extra_interval
    return (interval.low, interval.high) if interval else ()
