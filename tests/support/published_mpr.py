# SPDX-License-Identifier: BSD-2-Clause
"""MPR and DMPR as they are published, and as the tool CARTS computes them. They never count.

Papers: Easwaran, Shin and Lee, Real-Time Systems 2009 (MPR: Definition 1, Equations 5 to 7,
Theorem 1); Xu et al., RTSS 2013 (DMPR). CARTS calls its version of the first MPR2.

Two things differ from `mpr`. The test compares m C_k + sum min(W_i, L - C_k) + ... with the
supply and lets them be equal, which is not sound: it accepts three tasks with C, D, T = 5, 6, 100
on two whole pcpus. And the supply subtracts m - b, b = Q mod m, also where b is 0, which costs a
time unit or two; at Q = m P it is the whole m t.

Inputs: loads, a period and whole budgets in one coarse unit of time: windows are looked at one by
one. Results: whether the published test accepts, and the first interface (vcpus, budget) that it
accepts, as CARTS searches: vcpus upward from the utilization, budgets upward. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor

from hyperperiod.analysis.component import Load

SupplyBound = Callable[[int, int, int, int], int]

# CARTS gives up on interfaces that need more windows than this.
MAX_WINDOWS = 20_000


def mpr_supply(period: int, resource: int, vcpus: int, window: int) -> int:
    """The supply bound of MPR (period, resource, vcpus) as printed."""
    if resource == vcpus * period:
        return vcpus * window
    least, more = divmod(resource, vcpus)
    since = window - (period - least - (more > 0))
    if since < 0:
        return 0
    periods, rest = divmod(since, period)
    supplied = periods * resource + max(0, vcpus * rest - (vcpus * period - resource))
    return supplied if 1 <= rest <= period - least else supplied - (vcpus - more)


def dmpr_supply(period: int, resource: int, vcpus: int, window: int) -> int:
    """The supply bound of vcpus - 1 whole pcpus and one vcpu with the rest."""
    budget = resource - (vcpus - 1) * period
    periods, rest = divmod(max(0, window - 2 * (period - budget)), period)
    return (vcpus - 1) * window + periods * budget + min(rest, budget)


def published_demand(loads: Sequence[Load], own: int, ahead: int, vcpus: int) -> int:
    """DEM of Theorem 1 for load number `own` and its release `ahead` after the window began."""
    me = loads[own]
    window = ahead + me.deadline
    without, carried = 0, []
    for number, load in enumerate(loads):
        jobs = (window + load.period - load.deadline) // load.period
        begun, room = jobs * load.wcet, window - me.wcet
        if number == own:
            begun, room = begun - load.wcet, ahead
        brought = min(load.wcet, max(0, window - jobs * load.period))
        without += min(begun, room)
        carried.append(min(begun + brought, room) - min(begun, room))
    return without + sum(sorted(carried, reverse=True)[: vcpus - 1]) + vcpus * me.wcet


def published_test(
    loads: Sequence[Load], period: int, resource: int, vcpus: int, supply: SupplyBound
) -> bool:
    """Theorem 1, for every window up to the bound of Theorem 2."""
    room = Fraction(resource, period) - sum(Fraction(load.wcet, load.period) for load in loads)
    if room <= 0:
        return False
    heavy = sum(sorted((load.wcet for load in loads), reverse=True)[: vcpus - 1])
    late = sum(Fraction((load.period - load.deadline) * load.wcet, load.period) for load in loads)
    gap = Fraction(resource, period) * (2 + 2 * (period - Fraction(resource, vcpus)))
    for own, load in enumerate(loads):
        last = floor((heavy + vcpus * load.wcet - load.deadline * room + late + gap) / room)
        if last > MAX_WINDOWS:
            return False
        for ahead in range(max(0, last) + 1):
            wanted = published_demand(loads, own, ahead, vcpus)
            if wanted > supply(period, resource, vcpus, ahead + load.deadline):
                return False
    return True


def published_interface(
    loads: Sequence[Load], period: int, supply: SupplyBound, vcpus: Sequence[int] = ()
) -> tuple[int, int] | None:
    """The first (vcpus, budget) that the published test accepts."""
    least = ceil(sum(Fraction(load.wcet, load.period) for load in loads))
    for count in vcpus or range(max(1, least), 2 * len(loads) + 1):
        for resource in range((count - 1) * period + 1, count * period + 1):
            if published_test(loads, period, resource, count, supply):
                return count, resource
    return None


def interface_loads(period: int, resource: int, vcpus: int) -> list[Load]:
    """The vcpus of MPR as loads of the level around them: the budget spread evenly (Theorem 2)."""
    least, more = divmod(resource, vcpus)
    return [Load(least + (number < more), period, period) for number in range(vcpus)]
