# SPDX-License-Identifier: BSD-2-Clause
"""Rate monotonic on a pcpu of its own: the hyperbolic bound.

Paper: Bini, Buttazzo and Buttazzo, "Rate monotonic analysis: the hyperbolic bound", IEEE Trans.
Computers 2003: all deadlines are met if the product of (U_i + 1) is at most 2.

Assumptions: preemptive, independent tasks whose deadlines are at or after the end of their period,
without jitter and blocking, released at least a period apart; priorities rate monotonic. The
bound accepts whatever `liu_layland` accepts.

Inputs: loads in one integer unit, in any order. Result: one verdict for all of them; "no" is null,
unless they ask for more than a pcpu. The arithmetic is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.response_time import OVERLOAD, utilization
from hyperperiod.analysis.verdict import Verdict

NOT_IMPLICIT = "the bound is for deadlines at the end of periods, without jitter and blocking"


def hyperbolic(loads: Sequence[Load]) -> Verdict:
    """Whether the product of all utilizations + 1 is at most 2."""
    if utilization(loads) > 1:
        return Verdict.no(OVERLOAD)
    if not implicit(loads):
        return Verdict.unknown(NOT_IMPLICIT)
    product = prod((1 + Fraction(load.wcet, load.period) for load in loads), start=Fraction(1))
    if product <= 2:
        return Verdict.yes()
    return Verdict.unknown(
        f"the product of utilizations + 1 is {float(product):.6g}, above the hyperbolic bound of 2,"
        " which is only sufficient"
    )


def implicit(loads: Sequence[Load]) -> bool:
    """Whether no deadline is before the end of the period, without jitter and blocking."""
    return all(load.deadline >= load.period and load.jitter == load.blocking == 0 for load in loads)
