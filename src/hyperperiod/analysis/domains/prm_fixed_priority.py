# SPDX-License-Identifier: BSD-2-Clause
"""Tasks under fixed priority (rm, dm or given numbers) on a periodic resource.

Papers: Shin and Lee, RTSS 2003; Lee et al., RTAS 2012 (the CSA paper), Lemma 1: a task meets
its deadline if and only if in some window 0 < t <= deadline the supply bound covers the request
bound of it and all above it. Deadlines above periods: Lehoczky, RTSS 1990. Release jitter:
Tindell, Burns and Wellings, 1994. Proved by machine, without blocking: fixed_priority_on_server in
proofs/tasks.v, which for deadlines that reach behind the next release asks for more, one window for
all jobs in it.

Assumptions: preemptive, unique priorities, independent tasks; releases at least a period apart,
up to the jitter closer; deadlines count from the release. The supply bound is sound for the
server (`supply_bound`). The test is exact for the interface: "no" means that some supply which
the interface allows, with some phases of the tasks, misses a deadline. With offsets, jitter or
blocking it is only sufficient, and its "no" becomes null. Blocking (a lock held, a section that
cannot be preempted) counts once in a busy window: Sha, Rajkumar and Lehoczky, IEEE Trans.
Computers 1990; nothing of lower priority begins while the window lasts.

Inputs: a component, a supply. Results: per task, in order of priority, a verdict with a
response-time bound in nanoseconds, counted from the release. Errors: none; what takes too many
steps to decide (utilisation within a hair of the bandwidth) is null.
"""

from __future__ import annotations

from hyperperiod import _analysis
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.verdict import Verdict

TOO_HARD = "too close to the edge: undecided after millions of steps"
NOT_EXACT = "with offsets, jitter or blocking the test is only sufficient: it does not confirm it"


def fixed_priority(component: Component, supply: Supply | Staircase) -> list[Verdict]:
    """One verdict per source, highest priority first."""
    verdicts: list[Verdict] = []
    exact = True
    bounds = supply.responses(component.loads)
    for source, (found, bound_ns) in zip(component.sources, bounds, strict=True):
        exact = exact and source.exact
        if found is _analysis.Verdict.HOLDS:
            verdicts.append(Verdict.yes(bound_ns))
        elif found is _analysis.Verdict.UNKNOWN:
            verdicts.append(Verdict.unknown(TOO_HARD))
        elif exact:
            verdicts.append(
                Verdict.no("the least supply of the interface does not cover it in time")
            )
        else:
            verdicts.append(Verdict.unknown(NOT_EXACT))
    return verdicts
