# SPDX-License-Identifier: BSD-2-Clause
"""Hunts for callbacks of executors that take longer than their bounds.

The systems of the hunt for flows, with executors in place of most schedulers: several flows through
one executor, tasks visited twice, bursts, jitter, clients, hops that wake one another, overheads,
devices that an executor drives.
And callbacks without flows, some with blocking, in another order, on the supply that an adversary
places.
"""

from __future__ import annotations

import random

from tests.support import flow_worlds
from tests.support.campaign import Trial, hunt, sizes
from tests.support.drawn_devices import with_devices
from tests.support.executor_worlds import some_callbacks, with_executors
from tests.support.flow_attack import analysis_of, attack
from tests.support.supplied import broken, component, some_server

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.domains.prm_executor import executor
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.model import System


def trial(rng: random.Random, one: System) -> Trial:
    found = analysis_of(one)
    if all(verdict.bound_ns is None for verdict in found.flows):
        return Trial(accepted=False)
    climbs = 3 if rng.random() < 0.1 else 0
    return Trial(accepted=True, counterexample=attack(one, found, rng, 5, climbs))


@sizes(60)
def test_no_callback_takes_longer_than_its_bound(systems: int) -> None:
    def flows(rng: random.Random) -> Trial:
        one = with_executors(rng, flow_worlds.draw_system(rng))
        return trial(rng, with_devices(rng, one) if rng.random() < 0.3 else one)

    hunt("executors", systems, flows, least_accepted=0.2)


@sizes(150)
def test_no_supply_and_no_order_makes_a_response_longer(systems: int) -> None:
    def placed(draw: random.Random) -> Trial:
        server = some_server(draw)
        loads = some_callbacks(draw, server)
        supply = Supply(Shape.GENERAL, server.period, server.budget)
        verdicts = executor(component(Local.EXECUTOR, loads), supply)
        if not all(verdict.holds for verdict in verdicts):
            return Trial(accepted=False)
        bounds = [verdict.bound_ns or 0 for verdict in verdicts]
        return Trial(True, broken(draw, Local.EXECUTOR, loads, server, bounds))

    hunt("executor supplies", systems, placed)
