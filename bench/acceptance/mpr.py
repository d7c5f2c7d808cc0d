# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on the vcpus of a domain: two vcpus with a budget of 3 in 4, and five tasks.

Tasks as in `global_edf`, up to the bandwidth of the interface. A set survives if no run misses a
deadline: budgets early and then late, or anywhere, vcpus in phase or not, all kinds of releases.
"""

from __future__ import annotations

import random

import numpy as np
from bench.acceptance import Family, global_edf
from tests.support.global_world import World, adversarial_supply, play

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.mpr import mpr
from hyperperiod.analysis.domains.supply_bound import Supply

PERIOD, BUDGET, VCPUS = 4, 3, 2
RUNS, TICKS = 48, 240


def draw(generator: random.Random, load: float) -> list[Load]:
    return global_edf.draw(generator, load * BUDGET / PERIOD)


def holds(loads: list[Load]) -> bool:
    return mpr(loads, Supply(Shape.GENERAL, PERIOD, BUDGET), VCPUS).holds is True


def survives(loads: list[Load]) -> bool:
    """No run that was tried misses a deadline."""
    seed = random.Random(str(loads))
    rng = np.random.default_rng(seed.getrandbits(64))
    width = adversarial_supply([[(PERIOD, BUDGET)] * VCPUS], rng, RUNS, TICKS)
    return not play(World.of([loads]), width, seed, RUNS, TICKS).missed[0]


FAMILY = Family(
    name="mpr",
    title="Global EDF on two vcpus, budget 3 in 4 each",
    axis="utilization / bandwidth",
    loads=tuple(step / 20 for step in range(2, 21)),
    draw=draw,
    tests={"MPR": holds},
    survives=survives,
)
