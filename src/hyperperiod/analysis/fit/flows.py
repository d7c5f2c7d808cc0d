# SPDX-License-Identifier: BSD-2-Clause
"""More budget where flows pass, where what the tasks need is not enough for their items.

Bursts, queues and deadlines from end to end are no task's, so the candidates of a domain know
nothing of them. What was chosen is therefore widened until `analyze` proves the whole: the domains
that flows pass, all or one of them, get shares of what is left of their periods, with long periods
first. What was found is narrowed again, domain by domain: of each of its periods the least budget
that is still proved (bisection in steps of the grid), until no domain can have less.

A budget that is not proved may be above one that is: that costs bandwidth and no proof, since
nothing is returned that was not proved itself. Inputs: a complete system, the domains that are
open, and the judge. Errors: none; Ctrl-C leaves what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from hyperperiod.analysis.fit.problem import Candidate, FitItem
from hyperperiod.model import Interface, System
from hyperperiod.model.own_vcpu import served_by

# The shares of what is left of a period that are tried.
_SHARES = 16


def items_of_flows(system: System, items: Sequence[FitItem]) -> list[FitItem]:
    """The domains that flows pass, drivers among them, and whose budgets are not given."""
    drivers = {device.name: device.driver for device in system.devices}
    passed = {hop.rpartition(".")[0] for flow in system.flows for hop in flow.hops}
    passed |= {drivers[end] for flow in system.flows for end in (flow.via, flow.out) if end}
    given = {domain.name for domain in system.domains if domain.interface is not None}
    return [item for item in items if item.name in passed - given]


class Widening:
    """Searches for interfaces with which the flows of a system are proved; `best` is the answer."""

    def __init__(
        self,
        system: System,
        items: Sequence[FitItem],
        proved: Callable[[System], bool],
        expired: Callable[[], bool],
    ) -> None:
        self.system, self.items = system, items
        self.proved, self.expired = proved, expired
        self.best: System | None = None
        self._refused: set[tuple[Candidate, ...]] = set()  # shares of a coarse grid are often equal

    def run(self) -> None:
        for chosen in self._wide():
            if self.expired():
                return
            if self._holds(chosen):
                self._narrow(chosen)
                return

    def _wide(self) -> Iterator[list[Candidate]]:
        """Choices with more and more budget, for long periods first."""
        everyone = range(len(self.items))
        wider = [set(everyone), *({one} for one in everyone if len(everyone) > 1)]
        caps = sorted({one.period_ns for item in self.items for one in item.candidates})
        for cap_ns in reversed(caps):
            least = [_longest_below(item, cap_ns) for item in self.items]
            for share in range(_SHARES + 1):
                for some in wider:
                    yield [
                        _wider(item, one, share) if number in some else one
                        for number, (item, one) in enumerate(zip(self.items, least, strict=True))
                    ]

    def _narrow(self, chosen: list[Candidate]) -> None:
        narrower = True
        while narrower:
            narrower = False
            for number, item in enumerate(self.items):
                for least in item.candidates:
                    step_ns, now = item.step_ns, chosen[number]
                    low = least.budget_ns // step_ns
                    # The most steps of this period that take less bandwidth than now.
                    high = -(-now.budget_ns * least.period_ns // (now.period_ns * step_ns)) - 1
                    while low <= high and not self.expired():
                        middle = (low + high) // 2
                        one = Candidate(least.period_ns, middle * step_ns)
                        other = [*chosen[:number], one, *chosen[number + 1 :]]
                        if self._holds(other):
                            chosen, narrower, high = other, True, middle - 1
                        else:
                            low = middle + 1

    def _holds(self, chosen: Sequence[Candidate]) -> bool:
        if tuple(chosen) in self._refused:
            return False
        domains = list(self.system.domains)
        for item, one in zip(self.items, chosen, strict=True):
            interface = Interface(period_ns=one.period_ns, budget_ns=one.budget_ns)
            domains[item.index] = domains[item.index].replace(**served_by(interface))
        system = self.system.replace(domains=tuple(domains))
        if not self.proved(system):
            self._refused.add(tuple(chosen))
            return False
        self.best = system
        return True


def _longest_below(item: FitItem, cap_ns: int) -> Candidate:
    """The candidate of the longest period up to that, or of the shortest there is."""
    below = [one for one in item.candidates if one.period_ns <= cap_ns]
    return max(below) if below else min(item.candidates)


def _wider(item: FitItem, one: Candidate, share: int) -> Candidate:
    more = Fraction(share, _SHARES) * (one.period_ns - one.budget_ns)
    steps = (one.budget_ns + int(more)) // item.step_ns
    return Candidate(one.period_ns, max(one.budget_ns, steps * item.step_ns))
