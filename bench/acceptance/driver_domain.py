# SPDX-License-Identifier: BSD-2-Clause
"""Packets through a driver domain under PSEDF: the sound bound against what any run shows.

Three real-time domains behind a driver domain on the same pcpu; the longer the driver's period,
the later a packet that finds its slice used up. A plant survives if no answer is late in any run
that was tried: all packets at once, phases at random, and climbing towards the latest answer. The
paper's conditions accept more than survives, so they do not compete.
"""

from __future__ import annotations

import random

from bench.acceptance import Family
from tests.support.campaign import climb
from tests.support.driver_attack import Play, Stage, latest, neighbours, some_play
from tests.support.paper_loops import bounds_of

from hyperperiod.analysis.driver_loop import psedf
from hyperperiod.analysis.driver_loop.driver_domain import (
    Configuration,
    Plant,
    Service,
    Slice,
    place,
)

SHORTEST = 48


def draw(generator: random.Random, load: float) -> Stage:
    """The driver's period is this share of the shortest deadline."""
    services = tuple(
        Service(f"s{number}", generator.randint(100, 150), deadline, generator.randint(1, 4))
        for number, deadline in enumerate((SHORTEST, generator.randint(48, 60), 60))
    )
    plant = Plant(services, 1, 3)
    slices = tuple(Slice(service.period_ns // 4, service.wcet_ns) for service in services)
    period = max(plant.slice_ns, round(load * SHORTEST))
    return Stage("psedf", place(plant, Configuration(Slice(period, plant.slice_ns), slices)))


def bound_holds(stage: Stage) -> bool:
    return all(verdict.holds for verdict in bounds_of(stage.placed, psedf.RULE))


def survives(stage: Stage) -> bool:
    """No answer is late, whatever was tried."""
    generator = random.Random(str(stage))
    deadlines = [service.deadline_ns for service in stage.placed.plant.services]

    def late(play: Play) -> int:
        return latest(stage, deadlines, play)[0]

    for number in range(10):
        play = some_play(generator, stage, together=number == 0)
        if late(play) > 0:
            return False
    _, most = climb(play, lambda here: neighbours(generator, here), late, steps=10)
    return most <= 0


FAMILY = Family(
    name="driver_domain",
    title="Packets through a driver domain under PSEDF",
    axis="period of the driver domain / shortest deadline",
    loads=tuple(step / 20 for step in range(2, 21)),
    draw=draw,
    tests={"PSEDF": bound_holds},
    survives=survives,
)
