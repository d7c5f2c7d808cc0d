# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for responses above the bounds of servers that have most of their budget in hand.

Three ways. Small systems of which every behaviour is visited: tasks that come as often as the
server's budget allows, whose windows follow each other closely, so that what one has used is
missing in the next. Drawn systems of up to four tasks with jitter beside servers that take what
they can, from phases, executions and seeds that an adversary chooses on the core itself. And that
the adversary finds what is there: with bounds that take a server to have all its budget, always.
"""

from __future__ import annotations

import random

import pytest
from bench.pessimism import Small, build, draw, replayed, worst_case
from tests.soundness import rows
from tests.soundness.rows import Drawn
from tests.support.campaign import Trial, draw_for, hunt, sizes
from tests.support.supplied import component
from tests.support.worlds import domain, system, task

from hyperperiod._analysis import Local
from hyperperiod.analysis import analyze
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains import budget_in_hand
from hyperperiod.analysis.domains.budget_in_hand import CarriedBudget, bounds_in_hand
from hyperperiod.analysis.domains.supply_bound import Staircase
from hyperperiod.analysis.proofs import Rules, find_refinement
from hyperperiod.model import Budget, Sbf, System
from hyperperiod.model.policy import legal_policies

POLICIES = tuple(
    policy
    for policy in legal_policies()
    if policy.budget in (Budget.DEFERRABLE, Budget.CBS) and find_refinement(Rules.of(policy))
)
RULES = {(policy.budget, policy.order) for policy in POLICIES}
WAIT = ((0, 3),)
KEPT_STATES = 200_000
"""Worlds with more states are left out."""


def in_hand(*, kept: bool = False) -> CarriedBudget:
    """A budget of 2 in 10 for which at most 3 is waited while there is some of it."""
    return CarriedBudget(10, 10, 2, 2, WAIT, Staircase(10, 2, ((0, 11),)), kept)


def bounds_of(loads: list[Load], hand: CarriedBudget, before: list[int | None]) -> list[int | None]:
    return bounds_in_hand(component(Local.FIXED_PRIORITY, loads), hand, before)


def test_budget_in_hand_is_what_the_tasks_left() -> None:
    """One unit in 40 of a budget of 2 in 10: the first of its period, whatever came before."""
    assert bounds_of([Load(wcet=1, period=40, deadline=40)], in_hand(), [12]) == [4]


@pytest.mark.parametrize(
    ("wcet", "period", "kept", "bound"),
    [
        (2, 11, False, 13),  # a job may end within 10 before the next one comes
        (3, 40, False, 22),  # more than a budget, and the next one is lost with what is left
        (3, 40, True, 14),  # more than a budget: 2 at once, and the next one at its time
    ],
)
def test_no_budget_in_hand_that_may_be_gone(wcet: int, period: int, kept: bool, bound: int) -> None:
    own = Load(wcet=wcet, period=period, deadline=period)
    assert bounds_of([own], in_hand(kept=kept), [None if bound <= period else 99]) == [bound]


def test_a_task_that_used_the_budget_comes_late() -> None:
    """Both in one window find it full; after one of them the other is alone."""
    loads = [Load(wcet=1, period=18, deadline=18), Load(wcet=1, period=20, deadline=20)]
    assert bounds_of(loads, in_hand(kept=True), [14, 15]) == [4, 5]


def test_of_tasks_without_bounds_all_are_known_or_none() -> None:
    light, heavy = Load(wcet=1, period=40, deadline=9), Load(wcet=5, period=40, deadline=14)
    assert bounds_of([light], in_hand(), [None]) == [4]
    assert bounds_of([light, heavy], in_hand(), [12, None]) == [12, None]


def test_many_choices_are_no_better_than_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in place of too many choices is above all of them."""
    higher = 0
    for number in range(300):
        generator = draw_for("choices", number)
        loads = [
            Load(generator.randint(1, 2), generator.randint(8, 40), 60, generator.randint(0, 3))
            for _ in range(generator.randint(2, 4))
        ]
        hand = in_hand(kept=generator.random() < 0.5)
        before: list[int | None] = [60] * len(loads)
        each = bounds_of(loads, hand, before)
        with monkeypatch.context() as patch:
            patch.setattr(budget_in_hand, "MAX_CHOICES", 1)
            one = bounds_of(loads, hand, before)
        assert all((a or 0) <= (b or 0) for a, b in zip(each, one, strict=True)), (loads, each, one)
        higher += each != one
    assert higher > 0


# -- every behaviour of small systems ------------------------------------------------------------


def crowded(generator: random.Random, policy: str) -> Small:
    """Servers as in the measurement, and tasks that come more often."""
    small = draw(generator, policy)
    period, budget = small.servers[0]
    tasks = []
    number = generator.randint(1, 2)
    for _ in range(number):
        own = generator.randint(max(2, period // 2), 3 * period)
        wcet = round(own * budget / period * generator.uniform(0.1, 0.9) / number)
        tasks.append((own, max(1, wcet)))
    return Small(policy, small.servers, tuple(sorted(tasks)))


@pytest.mark.parametrize("policy", ["cbs", "cbs+fp", "ds", "deferrable+edf"])
@pytest.mark.parametrize("systems", [12, pytest.param(3_000, marks=pytest.mark.slow)])
def test_no_behaviour_exceeds_a_bound(policy: str, systems: int) -> None:
    program, looked_at = build(), 0
    for number in range(systems):
        small = crowded(draw_for(f"crowded {policy}", number), policy)
        found = analyze(small.system(Sbf.SERVERS)).domains[0].tasks
        if not all(one.schedulable for one in found):
            continue
        worst = worst_case(program, small, KEPT_STATES)
        if worst is None:
            continue
        looked_at += 1
        for index, (one, seen) in enumerate(zip(found, worst, strict=True)):
            assert one.response_bound_ns is not None
            assert seen.response <= one.response_bound_ns, (small, one, seen)
            if number < 12:
                assert replayed(small, index, seen) == seen.response, (small, seen)
    assert looked_at > systems // 5


# -- the adversary on the core -------------------------------------------------------------------


def some_system(generator: random.Random) -> System:
    """A domain under rm of up to four tasks, beside servers whose tasks want more than they get."""
    policy = generator.choice(POLICIES)
    pcpus = 1 if policy.scope.value == "partitioned" else 2
    count = generator.randint(2, 4) + pcpus - 1
    load = generator.uniform(0.5, 1.0) * pcpus
    shares = [generator.random() + 0.1 for _ in range(count)]
    domains = []
    for number in range(count):
        period = generator.randint(3, 24)
        budget = min(period, max(1, round(period * load * shares[number] / sum(shares))))
        tasks = []
        tries = generator.randint(1, 4) if number == 0 else 2
        greed = generator.uniform(0.1, 0.95) if number == 0 else 1.5
        for index in range(tries):
            pace = generator.randint(max(2, period // 2), 5 * period)
            wcet = min(pace, max(1, round(pace * budget / period * greed / tries)))
            more = {"jitter": generator.randint(0, 4)} if generator.random() < 0.3 else {}
            kind = generator.choice(("periodic", "sporadic"))
            own = task(f"t{index}", pace, wcet, kind=kind, deadline=pace, **more)
            tasks.append(own)
        domains.append(domain(f"d{number}", (budget, period), *tasks))
    return system(str(policy), *domains, pcpus=pcpus, sbf="servers")


def attacked(generator: random.Random) -> Trial:
    given = some_system(generator)
    if not any(one.schedulable for one in analyze(given).domains[0].tasks):
        return Trial(False)
    drawn = Drawn(given, 500, 60, (1, 1, 2, 7), phases=True, free=False)
    tried = rows.attack(drawn, generator.getrandbits(32), starts=8, changes=16)
    return Trial(tried.accepted, tried.counterexample)


@sizes(50)
def test_no_adversary_exceeds_a_bound(systems: int) -> None:
    hunt("in hand", systems, attacked, least_accepted=0.3)


def test_a_budget_that_is_never_used_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows that always find all of it, in each rule and order."""
    monkeypatch.setattr(budget_in_hand, "_before", unused)
    broken = set()
    for number in range(400):
        generator = draw_for("never used", number)
        given = some_system(generator)
        drawn = Drawn(given, 500, 60, (1, 1, 2, 7), phases=True, free=False)
        if rows.attack(drawn, number, starts=8, changes=16).counterexample:
            broken.add((given.policy.budget, given.policy.order))
        if broken == RULES:
            break
    assert broken == RULES


def unused(load: Load, *_: int) -> budget_in_hand.Before:
    """As if no job had run before a window."""
    return budget_in_hand.Before(load, 0, 0)
