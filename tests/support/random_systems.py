# SPDX-License-Identifier: BSD-2-Clause
"""Random systems for tests of the whole: every policy and every feature of a system file.

Times are whole steps of a size drawn per system, so that instants coincide often. Nothing here
asks whether a system is schedulable; overloaded ones are as welcome as any.
"""

from __future__ import annotations

import random
from fractions import Fraction

from tests.support.rules import SCHEDULERS

from hyperperiod.model import (
    Change,
    Domain,
    Interface,
    Overheads,
    Policy,
    Scheduler,
    Scope,
    Swap,
    System,
    Task,
    TaskKind,
)
from hyperperiod.model.policy import legal_policies

POLICIES = legal_policies()


def random_system(number: int, *, extras: bool = True) -> System:
    """The system with this number: the policy goes round, everything else is drawn.

    With `extras` it may have overheads, hot swaps and changes of parameters.
    """
    draw = random.Random(f"system {number}")
    policy = POLICIES[number % len(POLICIES)]
    step_ns = draw.choice([1_000, 100_000, 1_000_000])
    pcpus = draw.randint(1, 3)
    domains = tuple(
        _domain(draw, index, step_ns, _pin(draw, policy, pcpus))
        for index in range(draw.randint(1, 6))
    )
    return System(
        name=f"random-{number}",
        policy=policy,
        pcpus=pcpus,
        quantum_ns=step_ns if draw.random() < 0.2 else None,
        spare=Interface(period_ns=12 * step_ns, budget_ns=draw.randint(1, 12) * step_ns),
        overheads=_overheads(draw, step_ns) if extras else Overheads(),
        domains=domains,
        swaps=_swaps(draw, policy, step_ns) if extras else (),
        changes=_changes(draw, domains, step_ns) if extras else (),
    )


def step_of(system: System) -> int:
    """The step that all times of this system are multiples of (overheads apart)."""
    assert system.spare is not None
    return system.spare.period_ns // 12


def _pin(draw: random.Random, policy: Policy, pcpus: int) -> int | None:
    return draw.randrange(pcpus) if policy.scope is Scope.PARTITIONED else None


def _interface(draw: random.Random, step_ns: int) -> Interface:
    period = draw.randint(2, 12)
    return Interface(
        period_ns=period * step_ns, budget_ns=draw.randint(1, max(1, period // 2)) * step_ns
    )


def _domain(draw: random.Random, index: int, step_ns: int, pcpu: int | None) -> Domain:
    best_effort = draw.random() < 0.15
    vcpus = 2 if draw.random() < 0.2 else 1
    scheduler = draw.choice(SCHEDULERS)
    tasks = tuple(_task(draw, n, step_ns, scheduler, vcpus) for n in range(draw.randint(1, 3)))
    return Domain(
        name=f"d{index}",
        scheduler=scheduler,
        vcpus=vcpus,
        pcpu=pcpu,
        interface=None if best_effort else _interface(draw, step_ns),
        best_effort=best_effort,
        extra=not best_effort and draw.random() < 0.5,
        tasks=tasks,
    )


def _task(draw: random.Random, index: int, step_ns: int, scheduler: Scheduler, vcpus: int) -> Task:
    kind = draw.choice([TaskKind.PERIODIC] * 5 + [TaskKind.SPORADIC, TaskKind.EVENT, TaskKind.BUSY])
    busy = kind is TaskKind.BUSY
    endless = busy and draw.random() < 0.5
    period = draw.randint(3, 20)
    wcet = draw.randint(1, 4)
    etf = draw.choice([Fraction(1), Fraction(1), Fraction(1, 4)])
    return Task(
        name=f"t{index}",
        kind=kind,
        period_ns=None if busy else period * step_ns,
        wcet_ns=None if endless else wcet * step_ns,
        deadline_ns=None if busy or draw.random() < 0.7 else draw.randint(2, 25) * step_ns,
        offset_ns=draw.choice([0, 0, draw.randint(0, 15) * step_ns]),
        jitter_ns=0 if busy else draw.choice([0, 0, draw.randint(0, 5) * step_ns]),
        etf=Fraction(1) if endless else etf,
        priority=draw.randint(0, 3) if scheduler is Scheduler.FP else None,
        vcpu=draw.choice([None, vcpus - 1]),
    )


def _overheads(draw: random.Random, step_ns: int) -> Overheads:
    if draw.random() < 0.7:
        return Overheads()
    most = step_ns // 50
    return Overheads(
        context_switch_ns=draw.randint(0, most),
        pick_ns=draw.randint(0, most),
        replenish_ns=draw.randint(0, most),
        wake_ns=draw.randint(0, most),
        interrupt_ns=draw.randint(0, most),
        migration_ns=draw.randint(0, most),
    )


def _swaps(draw: random.Random, policy: Policy, step_ns: int) -> tuple[Swap, ...]:
    if draw.random() < 0.7:
        return ()
    same = [other for other in POLICIES if other.scope is policy.scope]
    times = sorted(draw.sample(range(1, 180), draw.randint(1, 4)))
    return tuple(Swap(at_ns=at * step_ns, policy=draw.choice(same)) for at in times)


def _changes(draw: random.Random, domains: tuple[Domain, ...], step_ns: int) -> tuple[Change, ...]:
    served = [domain.name for domain in domains if not domain.best_effort]
    if not served or draw.random() < 0.8:
        return ()
    times = sorted(draw.sample(range(1, 180), draw.randint(1, 3)))
    return tuple(
        Change(at_ns=at * step_ns, domain=draw.choice(served), interface=_interface(draw, step_ns))
        for at in times
    )
