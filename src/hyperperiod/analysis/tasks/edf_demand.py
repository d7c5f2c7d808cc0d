# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a pcpu of their own under EDF: the processor-demand test, deadline after deadline.

Papers: Baruah, Rosier and Howell, "Algorithms and complexity concerning the preemptive scheduling
of periodic, real-time tasks on one processor", Real-Time Systems 1990; the busy window as a bound:
Spuri, "Analysis of deadline scheduled real-time systems", INRIA 1996; blocking: Baker 1991.

The same verdicts as `qpa`, by the plain way: every window that ends at a deadline is looked at,
from the shortest up, so the window found is the first that is short, which is what one wants to
see. It ends at the longest busy window, or where the line above the demand crosses that of time,
whichever is nearer, or at a hyperperiod where neither exists; memory is that of the set.
Assumptions and exactness as for `qpa`.

Inputs: loads in any order, in one integer unit below 2^62; `phased` says that offsets were left
out. Result: a verdict, the window it rests on and the demand in it. Errors: ValueError for times
out of range. Null also where there are too many deadlines to visit, or nothing bounds them (jitter
or blocking at a utilisation of exactly 1, and no hyperperiod below 2^62).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.response_time import NOT_EXACT, OVERLOAD, TOO_HARD
from hyperperiod.analysis.verdict import Verdict


@dataclass(frozen=True)
class Demand:
    """`window` is the shortest that is short, or the last one looked at; `demand` includes
    blocking; `bound` is how far there was to look, None where nothing bounds it."""

    verdict: Verdict
    window: int
    demand: int
    bound: int | None


def edf_demand(loads: Sequence[Load], *, phased: bool = False) -> Demand:
    """Whether all deadlines hold, and the window that says so."""
    found, window, demand, bound, overload = _analysis.processor_demand(loads)
    if found is _analysis.Verdict.HOLDS:
        verdict = Verdict.yes()
    elif overload:
        verdict = Verdict.no(OVERLOAD)
    elif found is _analysis.Verdict.UNKNOWN:
        verdict = Verdict.unknown(TOO_HARD)
    elif phased or any(load.jitter or load.blocking for load in loads):
        verdict = Verdict.unknown(NOT_EXACT)
    else:
        verdict = Verdict.no(f"{demand} is due in a window of {window}")
    return Demand(verdict, window, demand, bound)
