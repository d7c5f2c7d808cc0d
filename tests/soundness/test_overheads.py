# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis promises with overheads, the simulator must keep while it pays for them.

Random systems under every policy, with costs up to some hundredths of a period and interfaces that
leave as little as the analysis allows: no task that is called schedulable misses a deadline, and
none responds later than its bound.
"""

from __future__ import annotations

import random

from tests.support.campaign import Trial, hunt, sizes
from tests.support.overhead_worlds import POLICIES, some_system, trial_of


def trial(draw: random.Random) -> Trial:
    """Whether one run of a random system keeps every promise."""
    return trial_of(draw, some_system(draw, draw.choice(POLICIES)))


@sizes(75)
def test_promises_hold_with_overheads(systems: int) -> None:
    hunt("overheads", systems, trial, least_accepted=0.2)
