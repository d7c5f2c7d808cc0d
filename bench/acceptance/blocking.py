# SPDX-License-Identifier: BSD-2-Clause
"""Tasks with sections that are not preempted, under fixed priority: the blocking term, against
runs in which a lower task begins its section one tick before all others are released.

Deadline monotonic, every job with one section of random length somewhere. A system survives if no
run that was tried is late: each task once as the one that gets in the way, with its section begun
just before, and a few random phases. The sections do not all meet the worst case of the others, so
some of the distance is the runs', not the test's.
"""

from __future__ import annotations

import random

from bench.acceptance import Family
from tests.support import ticks
from tests.support.ticks import Section

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.response_time import response_times

PERIODS = (8, 10, 12, 15, 16, 20, 24, 30, 40)
TASKS = 4
HORIZON = 240
Blocked = tuple[list[Load], list[Section]]


def draw(generator: random.Random, load: float) -> Blocked:
    """Four tasks of about this utilization, and their sections."""
    cuts = sorted(generator.random() for _ in range(TASKS - 1))
    shares = [right - left for left, right in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    loads = []
    for share in shares:
        period = generator.choice(PERIODS)
        wcet = min(period, max(1, round(share * load * period)))
        loads.append(Load(wcet, period, period))
    loads.sort(key=lambda one: one.deadline)
    sections = []
    for one in loads:
        length = generator.randint(1, one.wcet)
        sections.append(Section(generator.randint(0, one.wcet - length), length))
    return [
        one._replace(blocking=max((late.length - 1 for late in sections[index + 1 :]), default=0))
        for index, one in enumerate(loads)
    ], sections


def with_blocking(system: Blocked) -> bool:
    return all(verdict.holds for verdict in response_times(system[0]))


def whole_jobs(system: Blocked) -> bool:
    """As if no job could be preempted at all."""
    loads = system[0]
    return all(
        verdict.holds
        for verdict in response_times(
            [
                one._replace(blocking=max((low.wcet - 1 for low in loads[i + 1 :]), default=0))
                for i, one in enumerate(loads)
            ]
        )
    )


def survives(system: Blocked) -> bool:
    loads, sections = system
    if sum(one.wcet / one.period for one in loads) > 1 + 1e-9:
        return False
    generator = random.Random(str(system))
    attacks = [
        [
            list(range(0 if other == first else section.first + 1, HORIZON, one.period))
            for other, one in enumerate(loads)
        ]
        for first, section in enumerate(sections)
    ]
    attacks.append(ticks.worst_releases(loads, HORIZON))
    attacks += [ticks.random_releases(generator, loads, HORIZON, sporadic=False) for _ in range(6)]
    return not any(
        ticks.misses(loads, ticks.responses(loads, releases, ticks.fixed_priority, None, sections))
        for releases in attacks
    )


FAMILY = Family(
    name="blocking",
    title="Sections that are not preempted, deadline monotonic",
    axis="utilization",
    loads=tuple(step / 20 for step in range(4, 21)),
    draw=draw,
    tests={"with blocking": with_blocking, "as if nothing were preempted": whole_jobs},
    survives=survives,
)
