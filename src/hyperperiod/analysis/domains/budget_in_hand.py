# SPDX-License-Identifier: BSD-2-Clause
"""Fixed priority in a domain whose server has most of its budget when a busy window begins.

A supply bound assumes that the vcpu's own work has used the budget up just before a window. A
domain that asks for little cannot have done so. Deferrable servers, and cbs servers under EDF, keep
what is not used. So what was used before s, where the window of a task's level begins, is no more
than what the domain's tasks executed in the P before s: with response bounds R_j and jitter J_j
  used = sum over all tasks of ceil((P + R_j + J_j) / T_j) C_j, less one job
(of the task of the level that releases at s: its jobs before that one are a period apart from it;
the smallest job is taken). So at least B - used is left at s.

**Deferrable.** While that lasts, the server has work and budget; a refill on the way only adds.
Others take of [s, s + t) no more than I(t), as in `servers.known_servers`, but with s anywhere: a
server spends most if its next refill comes when it has just spent a budget. Under EDF all others
count.

**Cbs.** With q left, deadline d and x <= q, f - s <= U (d - s) - (q - x) (`servers.known_servers`).
A new period has q = B and d = s + P; else d - s <= P - B + q. The bound falls as q grows, so that
  f - s <= U (P - used) - (B - used) + x.
The period of q began at d - P, within P before s, and so it is `used` that counts.

If all work of the level that is released within t, and what may block it, is at most B - used and
done by t, the window ends by t. If no second job of the task comes before that, t bounds its
response. Lower bounds make less used: it is done again as long as that helps.

Assumptions: those of `servers.known_servers`; no busy task; every task has a response bound.
Inputs: a component, what is known of its server, response bounds in nanoseconds. Result: bounds,
none above what it was. Errors: none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.tasks.request_bound import rbf

ROUNDS = 8
"""How often lower bounds may make less used."""


@dataclass(frozen=True)
class InHand:
    """A server that keeps its budget: how long its vcpu waits for what is left of it.

    Deferrable: `stairs` of (amount, wait), good up to `reach_ns`. Cbs: the `bandwidth` of all
    servers on the pcpu, and no stairs.
    """

    period_ns: int
    budget_ns: int
    reach_ns: int
    stairs: tuple[tuple[int, int], ...] = ()
    bandwidth: Fraction = Fraction(1)

    def time_for(self, amount_ns: int, used_ns: int) -> int | None:
        """The time (ns) in which so much comes if no more was used; None if less may be left."""
        if amount_ns > min(self.reach_ns, self.budget_ns - used_ns):
            return None
        if self.stairs:
            return amount_ns + self.stairs[bisect_left(self.stairs, (amount_ns,)) - 1][1]
        left_ns = self.budget_ns - used_ns
        return floor(self.bandwidth * (self.period_ns - used_ns)) - left_ns + amount_ns


def bounds_in_hand(component: Component, hand: InHand, bounds_ns: Sequence[int]) -> list[int]:
    """The response bounds of the sources, highest priority first, where they become lower."""
    found = list(bounds_ns)
    if component.busy:
        return found
    loads = component.loads
    for _ in range(ROUNDS):
        before = list(found)
        for index in range(len(loads)):
            used_ns = _used(loads, found, hand.period_ns)
            used_ns -= min(load.wcet for load in loads[: index + 1])
            bound_ns = _response(loads[: index + 1], hand, used_ns)
            if bound_ns is not None:
                found[index] = min(found[index], bound_ns)
        if found == before:
            break
    return found


def _used(loads: Sequence[Load], bounds_ns: Sequence[int], period_ns: int) -> int:
    """What the tasks may execute in a period, one job too many."""
    return sum(
        -(-(period_ns + bound_ns + load.jitter) // load.period) * load.wcet
        for load, bound_ns in zip(loads, bounds_ns, strict=True)
    )


def _response(loads: Sequence[Load], hand: InHand, used_ns: int) -> int | None:
    """The end of the level's window of the last load; None if it may outlast what is left."""
    above, own = loads[:-1], loads[-1]
    time_ns = 1
    while time_ns <= own.period - own.jitter:
        work_ns = own.wcet + own.blocking + rbf(above, time_ns)
        next_ns = hand.time_for(work_ns, used_ns)
        if next_ns is None:
            return None
        if next_ns <= time_ns:
            return time_ns
        time_ns = next_ns
    return None
