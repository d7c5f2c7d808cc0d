# SPDX-License-Identifier: BSD-2-Clause
"""Which interfaces a domain may be given.

For a period the budget is the least that serves the tasks (`minimal_budget`, through `resolve`,
so that nested domains and what overheads take from a server alone are in it), in whole steps of a
grid: the quantum, or 1 ms where the system has none, as in Algorithm 1. Periods are on the grid
too. If few periods are in range, all of them are tried. If there are many: the periods that
several domains can share (below), the divisors of the tasks' periods, a spread over the range,
and Algorithm 1's own optimum, which has the least bandwidth of all.

*Shared* periods make replenishments coincide: 1, 2, 5, 10, ... and 1, 2, 4, 8, ... steps of the
grid, the periods that the file gives, and every domain's best one.

What is kept: everything, if it is little. Of more, a candidate that another one beats in both
period (longer) and bandwidth (less) is dropped, unless its period is shared; then the set is
thinned to `CANDIDATE_LIMIT`, keeping the best ones for bandwidth and the shared ones. When the
least overhead is asked for, only shared periods are kept, and a domain's own best where no shared
one comes within 2 % of it.

`lowest`, the bound of a domain, holds for every period on the grid, tried or not: Algorithm 1's
optimum, or the least of all if the whole range was tried, or the utilization where neither is
certain, as with tests that are only sufficient (`are_exact`). Errors: none; a domain that nothing
serves has no candidates, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hyperperiod._analysis import Shape
from hyperperiod.analysis.analyze import analyze
from hyperperiod.analysis.domains.algorithm_1 import Grid, optimal_interface
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    components_of,
    contract_under,
    shape_for,
)
from hyperperiod.analysis.fit.problem import Candidate, FitItem
from hyperperiod.analysis.overheads import event_cost_ns
from hyperperiod.analysis.resolve import DEFAULT_QUANTUM_NS, are_exact, resolve_what_can_be
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Domain, Sbf, Scope, System, format_time

# Periods that are tried for one domain, and candidates that are kept of them.
PERIOD_LIMIT = 160
CANDIDATE_LIMIT = 24
SHARED_LIMIT = 14
SPREAD = 48
# A domain keeps its own best period only if no shared one comes as near to it.
NEAR = Fraction(51, 50)


@dataclass(frozen=True)
class BudgetGrid:
    """Periods and budgets are multiples of `step_ns`, periods within the range if there is one.

    If it was `asked` for, so are the budgets of periods that the file gives.
    """

    step_ns: int
    low_ns: int | None = None
    high_ns: int | None = None
    asked: bool = False

    def clip(self, periods: Iterable[int]) -> list[int]:
        """The periods on the grid and in the range, in order, each once."""
        low_ns, high_ns = self.low_ns or 1, self.high_ns
        return sorted(
            {
                period_ns
                for period_ns in periods
                if period_ns > 0
                and period_ns % self.step_ns == 0
                and period_ns >= low_ns
                and (high_ns is None or period_ns <= high_ns)
            }
        )


def grid_of(system: System, periods: tuple[int, int] | None, step_ns: int | None) -> BudgetGrid:
    """The grid of a system: its quantum, what was asked for, or 1 ms."""
    low_ns, high_ns = periods or (None, None)
    whole_ns = system.quantum_ns or step_ns or DEFAULT_QUANTUM_NS
    return BudgetGrid(whole_ns, low_ns, high_ns, asked=step_ns is not None)


def coupled(system: System) -> bool:
    """Whether what a domain needs depends on who shares its pcpu: overheads, or the edp bound."""
    return event_cost_ns(system.overheads, system.pcpus) > 0 or system.sbf is Sbf.EDP


@dataclass(frozen=True)
class Candidates:
    """What one domain could be given: budgets by period, the bound, and why if there is none."""

    budgets: dict[int, int]
    lowest: Fraction
    best_ns: int | None = None
    failure: Verdict | None = None  # "no" is a fact, "unknown" all that the tests can tell
    whole: bool = False  # nothing else serves the domain: no other period, no less budget


class Tabulator:
    """Computes the budgets of the domains of a system.

    No period of a domain but its first is begun once the process has used `until` seconds of
    processor time, if that is not 0.
    """

    def __init__(self, system: System, grid: BudgetGrid, until: float = 0.0) -> None:
        self.system, self.grid, self.until = system, grid, until
        self.coupled = coupled(system)

    def given(self, domain: Domain) -> Candidates:
        """The table of a domain whose interface, or its period, the file gives."""
        if domain.interface is not None:
            one = domain.interface
            found = analyze(self.alone(domain))
            if found.schedulable is not True:
                reason = f"its interface does not serve it: {found.reason}"
                return Candidates({}, one.bandwidth, None, Verdict(found.schedulable, reason))
            only = {one.period_ns: one.budget_ns}
            return Candidates(only, one.bandwidth, one.period_ns, whole=True)
        assert domain.interface_period_ns is not None, "that is what given means"
        period_ns = domain.interface_period_ns
        budget_ns, failure = self._budget(domain, period_ns, self.budget_step_ns(domain))
        if budget_ns is None:
            return Candidates({}, Fraction(1), None, failure)
        only = {period_ns: budget_ns}
        if not self._exact(domain):
            return Candidates(only, domain.utilization / domain.vcpus, period_ns)
        return Candidates(only, Fraction(budget_ns, period_ns), period_ns, whole=True)

    def open(self, domain: Domain, shared: Iterable[int]) -> Candidates:
        """The table of a domain whose interface is to be chosen."""
        best_ns, lowest = self._algorithm_1(domain)
        inner, step_ns = self._settled(domain), self.budget_step_ns(domain)
        periods, whole = self._periods(domain, [*shared, best_ns or 0])
        budgets: dict[int, int] = {}
        failures: list[Verdict] = []
        # The best first: the time may not do for all of them.
        for period_ns in sorted(periods, key=lambda period_ns: period_ns != best_ns):
            if (budgets or failures) and self._over():
                whole = False
                break
            budget_ns, failure = self._budget(inner, period_ns, step_ns)
            if budget_ns is not None:
                budgets[period_ns] = budget_ns
            else:
                failures.append(failure)
        if not budgets:
            return Candidates({}, lowest, None, self._failure(domain, failures, whole=whole))
        best_ns = min(budgets, key=lambda p: (Fraction(budgets[p], p), -p))
        if not (whole and self._exact(domain)):
            return Candidates(budgets, lowest, best_ns)
        found = Fraction(budgets[best_ns], best_ns)
        certain = all(verdict.holds is False for verdict in failures)
        return Candidates(budgets, found, best_ns, whole=certain)

    def _failure(self, domain: Domain, failures: list[Verdict], *, whole: bool) -> Verdict:
        """Why no period will do: as a fact, if none can or all in the range were refused."""
        if self._over():
            return Verdict.unknown("the time limit is over, and no period was found that will do")
        for verdict in resolve_what_can_be(self.alone(domain)).failures.values():
            if verdict.holds is False or not failures:
                return verdict
        text = f"no period on the grid of {format_time(self.grid.step_ns)}{self._range()} will do"
        certain = whole and all(verdict.holds is False for verdict in failures)
        if certain and self._exact(domain):
            return Verdict.no(text)
        return Verdict.unknown(f"{text}, of those that were tried")

    def _over(self) -> bool:
        return bool(self.until) and time.process_time() >= self.until

    def _range(self) -> str:
        if self.grid.low_ns is None or self.grid.high_ns is None:
            return ""
        return f" from {format_time(self.grid.low_ns)} to {format_time(self.grid.high_ns)}"

    def _algorithm_1(self, domain: Domain) -> tuple[int | None, Fraction]:
        """The period and bandwidth of the optimum on the whole grid, without overheads."""
        floor = domain.utilization / domain.vcpus
        try:
            inner = self._settled(domain)
            components = [part for part in components_of(inner) if part.sources]
            contract = contract_under(self.system.policy, domain, self.system.sbf)
            shape = shape_for(contract, None, components)
        except NotCovered:
            return None, floor
        if not components or any(part.utilization > 1 for part in components):
            return None, floor
        until_ns = int(self.until * 10**9)
        found = optimal_interface(components, shape, self._whole_grid(domain), until_ns)
        if found.budget_ns is None:
            return None, floor
        bandwidth = Fraction(found.budget_ns, found.period_ns)
        certain = found.exact and shape is not Shape.HARMONIC
        certain = certain and self._by_interface(domain) and are_exact(components, contract)
        return found.period_ns, bandwidth if certain else floor

    def _exact(self, domain: Domain) -> bool:
        """Whether no budget below the least found serves a domain; else that is all tests say."""
        if not self.by_itself(domain):
            return False
        try:
            contract = contract_under(self.system.policy, domain, self.system.sbf)
            return are_exact(components_of(self._settled(domain)), contract)
        except NotCovered:
            return False

    def by_itself(self, domain: Domain) -> bool:
        """Whether what is proved of a domain depends on no other, nor on what overheads take."""
        return not self.coupled and self._by_interface(domain)

    def _by_interface(self, domain: Domain) -> bool:
        """Whether all that a domain needs, without overheads, is said by its tasks and interface.

        Else the servers beside it may prove that it needs less, or inner ones other than those that
        were computed.
        """
        inner = list(domain.domains)
        while inner:
            one = inner.pop()
            if one.interface is None:
                return False
            inner += one.domains
        return self.system.sbf not in (Sbf.EDP, Sbf.SERVERS)

    def _whole_grid(self, domain: Domain) -> Grid:
        """All that may be chosen for a domain, but for a range that was asked for."""
        given = domain.interface_period_range
        if given is None:
            return Grid.of_quanta(self.grid.step_ns)
        step_ns = given.step_ns or self.grid.step_ns
        return Grid(self.budget_step_ns(domain), given.min_ns, step_ns, given.max_ns)

    def budget_step_ns(self, domain: Domain) -> int:
        """The step of budgets: 1 ns where the file says the periods, and no grid is asked for."""
        if self.system.quantum_ns is not None or self.grid.asked:
            return self.grid.step_ns
        said = domain.interface_period_ns or domain.interface_period_range or domain.interface
        return 1 if said else self.grid.step_ns

    def _settled(self, domain: Domain) -> Domain:
        """The domain with inner interfaces computed once, where nothing outside moves them."""
        if not domain.domains or self.coupled:
            return domain
        return resolve_what_can_be(self.alone(domain)).system.domains[0].replace(interface=None)

    def alone(self, domain: Domain) -> System:
        """The system that has this domain only, on one pcpu if the policy is partitioned."""
        pcpu = 0 if self.system.policy.scope is Scope.PARTITIONED else None
        alone = domain.replace(pcpu=pcpu)
        pcpus = 1 if pcpu == 0 else self.system.pcpus
        nothing_else = {
            "domains": (alone,),
            "pcpus": pcpus,
            "flows": (),
            "swaps": (),
            "changes": (),
        }
        return self.system.replace(**nothing_else)

    def _budget(self, domain: Domain, period_ns: int, step_ns: int) -> tuple[int | None, Verdict]:
        """The least budget in whole steps for a period, if the domain had its pcpu to itself."""
        asked = domain.replace(interface_period_ns=period_ns, interface_period_range=None)
        resolution = resolve_what_can_be(self.alone(asked))
        interface = resolution.system.domains[0].interface
        if interface is None:
            return None, next(iter(resolution.failures.values()))
        budget_ns = -(-interface.budget_ns // step_ns) * step_ns
        if budget_ns > period_ns:
            reason = "the budget exceeds the period"
            return None, Verdict.no(reason) if self._exact(domain) else Verdict.unknown(reason)
        return budget_ns, Verdict.yes()

    def longest_ns(self, domain: Domain) -> int:
        """Longer periods only cost bandwidth, or nearly all of it."""
        own = [task.deadline_ns for task in domain.tasks if task.deadline_ns is not None]
        inner = [self.longest_ns(child) for child in domain.domains]
        return max([*own, *inner], default=self.grid.step_ns)

    def _periods(self, domain: Domain, wanted: Iterable[int]) -> tuple[list[int], bool]:
        """The periods to try, and whether these are all that the grid has in the range."""
        if domain.interface_period_range is not None:
            return self._periods_of_range(domain, wanted)
        step_ns = self.grid.step_ns
        low_ns = max(self.grid.low_ns or step_ns, step_ns)
        high_ns = self.grid.high_ns or self.longest_ns(domain)
        first, last = -(-low_ns // step_ns), high_ns // step_ns
        if last - first < PERIOD_LIMIT:
            every = self.grid.clip(step * step_ns for step in range(first, last + 1))
            return every, self.grid.high_ns is not None
        spread = {first + (last - first) * i**2 // SPREAD**2 for i in range(SPREAD + 1)}
        tried = [step * step_ns for step in spread | set(range(first, first + SPREAD))]
        tried += [p for p in wanted if p <= high_ns]
        for task in domain.tasks:
            if task.period_ns is not None:
                tried += [task.period_ns // parts for parts in range(1, 9)]
        return self.grid.clip(p for p in tried if p <= high_ns), False

    def _periods_of_range(self, domain: Domain, wanted: Iterable[int]) -> tuple[list[int], bool]:
        """The periods (ns) to try for a domain with a range, and whether they are all."""
        grid = self._whole_grid(domain)
        assert grid.last_ns is not None, "a range has an end"
        low_ns, high_ns = self.grid.low_ns or 0, self.grid.high_ns or grid.last_ns
        count = (grid.last_ns - grid.first_ns) // grid.step_ns + 1
        steps = set(range(min(count, PERIOD_LIMIT)))
        if count > PERIOD_LIMIT:
            steps = {(count - 1) * i**2 // SPREAD**2 for i in range(SPREAD + 1)}
            steps |= {(p - grid.first_ns) // grid.step_ns for p in wanted}
        tried = {grid.first_ns + step * grid.step_ns for step in steps if 0 <= step < count}
        return sorted(p for p in tried if low_ns <= p <= high_ns), count <= PERIOD_LIMIT


def shared_periods(grid: BudgetGrid, given: Sequence[int], longest_ns: int) -> list[int]:
    """Round multiples of the step that many domains may have in common, and given periods."""
    steps = max(1, longest_ns // grid.step_ns)
    round_ones = [m * 10**e for e in range(len(str(steps))) for m in (1, 2, 5)]
    powers = [2**e for e in range(steps.bit_length())]
    found = grid.clip(step * grid.step_ns for step in {*round_ones, *powers} if step <= steps)
    return sorted({*found, *given})


def keep(
    table: Candidates, shared: Sequence[int], *, only_shared: bool, near: Fraction = NEAR
) -> tuple[Candidate, ...]:
    """The candidates worth a search, by period."""
    budgets = table.budgets
    if len(budgets) <= (SHARED_LIMIT if only_shared else CANDIDATE_LIMIT):
        return tuple(Candidate(period_ns, budgets[period_ns]) for period_ns in sorted(budgets))
    front = _front(budgets)
    both = [period_ns for period_ns in budgets if period_ns in set(shared)]
    if only_shared:
        chosen = set(_spread(both, SHARED_LIMIT))
        best = min(Fraction(budgets[p], p) for p in budgets)
        if not any(Fraction(budgets[p], p) <= near * best for p in chosen):
            chosen.update(_cheapest(budgets, front, 1))
    else:
        chosen = {
            *_cheapest(budgets, front, 4),
            *_spread(both, CANDIDATE_LIMIT // 2),
        }
        room = CANDIDATE_LIMIT - len(chosen)
        chosen |= set(_spread([p for p in front if p not in chosen], room))
    return tuple(Candidate(period_ns, budgets[period_ns]) for period_ns in sorted(chosen))


def _front(budgets: dict[int, int]) -> list[int]:
    """Returns the periods of which no longer one needs as little bandwidth or less."""
    front: list[int] = []
    lowest: Fraction | None = None
    for period_ns in sorted(budgets, reverse=True):
        bandwidth = Fraction(budgets[period_ns], period_ns)
        if lowest is None or bandwidth < lowest:
            front.append(period_ns)
            lowest = bandwidth
    return front[::-1]


def _cheapest(budgets: dict[int, int], periods: Sequence[int], count: int) -> list[int]:
    return sorted(periods, key=lambda p: (Fraction(budgets[p], p), -p))[:count]


def _spread(periods: Sequence[int], count: int) -> list[int]:
    """Returns at most `count` of the periods, evenly spread, the first and the last among them."""
    if len(periods) <= count:
        return list(periods)
    if count < 2:
        return list(periods[:count])
    return [periods[i * (len(periods) - 1) // (count - 1)] for i in range(count)]


def items_of(
    system: System,
    grid: BudgetGrid,
    *,
    only_shared: bool,
    near: Fraction = NEAR,
    until: float = 0.0,
) -> tuple[list[FitItem], dict[str, Verdict]]:
    """The items of a system, and the domains that nothing serves, with the reason.

    Periods are tried until the process has used `until` seconds of processor time; 0: all of them.
    """
    tabulator = Tabulator(system, grid, until)
    served = [(i, domain) for i, domain in enumerate(system.domains) if not domain.best_effort]
    given = [_period_ns(domain) for _, domain in served if _period_ns(domain)]
    longest_ns = max((tabulator.longest_ns(domain) for _, domain in served), default=1)
    shared = shared_periods(grid, given, longest_ns)
    tables = {
        i: tabulator.given(domain) if _period_ns(domain) else tabulator.open(domain, shared)
        for i, domain in served
    }
    favourites = {table.best_ns for table in tables.values() if table.best_ns is not None}
    if len(favourites) <= SHARED_LIMIT:
        shared = sorted({*shared, *favourites})
    kept = {
        i: keep(table, shared, only_shared=only_shared, near=near) for i, table in tables.items()
    }
    items = [
        FitItem(
            index=i,
            name=domain.name,
            vcpus=domain.vcpus,
            candidates=kept[i],
            utilization=domain.utilization,
            least=tables[i].lowest * domain.vcpus,
            pin=domain.pcpu,
            priority=domain.priority,
            given=bool(_period_ns(domain)),
            step_ns=tabulator.budget_step_ns(domain),
            whole=tables[i].whole and len(kept[i]) == len(tables[i].budgets),
            by_itself=tabulator.by_itself(domain),
        )
        for i, domain in served
    ]
    failed = {
        domain.name: failure for i, domain in served if (failure := tables[i].failure) is not None
    }
    return items, failed


def _period_ns(domain: Domain) -> int:
    """The period (ns) that the file gives the domain's interface, or 0."""
    return domain.interface.period_ns if domain.interface else domain.interface_period_ns or 0
