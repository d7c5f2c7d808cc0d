# SPDX-License-Identifier: BSD-2-Clause
"""Deferrable servers under fixed priority: the published test and the one that knows the grid,
against an attacker who looks for work that starves one of them.

Priorities by period. A system survives if no pattern of work was found under which a server gets
less than its supply bound (`tests/soundness/attack.cpp`).
"""

from __future__ import annotations

import random

from bench.acceptance import Family
from tests.support.server_world import World, survives_attack

from hyperperiod._analysis import Shape
from hyperperiod.analysis.servers.deferrable_fp import deferrable_fp
from hyperperiod.analysis.servers.deferrable_grid import deferrable_grid
from hyperperiod.analysis.servers.server import Server
from hyperperiod.model import parse_policy

PERIODS = (6, 8, 10, 12, 15, 20, 24, 30)
SERVERS = 4


def draw_for(policy: str, generator: random.Random, load: float) -> World:
    """Four servers of about this bandwidth, all of them promised their supply."""
    cuts = sorted(generator.random() for _ in range(SERVERS - 1))
    shares = [right - left for left, right in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    servers = []
    for order, share in enumerate(shares):
        period = generator.choice(PERIODS)
        budget = min(period, max(1, round(share * load * period)))
        servers.append(Server(order, f"s{order}", period, budget, period))
    world = World(parse_policy(policy), tuple(servers))
    return world.promising(Shape.GENERAL, [True] * SERVERS)


def draw(generator: random.Random, load: float) -> World:
    return draw_for("ds", generator, load)


def published(world: World) -> bool:
    return all(verdict.holds for verdict in deferrable_fp(world.group))


def on_one_grid(world: World) -> bool:
    return all(verdict.holds for verdict in deferrable_grid(world.group))


def survives(world: World) -> bool:
    return not world.group.overloaded and survives_attack(world)


FAMILY = Family(
    name="servers_fp",
    title="Deferrable servers, fixed priority, one pcpu",
    axis="bandwidth",
    loads=tuple(step / 20 for step in range(4, 21)),
    draw=draw,
    tests={"deferrable response time": published, "on one grid": on_one_grid},
    survives=survives,
)
