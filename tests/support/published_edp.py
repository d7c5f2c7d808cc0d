# SPDX-License-Identifier: BSD-2-Clause
"""Interfaces with explicit deadlines as their paper has them, to hold budgets to.

Paper: Easwaran, Anand and Lee, RTSS 2007. Bandwidth optimal for a given period is the least budget
with which some deadline will do. A later deadline never helps the component, so that is the least
budget whose deadline equals it. Of all deadlines with that budget the latest asks least of whoever
supplies it: bandwidth-deadline optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.supply_bound import Supply


class EdpInterface(NamedTuple):
    """`budget_ns` within the first `deadline_ns` of every `period_ns`."""

    period_ns: int
    budget_ns: int
    deadline_ns: int
    exact: bool = True

    @property
    def supply(self) -> Supply:
        return Supply(Shape.GENERAL, self.period_ns, self.budget_ns, self.deadline_ns)

    @property
    def load(self) -> Load:
        """The task that the component above has to schedule."""
        return Load(self.budget_ns, self.period_ns, self.deadline_ns)


def bandwidth_optimal(
    components: Sequence[Component], period_ns: int, granule_ns: int = 1
) -> EdpInterface | None:
    """The least budget with which any deadline will do, and the latest deadline that does."""
    # With the deadline at the budget the blackout is the gap: the harmonic form of the supply.
    found = minimal_budget(components, Shape.HARMONIC, period_ns, granule_ns)
    if found.budget_ns is None:
        return None
    deadline_ns, exact = latest_deadline(components, period_ns, found.budget_ns, granule_ns)
    assert deadline_ns is not None, "the deadline at the budget will do"
    return EdpInterface(period_ns, found.budget_ns, deadline_ns, found.exact and exact)


def latest_deadline(
    components: Sequence[Component], period_ns: int, budget_ns: int, granule_ns: int = 1
) -> tuple[int | None, bool]:
    """The latest deadline, whole granules from the budget, and whether it surely is."""
    exact = True

    def serves(deadline_ns: int) -> bool:
        nonlocal exact
        for component in components:
            found, _ = _analysis.judge(
                component.local, component.loads, (Shape.GENERAL, period_ns, budget_ns, deadline_ns)
            )
            exact = exact and found is not _analysis.Verdict.UNKNOWN
            if found is not _analysis.Verdict.HOLDS:
                return False
        return True

    if not serves(budget_ns):
        return None, exact
    if serves(period_ns):
        return period_ns, exact
    most = -(-(period_ns - budget_ns) // granule_ns)
    good = last_holding(lambda granules: serves(budget_ns + granules * granule_ns), 0, most)
    return budget_ns + good * granule_ns, exact
