# SPDX-License-Identifier: BSD-2-Clause
"""Algorithm 1 against trying every period, far beyond where it stops: nothing has less bandwidth,
and what it returns serves the tasks."""

from __future__ import annotations

import random
from fractions import Fraction

from tests.support.campaign import Trial, hunt, sizes
from tests.support.supplied import component, some_loads, some_server

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.algorithm_1 import Grid, optimal_interface

FARTHEST = 60


def best_of_all(local: Local, loads: list[Load], shape: Shape, grid: Grid) -> Fraction | None:
    """The least bandwidth on the grid, budget by budget."""
    best: Fraction | None = None
    for period in range(grid.first_ns, (grid.last_ns or FARTHEST) + 1, grid.step_ns):
        budget, _ = _analysis.minimal_budget(local, loads, shape, period, grid.granule_ns)
        if budget is not None and (best is None or Fraction(budget, period) < best):
            best = Fraction(budget, period)
    return best


def some_grid(draw: random.Random) -> Grid:
    granule = draw.choice([1, 1, 1, 2])
    if draw.random() < 0.5:
        return Grid.of_quanta(granule)
    first = granule * draw.randint(1, 10)
    return Grid(granule, first, granule * draw.randint(1, 3), first + draw.randint(0, 40))


def trial(draw: random.Random) -> Trial:
    loads = some_loads(draw, some_server(draw))
    local = draw.choice([Local.FIXED_PRIORITY, Local.EDF, Local.FIFO])
    shape, grid = draw.choice([Shape.GENERAL, Shape.POLLING]), some_grid(draw)
    optimum = optimal_interface([component(local, loads)], shape, grid)
    best = best_of_all(local, loads, shape, grid)
    if optimum.budget_ns is None:
        found = None
    else:
        found = Fraction(optimum.budget_ns, optimum.period_ns)
        verdict, _ = _analysis.judge(local, loads, (shape, optimum.period_ns, optimum.budget_ns, 0))
        if verdict is not _analysis.Verdict.HOLDS:
            return Trial(True, f"{optimum} does not serve {local} {loads} {shape} {grid}")
    if optimum.exact and found != best:
        return Trial(True, f"{optimum} is not {best}: {local} {loads} {shape} {grid}")
    return Trial(accepted=found is not None)


@sizes(150)
def test_no_counterexample(systems: int) -> None:
    hunt("algorithm 1", systems, trial)
