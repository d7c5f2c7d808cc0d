# SPDX-License-Identifier: BSD-2-Clause
"""A spare takes nothing from anybody: what the analysis promises holds with and without it.

Random systems of every policy with a spare - most with flows, of clients too - are analysed as
they are and under the same policy without the spare, and run both ways. What is promised with a
spare must hold in both, and so must what is promised without one. (With overheads a spare has picks
of its own, so the second is asked of runs without a spare only.)
"""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.support.campaign import Trial, hunt, sizes
from tests.support.whole_worlds import POLICIES, TICKS, World, broken, claims_of

from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import InputError, Overheads, Policy, Slack, System, to_toml, with_policy
from hyperperiod.runs import simulate

SPARE = [policy for policy in POLICIES if policy.slack is Slack.SPARE]


class Pair(NamedTuple):
    """A system with a spare, the same without, and how long to run them."""

    spare: System
    plain: System
    horizon_ns: int


def draw_pair(draw: random.Random) -> Pair | None:
    """None if there is no interface for a domain, or no spare."""
    world = World(draw, SPARE)
    world.flows = world.flows or world.chance(0.6)
    try:
        system = resolve_what_can_be(world.system()).system
    except InputError:  # a spare of too long a period
        return None
    if any(not domain.best_effort and domain.interface is None for domain in system.domains):
        return None
    rules = system.policy
    plain = Policy(budget=rules.budget, order=rules.order, scope=rules.scope)
    return Pair(system, with_policy(system, plain), TICKS * world.tick)


def trial(draw: random.Random, runs: int = 3) -> Trial:
    pair = draw_pair(draw)
    if pair is None:
        return Trial(accepted=False)
    of_spare, of_plain = claims_of(pair.spare), claims_of(pair.plain)
    if not any((*of_spare, *of_plain)):
        return Trial(accepted=False)
    free = pair.spare.overheads == Overheads()
    for _ in range(runs):
        seed = draw.randrange(1_000_000)
        for one in (pair.spare, pair.plain):
            run = simulate(one, pair.horizon_ns, seed)
            asked = [of_spare, of_plain] if free or one is pair.plain else [of_spare]
            found = [text for claims in asked for text in broken(run, claims)]
            if found:
                text = to_toml(one)
                return Trial(True, f"{'; '.join(found)} with seed {seed} in {text}")
    return Trial(accepted=True)


@sizes(40)
def test_what_is_promised_holds_with_and_without_the_spare(systems: int) -> None:
    hunt("spare", systems, trial, least_accepted=0.3)
