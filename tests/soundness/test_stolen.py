# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis promises beside stolen time, the simulator must keep while it is stolen.

Systems of every row of the table of proofs that covers stolen time, whole ones and chains, with
overheads and without: pcpus are stolen once or twice in some period of the system's own size, and
an adversary places jobs and items. Rows that do not cover it promise nothing.
"""

from __future__ import annotations

import random

import pytest
from tests.soundness.rows import (
    ROWS,
    Drawn,
    attack,
    draw_of_kind,
    draw_whole,
    kinds_of,
    policies_of,
)
from tests.support.campaign import Trial, hunt, sizes
from tests.support.overhead_worlds import some_system, trial_of

from hyperperiod.analysis import analyze
from hyperperiod.analysis.proofs import Cover
from hyperperiod.model import Overheads, Scope, Stolen, System, vcpus_of

COVERED = [name for name, row in ROWS.items() if Cover.STOLEN in row.covers]
OTHERS = [name for name in ROWS if name not in COVERED]


def robbed(draw: random.Random, system: System) -> System:
    """The system, of whose pcpus up to a third of the time is stolen."""
    periods = [one.interface.period_ns for one in vcpus_of(system) if one.interface]
    thefts = []
    for _ in range(draw.choice((1, 1, 2))):
        period_ns = max(2, int(draw.choice(periods) * draw.uniform(0.2, 3)))
        duration_ns = max(1, int(period_ns * draw.choice((0.02, 0.05, 0.15))))
        pcpu = draw.choice((None, draw.randrange(system.pcpus)))
        offset_ns = draw.choice((0, draw.randrange(period_ns)))
        thefts.append(
            Stolen(period_ns=period_ns, duration_ns=duration_ns, pcpu=pcpu, offset_ns=offset_ns)
        )
    return system.replace(stolen=tuple(thefts))


def drawn_of(draw: random.Random, name: str) -> Drawn | None:
    """A robbed system of a row, of any kind."""
    drawn = draw_of_kind(draw, ROWS[name], draw.choice(kinds_of(name)))
    if drawn is None or not any(one.interface for one in vcpus_of(drawn.system)):
        return None
    free = drawn.system.replace(overheads=Overheads())
    return drawn._replace(system=robbed(draw, free))


def trial(draw: random.Random) -> Trial:
    """Whether the runs of one system keep every promise."""
    drawn = drawn_of(draw, draw.choice(COVERED))
    if drawn is None:
        return Trial(accepted=False)
    tried = attack(drawn, draw.getrandbits(32), starts=4, changes=8)
    return Trial(tried.accepted, tried.counterexample)


@sizes(125)
def test_promises_hold_while_time_is_stolen(systems: int) -> None:
    hunt("stolen", systems, trial, least_accepted=0.2)


def costly(draw: random.Random, system: System) -> System:
    """A system with overheads, whose pcpus are stolen often, or for long, or both."""
    shortest_ns = shortest_of(system)
    thefts = []
    for _ in range(draw.choice((1, 1, 2))):
        period_ns = int(
            shortest_ns * draw.choice((0.05, 0.2, 0.7, 1, 1.5)) * draw.uniform(0.7, 1.4)
        )
        duration_ns = max(1, int(period_ns * draw.choice((0.001, 0.02, 0.1, 0.3))))
        offset_ns = draw.choice((0, draw.randrange(period_ns)))
        thefts.append(Stolen(period_ns=period_ns, duration_ns=duration_ns, offset_ns=offset_ns))
    return system.replace(stolen=tuple(thefts))


def shortest_of(system: System) -> int:
    """The shortest period that is asked for."""
    return min(one.interface_period_ns for one in system.domains if one.interface_period_ns)


def costly_trial(draw: random.Random) -> Trial:
    """Whether a run of one system keeps every promise, while picks take time as well.

    Interfaces are the least that the analysis allows beside thefts and overheads.
    """
    policy = draw.choice([policy for name in COVERED for policy in policies_of(ROWS[name])])
    return trial_of(draw, costly(draw, some_system(draw, policy)))


@sizes(75)
def test_promises_hold_while_time_is_stolen_beside_overheads(systems: int) -> None:
    hunt("stolen beside overheads", systems, costly_trial, least_accepted=0.2)


@pytest.mark.parametrize("name", OTHERS)
def test_other_rows_promise_nothing(name: str) -> None:
    """No task is called schedulable where the table does not say that thefts are covered."""
    seen = 0
    for number in range(40):
        draw = random.Random(f"{name}:{number}")
        drawn = draw_whole(draw, ROWS[name])
        if drawn is None or not any(one.interface for one in drawn.system.domains):
            continue
        system = robbed(draw, drawn.system.replace(overheads=Overheads()))
        alone = system.policy.scope is Scope.PARTITIONED
        if system.pcpus == 1 and not alone:
            continue  # on one pcpu it has the row of a partitioned policy
        pcpus = range(system.pcpus) if alone else [0]
        robbed_pcpus = [p for p in pcpus if any(one.takes(p) for one in system.stolen)]
        for domain, said in zip(system.domains, analyze(system).domains, strict=True):
            if domain.best_effort or (alone and domain.pcpu not in robbed_pcpus):
                continue
            seen += 1
            assert not any(task.schedulable for task in said.tasks)
    assert seen > 10
