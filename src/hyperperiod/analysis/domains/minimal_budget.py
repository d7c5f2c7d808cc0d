# SPDX-License-Identifier: BSD-2-Clause
"""The least budget for a given period: the interface of a component, computed.

Papers: Shin and Lee, RTSS 2003; MinExec in Algorithm 1 of the CSA paper (Lee et al., RTAS
2012); with the harmonic supply bound and the budget rounded up to whole quanta, the paper's
ARINC-653 case, where periods are prescribed.

Assumptions: those of the tests it searches over (`prm_fixed_priority`, `prm_edf`, `prm_fifo`).
Schedulability is monotone in the budget, so the least one exists; it is exact, in whole
granules (nanoseconds, or the quantum of the system). Proved by machine under fixed priority and
EDF: least_budget in proofs/least.v.

Inputs: components (each on a vcpu of its own, all with the same interface), the shape of the
supply, the period, the granule, for the general shape a deadline within the period (`edp`).
Result: a budget, or None where even the largest, the deadline or else the period, will not do;
`exact` is false in the rare case that a smaller budget was too hard to judge: the budget is then
sufficient, but may not be the least. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Component


class MinimalBudget(NamedTuple):
    """The budget, if one suffices; `exact` where no smaller one does."""

    budget_ns: int | None
    exact: bool


def minimal_budget(
    components: Sequence[Component],
    shape: Shape,
    period_ns: int,
    granule_ns: int = 1,
    deadline_ns: int | None = None,
) -> MinimalBudget:
    """The least multiple of the granule that serves every component."""
    largest_ns, exact = granule_ns, True
    for component in components:
        budget_ns, sure = _analysis.minimal_budget(
            component.local,
            component.loads,
            shape,
            period_ns,
            granule_ns,
            period_ns if deadline_ns is None else deadline_ns,
        )
        exact = exact and sure
        if budget_ns is None:
            return MinimalBudget(None, exact)
        largest_ns = max(largest_ns, budget_ns)
    return MinimalBudget(largest_ns, exact)
