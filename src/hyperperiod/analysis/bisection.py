# SPDX-License-Identifier: BSD-2-Clause
"""Where a test that is monotone in one whole number stops holding.

Assumptions: every number between one that holds and one that does not falls on one side or the
other, once. A test that is too slow to decide counts as not holding, so the answer is always one
that was confirmed. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable

LOOKS = 100_000_000
"""What a whole search may spend, in looks at one load in one window: some seconds at most."""


def looks_for(loads: int) -> int:
    """Returns the looks at one load that a test of so many may spend, in a search of a hundred."""
    return max(100 * loads, LOOKS // 100)


def last_holding(holds: Callable[[int], bool], working: int, failing: int) -> int:
    """The last number that holds on the way from `working`, which does, to `failing`.

    Neither end is asked about. `failing` may be the smaller one.
    """
    while abs(failing - working) > 1:
        middle = (working + failing) // 2
        if holds(middle):
            working = middle
        else:
            failing = middle
    return working
