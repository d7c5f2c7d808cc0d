# SPDX-License-Identifier: BSD-2-Clause
"""Fixed priority on a periodic resource: no supply makes a response longer than its bound, and
what is refused misses a deadline under the worst supply: the test is exact."""

from __future__ import annotations

import random

from tests.support.campaign import Trial, hunt, sizes
from tests.support.supplied import broken, component, refuted, some_loads, some_server

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply


def trial(draw: random.Random) -> Trial:
    server = some_server(draw)
    loads = some_loads(draw, server)
    supply = Supply(Shape.GENERAL, server.period, server.budget)
    verdicts = fixed_priority(component(Local.FIXED_PRIORITY, loads), supply)
    if all(verdict.holds for verdict in verdicts):
        bounds = [verdict.bound_ns or 0 for verdict in verdicts]
        return Trial(True, broken(draw, Local.FIXED_PRIORITY, loads, server, bounds))
    plain = all(load.deadline <= load.period and load.jitter == 0 for load in loads)
    if plain and any(verdict.holds is False for verdict in verdicts):
        ticks = server.budget + max(load.deadline for load in loads)
        return refuted(Local.FIXED_PRIORITY, loads, server, ticks + 1)
    return Trial(accepted=False)


@sizes(250)
def test_no_counterexample(systems: int) -> None:
    hunt("prm fixed priority", systems, trial)
