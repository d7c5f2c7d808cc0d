# SPDX-License-Identifier: BSD-2-Clause
"""The demand bound function, dbf: the most work with release and deadline in a window.

Paper: Baruah, Rosier and Howell, "Algorithms and complexity concerning the preemptive
scheduling of periodic, real-time tasks on one processor", Real-Time Systems 1990.

Assumptions: releases of a load are at least its period apart, up to its jitter closer;
deadlines count from the release; offsets are taken as the worst ones.

Inputs: loads and the length of the window, in one integer unit. Result: work in that unit.
Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.analysis.component import Load


def dbf(loads: Sequence[Load], window: int) -> int:
    """Work of all loads that is both released and due within a window of this length."""
    return sum(
        ((window - load.deadline + load.jitter) // load.period + 1) * load.wcet
        for load in loads
        if window >= load.deadline
    )


def blocking(loads: Sequence[Load], window: int) -> int:
    """The longest blocking of a load that can be due within a window of this length."""
    return max((load.blocking for load in loads if load.deadline <= window), default=0)
