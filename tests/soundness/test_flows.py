# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for items that take longer than the end-to-end bound, or are dropped against its word.

Systems of two or three domains on one or two pcpus, one or two flows through their tasks, some of
them visited twice, with jitter, bursts, queues and tasks beside them, or from clients that wait,
under every policy whose servers have a supply bound; every other system has devices, through which
packets come in and go out. The adversary runs them from many phases and climbs over the offsets of
sources and tasks towards the longest response in relation to its bound.
"""

from __future__ import annotations

import random

from tests.support.campaign import Trial, hunt, sizes
from tests.support.drawn_devices import with_devices
from tests.support.flow_attack import analysis_of, attack
from tests.support.flow_worlds import draw_system


def trial(rng: random.Random) -> Trial:
    one = draw_system(rng)
    if rng.random() < 0.5:
        one = with_devices(rng, one)
    found = analysis_of(one)
    if all(verdict.bound_ns is None for verdict in found.flows):
        return Trial(accepted=False)
    climbs = 3 if rng.random() < 0.1 else 0
    return Trial(accepted=True, counterexample=attack(one, found, rng, 5, climbs))


@sizes(75)
def test_no_item_takes_longer_than_its_bound(systems: int) -> None:
    hunt("flows", systems, trial, least_accepted=0.2)
