# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with overheads, and one run of such a system against its promises.

Overheads are some hundred nanoseconds each, tasks some hundred microseconds.
"""

from __future__ import annotations

import random

from tests.support.campaign import Trial

from hyperperiod.analysis import analyze
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import (
    Budget,
    Domain,
    Interface,
    Overheads,
    Policy,
    Scheduler,
    Scope,
    Slack,
    System,
    Task,
    TaskKind,
    to_toml,
)
from hyperperiod.model.part import fields_of
from hyperperiod.model.policy import legal_policies
from hyperperiod.runs import simulate

STEP_NS = 1000
BUDGETS = (Budget.PERIODIC, Budget.DEFERRABLE, Budget.POLLING, Budget.SPORADIC, Budget.CBS)
HORIZON_NS = 20_000_000
POLICIES = [policy for policy in legal_policies() if policy.budget in BUDGETS]


def some_task(draw: random.Random, number: int, share: float) -> Task:
    period = draw.choice((300, 400, 500, 600, 800, 1000, 1200, 2000))
    kind = draw.choice((TaskKind.PERIODIC, TaskKind.PERIODIC, TaskKind.SPORADIC, TaskKind.EVENT))
    return Task(
        name=f"t{number}",
        kind=kind,
        period_ns=period * STEP_NS,
        wcet_ns=max(1, int(period * share)) * STEP_NS,
        offset_ns=draw.choice((0, 0, draw.randint(0, 300))) * STEP_NS,
        jitter_ns=draw.choice((0, 0, draw.randint(0, period))) * STEP_NS,
    )


def some_domain(draw: random.Random, number: int, share: float, alone: bool) -> Domain:
    scheduler = draw.choice((Scheduler.RM, Scheduler.DM, Scheduler.EDF))
    count = draw.randint(1, 2)
    tasks = [some_task(draw, index, share / count) for index in range(count)]
    if draw.random() < 0.3:
        tasks.append(Task(name="busy", kind=TaskKind.BUSY))
    period_ns = draw.choice((60, 100, 120, 150, 200)) * STEP_NS
    return Domain(
        name=f"d{number}",
        scheduler=scheduler,
        pcpu=0 if alone else None,
        tasks=tuple(tasks),
        extra=draw.random() < 0.3,
        interface_period_ns=period_ns,
    )


def some_overheads(draw: random.Random) -> Overheads:
    """Some hundred nanoseconds each, a few of them nothing."""
    names = list(fields_of(Overheads))
    most = draw.choice((100, 300, 1000))
    return Overheads(**{name: draw.choice((0, draw.randint(0, most))) for name in names})


def some_system(draw: random.Random, policy: Policy) -> System:
    alone = policy.scope is Scope.PARTITIONED
    pcpus = 1 if alone else 2
    count = draw.randint(1, 4)
    total = draw.uniform(0.2, 0.6) * pcpus
    domains = [some_domain(draw, index, total / count, alone) for index in range(count)]
    if draw.random() < 0.3:
        hog = (Task(name="hog", kind=TaskKind.BUSY), some_task(draw, 9, 0.1))
        domains.append(Domain(name="rest", best_effort=True, pcpu=0 if alone else None, tasks=hog))
    spare = None
    if policy.slack is Slack.SPARE:
        spare = Interface(period_ns=120 * STEP_NS, budget_ns=draw.randint(1, 120) * STEP_NS)
    return System(
        name="random",
        policy=policy,
        pcpus=pcpus,
        overheads=some_overheads(draw),
        spare=spare,
        domains=tuple(domains),
    )


def trial_of(draw: random.Random, asked: System) -> Trial:
    """Whether one run of this system, with its interfaces computed, keeps every promise."""
    system = resolve_what_can_be(asked).system
    if any(not domain.best_effort and domain.interface is None for domain in system.domains):
        return Trial(accepted=False)
    promised = analyze(system)
    claims = [
        (domain.name, task)
        for domain in promised.domains
        for task in domain.tasks
        if task.schedulable
    ]
    if not claims:
        return Trial(accepted=False)
    run = simulate(system, HORIZON_NS, draw.randrange(1000))
    seen = {(domain.name, task.name): task for domain in run.domains for task in domain.tasks}
    for name, claim in claims:
        result = seen[name, claim.name]
        latest_ns = result.response_ns.max if result.response_ns else 0
        if result.misses or latest_ns > (claim.response_bound_ns or 0):
            text = to_toml(system)
            return Trial(True, f"{name}.{claim.name} took {latest_ns}: {claim} in {text}")
    return Trial(accepted=True)
