# SPDX-License-Identifier: BSD-2-Clause
"""No job that moves between vcpus with different interfaces misses a deadline that was promised.

The adversary places each vcpu's budget in each of its periods and chooses all releases; the world
of ticks knows nothing of the test. In small worlds every placement and every release is tried, so
that what is schedulable is known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from tests.support.campaign import SEED, Trial, hunt_blocks, sizes
from tests.support.global_world import World, adversarial_supply, play_and_climb

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.domains.virtual_multiprocessor import judge_moving, multi_supply
from hyperperiod.analysis.verdict import Verdict

RUNS, TICKS = 16, 96

Platform = list[tuple[int, int]]  # period and budget of each vcpu
Judge = Callable[[Local, Sequence[Load], Sequence[Supply]], list[Verdict]]

ORDERS = pytest.mark.parametrize("local", [Local.EDF, Local.FIXED_PRIORITY], ids=["edf", "fp"])


def supplies_of(platform: Platform) -> list[Supply]:
    return [Supply(Shape.GENERAL, period, budget) for period, budget in platform]


def drawn(rng: random.Random, local: Local) -> tuple[list[Load], Platform]:
    """Loads on one to four vcpus that differ; some systems have fewer loads than vcpus."""
    platform = []
    for _ in range(rng.choice([1, 2, 2, 2, 3, 3, 4])):
        period = rng.randint(1, 7)
        budget = period if rng.random() < 0.2 else rng.randint((period + 2) // 3, period)
        platform.append((period, budget))
    share = rng.uniform(0.2, 0.9) * sum(budget / period for period, budget in platform)
    count = rng.randint(1, 6)
    cuts = sorted(rng.random() for _ in range(count - 1))
    parts = [after - before for before, after in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    loads = []
    for part in parts:
        period = rng.randint(4, 24)
        wcet = max(1, min(period, round(part * share * period)))
        shortest = max(wcet, period // 2)
        loads.append(Load(wcet, period, rng.choice([period, rng.randint(shortest, period)])))
    if local is Local.FIXED_PRIORITY:
        keys: list[Callable[[Load], int]] = [
            lambda load: load.period,
            lambda load: load.deadline,
            lambda _: rng.randrange(9),
        ]
        loads.sort(key=rng.choice(keys))
    return loads, platform


def breaks(local: Local, judge: Judge) -> Callable[[list[random.Random]], list[Trial]]:
    """Trials of whole blocks: deadlines that are missed, responses above their bounds."""

    def trials(rngs: list[random.Random]) -> list[Trial]:
        systems = [drawn(rng, local) for rng in rngs]
        verdicts = [judge(local, loads, supplies_of(vcpus)) for loads, vcpus in systems]
        found = [Trial(all(one.holds for one in all_of_them)) for all_of_them in verdicts]
        tried = [number for number, trial in enumerate(found) if trial.accepted]
        if not tried:
            return found
        rng = np.random.default_rng(rngs[0].getrandbits(64))
        width = adversarial_supply([systems[number][1] for number in tried], rng, RUNS, TICKS)
        sets = [systems[number][0] for number in tried]
        world = World.of(sets, by_priority=local is Local.FIXED_PRIORITY)
        played = play_and_climb(world, width, rngs[1 % len(rngs)], RUNS, TICKS)
        for place, number in enumerate(tried):
            bounds = [one.bound_ns or 0 for one in verdicts[number]]
            late = (played.response[place, : len(bounds)] > bounds).any()
            if played.missed[place] or late:
                found[number] = Trial(True, f"accepted: {systems[number]}, bounds {bounds}")
        return found

    return trials


@ORDERS
@sizes(750)
def test_hunt_for_a_late_response(systems: int, local: Local) -> None:
    """Budgets early and then late, at once or apart, or anywhere; climbing releases."""
    hunt_blocks(f"virtual multiprocessor {local.name}", systems, breaks(local, judge_moving))


def _as_if_alone(local: Local, loads: Sequence[Load], supplies: Sequence[Supply]) -> list[Verdict]:
    """A test that is wrong: a job uses what vcpus supply at the same instant, all of it."""
    found = []
    for index, own in enumerate(loads):
        others = loads[:index] if local is Local.FIXED_PRIORITY else loads
        work = sum(-(-own.deadline // other.period) * other.wcet for other in others)
        need = work + own.wcet * (local is Local.FIXED_PRIORITY)
        holds = need <= sum(supply.sbf(own.deadline) for supply in supplies)
        found.append(Verdict.yes(own.deadline) if holds else Verdict.unknown("short"))
    return found


@ORDERS
def test_the_hunt_finds_a_test_that_forgets_that_jobs_are_not_parallel(local: Local) -> None:
    with pytest.raises(pytest.fail.Exception, match="accepted"):
        hunt_blocks("as if alone", 1000, breaks(local, _as_if_alone))


# Every behaviour of small systems. A load is (left, time to its deadline, time to its next
# release), a vcpu (place in its period, budget left in it).
Loading = tuple[tuple[int, int, int], ...]
Serving = tuple[tuple[int, int], ...]


def some_behaviour_misses(local: Local, loads: Sequence[Load], platform: Platform) -> bool:
    """All releases, all placements of the budgets, all ways to break ties."""
    idle: Loading = tuple((0, 0, 0) for _ in loads)
    open_states: list[tuple[Loading, Serving]] = [
        (idle, places) for places in product(*(_places(*vcpu) for vcpu in platform))
    ]
    seen = set(open_states)
    while open_states:
        loading, serving = open_states.pop()
        served = list(_supplied(serving, platform))
        for released in _released(loading, loads):
            for width, after_serving in served:
                for running in _who_may_run(local, released, width):
                    after = []
                    for index, (left, due, wait) in enumerate(released):
                        rest = left - (index in running)
                        if rest > 0 and due <= 1:
                            return True
                        after.append((rest, max(0, due - 1) if rest else 0, max(0, wait - 1)))
                    state = (tuple(after), after_serving)
                    if state not in seen:
                        seen.add(state)
                        open_states.append(state)
    return False


def _places(period: int, budget: int) -> Iterator[tuple[int, int]]:
    """Where a vcpu may be in its period, and what it may have left of its budget there."""
    for place in range(period):
        for left in range(max(0, budget - place), min(budget, period - place) + 1):
            yield place, left


def _supplied(serving: Serving, platform: Platform) -> Iterator[tuple[int, Serving]]:
    """How many vcpus run in a tick, and where all are after it."""
    choices = []
    for (place, left), (period, budget) in zip(serving, platform, strict=True):
        options = []
        for runs in (0, 1):
            if runs <= left and left - runs <= period - place - 1:
                over = place + 1 == period
                options.append((runs, (0, budget) if over else (place + 1, left - runs)))
        choices.append(options)
    for chosen in set(product(*choices)):
        yield sum(runs for runs, _ in chosen), tuple(after for _, after in chosen)


def _released(loading: Loading, loads: Sequence[Load]) -> Iterator[Loading]:
    free = [index for index, (_, _, wait) in enumerate(loading) if wait == 0]
    for chosen in product((False, True), repeat=len(free)):
        now = list(loading)
        for index, comes in zip(free, chosen, strict=True):
            if comes:
                now[index] = (loads[index].wcet, loads[index].deadline, loads[index].period)
        yield tuple(now)


def _who_may_run(local: Local, loading: Loading, width: int) -> list[tuple[int, ...]]:
    ready = [(due, index) for index, (left, due, _) in enumerate(loading) if left]
    if len(ready) <= width:
        return [tuple(index for _, index in ready)]
    if width == 0:
        return [()]
    if local is Local.FIXED_PRIORITY:
        return [tuple(sorted(index for _, index in ready)[:width])]
    ready.sort()
    edge = ready[width - 1][0]
    first = [index for due, index in ready if due < edge]
    equal = [index for due, index in ready if due == edge]
    return [(*first, *some) for some in combinations(equal, width - len(first))]


def small_systems(rng: random.Random) -> tuple[list[Load], Platform]:
    loads = []
    for _ in range(rng.choice([2, 2, 3])):
        period = rng.randint(2, 6)
        wcet = rng.randint(1, max(1, period // 2))
        loads.append(Load(wcet, period, rng.randint(wcet, period)))
    platform = []
    for _ in range(2):
        period = rng.randint(1, 3)
        platform.append((period, rng.randint(1, period)))
    return loads, platform


@ORDERS
@pytest.mark.parametrize("count", [150, pytest.param(3000, marks=pytest.mark.slow)])
def test_every_behaviour_of_small_systems(local: Local, count: int) -> None:
    """Whatever is accepted has no behaviour that misses; some that has none is accepted."""
    rng = random.Random(f"{SEED}:small:{local.name}")
    accepted = schedulable = 0
    for _ in range(count):
        loads, platform = small_systems(rng)
        yes = all(one.holds for one in judge_moving(local, loads, supplies_of(platform)))
        misses = some_behaviour_misses(local, loads, platform)
        assert not (yes and misses), (local, loads, platform)
        accepted, schedulable = accepted + yes, schedulable + (not misses)
    print(f"{local.name}: {accepted} accepted of {schedulable} schedulable of {count}")
    assert accepted > schedulable / 2


@ORDERS
def test_more_is_accepted_than_by_the_published_test(local: Local) -> None:
    rng = random.Random(f"{SEED}:published:{local.name}")
    ours = theirs = 0
    for _ in range(1500):
        loads, platform = drawn(rng, local)
        supplies = supplies_of(platform)
        published = multi_supply(local, loads, supplies).holds is True
        found = all(one.holds for one in judge_moving(local, loads, supplies))
        assert found or not published, (loads, platform)
        ours, theirs = ours + found, theirs + published
    assert ours > theirs > 0


def asked_less(
    rng: random.Random, loads: list[Load], platform: Platform
) -> tuple[list[Load], Platform]:
    """A system that asks for less, or has more: its verdict can only be better."""
    loads, platform, index = list(loads), list(platform), rng.randrange(len(loads))
    own, where = loads[index], rng.randrange(len(platform))
    period, budget = platform[where]
    # Beside whole pcpus a part of one would take the tests away that are about whole ones alone.
    whole = all(period == budget for period, budget in platform)
    what = rng.choice(("wcet", "period", "budget", *(() if whole else ("vcpu",))))
    if what == "wcet":
        loads[index] = own._replace(wcet=max(1, own.wcet - rng.choice((1, own.wcet // 2))))
    elif what == "period":
        loads[index] = own._replace(period=own.period + rng.choice((1, own.period // 3)))
    elif what == "budget":
        platform[where] = period, min(period, budget + rng.choice((1, max(1, period // 4))))
    else:
        platform.append((rng.randint(1, 7), 1))
    return loads, platform


@ORDERS
@pytest.mark.parametrize("count", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_who_asks_for_less_is_accepted_with_no_longer_bounds(local: Local, count: int) -> None:
    """In ticks, and in units so fine that bounds are sought in strides."""
    accepted = 0
    for number in range(count):
        rng = random.Random(f"{SEED}:less:{local.name}:{number}")
        loads, platform = drawn(rng, local)
        fine = rng.choice((1, 1000))
        loads = [Load(fine * one.wcet, fine * one.period, fine * one.deadline) for one in loads]
        platform = [(fine * period, fine * budget) for period, budget in platform]
        before = judge_moving(local, loads, supplies_of(platform))
        if not all(one.holds for one in before):
            continue
        accepted += 1
        less = asked_less(rng, loads, platform)
        after = judge_moving(local, less[0], supplies_of(less[1]))
        assert all(one.holds for one in after), (loads, platform, less)
        bounds = zip(before, after, strict=True)
        assert all((new.bound_ns or 0) <= (old.bound_ns or 0) for old, new in bounds)
    assert accepted > count / 3
