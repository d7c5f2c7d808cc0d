# SPDX-License-Identifier: BSD-2-Clause
"""What is open in a system, and what a choice is.

An *item* is a domain with a server. It has candidate interfaces (one, if the file gives it) and
goes into a *bin*: a pcpu under a partitioned policy, all pcpus together under a global one. A
*choice* names a candidate and a bin for each item. Bandwidths are compared in whole units, so
that searching, bounding and solving see the same numbers: the unit divides every bandwidth
exactly if the periods allow it, else bandwidths are rounded down to 10^-9 of a pcpu, and bounds
stay bounds. (Larger numbers than these make solvers err.)

Best-effort domains are no items: they need no time. Those without a pin go to the pcpus in turn,
the last pcpu first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm
from typing import NamedTuple

from hyperperiod.analysis.analyze import analyze
from hyperperiod.model import Domain, InputError, Interface, Scope, System, to_toml
from hyperperiod.model.own_vcpu import served_by

UNIT_LIMIT = 10**9
ROUNDED_UNIT = 10**9


class Candidate(NamedTuple):
    """An interface that serves the tasks of a domain."""

    period_ns: int
    budget_ns: int


@dataclass(frozen=True)
class FitItem:
    """A domain with a server, what it may be given, and what is fixed."""

    index: int  # of the domain in the file
    name: str
    vcpus: int
    candidates: tuple[Candidate, ...]
    utilization: Fraction
    least: Fraction  # no interface that may be chosen has less bandwidth, candidate or not
    pin: int | None = None
    priority: int | None = None
    given: bool = False  # the file says the interface, or its period
    step_ns: int = 1  # budgets are multiples of it
    whole: bool = False  # the candidates are all that may be chosen
    by_itself: bool = True  # what is proved of it does not depend on the others

    def bandwidth(self, choice: int) -> Fraction:
        """The bandwidth that all vcpus of the domain get together with a choice."""
        one = self.candidates[choice]
        return self.vcpus * Fraction(one.budget_ns, one.period_ns)


class Assignment(NamedTuple):
    """The candidate and the bin that are chosen for one item."""

    candidate: int
    bin: int


Choice = tuple[Assignment, ...]


@dataclass(frozen=True)
class Wishes:
    """Wishes about pcpus: pairs of domains, by name, that share none, and those left free."""

    apart: frozenset[frozenset[str]] = frozenset()
    reserved: frozenset[int] = frozenset()

    def quarrel(self, names: Sequence[str]) -> tuple[str, str] | None:
        """Two of these domains that are to share no pcpu, or None."""
        if not self.apart:
            return None
        pairs = combinations(sorted(set(names)), 2)
        return next((pair for pair in pairs if frozenset(pair) in self.apart), None)


@dataclass(frozen=True)
class FitProblem:
    """A system to be fitted: items, bins and the room in each bin, in pcpus."""

    system: System
    items: tuple[FitItem, ...]
    bins: tuple[int, ...]  # numbers of the pcpus that may be used; (0,) under a global policy
    room: int = 1
    beside: dict[int, tuple[Domain, ...]] = field(default_factory=dict)  # best effort, by bin
    wishes: Wishes = Wishes()

    @cached_property
    def unit(self) -> int:
        """The units of bandwidth of a pcpu: all bandwidths are whole numbers of them."""
        whole = lcm(*(c.period_ns for item in self.items for c in item.candidates))
        return whole if whole <= UNIT_LIMIT else ROUNDED_UNIT

    @cached_property
    def weights(self) -> tuple[tuple[int, ...], ...]:
        """The bandwidth of each candidate of each item in units, rounded down."""
        return tuple(
            tuple(
                item.vcpus * self.unit * one.budget_ns // one.period_ns for one in item.candidates
            )
            for item in self.items
        )

    def weight(self, choice: Sequence[Assignment]) -> int:
        """The whole bandwidth of a choice in units."""
        return sum(self.weights[i][place.candidate] for i, place in enumerate(choice))

    def bandwidth(self, choice: Sequence[Assignment]) -> Fraction:
        """The whole bandwidth of a choice, exactly."""
        return sum(
            (item.bandwidth(p.candidate) for item, p in zip(self.items, choice, strict=True)),
            Fraction(0),
        )

    @property
    def whole(self) -> bool:
        """Whether the candidates are all that may be chosen: else nothing is proved impossible."""
        return all(item.whole for item in self.items)

    def allowed_bins(self, item: FitItem) -> tuple[int, ...]:
        if item.pin is not None:
            return (item.pin,)
        return tuple(number for number in self.bins if number not in self.wishes.reserved)

    def members(self, choice: Sequence[Assignment]) -> dict[int, list[tuple[int, int]]]:
        """Returns the members of every bin, each as the numbers of its item and candidate."""
        found: dict[int, list[tuple[int, int]]] = {number: [] for number in self.bins}
        for number, place in enumerate(choice):
            found[place.bin].append((number, place.candidate))
        return found

    @property
    def is_global(self) -> bool:
        return self.system.policy.scope is Scope.GLOBAL


def with_only(system: System, domains: Sequence[Domain]) -> System:
    """The system with these domains alone, and of its flows the hops that are in them."""
    there = {f"{domain.name}.{task.name}" for domain in domains for task in domain.tasks}
    kept = ((flow, tuple(hop for hop in flow.hops if hop in there)) for flow in system.flows)
    flows = tuple(flow.replace(hops=hops) for flow, hops in kept if hops)
    return system.replace(domains=tuple(domains), flows=flows)


def settle_best_effort(system: System, pcpus: Sequence[int]) -> System:
    """The system with a pin for every best-effort domain that has none and needs one."""
    if system.policy.scope is Scope.GLOBAL:
        return system
    turn = 0
    domains = list(system.domains)
    for index, domain in enumerate(domains):
        if domain.best_effort and domain.pcpu is None:
            pcpu = pcpus[-1 - turn % len(pcpus)]
            domains[index] = domain.replace(pcpu=pcpu)
            turn += 1
    return system.replace(domains=tuple(domains))


def completed(
    problem: FitProblem,
    choice: Sequence[Assignment],
    budgets: dict[int, int],
    priorities: dict[int, int] | None,
) -> System:
    """The system with what was chosen filled in.

    `budgets` and `priorities` by item; without priorities they stay as they are.
    """
    domains = list(problem.system.domains)
    for number, (item, place) in enumerate(zip(problem.items, choice, strict=True)):
        period_ns = item.candidates[place.candidate].period_ns
        domains[item.index] = domains[item.index].replace(
            **served_by(Interface(period_ns=period_ns, budget_ns=budgets[number])),
            pcpu=None if problem.is_global else place.bin,
            priority=item.priority if priorities is None else priorities[number],
        )
    return problem.system.replace(domains=tuple(domains))


def refusal(chosen: System, *, parts: bool) -> str:
    """Returns why a choice is no answer: its file does not load, or no proof; else empty.

    Of vcpus that are `parts` of the domains of a file no file is written.
    """
    try:
        if not parts:
            System.of(tomllib.loads(to_toml(chosen)))
    except InputError as error:
        return f"what was chosen is no system: {error}"
    result = analyze(chosen)
    proved = result.schedulable is True
    return "" if proved else f"what was chosen is not proved: {result.reason}"
