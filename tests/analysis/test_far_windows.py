# SPDX-License-Identifier: BSD-2-Clause
"""EDF budgets that are decided far out, where the kernel skips from coincidence to coincidence."""

from __future__ import annotations

import random
import resource
import time
from fractions import Fraction
from math import ceil, lcm

import numpy as np

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
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
        early = shape is Shape.GENERAL and draw.random() < 0.4
        deadline = draw.randint((period + 1) // 2, period) if early else period
        budget, exact = _analysis.minimal_budget(Local.EDF, loads, shape, period, 1, deadline)
        assert exact
        for candidate, holds in ((budget, True), ((budget or deadline + 1) - 1, False)):
            if not candidate:
                continue
            supply = Supply(shape, period, candidate, deadline)
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


def loads_that_never_repeat(draw: random.Random) -> list[Load]:
    """Ten periods of 5 to 400 ms in nanoseconds, with a hyperperiod above 10^18 ns."""
    while True:
        periods = sorted(draw.randint(5_000_000, 400_000_000) for _ in range(10))
        if lcm(*periods) > 10**18:
            return [
                Load(int(period * draw.uniform(0.01, 0.09)), period, period) for period in periods
            ]


def test_no_hyperperiod_is_enumerated() -> None:
    """Neither memory nor time depends on it: budgets, and Algorithm 1 on a grid of 1 ms."""
    draw = random.Random(31)
    sets = [loads_that_never_repeat(draw) for _ in range(20)]
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    for loads in sets:
        for local in (Local.FIXED_PRIORITY, Local.EDF):
            period = loads[0].period // 2
            budget, exact = _analysis.minimal_budget(local, loads, Shape.GENERAL, period, 1)
            assert exact
            assert budget is not None
            utilization = sum(Fraction(load.wcet, load.period) for load in loads)
            assert Fraction(budget, period) >= utilization
            grid = (10**6, 10**6, 10**6, 0)
            best = _analysis.optimal_interface([(local, loads)], Shape.GENERAL, grid)
            assert best[1] > 0
            assert best[5]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 16 * 1024
    assert time.process_time() - begin < 10


def many_loads(draw: random.Random) -> list[Load]:
    """Ninety loads with deadlines below their periods of 10 ms to 1 s, in nanoseconds."""
    shares = [draw.expovariate(1) for _ in range(90)]
    loads = []
    for share in shares:
        period = int(10_000_000 * 100 ** draw.random())
        wcet = int(0.8 * share / sum(shares) * period) + 1
        loads.append(Load(wcet, period, max(wcet, int(draw.uniform(0.5, 1) * period))))
    return loads


def test_budgets_that_may_not_be_the_least_serve() -> None:
    """Where the last nanoseconds take too many windows, what is answered is enough, and close."""
    passed_over = 0
    for seed in range(20):
        loads = many_loads(random.Random(seed))
        budget, exact = _analysis.minimal_budget(Local.EDF, loads, Shape.GENERAL, 5_000_000, 1)
        assert budget is not None
        verdict, _ = _analysis.judge(
            Local.EDF, loads, (Shape.GENERAL, 5_000_000, budget, 0), looks=10**9
        )
        assert verdict is Verdict.HOLDS, seed
        if not exact:
            utilization = sum(Fraction(load.wcet, load.period) for load in loads)
            assert budget - utilization * 5_000_000 < 100, seed
            passed_over += 1
    assert passed_over > 5


def test_windows_near_the_longest_time() -> None:
    """Against the test that visits every deadline, with times of years."""
    judged = {Verdict.HOLDS: 0, Verdict.MISSES: 0}
    for seed in range(40):
        draw = random.Random(seed)
        for _ in range(25):
            loads = [
                Load(
                    draw.randint(1, period // 2),
                    period,
                    draw.randint(1, period),
                    draw.choice((0, draw.randint(1, 2**61))) // draw.choice((1, 2**40)),
                )
                for period in (draw.randint(2, 2 ** draw.randint(50, 61)) for _ in range(3))
            ]
            known = _analysis.processor_demand(loads)[0]
            verdict, _ = _analysis.judge(Local.EDF, loads, (Shape.GENERAL, 1, 1, 0))
            if Verdict.UNKNOWN in (known, verdict):
                continue
            assert known is verdict, (seed, loads)
            judged[verdict] += 1
    assert min(judged.values()) > 50, judged
