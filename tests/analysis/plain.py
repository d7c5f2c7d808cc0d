# SPDX-License-Identifier: BSD-2-Clause
"""The definitions, written to be checked by reading: every window is looked at, one by one.

Supply comes in unit slots; a window is a number of slots. Nothing here is clever or fast, and
nothing is shared with the code under test but the order of the five numbers of a load.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import lcm

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Load

LONGEST = 4000  # no window beyond this is looked at
LONGEST_BUSY = 400


@cache
def supply(shape: Shape, period: int, budget: int, deadline: int = 0) -> tuple[int, ...]:
    """sbf(0), sbf(1), ... as the sum of the slots of the worst pattern."""
    gap = period - budget
    late = (deadline or period) - budget
    blackout = {Shape.GENERAL: gap + late, Shape.HARMONIC: gap, Shape.POLLING: gap + period}[shape]
    total, sums = 0, [0]
    for slot in range(LONGEST):
        total += slot >= blackout and (slot - blackout) % period < budget
        sums.append(total)
    return tuple(sums)


def released(loads: Sequence[Load], window: int) -> int:
    """Jobs released in [0, window), times their wcet, counting one release after the other."""
    total = 0
    for load in loads:
        job = 0
        while max(0, job * load.period - load.jitter) < window:
            total += load.wcet
            job += 1
    return total


def due(loads: Sequence[Load], window: int) -> int:
    """Jobs released at or after 0 with a deadline at or before the end of the window."""
    total = 0
    for load in loads:
        job = 0
        while max(0, job * load.period - load.jitter) + load.deadline <= window:
            total += load.wcet
            job += 1
    return total


def fixed_priority(
    loads: Sequence[Load], shape: Shape, period: int, budget: int, deadline: int = 0
) -> bool | None:
    """Every job of every busy window is done by its deadline, also if it is blocked once.

    None: a busy window that is so long may never end.
    """
    if sum(Fraction(load.wcet, load.period) for load in loads) > Fraction(budget, period):
        return False
    sums = supply(shape, period, budget, deadline)
    for index, own in enumerate(loads):
        job, finish = 0, 1
        while True:
            release = max(0, job * own.period - own.jitter)
            if release > LONGEST_BUSY:
                return None
            done = next(
                (
                    window
                    for window in range(finish, release + own.deadline + 1)
                    if sums[window]
                    >= own.blocking + (job + 1) * own.wcet + released(loads[:index], window)
                ),
                None,
            )
            if done is None:
                return False
            job, finish = job + 1, done
            if max(0, job * own.period - own.jitter) >= finish:
                break
    return True


def edf(
    loads: Sequence[Load], shape: Shape, period: int, budget: int, deadline: int = 0
) -> bool | None:
    """Every window up to the hyperperiod and a bit holds its demand; None: it is too long.

    Beside the demand it holds what may block a job that is due in it.
    """
    if sum(Fraction(load.wcet, load.period) for load in loads) > Fraction(budget, period):
        return False
    longest = lcm(period, *(load.period for load in loads)) + 2 * period
    longest += max(load.deadline for load in loads)
    if longest > LONGEST:
        return None
    sums = supply(shape, period, budget, deadline)
    return all(
        due(loads, window) + held_up(loads, window) <= sums[window]
        for window in range(1, longest + 1)
    )


def held_up(loads: Sequence[Load], window: int) -> int:
    """The longest blocking of a job that is released and due in the window."""
    return max([0, *(load.blocking for load in loads if load.deadline <= window)])


def some_loads(draw: random.Random, *, plain: bool = False) -> list[Load]:
    """One to four loads with small periods; `plain` leaves jitter and the like out."""
    count = draw.randint(1, 4)
    loads = []
    for _ in range(count):
        period = draw.choice([2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30])
        wcet = draw.randint(1, max(1, period // count))
        kind = draw.random()
        if plain or kind < 0.5:
            deadline = period
        else:
            deadline = draw.randint(wcet, period if kind < 0.8 else 3 * period)
        jitter = 0 if plain or draw.random() < 0.7 else draw.randint(0, 2 * period)
        blocking = 0 if plain or draw.random() < 0.7 else draw.randint(1, period)
        loads.append(Load(wcet, period, deadline, jitter, blocking))
    return loads


def max_work(load: Load, window: int, slack: int = 0) -> int:
    """What jobs of a load run at most in a window that ends at a deadline, job by job.

    The last job is due when the window ends, those before it a period apart; each ends `slack`
    before its deadline, and the first of them may have been released before the window.
    """
    total, due_at = 0, window
    while due_at > 0:
        total += max(0, min(load.wcet, due_at - (slack if due_at < load.period else 0)))
        due_at -= load.period
    return total


def bcl_lost(loads: Sequence[Load], own: int, slacks: Sequence[int]) -> int:
    """The sum of BCL's inequality: what the others take from a job of the load numbered `own`."""
    room = loads[own].deadline - loads[own].wcet + 1
    return sum(
        min(room, max_work(load, loads[own].deadline, slacks[other]))
        for other, load in enumerate(loads)
        if other != own
    )


def bcl(loads: Sequence[Load], pcpus: int) -> bool:
    """Whether every load satisfies BCL's inequality."""
    none = [0] * len(loads)
    return all(
        bcl_lost(loads, own, none) < pcpus * (load.deadline - load.wcet + 1)
        for own, load in enumerate(loads)
    )


def iterative_bcl(loads: Sequence[Load], pcpus: int) -> list[int] | None:
    """The bounds on responses when all loads are confirmed; slacks grow until nothing changes."""
    slacks = [0] * len(loads)
    while True:
        before, confirmed = list(slacks), True
        for own, load in enumerate(loads):
            slack = load.deadline - load.wcet - bcl_lost(loads, own, slacks) // pcpus
            confirmed = confirmed and slack >= 0
            slacks[own] = max(slack, slacks[own])
        if confirmed:
            return [load.deadline - slack for load, slack in zip(loads, slacks, strict=True)]
        if slacks == before:
            return None


def baker(loads: Sequence[Load], pcpus: int) -> int | None:
    """The number (from 1) of the first load that Baker's inequality does not confirm, or None."""
    for number, own in enumerate(loads, start=1):
        density = Fraction(own.wcet, own.deadline)
        total = Fraction(0)
        for load in loads:
            rate = Fraction(load.wcet, load.period)
            share = rate * (1 + Fraction(load.period - load.deadline, own.deadline))
            if rate > density:
                share += Fraction(load.wcet - density * load.period) / own.deadline
            total += min(Fraction(1), share)
        if total > pcpus * (1 - density) + density:
            return number
    return None
