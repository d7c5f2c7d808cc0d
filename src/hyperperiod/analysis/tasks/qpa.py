# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a pcpu of their own under EDF: Quick convergence Processor-demand Analysis, QPA.

Paper: Zhang and Burns, "Schedulability analysis for real-time systems with EDF scheduling", IEEE
Trans. Computers 2009. All deadlines hold if and only if every window t holds its demand,
dbf(t) <= t (Baruah, Rosier and Howell 1990). QPA looks at windows from the longest that matters
downward and jumps from t to dbf(t): in between nothing can go wrong. With blocking a window holds
the demand and the longest blocking of a task that can be due in it (Baker 1991).

Assumptions: preemptive, independent tasks; releases at least a period apart, up to the jitter
closer; deadlines, of any length, count from the actual release; work with a later deadline delays
a busy window by at most the blocking of a task in it. Offsets are left out, which is safe. The
pcpu runs nothing else; under an interface see `domains.prm_edf`.

Exact without offsets, jitter and blocking; with them "no" becomes null, except for a utilisation
above 1. No hyperperiod is enumerated: far out only windows in which deadlines nearly meet are
looked at.

Inputs: loads in any order, in one integer unit below 2^62; `phased` says that offsets were left
out. Result: one verdict for the set, since EDF does not say who is late. Errors: ValueError for
times out of range. Null also for what takes too many steps to decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU
from hyperperiod.analysis.tasks.response_time import (
    NOT_EXACT,
    OVERLOAD,
    TOO_HARD,
    utilization,
)
from hyperperiod.analysis.verdict import Verdict


def qpa(loads: Sequence[Load], *, phased: bool = False) -> Verdict:
    """Whether the loads meet all deadlines under EDF on a pcpu of their own: one verdict."""
    found, window = WHOLE_PCPU.judge(Local.EDF, loads)
    if found is _analysis.Verdict.HOLDS:
        return Verdict.yes()
    if utilization(loads) > 1:
        return Verdict.no(OVERLOAD)
    if found is _analysis.Verdict.UNKNOWN:
        return Verdict.unknown(TOO_HARD)
    if phased or any(load.jitter or load.blocking for load in loads):
        return Verdict.unknown(NOT_EXACT)
    return Verdict.no(f"more is due in a window of {window} than fits" if window else OVERLOAD)
