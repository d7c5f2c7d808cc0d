# SPDX-License-Identifier: BSD-2-Clause
"""Computed budgets made smaller where servers have explicit deadlines (`sbf = "edp"`).

The budgets come in as those of the general supply bound, whose deadline is the period. A server
of the host whose budget comes earlier (`edp`) needs less. From the highest priority down, each
computed budget becomes the least with which its domain is schedulable, given the response bound
R of its server below the budgets above it; what is above has shrunk by then, which only helps.
Servers of equal priority stand in each other's way: their budgets grow together from the
smallest, each to what it needs beside the others, until none has to grow. That ends at the least
budgets that suit each other, since a larger budget elsewhere never lets one's own be smaller.

A smaller budget has a smaller R, but R falls in steps, whenever a refill from above no longer
comes in time to preempt, so "schedulable" is not monotone in the budget. Between two steps the
interference I = R - budget is fixed, the blackout period + I - budget falls as the budget
grows, and bisection is exact. The stretches are looked at from below, a bounded number of them;
beyond that the budget stays as it was. Domains with several vcpus, which stand in each other's
way, and inner domains keep theirs.

Inputs: a resolution. Result: its system with smaller budgets. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.domain_level import components_of
from hyperperiod.analysis.domains.edp import refusal
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU, Supply
from hyperperiod.analysis.overheads import budget_loss_ns
from hyperperiod.analysis.servers.groups import domains_by_group, groups_of
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Domain, Interface, Sbf, System

# So many preemptions from above within one period are more than anybody has.
STRETCHES = 2000
# Beyond so many steps towards each other, equals keep what they had.
ROUNDS = 1000


def shrink_budgets(system: System, computed: Callable[[Domain], bool]) -> System:
    """The system with the least budgets that explicit deadlines allow, where ours to choose."""
    if system.sbf is not Sbf.EDP or refusal(system.policy) is not None:
        return system
    for number, members in enumerate(domains_by_group(system)):
        group = groups_of(system)[number]
        ours = {
            index
            for index in members
            if computed(system.domains[index]) and system.domains[index].vcpus == 1
        }
        for equals in _by_priority(group):
            system = _shrink_equals(system, number, [index for index in equals if index in ours])
    return system


def _by_priority(group: Group) -> list[list[int]]:
    """The domains of a pcpu, highest priority first, equals together."""
    ranked = sorted(group.servers, key=lambda server: server.priority)
    return [
        [server.domain_index for server in equals]
        for _, equals in groupby(ranked, key=lambda server: server.priority)
    ]


def _shrink_equals(system: System, number: int, ours: list[int]) -> System:
    """Budgets that grow from nothing until each is enough beside the others."""
    given = {index: _budget_ns(system, index) for index in ours}
    smallest = dict.fromkeys(ours, system.quantum_ns or 1)
    changed = _with_budgets(system, smallest)
    for _ in range(ROUNDS):
        found = {
            index: _Shrinker(changed, number, index, given[index]).min_budget() for index in ours
        }
        min_budget = {index: budget for index, budget in found.items() if budget is not None}
        if len(min_budget) < len(ours):
            return system
        grown = _with_budgets(changed, min_budget)
        if grown == changed:
            return changed
        changed = grown
    return system


def _budget_ns(system: System, index: int) -> int:
    interface = system.domains[index].interface
    assert interface is not None, "only budgets of servers shrink"
    return interface.budget_ns


def _with_budgets(system: System, budgets: dict[int, int]) -> System:
    domains = list(system.domains)
    for index, budget_ns in budgets.items():
        interface = domains[index].interface
        assert interface is not None, "only budgets of servers shrink"
        smaller = Interface(period_ns=interface.period_ns, budget_ns=budget_ns)
        domains[index] = domains[index].replace(interface=smaller)
    return system.replace(domains=tuple(domains))


@dataclass(frozen=True)
class _Stretch:
    """Budgets from `first` to `last` in whole granules, all with the same interference."""

    first: int
    last: int
    interference: int


class _Shrinker:
    """The search for one domain's budget, given all the others."""

    def __init__(self, system: System, number: int, index: int, max_ns: int) -> None:
        group = groups_of(system)[number]
        domain = system.domains[index]
        interface = domain.interface
        assert interface is not None, "only budgets of servers shrink"
        own = next(server for server in group.servers if server.domain_index == index)
        self.period_ns, self.max_ns = interface.period_ns, max_ns
        self.granule_ns = system.quantum_ns or 1
        beside = domains_by_group(system)[number]
        self.lost_ns = budget_loss_ns(system, [system.domains[i] for i in beside], domain)
        self.above = [*group.lost, *(_load(s) for s in group.servers if _delays(s, own))]
        self.components = [part for part in components_of(domain) if part.sources]

    def min_budget(self) -> int | None:
        """The least budget that does, if it is at most the one that was given."""
        for stretch in self._stretches():
            if self._serves(stretch, stretch.last):
                return self._bisect(stretch)
        return None

    def _stretches(self) -> Iterator[_Stretch]:
        asked = max(part.utilization for part in self.components)
        min_ns = max(1, int(asked * self.period_ns)) + self.lost_ns
        budget_ns = -(-min_ns // self.granule_ns) * self.granule_ns
        for _ in range(STRETCHES):
            if budget_ns > self.max_ns:
                return
            response_ns = self._response(budget_ns)
            if response_ns is None:
                return
            interference = response_ns - budget_ns
            longest = _last_with_same_request(self.above, response_ns) - interference
            last = min(longest // self.granule_ns * self.granule_ns, self.max_ns)
            last = max(last, budget_ns)
            yield _Stretch(budget_ns, last, interference)
            budget_ns = last + self.granule_ns

    def _response(self, budget_ns: int) -> int | None:
        own = Load(budget_ns, self.period_ns, self.period_ns)
        found, bound_ns = WHOLE_PCPU.last_response([*self.above, own])
        return bound_ns if found is _analysis.Verdict.HOLDS else None

    def _serves(self, stretch: _Stretch, budget_ns: int) -> bool:
        response_ns = budget_ns + stretch.interference
        useful_ns = budget_ns - self.lost_ns
        if response_ns > self.period_ns or useful_ns <= 0:
            return False
        return all(self._holds(part, useful_ns, response_ns) for part in self.components)

    def _holds(self, part: Component, budget_ns: int, deadline_ns: int) -> bool:
        supply = Supply(Shape.GENERAL, self.period_ns, budget_ns, deadline_ns)
        found, _ = supply.judge(part.local, part.loads)
        return found is _analysis.Verdict.HOLDS

    def _bisect(self, stretch: _Stretch) -> int:
        if self._serves(stretch, stretch.first):
            return stretch.first

        def serves(granules: int) -> bool:
            return self._serves(stretch, stretch.first + granules * self.granule_ns)

        steps = (stretch.last - stretch.first) // self.granule_ns
        return stretch.first + last_holding(serves, steps, 0) * self.granule_ns


def _delays(other: Server, own: Server) -> bool:
    return other is not own and other.priority <= own.priority


def _load(server: Server) -> Load:
    return Load(server.budget_ns, server.period_ns, server.period_ns)


def _last_with_same_request(above: list[Load], window_ns: int) -> int:
    """The longest window in which no more is asked for than in this one."""
    ends = [
        -(-(window_ns + load.jitter) // load.period) * load.period - load.jitter for load in above
    ]
    return min(ends, default=2**61)
