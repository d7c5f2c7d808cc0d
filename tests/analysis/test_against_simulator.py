# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis promises, the simulator must keep.

Random systems over all policies, local schedulers and kinds of tasks, with and without
overheads: no task that is called schedulable misses a deadline, none responds later than its
bound. Times are whole hundreds of microseconds so that coincidences happen.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from tests.support.rules import SCHEDULERS

from hyperperiod.analysis import analyze, resolve
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    Overheads,
    Policy,
    Scheduler,
    Scope,
    System,
    Task,
    TaskKind,
    to_toml,
)
from hyperperiod.model.policy import legal_policies
from hyperperiod.runs import simulate

STEP_NS = 100_000
POLICIES = legal_policies()


def some_task(draw: random.Random, number: int, share: float, scheduler: Scheduler) -> Task:
    kind = draw.choice([TaskKind.PERIODIC] * 4 + [TaskKind.SPORADIC, TaskKind.EVENT])
    period = draw.choice([100, 120, 150, 200, 240, 300, 400, 500, 600])
    wcet = max(1, int(period * share * draw.uniform(0.3, 1)))
    late = draw.random()
    deadline = period if late < 0.6 else draw.randint(max(wcet, period // 2), 2 * period)
    return Task(
        name=f"t{number}",
        kind=kind,
        period_ns=period * STEP_NS,
        wcet_ns=wcet * STEP_NS,
        deadline_ns=deadline * STEP_NS,
        offset_ns=draw.choice([0, 0, draw.randint(0, 300)]) * STEP_NS,
        jitter_ns=draw.choice([0, 0, 0, draw.randint(0, period)]) * STEP_NS,
        etf=draw.choice([Fraction(1), Fraction(1), Fraction(1, 2)]),
        priority=draw.randint(0, 5) if scheduler is Scheduler.FP else None,
    )


def some_domain(draw: random.Random, number: int, share: float, pcpu: int | None) -> Domain:
    scheduler = draw.choice(SCHEDULERS)
    count = draw.randint(1, 3)
    tasks = [some_task(draw, i, share / count, scheduler) for i in range(count)]
    if draw.random() < 0.2 and scheduler is not Scheduler.FP:
        tasks.append(Task(name="busy", kind=TaskKind.BUSY))
    steps = draw.choice([10, 20, 30, 50])
    interface: dict[str, Any] = {"interface_period_ns": steps * STEP_NS}
    if draw.random() < 0.3:
        budget = max(1, int(steps * min(1, 2 * share)))
        given = Interface(period_ns=steps * STEP_NS, budget_ns=budget * STEP_NS)
        interface = {"interface": given}
    return Domain(
        name=f"d{number}",
        scheduler=scheduler,
        pcpu=pcpu,
        tasks=tuple(tasks),
        extra=draw.random() < 0.3,
        **interface,
    )


def some_system(draw: random.Random, policy: Policy, number: int) -> System:
    alone = policy.scope is Scope.PARTITIONED
    pcpus = draw.choice([1, 1, 2]) if alone else 2
    count = draw.randint(2, 4)
    total = draw.uniform(0.1, 0.5) * pcpus
    overheads = Overheads()
    if draw.random() < 0.2:
        overheads = Overheads(
            context_switch_ns=draw.randint(0, 3000),
            pick_ns=draw.randint(0, 2000),
            wake_ns=draw.randint(0, 1000),
            interrupt_ns=draw.randint(0, 1000),
            replenish_ns=draw.randint(0, 1000),
            migration_ns=draw.randint(0, 2000),
        )
    domains = [
        some_domain(draw, i, total / count, draw.randrange(pcpus) if alone else None)
        for i in range(count)
    ]
    if draw.random() < 0.3:
        domains.append(Domain(name="rest", best_effort=True, pcpu=0 if alone else None))
    return System(
        name=f"random-{number}",
        policy=policy,
        pcpus=pcpus,
        overheads=overheads,
        quantum_ns=draw.choice([None, None, None, STEP_NS]),
        domains=tuple(domains),
    )


def judge(system: System, seed: int, counts: Counter[str]) -> None:
    """Whether one run keeps every promise."""
    promised = analyze(system)
    try:
        run = simulate(resolve(system), 500_000_000, seed)
    except InputError:
        return  # no interface serves the tasks
    for said, seen in zip(promised.domains, run.domains, strict=True):
        for claim, result in zip(said.tasks, seen.tasks, strict=True):
            if not claim.schedulable:
                continue
            counts["schedulable"] += 1
            where = (to_toml(system), seed, said.name, claim, result)
            assert result.misses == 0, where
            if result.response_ns:
                assert claim.response_bound_ns is not None, where
                assert result.response_ns.max <= claim.response_bound_ns, where
                counts["jobs"] += result.jobs


def test_promises_are_kept() -> None:
    draw = random.Random(70)
    counts: Counter[str] = Counter()
    for number in range(6 * len(POLICIES)):
        policy = POLICIES[number % len(POLICIES)]
        judge(some_system(draw, policy, number), number, counts)
    assert counts["schedulable"] > 300
    assert counts["jobs"] > 5000


@pytest.mark.slow
def test_promises_are_kept_at_length() -> None:
    draw = random.Random(71)
    counts: Counter[str] = Counter()
    for number in range(60 * len(POLICIES)):
        policy = POLICIES[number % len(POLICIES)]
        judge(some_system(draw, policy, number), number, counts)
    assert counts["schedulable"] > 2_000
