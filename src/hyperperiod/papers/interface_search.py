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
from typing import Annotated, Any, NamedTuple

from hyperperiod.analysis.domains.algorithm_1 import Grid, optimal_interface
from hyperperiod.analysis.domains.domain_level import components_of, contract_under, shape_for
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.experiments.confidence import mean_interval, mean_of
from hyperperiod.model import Domain, System, format_time
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Positive, PositiveTime
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.responses import Percent, drawn_system
from hyperperiod.papers.result import InterfaceSearchRow

QUANTUM_NS = 1_000_000
THEOREM = "Theorem 1"
NONE = "none"


class TaskPeriods(Part):
    """From where to where the periods of tasks are drawn, in ms."""

    name: str
    low: Positive
    high: Positive


class FoundInterface(NamedTuple):
    """What Algorithm 1 found for a component, and every period's least bandwidth."""

    found: Fraction
    tried: int
    by_period: list[Fraction]

    def best(self, periods: int) -> Fraction:
        """The least bandwidth among so many periods, from 1 ms on."""
        return min(self.by_period[:periods])


class InterfaceSearch(Experiment):
    """Ranges of periods, and bounds that somebody might choose by hand."""

    utilization: Percent
    bounds_ns: tuple[PositiveTime, ...]
    ranges: Annotated[tuple[TaskPeriods, ...], AtLeast(1)] = key(name="range")

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(self.ranges) * self.sets

    def measured(self, run: Measuring) -> Iterator[InterfaceSearchRow]:
        for drawn in self.ranges:
            draws = []
            for seed in run.seeds(self.sets):
                system = drawn_system("ptps", self.utilization, drawn.low, drawn.high, seed)
                draws.append([search(system, domain) for domain in system.domains])
                run.step()
            yield _row(drawn.name, THEOREM, draws, None)
            for bound_ns in self.bounds_ns:
                yield _row(drawn.name, format_time(bound_ns), draws, bound_ns // QUANTUM_NS)
            yield _row(drawn.name, NONE, draws, max(len(o.by_period) for d in draws for o in d))

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        return {"bounds": [THEOREM, *(format_time(bound) for bound in self.bounds_ns), NONE]}


def search(system: System, domain: Domain) -> FoundInterface:
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
    return FoundInterface(
        Fraction(found.budget_ns, found.period_ns), found.periods_tried, by_period
    )


def _row(
    periods: str, bound: str, draws: Sequence[Sequence[FoundInterface]], limit: int | None
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
        **mean_of("tried", tried, mean_interval),
        **mean_of("extra", extra, mean_interval),
        optimal=optimal / components,
    )
