# SPDX-License-Identifier: BSD-2-Clause
"""What every hunt for a counterexample shares: seeds, size, hill climbing, and the report.

A trial draws one small system, asks the test under scrutiny, and if that accepts lets an adversary
try to break it: random and worst phases, adversarial supply, climbing towards longer responses.
It returns what it found. `hunt` runs many trials, fails at the first counterexample with all that
is needed to repeat it, and refuses to call a hunt a success in which hardly anything was accepted:
a test that says no to everything is sound and useless, and so is a hunt for its mistakes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import pytest

State = TypeVar("State")

SEED = 20_120_417
WHOLE_HUNT = 100_000


@dataclass(frozen=True)
class Trial:
    """Whether the test accepted the system, and what broke it (empty: nothing did)."""

    accepted: bool
    counterexample: str = ""


def sizes(few: int) -> pytest.MarkDecorator:
    """Parametrises `systems`: `few` in every run of the tests, all of them when asked for."""
    whole = pytest.param(WHOLE_HUNT, marks=pytest.mark.slow)
    return pytest.mark.parametrize("systems", [few, whole])


def draw_for(name: str, number: int) -> random.Random:
    """The generator of one trial: the same on every machine and in every order of trials."""
    return random.Random(f"{SEED}:{name}:{number}")


def hunt(
    name: str, systems: int, trial: Callable[[random.Random], Trial], least_accepted: float = 0.1
) -> None:
    """Runs the trials of a hunt; fails at the first counterexample."""
    accepted = 0
    for number in range(systems):
        found = trial(draw_for(name, number))
        accepted += found.accepted
        if found.counterexample:
            pytest.fail(f"{name}, trial {number} of seed {SEED}: {found.counterexample}")
    share = accepted / systems
    assert share >= least_accepted, f"{name}: only {share:.1%} accepted: the hunt proves little"


def climb(
    start: State,
    neighbours: Callable[[State], Iterable[State]],
    score: Callable[[State], int],
    steps: int,
) -> tuple[State, int]:
    """Steepest ascent: the best neighbour as long as it is better, at most `steps` times."""
    here, best = start, score(start)
    for _ in range(steps):
        rated = [(score(state), state) for state in neighbours(here)]
        if not rated:
            break
        top, state = max(rated, key=lambda pair: pair[0])
        if top <= best:
            break
        here, best = state, top
    return here, best


def hunt_blocks(
    name: str,
    systems: int,
    trials: Callable[[list[random.Random]], list[Trial]],
    block: int = 250,
    least_accepted: float = 0.1,
) -> None:
    """As `hunt`, for adversaries that work on many systems at once."""
    accepted = 0
    for first in range(0, systems, block):
        numbers = range(first, min(first + block, systems))
        found = trials([draw_for(name, number) for number in numbers])
        for number, trial in zip(numbers, found, strict=True):
            accepted += trial.accepted
            if trial.counterexample:
                pytest.fail(f"{name}, trial {number} of seed {SEED}: {trial.counterexample}")
    share = accepted / systems
    assert share >= least_accepted, f"{name}: only {share:.1%} accepted: the hunt proves little"
