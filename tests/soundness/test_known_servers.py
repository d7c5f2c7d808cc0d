# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for supply below what is known of servers beside each other.

On the core: whatever the work of all, in every window in which a server has work it gets at least
the bound; patterns are drawn to hurt and climbed. In small worlds every behaviour is visited, and
no response is longer than its bound. That the attacker finds what is there is shown with bounds
that are one tick too good. Whole systems, with jitter, offsets, blocking and all local schedulers,
are drawn as in `test_whole_systems`.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from bench.pessimism import POLICIES as MEASURED
from bench.pessimism import build, draw, measured, worst_case
from tests.support.campaign import SEED, draw_for, sizes
from tests.support.server_world import World, attack, some_servers, some_world

from hyperperiod._analysis import Shape
from hyperperiod.analysis.domains.domain_level import judge_domain
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.proofs import REFINEMENTS, Rules, SupplyRefinement
from hyperperiod.analysis.servers import server_table
from hyperperiod.analysis.servers.known_servers import known_supply
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.model import Budget, Policy, Sbf, Scope, parse_policy
from hyperperiod.model.policy import legal_policies

POLICIES = tuple(
    policy
    for policy in legal_policies()
    if any(row.matches(Rules.of(policy)) for row in REFINEMENTS)
)
each_row = pytest.mark.parametrize(
    "row", REFINEMENTS, ids=lambda row: f"{row.claim.name.lower()}-{row.budget}-{row.scope}"
)


def supplies_of(world: World) -> list[Supply | Staircase | None]:
    """What is known of each server; every one is a domain of its own."""
    found: list[Supply | Staircase | None] = []
    for number in range(len(world.servers)):
        known = known_supply(world.policy, world.group, number)
        assert known is not None
        found += known.supplies or (None,)
    return found


def drawn(row: SupplyRefinement, number: int) -> World:
    """A world without a quantum, each server in its own domain, with what is known of them."""
    policies = [policy for policy in POLICIES if row.matches(Rules.of(policy))]
    name = f"known {row.claim} {row.budget} {row.scope} {row.slacks[0]}"
    world = replace(some_world(draw_for(name, number), policies), quantum=0)
    servers = tuple(one._replace(domain_index=at) for at, one in enumerate(world.servers))
    world = replace(world, servers=servers)
    return world.promising_each(supplies_of(world))


@each_row
@sizes(125)
def test_servers_get_what_is_known(systems: int, row: SupplyRefinement) -> None:
    worlds = [(number, drawn(row, number)) for number in range(systems)]
    accepted = [(number, world) for number, world in worlds if world.accepted]
    assert len(accepted) > systems // 5
    found = attack([world.line(number) for number, world in accepted])
    for (number, world), (lack, pattern) in zip(accepted, found, strict=True):
        assert lack <= 0, f"{number} of {SEED}: {world} lacks {lack} with {pattern}"


def one_better(supply: Supply | Staircase | None) -> Supply | Staircase | None:
    """The bound with all waiting one tick shorter; None if it has none to lose."""
    if isinstance(supply, Staircase) and supply.stairs[0][1] > 0:
        stairs = [(amount, wait - 1) for amount, wait in supply.stairs]
        return replace(supply, stairs=tuple(stairs))
    if isinstance(supply, Supply) and supply.deadline_ns > supply.budget_ns:
        return replace(supply, explicit_deadline_ns=supply.deadline_ns - 1)
    return None


@each_row
def test_one_tick_better_is_too_good(row: SupplyRefinement) -> None:
    """On many worlds: else the bounds, or the attacker, would be no good."""
    worlds = [drawn(row, number) for number in range(60)]
    better = [world.promising_each(list(map(one_better, supplies_of(world)))) for world in worlds]
    found = attack([world.line(number) for number, world in enumerate(better) if world.accepted])
    assert sum(lack > 0 for lack, _ in found) >= 10


def crowded(policy: Policy, number: int) -> World:
    """A world of busy servers, most of them equals: some do not get their budgets."""
    draw = draw_for(f"crowded {policy}", number)
    servers = some_servers(draw, draw.randint(3, 5), draw.uniform(0.6, 1.0), draw.choice((8, 12)))
    servers = tuple(
        one._replace(domain_index=at, priority=draw.choice((0, 0, 0, 1)))
        for at, one in enumerate(servers)
    )
    world = World(policy, servers, 1, 0, (1000, 0))
    return world.promising_each(supplies_of(world))


def lacking(policy: Policy, systems: int) -> list[str]:
    """The crowded worlds in which the attacker finds less than is known."""
    worlds = [crowded(policy, number) for number in range(systems)]
    accepted = [(number, world) for number, world in enumerate(worlds) if world.accepted]
    assert len(accepted) > systems // 5
    found = attack([world.line(number) for number, world in accepted])
    return [
        f"{number} of {SEED}: {world} lacks {lack} with {pattern}"
        for (number, world), (lack, pattern) in zip(accepted, found, strict=True)
        if lack > 0
    ]


CROWDED = tuple(
    policy
    for policy in POLICIES
    if policy.budget in (Budget.PERIODIC, Budget.POLLING) and policy.scope is Scope.PARTITIONED
)


@pytest.mark.parametrize("policy", CROWDED, ids=str)
@sizes(125)
def test_equals_beside_servers_that_lose_budgets(systems: int, policy: Policy) -> None:
    """What a server that is not guaranteed loses depends on which of its equals goes first."""
    assert lacking(policy, systems) == []


def test_what_equals_lose_in_a_table_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With tables alone the attacker finds some of these worlds."""
    monkeypatch.setattr(server_table, "_may_save", lambda *_: False)
    assert lacking(parse_policy("polling+fp+none"), 400)


@pytest.mark.parametrize("policy", [policy for policy in MEASURED if policy != "rtds"])
@pytest.mark.parametrize("systems", [4, pytest.param(500, marks=pytest.mark.slow)])
def test_no_behaviour_of_a_small_world_exceeds_a_bound(policy: str, systems: int) -> None:
    """`measured` raises where one does."""
    program = build()
    rows = [measured(program, policy, 1000 + number) for number in range(systems)]
    assert all(row["worst"] <= row["servers"] <= row["interface"] for row in rows)


def plain_sbf(supply: Staircase, window: int) -> int:
    """The bound as the words have it: amount by amount."""
    amount = 0
    while supply.time_for(amount + 1) <= window:
        amount += 1
    return amount


def some_staircase(draw: random.Random) -> Staircase:
    budget = draw.randint(1, 8)
    period = budget + draw.randint(0, 9)
    amounts = sorted({0, *(draw.randrange(budget) for _ in range(3))})
    first = draw.randint(0, 12)
    rise = sorted(
        draw.sample(range(1, period - budget + 1), min(len(amounts) - 1, period - budget))
    )
    waits = [first, *(first + more for more in rise)]
    return Staircase(period, budget, tuple(zip(amounts, waits, strict=False)))


def test_a_staircase_is_read_as_it_is_written() -> None:
    for number in range(300):
        supply = some_staircase(draw_for("staircase", number))
        for window in range(4 * supply.period_ns + 15):
            assert supply.sbf(window) == plain_sbf(supply, window), (supply, window)


def test_one_stair_is_the_periodic_resource() -> None:
    for period in range(1, 9):
        for budget in range(1, period + 1):
            plain = Supply(Shape.GENERAL, period, budget)
            stair = Staircase(period, budget, ((0, plain.blackout_ns),))
            assert [stair.sbf(t) for t in range(40)] == [plain.sbf(t) for t in range(40)]
            assert [stair.time_for(a) for a in range(20)] == [plain.time_for(a) for a in range(20)]


@pytest.mark.parametrize("policy", ["ds", "deferrable+edf", "cbs"])
def test_small_domains_use_what_they_have_in_hand(policy: str) -> None:
    """Lower bounds than by supply alone on some drawn systems, and none below the worst case."""
    program, lower = build(), 0
    for number in range(20):
        small = draw(draw_for(f"in hand {policy}", number), policy)
        system = small.system(Sbf.SERVERS)
        contract = contracts_of(system)["d0"]
        assert contract.known is not None
        with_hand = judge_domain(system.domains[0], contract).parts
        plain = replace(contract, known=contract.known._replace(in_hand=()))
        without = judge_domain(system.domains[0], plain).parts
        if not contract.known.supplies or not all(one.bound_ns for one in without.values()):
            continue
        worst = worst_case(program, small)
        if worst is None:
            continue
        for task, response in enumerate(worst):
            bound = with_hand[f"t{task}"].bound_ns
            assert bound is not None
            assert bound >= response.response, (small, task)
            lower += bound < (without[f"t{task}"].bound_ns or 0)
    assert lower > 0
