# SPDX-License-Identifier: BSD-2-Clause
"""Response-time analysis against runs in whole ticks: bounds are never exceeded and always met.

With all releases at their worst the longest response is the bound itself, so the analysis is
exact in both directions; jitter included, since any phases are allowed. In the smallest worlds
every choice of phases is tried.
"""

from __future__ import annotations

import random
from itertools import product
from math import lcm

from tests.support import ticks
from tests.support.campaign import Trial, climb, hunt, sizes
from tests.support.drawn_loads import some_loads, tiny

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.response_time import response_times, utilization


def busy_window(loads: list[Load]) -> int:
    """The end of the longest busy window, by adding up; only for utilisations up to 1.

    A full pcpu with jitter has a window without an end: four hyperperiods show what there is.
    """
    enough = 4 * lcm(*(load.period for load in loads)) + max(load.jitter for load in loads)
    end = 1
    while end < (work := sum(-(-(end + load.jitter) // load.period) * load.wcet for load in loads)):
        if work >= enough:
            return enough
        end = work
    return end


def attained(loads: list[Load], index: int) -> int:
    """The longest response of one task with all releases at their worst."""
    above = loads[: index + 1]
    horizon = busy_window(above) + 1
    return ticks.responses(above, ticks.worst_releases(above, horizon), ticks.fixed_priority)[-1]


def trial(draw: random.Random) -> Trial:
    loads = some_loads(draw, jitter=draw.random() < 0.4)
    verdicts = response_times(loads)
    if utilization(loads) > 1:
        late = [verdict.holds for verdict in verdicts]
        return Trial(False, "" if False in late else f"overload accepted: {loads}")
    for index, verdict in enumerate(verdicts):
        longest = attained(loads, index)
        if (longest <= loads[index].deadline) != bool(verdict.holds):
            return Trial(True, f"task {index} of {loads}: {longest}, but {verdict}")
        if verdict.holds and longest != verdict.bound_ns:
            return Trial(True, f"task {index} of {loads}: {longest}, not {verdict.bound_ns}")
        if verdict.holds is False and any(load.jitter for load in loads[: index + 1]):
            return Trial(True, f"task {index} of {loads}: a no that jitter makes a maybe")
    for _ in range(3):
        releases = ticks.random_releases(draw, loads, 60, sporadic=draw.random() < 0.5)
        seen = ticks.responses(loads, releases, ticks.fixed_priority)
        for index, verdict in enumerate(verdicts):
            if verdict.bound_ns is not None and seen[index] > verdict.bound_ns:
                return Trial(True, f"task {index} of {loads}, {releases}: {seen[index]}")
    return Trial(any(verdict.holds for verdict in verdicts))


@sizes(200)
def test_no_run_is_longer_than_its_bound_and_the_worst_one_is_as_long(systems: int) -> None:
    hunt("response time", systems, trial)


def every_phase(draw: random.Random) -> Trial:
    loads = tiny(draw)
    accepted = all(verdict.holds for verdict in response_times(loads))
    cycle = lcm(*(load.period for load in loads))
    broken = False
    for phases in product([0], *(range(load.period) for load in loads[1:])):
        releases = ticks.phased_releases(loads, phases, 2 * cycle)
        if utilization(loads) > 1 or ticks.misses(
            loads, ticks.responses(loads, releases, ticks.fixed_priority)
        ):
            broken = True
            break
    if broken == accepted:
        return Trial(accepted, f"{loads}: accepted {accepted}, but broken {broken}")
    return Trial(accepted)


@sizes(40)
def test_all_phases_of_the_smallest_worlds_decide_alike(systems: int) -> None:
    hunt("response time, all phases", systems, every_phase)


def climbing(draw: random.Random) -> Trial:
    """From random phases uphill to longer responses of the lowest task."""
    loads = some_loads(draw, jitter=False)
    verdict = response_times(loads)[-1]
    if verdict.bound_ns is None:
        return Trial(False)

    def longest(phases: tuple[int, ...]) -> int:
        releases = ticks.phased_releases(loads, phases, 40)
        return ticks.responses(loads, releases, ticks.fixed_priority)[-1]

    def beside(phases: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [
            (*phases[:index], (phases[index] + step) % load.period, *phases[index + 1 :])
            for index, load in enumerate(loads)
            for step in (1, load.period - 1)
        ]

    start = tuple(draw.randrange(load.period) for load in loads)
    phases, found = climb(start, beside, longest, 6)
    return Trial(True, "" if found <= verdict.bound_ns else f"{loads} from {phases}: {found}")


@sizes(40)
def test_climbing_does_not_get_above_the_bound(systems: int) -> None:
    hunt("response time, climbing", systems, climbing)
