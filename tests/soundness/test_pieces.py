# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for items that take longer through rows of hops on one vcpu than their bound.

Here most of the way of an item lies in rows of two to eight hops on one vcpu, now and then 30 in
all, with priorities that go up and down along a row and tasks that are visited again. Sources are
as fast as the budgets can bear, with jitter and bursts, so that several items are in a row at once;
other flows and other tasks share it. Jobs may be shorter than their longest. The adversary is that
of `flow_attack`.
"""

from __future__ import annotations

import random

from tests.support.campaign import Trial, hunt, sizes
from tests.support.flow_attack import analysis_of, attack
from tests.support.row_worlds import draw_system

HORIZON = 1000


def trial(rng: random.Random) -> Trial:
    """Whether no run that is tried keeps an item, or a job, longer than its bound."""
    one = draw_system(rng)
    found = analysis_of(one)
    if all(verdict.bound_ns is None for verdict in found.flows):
        return Trial(accepted=False)
    climbs = 3 if rng.random() < 0.3 else 0
    return Trial(accepted=True, counterexample=attack(one, found, rng, 5, climbs, HORIZON))


@sizes(40)
def test_rows_of_hops_are_no_longer_than_their_bound(systems: int) -> None:
    hunt("pieces", systems, trial, least_accepted=0.2)
