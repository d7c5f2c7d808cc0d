# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a pcpu of their own: the exact tests of fixed priority and EDF, against runs.

Deadlines lie between half the period and the period. A system survives if EDF, which is optimal,
meets all deadlines when everything is released at once; that run decides, so the distance between
EDF's test and it is what the test gives away: nothing. The bound of Liu and Layland for the same
sets, on densities, shows what an exact test is worth.
"""

from __future__ import annotations

import random
from math import lcm

from bench.acceptance import Family
from tests.support import ticks

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.qpa import qpa
from hyperperiod.analysis.tasks.response_time import response_times

PERIODS = (8, 10, 12, 15, 16, 20, 24, 30, 40)
TASKS = 4


def draw(generator: random.Random, load: float) -> list[Load]:
    """Four tasks of about this utilization, deadline monotonic."""
    cuts = sorted(generator.random() for _ in range(TASKS - 1))
    shares = [right - left for left, right in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    loads = []
    for share in shares:
        period = generator.choice(PERIODS)
        wcet = min(period, max(1, round(share * load * period)))
        loads.append(Load(wcet, period, generator.randint(max(wcet, period // 2), period)))
    return sorted(loads, key=lambda one: one.deadline)


def deadline_monotonic(loads: list[Load]) -> bool:
    return all(verdict.holds for verdict in response_times(loads))


def edf(loads: list[Load]) -> bool:
    return qpa(loads).holds is True


def liu_and_layland(loads: list[Load]) -> bool:
    """Each task stands as one whose period is its deadline."""
    return sum(load.wcet / load.deadline for load in loads) <= TASKS * (2 ** (1 / TASKS) - 1)


def survives(loads: list[Load]) -> bool:
    if sum(load.wcet / load.period for load in loads) > 1 + 1e-9:
        return False
    horizon = lcm(*(load.period for load in loads)) + max(load.deadline for load in loads)
    releases = ticks.worst_releases(loads, horizon)
    return not ticks.misses(loads, ticks.responses(loads, releases, ticks.edf))


FAMILY = Family(
    name="tasks",
    title="Tasks on a pcpu of their own, constrained deadlines",
    axis="utilization",
    loads=tuple(step / 20 for step in range(8, 21)),
    draw=draw,
    tests={
        "QPA (EDF)": edf,
        "response time (DM)": deadline_monotonic,
        "Liu and Layland, by density": liu_and_layland,
    },
    survives=survives,
)
