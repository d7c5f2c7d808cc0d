# SPDX-License-Identifier: BSD-2-Clause
"""Deferrable servers under EDF on one pcpu, against an attacker (see `servers_fp`).

Up to ties the test is exact here: what it refuses beyond the attacker's survivors are systems whose
worst pattern was not found, or in which ties happen to fall well.
"""

from __future__ import annotations

import random

from bench.acceptance import Family
from bench.acceptance.servers_fp import draw_for, survives
from tests.support.server_world import World

from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf


def draw(generator: random.Random, load: float) -> World:
    return draw_for("deferrable+edf", generator, load)


def confirmed(world: World) -> bool:
    return all(verdict.holds for verdict in deferrable_edf(world.group))


FAMILY = Family(
    name="servers_edf",
    title="Deferrable servers, EDF, one pcpu",
    axis="bandwidth",
    loads=tuple(step / 20 for step in range(4, 21)),
    draw=draw,
    tests={"deferrable edf": confirmed},
    survives=survives,
)
