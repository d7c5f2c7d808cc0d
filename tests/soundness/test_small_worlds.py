# SPDX-License-Identifier: BSD-2-Clause
"""Small worlds, all of them: every placement of the budget in three periods (the last goes on for
ever), every combination of phases. Exact tests agree with that in both directions, the sufficient
test for FIFO in one, for the general supply and with explicit deadlines."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest
from tests.soundness.campaign import draw_for
from tests.soundness.supplied import Attack, Server, component, lateness

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fifo import fifo
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import all_of


def some_world(draw: random.Random) -> tuple[Server, list[Load]]:
    """Two loads whose periods are not far apart, so that three server periods tell."""
    period = draw.randint(2, 4)
    budget = draw.randint(1, period)
    server = Server(period, budget, draw.randint(budget, period))
    loads = []
    for _ in range(2):
        own = draw.randint(4, 8)
        wcet = draw.randint(1, max(1, own * budget // (3 * period)))
        loads.append(Load(wcet, own, draw.randint(max(wcet, own // 2), own)))
    return server, sorted(loads, key=lambda load: load.deadline)


def some_job_is_late(local: Local, server: Server, loads: list[Load]) -> bool:
    """Over all placements and phases, as far as the second load's period after all phases."""
    places = [frozenset(p) for p in combinations(range(server.deadline), server.budget)]
    ticks = 2 * server.period + 4 * max(load.period for load in loads)
    phases = product(*(range(server.period + load.period) for load in loads))
    starts = [phase for phase in phases if min(phase) <= server.period]
    delays = ((0,),) * len(loads)
    return any(
        max(lateness(local, loads, server, Attack(placed, phase, delays), ticks)) > 0
        for placed in product(places, repeat=3)
        for phase in starts
    )


def accepted(local: Local, server: Server, loads: list[Load]) -> bool:
    supply = Supply(Shape.GENERAL, server.period, server.budget, server.deadline)
    part = component(local, loads)
    if local is Local.EDF:
        return edf(part, supply).holds is True
    verdicts = fifo(part, supply) if local is Local.FIFO else fixed_priority(part, supply)
    return all_of(verdicts).holds is True


@pytest.mark.parametrize("worlds", [60, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("local", list(Local))
def test_every_small_world(local: Local, worlds: int) -> None:
    yes = no = 0
    for number in range(worlds):
        server, loads = some_world(draw_for(f"small {local}", number))
        holds = accepted(local, server, loads)
        late = some_job_is_late(local, server, loads)
        assert not (holds and late), (server, loads)
        if local is not Local.FIFO:
            assert holds or late, (server, loads)
        yes += holds
        no += not holds
    assert yes > worlds / 20
    assert no > worlds / 20
