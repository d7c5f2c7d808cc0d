# SPDX-License-Identifier: BSD-2-Clause
"""No run of global EDF on supplied vcpus misses a deadline that MPR or DMPR promised."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.support.campaign import Trial, hunt_blocks, sizes
from tests.support.global_world import World, adversarial_supply, play_and_climb
from tests.support.published_mpr import mpr_supply, published_test

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.dmpr import dmpr
from hyperperiod.analysis.domains.mpr import mpr
from hyperperiod.analysis.domains.supply_bound import Supply

RUNS, TICKS = 16, 64

# Whether loads hold on so many vcpus of an interface (period, budget), and how many of them
# have a pcpu for themselves.
Accepts = Callable[[Sequence[Load], int, int, int], bool]


def by_mpr(loads: Sequence[Load], period: int, budget: int, vcpus: int) -> bool:
    return mpr(loads, Supply(Shape.GENERAL, period, budget), vcpus).holds is True


def by_dmpr(loads: Sequence[Load], period: int, budget: int, vcpus: int) -> bool:
    return dmpr(loads, Supply(Shape.GENERAL, period, budget), vcpus).holds is True


def drawn(rng: random.Random) -> tuple[list[Load], int, int, int]:
    """Loads, and an interface on two or three vcpus; some have hardly any time to spare."""
    vcpus = rng.choice([2, 2, 3])
    if rng.random() < 0.2:
        return _urgent(rng, vcpus)
    loads = []
    for _ in range(rng.randint(2, 5)):
        period = rng.randint(5, 14)
        wcet = rng.randint(1, max(1, period // rng.randint(2, 5)))
        deadline = rng.randint(max(wcet, period // 2), period) if rng.random() < 0.4 else period
        loads.append(Load(wcet, period, deadline))
    period = rng.randint(2, 5)
    budget = rng.randint((period + 1) // 2, period)
    return loads, period, budget, vcpus


def _urgent(rng: random.Random, vcpus: int) -> tuple[list[Load], int, int, int]:
    """Rare jobs that have to run nearly at once, on pcpus that are nearly whole."""
    loads = []
    for _ in range(rng.randint(2, 4)):
        wcet = rng.randint(1, 5)
        loads.append(Load(wcet, rng.randint(10, 14), wcet + rng.randint(0, 3)))
    period = rng.randint(2, 5)
    return loads, period, period - rng.choice([0, 0, 1]), vcpus


def breaks(accepts: Accepts, whole_pcpus: bool) -> Callable[[list[random.Random]], list[Trial]]:
    """Trials of whole blocks under supply that comes as badly as it may."""

    def trials(rngs: list[random.Random]) -> list[Trial]:
        systems = [drawn(rng) for rng in rngs]
        accepted = [accepts(*system) for system in systems]
        tried = [number for number, yes in enumerate(accepted) if yes]
        found = [Trial(yes) for yes in accepted]
        if not tried:
            return found
        rng = np.random.default_rng(rngs[0].getrandbits(64))
        interfaces, whole = [], []
        for number in tried:
            _, period, budget, vcpus = systems[number]
            interfaces.append([(period, budget)] * (1 if whole_pcpus else vcpus))
            whole.append(vcpus - 1 if whole_pcpus else 0)
        width = adversarial_supply(interfaces, rng, RUNS, TICKS)
        width += np.array(whole, np.int32)[:, None, None]
        world = World.of([systems[number][0] for number in tried])
        played = play_and_climb(world, width, rngs[1 % len(rngs)], RUNS, TICKS)
        for place, number in enumerate(tried):
            if played.missed[place]:
                found[number] = Trial(True, f"accepted: {systems[number]}")
        return found

    return trials


@sizes(200)
@pytest.mark.parametrize(
    ("accepts", "whole_pcpus"), [(by_mpr, False), (by_dmpr, True)], ids=["mpr", "dmpr"]
)
def test_hunt_for_a_missed_deadline(systems: int, accepts: Accepts, whole_pcpus: bool) -> None:
    """Budgets early and then late, or anywhere; vcpus together or apart; climbing releases."""
    hunt_blocks(f"{accepts.__name__}", systems, breaks(accepts, whole_pcpus))


def test_the_hunt_finds_what_the_published_test_gets_wrong() -> None:
    def published(loads: Sequence[Load], period: int, budget: int, vcpus: int) -> bool:
        return published_test(loads, period, vcpus * budget, vcpus, mpr_supply)

    with pytest.raises(pytest.fail.Exception, match="accepted"):
        hunt_blocks("published", 2000, breaks(published, False))
