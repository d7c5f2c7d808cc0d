# SPDX-License-Identifier: BSD-2-Clause
"""Algorithm 1 of the CSA paper: the interface of least bandwidth in whole quanta.

Paper: Lee et al., "Realizing compositional scheduling through virtualization", RTAS 2012,
Algorithm 1 and Theorem 1 (stated there for RM).

Beginning with the longest task period and its least budget, every period from one quantum
upward is tried; what has strictly less bandwidth replaces the best, so among equals the first
found stays. Theorem 1 bounds the period: with bandwidth k the supply stays below
k (t - (period - budget)), which must reach the request bound of each task in some window, hence
period <= max over t of (k t - rbf(t)) / (k (1 - k)), the least of these over the tasks (proved by
machine: period_bound in proofs/least.v). The
maximum over the paper's critical points equals that over all windows in which a task can first
be done, since a linear function is largest on the hull. Our extensions: under EDF every window
must hold its demand, so the bound is the least over windows; for polling servers it is
t - rbf(t) / k; for the harmonic supply there is none, and the candidates are the periods that
divide with all task periods.

Bandwidth 1 gives no bound. The search is then capped where longer periods provably only cost
bandwidth: at the longest task period under fixed priority with deadlines within periods, at
the busy window after one blackout of the shortest deadline otherwise, at the shortest deadline
for polling.

The grid. The paper's has one quantum for period and budget. Ours may begin at a first period,
go in larger or smaller steps, end at a last period, and have finer budgets: whole granules. With
a range of periods the search begins at its longest period up to the longest task period. Without
a quantum there is no best interface at all, as shorter periods never need more bandwidth in the
limit: the shortest period that the host is to bear must be said, by the quantum, or by the range.

Assumptions: those of the tests (`prm_fixed_priority`, `prm_edf`, `prm_fifo`). Periods with a
least budget that was too hard to judge are passed over, and `exact` is then false.

Inputs: components (each on a vcpu of its own, all with the same interface), the shape of the
supply, the grid. Result: the interface, or None if none serves them, with how many periods
were tried and how many only the bound made unnecessary. Errors: ValueError for a component
without loads or a grid whose periods are no whole granules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.result import OptimumResult
from hyperperiod.model import format_time


@dataclass(frozen=True)
class Grid:
    """Periods first, first + step, ... up to last (None: as far as it pays); whole granules."""

    granule_ns: int
    first_ns: int
    step_ns: int
    last_ns: int | None = None

    @classmethod
    def of_quanta(cls, quantum_ns: int) -> Grid:
        """The paper's grid: periods and budgets are multiples of the quantum."""
        return cls(quantum_ns, quantum_ns, quantum_ns)


@dataclass(frozen=True)
class Optimum:
    """`periods_pruned`: how many periods of the grid Theorem 1 ruled out without a look."""

    period_ns: int
    budget_ns: int | None
    periods_tried: int
    periods_pruned: int
    bound_ns: int
    exact: bool


def optimal_interface(
    components: Sequence[Component], shape: Shape, grid: Grid, until_ns: int = 0
) -> Optimum:
    """The interface of least bandwidth on the grid.

    Once the process has used `until_ns` of processor time, if that is not 0, it is the best so far.
    """
    rows = [(component.local, component.loads) for component in components]
    period_ns, budget_ns, tried, pruned, bound_ns, exact = _analysis.optimal_interface(
        rows, shape, (grid.granule_ns, grid.first_ns, grid.step_ns, grid.last_ns or 0), until_ns
    )
    return Optimum(period_ns, budget_ns or None, tried, pruned, bound_ns, exact)


def search_text(found: OptimumResult) -> str:
    """Returns a sentence on how many periods were tried, and how many the bound ruled out."""
    text = f"{found.periods_tried} periods tried"
    if found.periods_pruned:
        bound = format_time(found.bound_ns)
        text += f", {found.periods_pruned} above {bound} ruled out by Theorem 1"
    return text if found.exact else f"{text}; some were too hard to judge"
