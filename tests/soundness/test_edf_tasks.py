# SPDX-License-Identifier: BSD-2-Clause
"""QPA and the processor-demand test against runs of EDF in whole ticks, in both directions.

Without jitter, releasing everything at once misses a deadline if any releases do, so one run over
a hyperperiod decides; the smallest worlds try every choice of phases besides. With jitter the
tests are only sufficient: they must not accept what some run breaks.
"""

from __future__ import annotations

import random
from itertools import product
from math import lcm

from tests.support import ticks
from tests.support.campaign import Trial, hunt, sizes
from tests.support.drawn_loads import some_loads, tiny

from hyperperiod.analysis import batch
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.edf_demand import edf_demand
from hyperperiod.analysis.tasks.qpa import qpa
from hyperperiod.analysis.tasks.response_time import utilization


def agreed(loads: list[Load]) -> tuple[bool | None, str]:
    """The verdict of all three forms of the test, and a complaint where they differ."""
    verdicts = [qpa(loads).holds, edf_demand(loads).verdict.holds]
    code = int(batch.qpa(batch.Sets.of([loads])).verdicts[0])
    verdicts.append(None if code == batch.UNKNOWN else code == batch.YES)
    if len(set(verdicts)) > 1:
        return verdicts[0], f"{loads}: {verdicts}"
    return verdicts[0], ""


def broken_when_together(loads: list[Load]) -> bool:
    """Whether releasing everything at once, and again as early as can be, misses a deadline."""
    horizon = lcm(*(load.period for load in loads)) + max(load.deadline for load in loads)
    releases = ticks.worst_releases(loads, horizon)
    return ticks.misses(loads, ticks.responses(loads, releases, ticks.edf))


def trial(draw: random.Random) -> Trial:
    jitter = draw.random() < 0.4
    loads = some_loads(draw, jitter=jitter)
    holds, complaint = agreed(loads)
    if complaint:
        return Trial(bool(holds), complaint)
    overload = utilization(loads) > 1
    if overload:
        return Trial(False, "" if holds is False else f"overload: {loads}: {holds}")
    broken = broken_when_together(loads)
    if holds and broken:
        return Trial(True, f"{loads}: late when released together")
    plain = not any(load.jitter for load in loads)
    if plain and holds is not (not broken):
        return Trial(bool(holds), f"{loads}: {holds}, but broken is {broken}")
    for _ in range(3 if holds else 0):
        releases = ticks.random_releases(draw, loads, 60, sporadic=draw.random() < 0.5)
        if ticks.misses(loads, ticks.responses(loads, releases, ticks.edf)):
            return Trial(True, f"{loads}: late with {releases}")
    return Trial(bool(holds))


@sizes(200)
def test_the_demand_tests_say_what_runs_say(systems: int) -> None:
    hunt("edf tasks", systems, trial)


def every_phase(draw: random.Random) -> Trial:
    loads = tiny(draw)
    holds, complaint = agreed(loads)
    if complaint:
        return Trial(bool(holds), complaint)
    broken = utilization(loads) > 1
    cycle = lcm(*(load.period for load in loads))
    for phases in product([0], *(range(load.period) for load in loads[1:])):
        if broken:
            break
        releases = ticks.phased_releases(loads, phases, 2 * cycle)
        broken = ticks.misses(loads, ticks.responses(loads, releases, ticks.edf))
    if broken == holds:
        return Trial(bool(holds), f"{loads}: {holds}, but broken is {broken}")
    return Trial(bool(holds))


@sizes(40)
def test_all_phases_of_the_smallest_worlds_decide_alike(systems: int) -> None:
    hunt("edf tasks, all phases", systems, every_phase)
