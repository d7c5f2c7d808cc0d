# SPDX-License-Identifier: BSD-2-Clause
"""The tests inside a domain, and the budgets found with them, against plain scanning."""

from __future__ import annotations

import random
from fractions import Fraction
from math import lcm

import pytest
from tests.analysis import plain

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.prm_fifo import fifo
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.tasks.demand_bound import dbf
from hyperperiod.analysis.tasks.request_bound import rbf

WORLDS = 700
PLAIN = {Local.FIXED_PRIORITY: plain.fixed_priority, Local.EDF: plain.edf}


def component(local: Local, loads: list[Load]) -> Component:
    return Component(local, tuple(NamedLoad(f"t{i}", load) for i, load in enumerate(loads)))


@pytest.mark.parametrize("local", list(PLAIN))
def test_verdicts_and_budgets(local: Local) -> None:
    """Every budget of every small world; the least budget is the first that holds."""
    draw = random.Random(20)
    decided = 0
    for _ in range(WORLDS):
        loads = plain.some_loads(draw)
        shape, period = draw.choice(list(Shape)), draw.randint(1, 12)
        wanted = [PLAIN[local](loads, shape, period, budget) for budget in range(1, period + 1)]
        for budget, want in enumerate(wanted, 1):
            found, _ = _analysis.judge(local, loads, (shape, period, budget, 0))
            if want is None or found is Verdict.UNKNOWN:
                continue
            decided += 1
            assert (found is Verdict.HOLDS) == want, (loads, shape, period, budget)
        found_budget, exact = _analysis.minimal_budget(local, loads, shape, period, 1)
        if exact and None not in wanted:
            first = wanted.index(True) + 1 if True in wanted else None
            assert found_budget == first, (loads, shape, period)
    assert decided > 4000


def test_bounds_are_what_their_definitions_count() -> None:
    draw = random.Random(21)
    for _ in range(100):
        loads = plain.some_loads(draw)
        for window in range(1, 100):
            assert rbf(loads, window) == plain.released(loads, window)
            assert dbf(loads, window) == plain.due(loads, window)


def fifo_worst(draw: random.Random, loads: list[Load], supply: Supply) -> int:
    """The longest response of one random run: releases as they come, supply at its worst."""
    slots = plain.supply(supply.shape, supply.period_ns, supply.budget_ns)
    jobs = []
    for load in loads:
        at = draw.randint(0, 5)
        while at < 120:
            jobs.append((at, load.wcet))
            at += load.period + draw.choice([0, 0, 0, draw.randint(0, 5)])
    jobs.sort(key=lambda job: job[0])
    done, worst, clock = 0, 0, 0
    for at, wcet in jobs:
        # A job can begin when it is released and all before it are done.
        clock = max(clock, at)
        done = max(done, slots[clock]) + wcet
        clock = next(t for t in range(len(slots)) if slots[t] >= done)
        worst = max(worst, clock - at)
    return worst


def test_fifo_bound_is_never_exceeded() -> None:
    draw = random.Random(22)
    bounds = 0
    for _ in range(300):
        loads = [load._replace(jitter=0, deadline=10**6) for load in plain.some_loads(draw)]
        period = draw.randint(1, 8)
        supply = Supply(Shape.GENERAL, period, draw.randint(1, period))
        verdict = fifo(component(Local.FIFO, loads), supply)[0]
        if verdict.bound_ns is None or verdict.bound_ns > 2000:
            continue
        bounds += 1
        assert fifo_worst(draw, loads, supply) <= verdict.bound_ns, (loads, supply)
    assert bounds > 100


def fifo_bound(loads: list[Load], supply: Supply, length: int) -> int:
    """The longest wait for all that was released up to an offset, over all offsets below one."""

    def finish(offset: int) -> int:
        ahead = sum(load.wcet * ((offset + load.jitter) // load.period + 1) for load in loads)
        return supply.time_for(ahead + max(load.blocking for load in loads))

    return max(finish(offset) - offset for offset in range(length))


@pytest.mark.parametrize("seed", range(20))
def test_fifo_at_full_load_repeats(seed: int) -> None:
    """Busy windows without an end are judged by one cycle, and the bound is that of several."""
    draw = random.Random(f"full fifo {seed}")
    period = draw.randint(1, 3)
    shape = draw.choice(list(Shape))
    periods = [draw.choice((2, 3, 4, 6, 12)) * 6 * period for _ in range(3)]
    wcets = [draw.randint(1, each // 12) for each in periods[:2]]
    used = sum(Fraction(wcet, each) for wcet, each in zip(wcets, periods[:2], strict=True))
    budget = draw.choice([one for one in range(1, period + 1) if Fraction(one, period) > used])
    rest = (Fraction(budget, period) - used) * periods[2]
    cut = rest.denominator
    numbers = [*zip(wcets, periods[:2], strict=True), (rest.numerator, periods[2] * cut)]
    loads = [
        Load(wcet, each, 10**6, draw.choice((0, 0, 5)), draw.choice((0, 0, 3)))
        for wcet, each in numbers
    ]
    supply = Supply(shape, period, budget)
    assert sum(Fraction(load.wcet, load.period) for load in loads) == supply.bandwidth
    bound = fifo_bound(loads, supply, 3 * lcm(*(load.period for load in loads)))
    verdict, found = _analysis.judge(Local.FIFO, loads, supply.numbers)
    assert (verdict, found) == (Verdict.HOLDS, bound)
    tight = [load._replace(deadline=bound - 1) for load in loads]
    assert _analysis.judge(Local.FIFO, tight, supply.numbers)[0] is Verdict.MISSES
    assert _analysis.witness(Local.FIFO, loads, 0, supply.numbers)[0] is Verdict.HOLDS


def test_one_task_under_fifo_is_one_task_under_priority() -> None:
    draw = random.Random(23)
    for _ in range(200):
        period = draw.randint(2, 20)
        load = Load(draw.randint(1, period), period, period)
        shape, server = draw.choice(list(Shape)), draw.randint(1, 10)
        by = [
            _analysis.minimal_budget(local, [load], shape, server, 1)[0]
            for local in (Local.FIFO, Local.FIXED_PRIORITY)
        ]
        assert by[0] == by[1]


def test_nothing_wraps_near_the_end_of_time() -> None:
    """Periods just below 2^62 without a common divisor: no hyperperiod fits any integer type."""
    big = 2**61
    loads = [Load(big // 8, big - 1, big - 1), Load(big // 8, big - 3, big - 3)]
    for local in (Local.FIXED_PRIORITY, Local.EDF):
        assert _analysis.judge(local, loads, (Shape.GENERAL, 10**9, 10**9, 0))[0] is Verdict.HOLDS
        assert _analysis.judge(local, loads, (Shape.GENERAL, 10**9, 10**8, 0))[0] is Verdict.MISSES
        budget, exact = _analysis.minimal_budget(local, loads, Shape.GENERAL, 10**9, 1)
        assert exact
        assert budget is not None
        assert abs(budget - 250_000_000) < 10
    with pytest.raises(ValueError, match="2\\^62"):
        _analysis.judge(Local.EDF, [Load(1, 2**62, 5)], (Shape.GENERAL, 10, 5, 0))


def test_utilization_of_one_needs_no_hyperperiod_when_deadlines_are_periods() -> None:
    primes = [10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069, 10_079, 10_091, 10_093]
    loads = [Load(prime // 10, prime, prime) for prime in primes]
    assert _analysis.judge(Local.EDF, loads, (Shape.GENERAL, 7, 7, 0))[0] is Verdict.HOLDS
    full = [Load(1, 2, 2), Load(1, 3, 3), Load(1, 6, 6)]
    assert _analysis.judge(Local.EDF, full, (Shape.GENERAL, 7, 7, 0))[0] is Verdict.HOLDS
    assert _analysis.judge(Local.EDF, full, (Shape.GENERAL, 7, 6, 0))[0] is Verdict.MISSES
