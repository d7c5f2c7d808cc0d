# SPDX-License-Identifier: BSD-2-Clause
"""FIFO on a periodic resource: no supply makes a response longer than the bound."""

from __future__ import annotations

import random

from tests.support.campaign import Trial, hunt, sizes
from tests.support.supplied import broken, component, some_loads, some_server

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.domains.prm_fifo import fifo
from hyperperiod.analysis.domains.supply_bound import Supply


def trial(draw: random.Random) -> Trial:
    server = some_server(draw)
    loads = some_loads(draw, server)
    supply = Supply(Shape.GENERAL, server.period, server.budget)
    verdicts = fifo(component(Local.FIFO, loads), supply)
    if not all(verdict.holds for verdict in verdicts):
        return Trial(accepted=False)
    bounds = [verdict.bound_ns or 0 for verdict in verdicts]
    return Trial(True, broken(draw, Local.FIFO, loads, server, bounds))


@sizes(150)
def test_no_counterexample(systems: int) -> None:
    hunt("prm fifo", systems, trial)
