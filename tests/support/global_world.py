# SPDX-License-Identifier: BSD-2-Clause
"""A world of ticks in which global EDF or global fixed priority runs, many runs at once.

Tasks are (wcet, period, deadline) in ticks. In a run every task has a first release and gaps that
are its period or more; in every tick so many jobs with the earliest deadlines, or of the first
tasks, run as there are pcpus in that tick. Nothing here knows the tests: a tick is decided from
deadlines or numbers alone.

`World` holds `systems` sets of tasks with `runs` runs each as arrays of numpy; `play` says per
system whether some run missed a deadline, and per task the longest response seen.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hyperperiod.analysis.component import Load

Ints = NDArray[np.int32]
NEVER = 30_000


@dataclass(frozen=True)
class World:
    """Arrays (systems, tasks); shorter sets are filled up with tasks that never come."""

    wcet: Ints
    period: Ints
    deadline: Ints
    by_priority: bool = False

    @classmethod
    def of(cls, sets: Sequence[Sequence[Load]], *, by_priority: bool = False) -> World:
        tasks = max((len(loads) for loads in sets), default=1)
        absent = Load(0, NEVER, NEVER)
        padded = [[*loads, *[absent] * (tasks - len(loads))] for loads in sets]
        table = np.array(padded, dtype=np.int32).reshape(len(sets), tasks, -1)
        return cls(table[:, :, 0], table[:, :, 1], table[:, :, 2], by_priority)

    @property
    def shape(self) -> tuple[int, int]:
        systems, tasks = self.wcet.shape
        return systems, tasks


@dataclass(frozen=True)
class Played:
    missed: NDArray[np.bool_]  # per system
    response: Ints  # per system and task, the longest seen
    late: Ints  # per system and run, the most by which an end came near its deadline, or after it


def first_releases(world: World, rng: np.random.Generator, runs: int) -> Ints:
    """Together; aligned so that deadlines fall together, task by task; else at random."""
    systems, tasks = world.shape
    period = world.period[:, None, :]
    first = rng.integers(0, np.minimum(period, 64), (systems, runs, tasks), dtype=np.int32)
    first[:, 0] = 0
    end = int(world.period[world.period < NEVER].max(initial=1))
    for own in range(min(tasks, runs - 1)):
        due = end + world.deadline[:, own]
        aligned = (due[:, None] - world.deadline) % world.period
        aligned[:, own] = end % world.period[:, own]
        first[:, 1 + own] = aligned
    return np.where(period >= NEVER, NEVER, first).astype(np.int32)


def play(
    world: World,
    pcpus: NDArray[np.int32],
    seed: random.Random,
    runs: int,
    ticks: int,
    first: Ints | None = None,
) -> Played:
    """Runs everything; `pcpus` is (systems, 1 or runs, 1 or ticks): how many in each tick.

    With first releases given nobody leaves gaps; else half of the runs do now and then.
    """
    rng = np.random.default_rng(seed.getrandbits(64))
    systems, tasks = world.shape
    shape = (systems, runs, tasks)
    come = first_releases(world, rng, runs) if first is None else first
    lazy = (np.arange(runs) >= (runs // 2 if first is None else runs))[None, :, None]
    tie = rng.permuted(np.broadcast_to(np.arange(tasks, dtype=np.int32), shape), axis=2)
    left = np.zeros(shape, np.int32)
    due = np.full(shape, NEVER, np.int32)
    since = np.zeros(shape, np.int32)
    longest = np.zeros(shape, np.int32)
    missed = np.zeros((systems, runs), bool)
    wcet, period, deadline = (a[:, None, :] for a in (world.wcet, world.period, world.deadline))
    width = np.broadcast_to(pcpus, (systems, runs, ticks))
    for now in range(ticks):
        new = come == now
        left = np.where(new, wcet, left)
        due = np.where(new, now + deadline, due)
        since = np.where(new, now, since)
        gap = np.where(lazy & (rng.random(shape) < 0.2), rng.integers(0, 4, shape), 0)
        come = np.where(new, now + period + gap, come)
        ready = left > 0
        order = np.arange(tasks, dtype=np.int32) if world.by_priority else due * tasks + tie
        key = np.where(ready, order, NEVER * (tasks + 1))
        rank = (key[:, :, None, :] < key[:, :, :, None]).sum(axis=3)
        left = left - (ready & (rank < width[:, :, now, None]))
        done = ready & (left == 0)
        longest = np.where(done, np.maximum(longest, now + 1 - since), longest)
        missed |= ((left > 0) & (due <= now + 1)).any(axis=2)
    late = np.where(longest > 0, longest - deadline, -NEVER).max(axis=2)
    late = np.where(missed, NEVER, late).astype(np.int32)
    return Played(np.asarray(missed.any(axis=1)), longest.max(axis=1), late)


def play_and_climb(
    world: World,
    pcpus: NDArray[np.int32],
    seed: random.Random,
    runs: int,
    ticks: int,
    rounds: int = 2,
) -> Played:
    """As `play`, and then from the worst of some first releases on: others near them, if worse."""
    rng = np.random.default_rng(seed.getrandbits(64))
    found = play(world, pcpus, seed, runs, ticks)
    here = first_releases(world, rng, runs)
    for number in range(rounds + 1):
        near = play(world, pcpus, seed, runs, ticks, here)
        found = Played(
            found.missed | near.missed,
            np.maximum(found.response, near.response),
            np.maximum(found.late, near.late),
        )
        if number < rounds:
            here = _around(world, here, near.late, rng)
    return found


def _around(world: World, first: Ints, late: Ints, rng: np.random.Generator) -> Ints:
    """The worst first releases of each system, and others up to two ticks from them."""
    period = world.period[:, None, :]
    best = np.take_along_axis(first, late.argmax(axis=1)[:, None, None], axis=1)
    step = rng.integers(-2, 3, first.shape, dtype=np.int32)
    step[:, 0] = 0
    moved = (best + step) % np.minimum(period, 64)
    return np.where(period >= NEVER, NEVER, moved).astype(np.int32)


def adversarial_supply(
    platforms: Sequence[Sequence[tuple[int, int]]],
    rng: np.random.Generator,
    runs: int,
    ticks: int,
) -> Ints:
    """How many vcpus run in each tick of each run, each with its interface (period, budget).

    Up to some tick budgets come early, from then on late; of every four runs one has refills at
    phases that leave the budgets of all just spent at that tick, one budgets anywhere in their
    periods, and one refills at phases of their own.
    """
    most = max(len(platform) for platform in platforms)
    table = np.array(
        [[*platform, *[(1, 0)] * (most - len(platform))] for platform in platforms], np.int32
    )
    period, budget = (table[:, None, :, column, None] for column in (0, 1))
    shape = (len(platforms), runs, most)
    kind = np.arange(runs) % 4
    turn = rng.integers(0, ticks // 2, (*shape[:2], 1, 1), dtype=np.int32)
    turn[:, kind == 1] //= 4
    drawn = rng.integers(0, 1 << 20, shape, dtype=np.int32)[..., None]
    phase = np.where((kind == 3)[None, :, None, None], drawn, drawn[:, :, :1])
    phase = np.where((kind == 1)[None, :, None, None], budget - turn, phase) % period
    time = np.arange(ticks, dtype=np.int32) + phase
    place, span = time % period, time // period
    early = span * period - phase < turn
    due = np.where(early, place < budget, place >= period - budget)
    # Elsewhere the budget begins anywhere in the period, and wraps around within it.
    turned = rng.integers(0, 1 << 20, (*shape, ticks + 2), dtype=np.int32)
    start = np.take_along_axis(turned, span, axis=3)
    anywhere = (kind == 2)[None, :, None, None]
    run = np.where(anywhere, (place + start) % period < budget, due)
    return np.asarray(run.sum(axis=2, dtype=np.int32))


def some_release_pattern_misses(loads: Sequence[Load], pcpus: int) -> bool:
    """All sporadic releases and all ways to break ties: whether any of them misses a deadline.

    A state is, per task, what is left of its job, the time to its deadline, and the time to the
    next release it may have. Every state that can come is visited.
    """
    start = tuple((0, 0, 0) for _ in loads)
    seen, open_states = {start}, [start]
    while open_states:
        state = open_states.pop()
        free = [index for index, (_, _, wait) in enumerate(state) if wait == 0]
        for chosen in product((False, True), repeat=len(free)):
            now = list(state)
            for index, comes in zip(free, chosen, strict=True):
                if comes:
                    load = loads[index]
                    now[index] = (load.wcet, load.deadline, load.period)
            for running in _who_may_run(now, pcpus):
                after = []
                for index, (left, due, wait) in enumerate(now):
                    rest = left - (index in running)
                    if rest > 0 and due <= 1:
                        return True
                    after.append((rest, max(0, due - 1) if rest else 0, max(0, wait - 1)))
                following = tuple(after)
                if following not in seen:
                    seen.add(following)
                    open_states.append(following)
    return False


def _who_may_run(state: Sequence[tuple[int, int, int]], pcpus: int) -> list[tuple[int, ...]]:
    ready = sorted((due, index) for index, (left, due, _) in enumerate(state) if left)
    if len(ready) <= pcpus:
        return [tuple(index for _, index in ready)]
    edge = ready[pcpus - 1][0]
    first = [index for due, index in ready if due < edge]
    equal = [index for due, index in ready if due == edge]
    return [(*first, *some) for some in combinations(equal, pcpus - len(first))]
