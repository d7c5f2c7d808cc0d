# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a periodic resource: the tests of the local schedulers, against adversarial supply.

The resource has the period 8 and the budget 5, the tasks up to its bandwidth. A system survives if
its jobs, under EDF, meet their deadlines under every attack that was tried: budgets placed anywhere
in their periods, any phases, and climbing on both. EDF is optimal, so nothing that any scheduler
could do is left out. The harmonic bound is for tasks in phase, which the adversary here is not
bound to, so it does not compete.
"""

from __future__ import annotations

import random

from bench.acceptance import Family
from tests.support.supplied import Server, attacks_on, component

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fifo import fifo
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply

SERVER = Server(8, 5, 8)
SUPPLY = Supply(Shape.GENERAL, SERVER.period, SERVER.budget)
PERIODS = (12, 16, 20, 24, 30, 36, 40, 48, 60)
TASKS = 3


def draw(generator: random.Random, load: float) -> list[Load]:
    """Three tasks whose utilization is about this share of the bandwidth."""
    cuts = sorted(generator.random() for _ in range(TASKS - 1))
    shares = [right - left for left, right in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    loads = []
    for share in shares:
        period = generator.choice(PERIODS)
        wcet = max(1, round(share * load * period * SERVER.budget / SERVER.period))
        loads.append(Load(wcet, period, period))
    return sorted(loads, key=lambda one: one.period)


def fixed_priority_holds(loads: list[Load]) -> bool:
    """Rate monotonic."""
    part = component(Local.FIXED_PRIORITY, loads)
    return all(verdict.holds for verdict in fixed_priority(part, SUPPLY))


def fifo_holds(loads: list[Load]) -> bool:
    return all(verdict.holds for verdict in fifo(component(Local.FIFO, loads), SUPPLY))


def edf_holds(loads: list[Load]) -> bool:
    return edf(component(Local.EDF, loads), SUPPLY).holds is True


def survives(loads: list[Load]) -> bool:
    """No attack makes a job late under EDF."""
    generator = random.Random(str(loads))
    attacks = attacks_on(generator, Local.EDF, loads, SERVER)
    return all(max(late) <= 0 for _, late in attacks)


FAMILY = Family(
    name="prm",
    title="Tasks on a periodic resource, budget 5 in 8",
    axis="utilization / bandwidth",
    loads=tuple(step / 20 for step in range(1, 21)),
    draw=draw,
    tests={"EDF": edf_holds, "rate monotonic": fixed_priority_holds, "FIFO": fifo_holds},
    survives=survives,
)
