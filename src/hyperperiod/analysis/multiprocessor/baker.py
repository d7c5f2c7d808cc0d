# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on m pcpus: Baker's test.

Paper: Baker, "Multiprocessor EDF and deadline monotonic schedulability analysis", RTSS 2003;
the proof in full in "An analysis of EDF schedulability on a multiprocessor", IEEE Trans. Parallel
and Distributed Systems 2005. All deadlines are met if for every k, with l = C_k / D_k,
  sum over all i of min(1, b_i) <= m (1 - l) + l,
  b_i = U_i (1 + (T_i - D_i) / D_k)  if U_i <= l,  and (C_i - l T_i) / D_k more otherwise.

The idea: before a missed deadline there is a longest window in which the demand stays above the
right side; what task i can bring into it is bounded by b_i of its length, because a carried-in
job that is heavier than l would have lowered the demand before.

Assumptions: sporadic tasks with deadlines within periods; jitter as in `sporadic`. The 2005
paper also varies l between the utilizations, which accepts a little more and is not done here.

The kernel confirms loads one after the other, in rounded sums that err on the safe side; the first
that it does not confirm is decided in fractions.

Inputs: loads in one unit of time below 2^62, the number of pcpus. Result: one verdict for all of
them; "no" is null, unless they ask for more than there is. Errors: ValueError without a pcpu, for
longer times.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import Verdict


def baker(loads: Sequence[Load], pcpus: int) -> Verdict:
    """The inequality for every load in turn, decided exactly."""
    sporadic = as_sporadic(loads, pcpus)
    if isinstance(sporadic, Verdict):
        return sporadic
    index = _analysis.baker_confirms(sporadic, pcpus, 0)
    while index < len(sporadic):
        if not _confirms(sporadic, sporadic[index], pcpus):
            return Verdict.unknown(
                f"load {index + 1}: Baker's test is only sufficient, and does not confirm it"
            )
        index = _analysis.baker_confirms(sporadic, pcpus, index + 1)
    return Verdict.yes()


def _confirms(loads: Sequence[Load], own: Load, pcpus: int) -> bool:
    """The inequality for one load, in fractions."""
    density = Fraction(own.wcet, own.deadline)
    total = sum((min(Fraction(1), _share(load, own, density)) for load in loads), Fraction(0))
    return total <= pcpus * (1 - density) + density


def _share(load: Load, own: Load, density: Fraction) -> Fraction:
    """b_i: the most of such a window that the load can fill."""
    utilization = Fraction(load.wcet, load.period)
    share = utilization * (1 + Fraction(load.period - load.deadline, own.deadline))
    if utilization > density:
        share += (load.wcet - density * load.period) / own.deadline
    return share
