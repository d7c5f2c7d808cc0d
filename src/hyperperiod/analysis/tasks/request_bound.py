# SPDX-License-Identifier: BSD-2-Clause
"""The request bound function, rbf: the most work released in a window under fixed priority.

Paper: Lehoczky, Sha and Ding, "The rate monotonic scheduling algorithm: exact characterization
and average case behavior", RTSS 1989; used by the CSA paper (Lee et al., RTAS 2012) in Lemma 1.
The CSA paper prints floor(t / p) and admits t = 0; both make its test trivially true and are
taken as misprints of ceil(t / p) for 0 < t.

Assumptions: releases of a load are at least its period apart, up to its jitter closer; the
window begins with a release of every load (the worst case, also for loads with offsets).

Inputs: loads and the length of the window, in one integer unit. Result: work in that unit.
Errors: none; a window of length 0 asks for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.analysis.component import Load


def rbf(loads: Sequence[Load], window: int) -> int:
    """Returns the work of all loads that is released in [0, window)."""
    if window <= 0:
        return 0
    return sum(-(-(window + load.jitter) // load.period) * load.wcet for load in loads)
