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
