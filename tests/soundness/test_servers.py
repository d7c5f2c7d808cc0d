# SPDX-License-Identifier: BSD-2-Clause
"""Host-level tests hunted for counterexamples, on the core itself.

Whatever the tests promise a server, no pattern of work of its own and of the others may break. The
bound that is checked is the whole supply bound, in every window in which it has work.
"""

from __future__ import annotations

import random

import pytest
from tests.support.campaign import draw_for, sizes
from tests.support.server_world import World, attack, hunt_servers, some_world

from hyperperiod._analysis import Shape
from hyperperiod.analysis.servers.edf_utilization import edf_utilization
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.host_tests import Judge
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget, Order, Policy, Scope, parse_policy
from hyperperiod.model.policy import LEGAL_SLACK

BUDGETS = (Budget.PERIODIC, Budget.DEFERRABLE, Budget.POLLING, Budget.SPORADIC, Budget.CBS)
NO_TEST = (Budget.CBS, Order.FP, Scope.GLOBAL)
CASES = [
    (budget, order, scope)
    for scope, budget in LEGAL_SLACK
    for order in (Order.FP, Order.EDF)
    if budget in BUDGETS and (budget, order, scope) != NO_TEST
]


@pytest.mark.parametrize(
    ("budget", "order", "scope"), CASES, ids=["-".join(case) for case in CASES]
)
@sizes(125)
def test_servers_get_what_is_promised(
    systems: int, budget: Budget, order: Order, scope: Scope
) -> None:
    policies = [
        Policy(budget=budget, order=order, slack=slack, scope=scope)
        for slack in LEGAL_SLACK[scope, budget]
    ]

    def draw_world(draw: random.Random) -> World:
        return some_world(draw, policies)

    hunt_servers(f"{budget}-{order}-{scope}", systems, draw_world)


def utilization(group: Group) -> list[Verdict]:
    return [edf_utilization(group)] * len(group.servers)


@pytest.mark.parametrize(
    ("policy", "judge"),
    [("ds", fp_response_time), ("deferrable+edf", utilization), ("polling", fp_response_time)],
)
def test_the_attacker_breaks_what_does_not_hold(policy: str, judge: Judge) -> None:
    """Deferrable servers judged as periodic ones; polling servers with their shorter blackout."""
    worlds = []
    for number in range(150):
        world = some_world(draw_for(policy, number), [parse_policy(policy)])
        holds = [verdict.holds is True for verdict in judge(world.group)]
        worlds.append(world.promising(Shape.GENERAL, holds))
    found = attack([world.line(1) for world in worlds if world.accepted])
    assert sum(lack > 0 for lack, _ in found) >= 3


def alone(policy: str, *servers: tuple[int, int]) -> World:
    """Servers from (budget, period), priorities by period."""
    made = [
        Server(i, f"s{i}", period, budget, period) for i, (budget, period) in enumerate(servers)
    ]
    return World(parse_policy(policy), tuple(made))


def test_a_full_queue_delays_a_sporadic_server() -> None:
    """It has the pcpu for itself, and yet not the supply of a periodic server.

    Six single units, a heap behind them, and single units again: the queue is full, and each of
    the last takes the refill of the heap with it.
    """
    world = alone("sporadic", (30, 40)).promising(Shape.GENERAL, [True])
    assert attack([world.line(0, tries=200, steps=200)])[0][0] > 0
    world = world.promising(Shape.POLLING, [True])
    assert attack([world.line(0, tries=200, steps=200)])[0][0] == 0


def test_constant_bandwidth_servers_are_not_periodic_ones_under_priorities() -> None:
    """An arrival may start a period early, and so take more of a window than its budget."""
    world = alone("cbs+fp", (3, 6), (6, 12))
    assert all(verdict.holds for verdict in fp_response_time(world.group))
    as_periodic = world.promising(Shape.GENERAL, [True, True])
    assert attack([as_periodic.line(0, tries=3000, steps=3000)])[0][0] > 0
    assert not world.judged().blackouts[1]
