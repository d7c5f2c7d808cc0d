# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on m pcpus: the GFB bound, in its density form.

Papers: Goossens, Funk and Baruah, "Priority-driven scheduling of periodic task systems on
multiprocessors", Real-Time Systems 2003, for utilizations; Bertogna, Cirinei and Lipari, ECRTS
2005, for densities: all deadlines are met if
  sum d_i <= m - (m - 1) max d_i,   d_i = C_i / D_i.
The ERTDS paper quotes it as "if and only if"; it is sufficient only.

Assumptions: whatever behaves as sporadic tasks with deadlines within periods; jitter as in
`sporadic`. The theorem is about sets of jobs: it asks only that each load, alone on a pcpu of
speed d_i, would meet its deadlines. Periodic servers and hard constant bandwidth servers do
(`servers.global_edf`); deferrable servers do not: (4, 12), (4, 12), (2, 5) as (budget, period)
on two pcpus pass, and if the two long ones begin at 20, the short one gets 1 of 2 in [20, 25).

Inputs: loads in one unit of time, the number of pcpus. Result: one verdict for all of them; "no"
is null, unless they ask for more than there is. Errors: ValueError without a pcpu.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import Verdict


def gfb(loads: Sequence[Load], pcpus: int) -> Verdict:
    """Exact comparison of the sum of densities with the bound."""
    sporadic = as_sporadic(loads, pcpus)
    if isinstance(sporadic, Verdict):
        return sporadic
    densities = [Fraction(load.wcet, load.deadline) for load in sporadic]
    total, bound = sum(densities, Fraction(0)), density_bound(densities, pcpus)
    if total <= bound:
        return Verdict.yes()
    return Verdict.unknown(
        f"densities sum to {float(total):.6g}, above the GFB bound of {float(bound):.6g},"
        " which is only sufficient"
    )


def density_bound(densities: Sequence[Fraction], pcpus: int) -> Fraction:
    """The largest sum of densities that the theorem accepts."""
    return pcpus - (pcpus - 1) * max(densities, default=Fraction(0))
