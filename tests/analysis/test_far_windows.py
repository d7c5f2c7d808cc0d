# SPDX-License-Identifier: BSD-2-Clause
"""EDF budgets that are decided far out, where the kernel skips from coincidence to coincidence."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil

import numpy as np

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import Supply

LONGEST = 1_000_000


def some_loads(draw: random.Random) -> list[Load]:
    shares = [draw.expovariate(1) for _ in range(draw.randint(2, 6))]
    total = draw.uniform(0.2, 0.9)
    loads = []
    for share in shares:
        period = draw.randint(50, 2000)
        kind = draw.random()
        low, high = (1, 1) if kind < 0.7 else (0.5, 1) if kind < 0.9 else (1, 2)
        deadline = max(1, int(draw.uniform(low, high) * period))
        jitter = 0 if draw.random() < 0.8 else draw.randint(0, period)
        wcet = max(1, int(total * share / sum(shares) * period))
        loads.append(Load(wcet, period, deadline, jitter))
    return loads


def horizon(loads: list[Load], supply: Supply) -> int | None:
    """Where the line above the demand meets the line below the supply; None if it never does."""
    rate = sum((Fraction(load.wcet, load.period) for load in loads), Fraction(0))
    if rate >= supply.bandwidth:
        return None
    ahead = supply.bandwidth * supply.blackout_ns
    for load in loads:
        late = max(0, load.period - load.deadline + load.jitter)
        ahead += Fraction(load.wcet * late, load.period)
    return ceil(ahead / (supply.bandwidth - rate)) + 1


def last_short_window(loads: list[Load], supply: Supply, longest: int) -> int | None:
    """The longest window whose demand the supply does not cover, looking at every one."""
    demand = np.zeros(longest + 1, dtype=np.int64)
    for load in loads:
        at_once = load.jitter // load.period + 1
        if load.deadline <= longest:
            demand[load.deadline] += at_once * load.wcet
        demand[load.deadline + at_once * load.period - load.jitter :: load.period] += load.wcet
    demand = np.cumsum(demand)
    rest = np.maximum(0, np.arange(longest + 1) - supply.blackout_ns)
    tail = np.minimum(rest % supply.period_ns, supply.budget_ns)
    short = np.nonzero(demand > rest // supply.period_ns * supply.budget_ns + tail)[0]
    return int(short[-1]) if len(short) else None


def test_least_budgets_against_all_windows() -> None:
    draw = random.Random(30)
    judged, far = 0, 0
    for _ in range(900):
        loads, period = some_loads(draw), draw.randint(2, 400)
        shape = Shape.GENERAL if draw.random() < 0.6 else draw.choice(list(Shape))
        budget, exact = _analysis.minimal_budget(Local.EDF, loads, shape, period, 1)
        assert exact
        for candidate, holds in ((budget, True), ((budget or period + 1) - 1, False)):
            if not candidate:
                continue
            supply = Supply(shape, period, candidate)
            longest = horizon(loads, supply)
            if longest is None:
                assert not holds
                continue
            if longest > LONGEST:
                continue
            short = last_short_window(loads, supply, longest)
            assert (short is None) == holds, (loads, supply)
            judged += 1
            far += short is not None and short > 16 * max(load.deadline for load in loads)
    assert judged > 900
    assert far > 5
