# SPDX-License-Identifier: BSD-2-Clause
"""Blocking against runs with sections that are not preempted, on a pcpu and under a supply.

Each job has one such section somewhere. In whole ticks a section of length s that has begun can
hold up a later release by at most s - 1: that, and not more, is what the tests are told. The
adversary lets lower tasks begin their sections one tick before everything else is released, and
moves sections and releases at random. Under a supply the budget of each period comes as late as it
may, or anywhere.
"""

from __future__ import annotations

import random

from tests.support import ticks
from tests.support.campaign import Trial, hunt, sizes
from tests.support.ticks import Section

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.tasks.edf_demand import edf_demand
from hyperperiod.analysis.tasks.qpa import qpa
from hyperperiod.analysis.tasks.response_time import response_times

ORDERS = {Local.FIXED_PRIORITY: ticks.fixed_priority, Local.EDF: ticks.edf}


def some_tasks(draw: random.Random, local: Local, share: float) -> tuple[list[Load], list[Section]]:
    """Tasks with a section each, and the blocking that follows from those behind them."""
    count = draw.randint(2, 4)
    plain, sections = [], []
    for _ in range(count):
        period = draw.choice([6, 8, 10, 12, 15, 20, 30])
        wcet = draw.randint(1, max(1, int(2 * share * period / count)))
        deadline = draw.choice([period, draw.randint(wcet, period), draw.randint(wcet, 2 * period)])
        plain.append(Load(wcet, period, deadline))
        length = draw.randint(1, wcet)
        sections.append(Section(draw.randint(0, wcet - length), length))
    return [
        load._replace(blocking=_blocking(local, plain, sections, index))
        for index, load in enumerate(plain)
    ], sections


def _blocking(local: Local, loads: list[Load], sections: list[Section], index: int) -> int:
    behind = [
        section.length - 1
        for other, section in enumerate(sections)
        if (
            other > index
            if local is Local.FIXED_PRIORITY
            else loads[other].deadline > loads[index].deadline
        )
    ]
    return max(behind, default=0)


def ambush(draw: random.Random, loads: list[Load], sections: list[Section]) -> ticks.Releases:
    """One task reaches its section one tick before all others are released."""
    first = draw.randrange(len(loads))
    start = sections[first].first + 1
    return [
        list(range(0 if index == first else start, 90, load.period))
        for index, load in enumerate(loads)
    ]


def runs(
    draw: random.Random, local: Local, loads: list[Load], sections: list[Section]
) -> tuple[list[int], ticks.Releases]:
    """The longest responses of one adversary's run on a whole pcpu, and its releases."""
    if draw.random() < 0.6:
        releases = ambush(draw, loads, sections)
    else:
        releases = ticks.random_releases(draw, loads, 90, sporadic=draw.random() < 0.5)
    return ticks.responses(loads, releases, ORDERS[local], None, sections), releases


def on_a_pcpu(draw: random.Random) -> Trial:
    local = draw.choice(list(ORDERS))
    loads, sections = some_tasks(draw, local, 0.7)
    if local is Local.FIXED_PRIORITY:
        bounds = [verdict.bound_ns for verdict in response_times(loads)]
    else:
        holds = qpa(loads).holds
        if holds is not edf_demand(loads).verdict.holds:
            return Trial(True, f"{loads}: QPA says {holds}, the demand test does not")
        bounds = [load.deadline if holds else None for load in loads]
    for _ in range(4):
        seen, releases = runs(draw, local, loads, sections)
        for index, bound in enumerate(bounds):
            if bound is not None and seen[index] > bound:
                return Trial(True, f"{local}: task {index} of {loads}, {sections}, {releases}")
    return Trial(any(bound is not None for bound in bounds))


@sizes(125)
def test_no_section_delays_more_than_the_tests_allow_for(systems: int) -> None:
    hunt("blocking", systems, on_a_pcpu)


def under_a_supply(draw: random.Random) -> Trial:
    local = draw.choice(list(ORDERS))
    period = draw.randint(2, 6)
    budget = draw.randint(1, period)
    loads, sections = some_tasks(draw, local, 0.5 * budget / period)
    component = Component(local, tuple(NamedLoad(str(i), load) for i, load in enumerate(loads)))
    supply = Supply(Shape.GENERAL, period, budget)
    if local is Local.FIXED_PRIORITY:
        bounds = [verdict.bound_ns for verdict in fixed_priority(component, supply)]
    else:
        holds = edf(component, supply).holds
        bounds = [load.deadline if holds else None for load in loads]
    for _ in range(4):
        releases = ambush(draw, loads, sections)
        late = draw.randint(0, budget)  # the window begins when this much of a budget is used
        releases = [[time + late for time in times] for times in releases]
        slots = ticks.random_supply(draw, period, budget, 300)
        seen = ticks.responses(loads, releases, ORDERS[local], slots, sections)
        for index, bound in enumerate(bounds):
            if bound is not None and seen[index] > bound:
                return Trial(True, f"{local}, {supply}: task {index} of {loads}, {releases}")
    return Trial(any(bound is not None for bound in bounds))


@sizes(75)
def test_no_section_delays_more_under_a_supply(systems: int) -> None:
    hunt("blocking under a supply", systems, under_a_supply)
