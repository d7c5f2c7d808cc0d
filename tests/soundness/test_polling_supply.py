# SPDX-License-Identifier: BSD-2-Clause
"""The supply bound of polling servers: budget is lost at any tick without work, and what comes
just after a refill waits for the next. Under it no response exceeds its bound; the general bound
would promise what does not hold."""

from __future__ import annotations

import random

from tests.support.campaign import Trial, draw_for, hunt, sizes
from tests.support.supplied import Server, broken, component, some_loads, some_server

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply


def bounds_of(local: Local, loads: list[Load], server: Server, shape: Shape) -> list[int] | None:
    """Response bounds where the test holds under this shape of supply."""
    part = component(local, loads)
    supply = Supply(shape, server.period, server.budget)
    if local is Local.EDF:
        return [load.deadline for load in loads] if edf(part, supply).holds else None
    verdicts = fixed_priority(part, supply)
    if not all(verdict.holds for verdict in verdicts):
        return None
    return [verdict.bound_ns or 0 for verdict in verdicts]


def trial(draw: random.Random) -> Trial:
    server = some_server(draw, polling=True)
    loads = some_loads(draw, server)
    local = draw.choice([Local.FIXED_PRIORITY, Local.EDF])
    bounds = bounds_of(local, loads, server, Shape.POLLING)
    if bounds is None:
        return Trial(accepted=False)
    return Trial(True, broken(draw, local, loads, server, bounds))


@sizes(250)
def test_no_counterexample(systems: int) -> None:
    hunt("polling supply", systems, trial, least_accepted=0.05)


def test_the_general_bound_does_not_hold() -> None:
    found = 0
    for number in range(300):
        draw = draw_for("polling, general", number)
        server = some_server(draw, polling=True)
        loads = some_loads(draw, server)
        bounds = bounds_of(Local.FIXED_PRIORITY, loads, server, Shape.GENERAL)
        if bounds is not None:
            found += bool(broken(draw, Local.FIXED_PRIORITY, loads, server, bounds))
    assert found > 10
