# SPDX-License-Identifier: BSD-2-Clause
"""Drawn tasks of one vcpu, small enough for every phase to be tried."""

from __future__ import annotations

import random

from hyperperiod.analysis.component import Load


def some_loads(draw: random.Random, *, jitter: bool) -> list[Load]:
    """One to four tasks in a random order of priority, mostly of a utilisation up to 1."""
    count = draw.randint(1, 4)
    loads = []
    for _ in range(count):
        period = draw.choice([2, 3, 4, 5, 6, 8, 10, 12])
        wcet = draw.randint(1, max(1, 2 * period // (count + 1)))
        deadline = draw.choice([period, draw.randint(1, period), draw.randint(1, 3 * period)])
        early = draw.randint(0, 2 * period) if jitter and draw.random() < 0.5 else 0
        loads.append(Load(wcet, period, max(deadline, wcet), early))
    return loads


def tiny(draw: random.Random) -> list[Load]:
    """Two or three tasks whose phases can all be tried."""
    loads = []
    for _ in range(draw.randint(2, 3)):
        period = draw.randint(2, 5)
        wcet = draw.randint(1, max(1, period - 2))
        loads.append(Load(wcet, period, draw.randint(wcet, period)))
    return loads
