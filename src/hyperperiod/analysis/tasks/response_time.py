# SPDX-License-Identifier: BSD-2-Clause
"""Response times of tasks on a pcpu of their own, under any fixed priorities.

Papers: Joseph and Pandya, "Finding response times in a real-time system", Computer Journal 1986;
Audsley et al., "Applying new scheduling theory to static priority pre-emptive scheduling", 1993:
the least R with R = B_i + C_i + sum over higher k of ceil((R + J_k) / T_k) C_k. Deadlines above
periods, and jitter that lets jobs of one task overlap: all jobs of the busy window, Lehoczky,
RTSS 1990; Tindell, Burns and Wellings, Real-Time Systems 1994. Blocking B_i: Sha, Rajkumar and
Lehoczky, IEEE Trans. Computers 1990.

Assumptions: preemptive, independent tasks with unique priorities, whatever rule they come from
(rate monotonic, deadline monotonic, any numbers); releases at least a period apart, up to the
jitter closer; work of lower priority delays a busy window by at most the blocking of its level.
Offsets are left out: all tasks released at once are the worst case, so that is safe. The pcpu
runs nothing else; under an interface see `domains.prm_fixed_priority`.

Exact without offsets, jitter and blocking; with them "no" becomes null, except for a utilisation
above 1.

Inputs: loads in order of priority, highest first, in one integer unit below 2^62; `phased` says
that offsets were left out. Result: a verdict per load with its response bound, counted from the
actual release, not from the instant that jitter delays it from. Errors: ValueError for times out
of range. Null also for what takes too many steps to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hyperperiod import _analysis
from hyperperiod.analysis.batch import Sets
from hyperperiod.analysis.batch import response_time as judge_sets
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU
from hyperperiod.analysis.verdict import Verdict

NOT_EXACT = "with offsets, jitter or blocking the test is only sufficient: it does not confirm it"
TOO_HARD = "too close to the edge: undecided after millions of steps"
OVERLOAD = "the tasks ask for more than a pcpu has"
LATE = "released together with all tasks above it, it is not done by its deadline"


def response_times(loads: Sequence[Load], *, phased: bool = False) -> list[Verdict]:
    """One verdict per load, highest priority first, on a pcpu of their own."""
    bounds = judge_sets(Sets.of([loads]), bounds=True).bounds
    assert bounds is not None, "they were asked for"
    return [
        Verdict.yes(bound) if bound >= 0 else _failure(loads[: index + 1], phased=phased)
        for index, bound in enumerate(bounds.tolist())
    ]


def utilization(loads: Sequence[Load]) -> Fraction:
    """The share of a pcpu that the loads ask for in the long run."""
    return sum((Fraction(load.wcet, load.period) for load in loads), Fraction(0))


def _failure(loads: Sequence[Load], *, phased: bool) -> Verdict:
    """Returns the verdict that says why the last load has no bound."""
    if utilization(loads) > 1:
        return Verdict.no(OVERLOAD)
    if WHOLE_PCPU.last_response(loads)[0] is _analysis.Verdict.UNKNOWN:
        return Verdict.unknown(TOO_HARD)
    plain = all(load.jitter == 0 and load.blocking == 0 for load in loads)
    return Verdict.no(LATE) if plain and not phased else Verdict.unknown(NOT_EXACT)
