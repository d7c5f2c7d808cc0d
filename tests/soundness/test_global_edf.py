# SPDX-License-Identifier: BSD-2-Clause
"""No run of global EDF misses a deadline that a test of it promised."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

import numpy as np
import pytest
from tests.support.campaign import Trial, hunt_blocks, sizes
from tests.support.global_world import World, play_and_climb, some_release_pattern_misses

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.bcl import bcl
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl
from hyperperiod.analysis.verdict import Verdict

RUNS, TICKS = 24, 56

Test = Callable[[Sequence[Load], int], Verdict]
TESTS: dict[str, Test] = {
    "gfb": gfb,
    "baker": baker,
    "bcl": bcl,
    "iterative bcl": lambda loads, pcpus: iterative_bcl(loads, pcpus).whole,
}


def drawn(rng: random.Random) -> list[Load]:
    """Two to five tasks; constrained deadlines in half of the sets."""
    loads = []
    constrained = rng.random() < 0.5
    weight = rng.choice([2, 3, 4, 6])
    for _ in range(rng.randint(2, 5)):
        period = rng.randint(2, 12)
        wcet = rng.randint(1, max(1, period // rng.randint(1, weight)))
        deadline = rng.randint(wcet, period) if constrained else period
        loads.append(Load(wcet, period, deadline))
    return loads


def breaks(names: dict[str, Test], runs: int) -> Callable[[list[random.Random]], list[Trial]]:
    """Trials of whole blocks: what the tests accept, and whether a run breaks it."""

    def trials(rngs: list[random.Random]) -> list[Trial]:
        sets = [drawn(rng) for rng in rngs]
        pcpus = [rng.choice([2, 2, 3]) for rng in rngs]
        accepting = [
            [name for name, test in names.items() if test(loads, count).holds]
            for loads, count in zip(sets, pcpus, strict=True)
        ]
        bounds = [
            iterative_bcl(loads, count).bounds for loads, count in zip(sets, pcpus, strict=True)
        ]
        width = np.array(pcpus, np.int32)[:, None, None]
        played = play_and_climb(World.of(sets), width, rngs[0], runs, TICKS)
        found = []
        for number, names_here in enumerate(accepting):
            text = ""
            if names_here and played.missed[number]:
                text = f"{', '.join(names_here)} accept {sets[number]} on {pcpus[number]}"
            for bound, response in zip(bounds[number], played.response[number], strict=False):
                if response > bound:
                    text = f"{sets[number]} on {pcpus[number]}: {response} above {bound}"
            found.append(Trial(bool(names_here), text))
        return found

    return trials


@sizes(250)
def test_hunt_for_a_missed_deadline(systems: int) -> None:
    """Synchronous and aligned releases, random phases, gaps, climbing; response bounds too."""
    hunt_blocks("global edf", systems, breaks(TESTS, RUNS))


def test_the_hunt_finds_what_another_tool_gets_wrong() -> None:
    """Without rounding down in floor(D / T), as in a published tool, it takes moments."""

    def unrounded(loads: Sequence[Load], pcpus: int) -> Verdict:
        held = all(
            sum(
                min(own.deadline * load.wcet / load.period, own.deadline - own.wcet + 1)
                for load in loads
                if load is not own
            )
            < pcpus * (own.deadline - own.wcet + 1)
            for own in loads
        )
        return Verdict.yes() if held else Verdict.unknown("")

    with pytest.raises(pytest.fail.Exception, match="unrounded accept"):
        hunt_blocks("global edf", 1000, breaks({"unrounded": unrounded}, 8))


def small_worlds(longest: int, tasks: int) -> list[tuple[Load, ...]]:
    every = [
        Load(wcet, period, deadline)
        for period in range(1, longest + 1)
        for deadline in range(1, period + 1)
        for wcet in range(1, deadline + 1)
    ]
    return list(combinations_with_replacement(every, tasks))


@pytest.mark.parametrize(
    ("longest", "tasks"),
    [
        (3, 3),
        pytest.param(4, 3, marks=pytest.mark.slow),
        pytest.param(3, 4, marks=pytest.mark.slow),
    ],
)
def test_every_small_world(longest: int, tasks: int) -> None:
    """All task sets with short periods on two pcpus, all releases, all ways to break ties."""
    accepted, schedulable = dict.fromkeys(TESTS, 0), 0
    for loads in small_worlds(longest, tasks):
        accepting = [name for name, test in TESTS.items() if test(loads, 2).holds]
        broken = some_release_pattern_misses(loads, 2)
        assert not (broken and accepting), (loads, accepting)
        schedulable += not broken
        for name in accepting:
            accepted[name] += 1
    assert schedulable > max(accepted.values()) >= min(accepted.values()) > 0
    print(f"{schedulable} schedulable, accepted: {accepted}")
