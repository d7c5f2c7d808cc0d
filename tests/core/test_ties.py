# SPDX-License-Identifier: BSD-2-Clause
"""Among equals it is the one that goes on: by the rules in force, also right after a swap."""

from __future__ import annotations

from hyperperiod import _sim

PERIODIC, DEFERRABLE = 0, 1
EDF = 1
NONE, _, RECLAIM = range(3)


def test_after_a_swap_who_ran_goes_on_and_not_who_paid() -> None:
    """Before it the servers were ordered by who pays, after it by who runs."""
    core = _sim.Core(PERIODIC, EDF, RECLAIM, 1, 0, 0, 0, 0)
    for vcpu in (0, 1):
        core.add(vcpu, 20, 8, 0, 0, 0)
    core.arrive(1, 0)
    _, _, run, pay, _, _ = core.pick(0, 0)
    assert (run, pay) == (1, 0)

    core.arrive(0, 2)
    core.kicks(2)
    assert core.set_policy(DEFERRABLE, EDF, NONE, 2) == 0
    _, _, run, pay, _, _ = core.pick(0, 2)
    assert (run, pay) == (1, 1)
