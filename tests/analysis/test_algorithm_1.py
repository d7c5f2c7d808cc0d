# SPDX-License-Identifier: BSD-2-Clause
"""Algorithm 1 against trying every period, far beyond its own bound."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.analysis import plain

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.algorithm_1 import Grid, optimal_interface, search_text
from hyperperiod.analysis.domains.harmonic_supply import refusal
from hyperperiod.analysis.result import OptimumResult
from hyperperiod.model import Budget

FARTHEST = 150


def component(local: Local, loads: list[Load]) -> Component:
    return Component(local, tuple(NamedLoad(f"t{i}", load) for i, load in enumerate(loads)))


def best_of_all(parts: list[Component], shape: Shape, quantum: int) -> Fraction | None:
    """The least bandwidth over all periods up to FARTHEST quanta."""
    best: Fraction | None = None
    for period in range(quantum, FARTHEST * quantum + 1, quantum):
        sources = [source for part in parts for source in part.sources]
        if shape is Shape.HARMONIC and refusal(Budget.PERIODIC, period, sources):
            continue
        budgets = [
            _analysis.minimal_budget(part.local, part.loads, shape, period, quantum)[0]
            for part in parts
        ]
        if None in budgets:
            continue
        bandwidth = Fraction(max(budget or 0 for budget in budgets), period)
        best = bandwidth if best is None else min(best, bandwidth)
    return best


def test_what_a_whole_pcpu_does_not_serve_no_interface_does() -> None:
    """A thousand tasks of which the last misses by a nanosecond; no period is searched for that."""
    loads = [Load(1, 2 * 1000, 2 * 1000) for _ in range(1000)] + [Load(1001, 2000, 2000)]
    found = optimal_interface(
        [component(Local.FIXED_PRIORITY, loads)], Shape.GENERAL, Grid.of_quanta(1)
    )
    assert found.budget_ns is None
    assert found.exact
    loads[-1] = Load(1000, 2000, 2000)
    found = optimal_interface(
        [component(Local.FIXED_PRIORITY, loads)], Shape.GENERAL, Grid.of_quanta(1)
    )
    assert found.budget_ns == found.period_ns


def test_hundreds_of_tasks_are_judged_to_the_end() -> None:
    """No period is passed over as too hard; the budget is the least, and others are no better."""
    for seed in range(20):
        draw = random.Random(seed)
        loads = []
        for _ in range(700):
            period = int(10 * 100 ** draw.random()) * 1000
            loads.append(Load(max(1, period // draw.randint(800, 1200)), period, period))
        part = component(Local.FIXED_PRIORITY, sorted(loads, key=lambda load: load.period))
        found = optimal_interface([part], Shape.GENERAL, Grid.of_quanta(1000))
        assert found.exact, seed
        assert found.budget_ns is not None
        for period in (found.period_ns, 1000 * draw.randint(1, 40)):
            budget, exact = _analysis.minimal_budget(
                part.local, part.loads, Shape.GENERAL, period, 1000
            )
            assert exact
            assert budget is None or budget * found.period_ns >= found.budget_ns * period, seed
            assert period != found.period_ns or budget == found.budget_ns, seed


@pytest.mark.parametrize("local", [Local.FIXED_PRIORITY, Local.EDF])
@pytest.mark.parametrize("shape", [Shape.GENERAL, Shape.POLLING])
def test_nothing_longer_or_shorter_is_better(local: Local, shape: Shape) -> None:
    draw = random.Random(40)
    found = pruned = 0
    for _ in range(150):
        quantum = draw.choice([1, 1, 2])
        count = draw.choice([1, 1, 1, 2])
        plain_only = draw.random() < 0.7
        parts = [component(local, plain.some_loads(draw, plain=plain_only)) for _ in range(count)]
        optimum = optimal_interface(parts, shape, Grid.of_quanta(quantum))
        best = best_of_all(parts, shape, quantum)
        if optimum.budget_ns is None:
            assert best is None
            continue
        assert Fraction(optimum.budget_ns, optimum.period_ns) == best, (parts, quantum)
        found += 1
        pruned += optimum.periods_pruned
    assert found > 30
    assert pruned > 0


def test_harmonic_periods() -> None:
    draw = random.Random(41)
    for _ in range(100):
        base = draw.randint(4, 8)
        loads = [
            Load(draw.randint(1, 3), base * factor, base * factor)
            for factor in draw.sample([1, 2, 4, 8], draw.randint(1, 3))
        ]
        loads.sort(key=lambda load: load.period)
        part = component(Local.FIXED_PRIORITY, loads)
        optimum = optimal_interface([part], Shape.HARMONIC, Grid.of_quanta(1))
        best = best_of_all([part], Shape.HARMONIC, 1)
        found = optimum.budget_ns and Fraction(optimum.budget_ns, optimum.period_ns)
        assert (found or None) == best, loads


def test_equal_bandwidth_keeps_the_longest_task_period_then_the_shortest_period() -> None:
    """Line 3 of the algorithm begins with the longest period; line 7 replaces only if less."""
    part = component(Local.EDF, [Load(10, 10, 10)])
    assert optimal_interface([part], Shape.GENERAL, Grid.of_quanta(1)).period_ns == 10
    part = component(Local.FIXED_PRIORITY, [Load(1, 10, 10)])
    optimum = optimal_interface([part], Shape.GENERAL, Grid.of_quanta(1))
    budgets = {
        period: _analysis.minimal_budget(part.local, part.loads, Shape.GENERAL, period, 1)[0]
        for period in range(1, 11)
    }
    best = min(Fraction(budget or 1, period) for period, budget in budgets.items())
    first = next(p for p, b in budgets.items() if b and Fraction(b, p) == best)
    assert optimum.period_ns in (first, 10)


def test_the_bound_leaves_periods_out() -> None:
    loads = [Load(22, 500, 500), Load(31, 500, 500), Load(29, 1000, 1000)]
    part = component(Local.FIXED_PRIORITY, loads)
    optimum = optimal_interface([part], Shape.GENERAL, Grid.of_quanta(1))
    assert optimum.periods_tried + optimum.periods_pruned == 1000
    assert optimum.periods_tried < 300
    assert optimum.exact
    told = search_text(
        OptimumResult(
            periods_tried=optimum.periods_tried,
            periods_pruned=optimum.periods_pruned,
            bound_ns=optimum.bound_ns,
            exact=optimum.exact,
        )
    )
    assert told == (
        f"{optimum.periods_tried} periods tried,"
        f" {optimum.periods_pruned} above {optimum.bound_ns}ns ruled out by Theorem 1"
    )


def theorem_1(loads: list[Load], bandwidth: Fraction) -> Fraction:
    """MaxResPeriod of the paper, with every window up to the period, not only critical ones."""
    return min(
        max(
            (bandwidth * window - plain.released(loads[: index + 1], window))
            / (bandwidth * (1 - bandwidth))
            for window in range(1, own.deadline + 1)
        )
        for index, own in enumerate(loads)
    )


def test_pruned_periods_are_those_that_the_theorem_prunes() -> None:
    """The last bound is the theorem's for the bandwidth found; what is beyond it counts."""
    draw = random.Random(42)
    bounded = 0
    for _ in range(200):
        loads = sorted(plain.some_loads(draw, plain=True), key=lambda load: load.period)
        part = component(Local.FIXED_PRIORITY, loads)
        optimum = optimal_interface([part], Shape.GENERAL, Grid.of_quanta(1))
        if optimum.budget_ns is None or optimum.budget_ns == optimum.period_ns:
            continue
        longest = loads[-1].period
        bandwidth = Fraction(optimum.budget_ns, optimum.period_ns)
        bound = min(longest, int(theorem_1(loads, bandwidth)))
        assert optimum.bound_ns == bound
        # Every period is tried, or pruned; those tried before the bound shrank count as tried.
        assert optimum.periods_tried + optimum.periods_pruned == longest
        assert optimum.periods_pruned <= longest - bound
        if optimum.period_ns < bound < longest:
            bounded += 1
            assert optimum.periods_pruned == longest - bound - 1
    assert bounded > 30


@pytest.mark.parametrize("local", [Local.FIXED_PRIORITY, Local.EDF])
def test_a_range_of_periods_and_finer_budgets(local: Local) -> None:
    draw = random.Random(43)
    found = finer = 0
    for _ in range(150):
        loads = [Load(*(10 * time for time in load)) for load in plain.some_loads(draw)]
        part = component(local, loads)
        granule = draw.choice([1, 5])
        first, step = granule * draw.randint(1, 30), granule * draw.randint(1, 12)
        grid = Grid(granule, first, step, first + draw.randint(0, 200))
        assert grid.last_ns is not None
        budgets = {
            period: _analysis.minimal_budget(local, loads, Shape.GENERAL, period, granule)[0]
            for period in range(first, grid.last_ns + 1, step)
        }
        wanted = min((Fraction(b, p) for p, b in budgets.items() if b), default=None)
        optimum = optimal_interface([part], Shape.GENERAL, grid)
        if optimum.budget_ns is None:
            assert wanted is None
            continue
        found += 1
        finer += optimum.budget_ns % 10 != 0
        assert optimum.budget_ns == budgets[optimum.period_ns]
        assert Fraction(optimum.budget_ns, optimum.period_ns) == wanted, (loads, grid)
        assert optimum.periods_tried + optimum.periods_pruned <= len(budgets)
    assert found > 40
    assert finer > 20


def test_grids_that_make_no_sense_are_refused() -> None:
    part = component(Local.EDF, [Load(1, 10, 10)])
    for grid in (Grid(2, 3, 2), Grid(2, 2, 3), Grid(1, 5, 1, 4), Grid(1, 0, 1)):
        with pytest.raises(ValueError, match="period"):
            optimal_interface([part], Shape.GENERAL, grid)


def test_no_interface_for_more_than_a_pcpu() -> None:
    part = component(Local.EDF, [Load(6, 10, 10), Load(5, 10, 10)])
    assert optimal_interface([part], Shape.GENERAL, Grid.of_quanta(1)).budget_ns is None
