# SPDX-License-Identifier: BSD-2-Clause
"""The harmonic supply bound where it is allowed: periods that divide one another, all in phase.

The supply comes anywhere in each period. Under fixed priority what is refused misses a deadline
when it comes late in every period. That the conditions are needed is shown beside it: tasks out
of phase miss deadlines that the bound promises."""

from __future__ import annotations

import random

from tests.support.campaign import Trial, draw_for, hunt, sizes
from tests.support.supplied import Attack, Server, broken, component, in_phase, lateness

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.harmonic_supply import refusal
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget


def some_world(draw: random.Random) -> tuple[Server, list[Load]]:
    chain = draw.choice([(2, 4, 8, 16), (3, 6, 12, 24), (2, 6, 12, 24), (4, 8, 24), (5, 10, 20)])
    period = draw.choice(chain[:3])
    server = Server(period, draw.randint(1, period), period)
    count = draw.randint(1, 3)
    loads = []
    for _ in range(count):
        own = draw.choice(chain)
        share = draw.uniform(0.1, 1.2) * server.budget / server.period / count
        wcet = min(own, max(1, int(own * share)))
        loads.append(Load(wcet, own, own if draw.random() < 0.6 else draw.randint(wcet, own)))
    return server, sorted(loads, key=lambda load: load.period)


def verdicts_of(local: Local, loads: list[Load], server: Server) -> list[Verdict]:
    part = component(local, loads)
    assert refusal(Budget.PERIODIC, server.period, part.sources) is None
    supply = Supply(Shape.HARMONIC, server.period, server.budget)
    if local is Local.EDF:
        whole = edf(part, supply)
        return [Verdict(whole.holds, whole.reason, load.deadline) for load in loads]
    return fixed_priority(part, supply)


def trial(draw: random.Random) -> Trial:
    server, loads = some_world(draw)
    local = draw.choice([Local.FIXED_PRIORITY, Local.EDF])
    verdicts = verdicts_of(local, loads, server)
    if all(verdict.holds for verdict in verdicts):
        bounds = [verdict.bound_ns or 0 for verdict in verdicts]
        return Trial(True, broken(draw, local, loads, server, bounds, phased=True))
    if any(verdict.holds is False for verdict in verdicts):
        late = frozenset(range(server.period - server.budget, server.period))
        attack = in_phase(Attack((late,), (0,) * len(loads), ((0,),) * len(loads)))
        if max(lateness(local, loads, server, attack, 200)) <= 0:
            return Trial(False, f"refused, yet nothing is late: {local} {loads} {server}")
    return Trial(accepted=False)


@sizes(250)
def test_no_counterexample(systems: int) -> None:
    hunt("harmonic supply", systems, trial)


def test_out_of_phase_the_bound_does_not_hold() -> None:
    """The same sets, released at any time: this hunt finds what the other does not."""
    found = 0
    for number in range(300):
        draw = draw_for("harmonic out of phase", number)
        server, loads = some_world(draw)
        verdicts = verdicts_of(Local.FIXED_PRIORITY, loads, server)
        if all(verdict.holds for verdict in verdicts):
            bounds = [load.deadline for load in loads]
            found += bool(broken(draw, Local.FIXED_PRIORITY, loads, server, bounds))
    assert found > 10
