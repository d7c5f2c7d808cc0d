# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on m pcpus: the GFB bound, sum U <= m - (m - 1) max U.

Paper: Goossens, Funk and Baruah, "Priority-driven scheduling of periodic task systems on
multiprocessors", Real-Time Systems 2003. The ERTDS paper quotes it as "if and only if"; it is
sufficient only.

Assumptions: periodic servers, or hard constant bandwidth servers: at every arrival such a
server holds a deadline and an amount that a pcpu of speed budget / period would finish by that
deadline, and that is all the theorem asks of a set of jobs. It does not hold for deferrable
servers: (4, 12), (4, 12), (2, 5) as (budget, period) on two pcpus pass, and if the two long
ones begin at 20, the short one gets 1 of 2 in [20, 25).

Inputs: a group. Result: one verdict for all its servers; "no" is null unless bandwidths sum to
more than m. Overheads are not covered: null. Errors: none.
"""

from __future__ import annotations

from fractions import Fraction

from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict


def gfb_bound(group: Group) -> Fraction:
    """The largest sum of bandwidths that the theorem accepts."""
    largest = max((server.bandwidth for server in group.servers), default=Fraction(0))
    return group.pcpus - (group.pcpus - 1) * largest


def gfb(group: Group) -> Verdict:
    """Exact comparison of the sum with the bound."""
    if group.overloaded:
        return Verdict.no(f"bandwidths sum to {float(group.bandwidth):.6g}, above {group.pcpus}")
    if group.overhead:
        return Verdict.unknown("the GFB bound does not cover overheads")
    bound = gfb_bound(group)
    if group.bandwidth <= bound:
        return Verdict.yes()
    return Verdict.unknown(
        f"bandwidths sum to {float(group.bandwidth):.6g}, above the GFB bound of"
        f" {float(bound):.6g}, which is only sufficient"
    )
