# SPDX-License-Identifier: BSD-2-Clause
"""Systems that the analysis accepts with the overheads of a host, policy by policy."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count

from tests.support.on_xen import with_overheads

from hyperperiod.analysis import AnalysisResult, analyze, resolve
from hyperperiod.model import Domain, InputError, Scheduler, System, Task, TaskKind, parse_policy
from hyperperiod.model.policy import PRESETS, Budget

LEAST_UTILIZATION = Fraction(35, 100)
_US = 1_000
_MS = 1_000_000
# No test covers sporadic servers yet, nor cbs servers with overheads: the verdict is "unknown".
POLICIES = {
    name: policy
    for name, policy in PRESETS.items()
    if policy.budget not in (Budget.SPORADIC, Budget.CBS)
}


def generated(
    preset: str, number: int, pcpus: int = 1, costs: Callable[[System], System] = with_overheads
) -> System:
    """The system with this number, and the overheads that `costs` gives it."""
    many = "" if pcpus == 1 else f" on {pcpus}"
    draw = random.Random(f"guarantee {preset} {number}{many}")
    count_of = draw.randint(2, 4) + pcpus - 1
    total = draw.uniform(0.4, 0.75) if pcpus == 1 else draw.uniform(0.2, 0.4) * pcpus
    domains = [_domain(draw, f"d{n}", total / count_of) for n in range(count_of)]
    rest = [Domain(name=f"rest{n or ''}", best_effort=True) for n in range(pcpus)]
    system = System(
        name=f"guarantee-{preset}-{number}{many}".replace(" ", "-"),
        policy=parse_policy(preset),
        pcpus=pcpus,
        domains=(*domains, *rest),
    )
    return costs(system)


def _domain(draw: random.Random, name: str, share: float) -> Domain:
    scheduler = draw.choice([Scheduler.RM, Scheduler.DM, Scheduler.FP, Scheduler.EDF])
    tasks = draw.randint(1, 3)
    return Domain(
        name=name,
        scheduler=scheduler,
        interface_period_ns=draw.choice((4, 5, 6, 8, 10)) * _MS,
        tasks=tuple(_task(draw, f"t{n}", share / tasks, scheduler) for n in range(tasks)),
    )


def _task(draw: random.Random, name: str, share: float, scheduler: Scheduler) -> Task:
    period_ns = draw.choice((20, 25, 30, 40, 50, 60, 80, 100)) * _MS
    kind = draw.choice([TaskKind.PERIODIC] * 3 + [TaskKind.SPORADIC, TaskKind.EVENT])
    return Task(
        name=name,
        kind=kind,
        period_ns=period_ns,
        wcet_ns=int(period_ns * share * draw.uniform(0.5, 1)) // _US * _US,
        deadline_ns=period_ns * draw.choice((3, 4, 4, 4, 5)) // 4,
        offset_ns=draw.randint(0, 20) * _MS,
        jitter_ns=draw.choice((0, 0, 1)) * draw.randint(0, 3) * _MS,
        etf=draw.choice((Fraction(1), Fraction(1), Fraction(1, 2))),
        priority=draw.randint(0, 4) if scheduler is Scheduler.FP else None,
    )


def schedulable(
    preset: str, costs: Callable[[System], System] = with_overheads
) -> Iterator[tuple[System, AnalysisResult]]:
    """Generated systems that the analysis accepts and that are not all but idle."""
    for number in count():
        try:
            system = resolve(generated(preset, number, costs=costs))
        except InputError:
            continue
        verdict = analyze(system)
        used = sum(domain.utilization for domain in system.domains)
        if verdict.schedulable is True and used >= LEAST_UTILIZATION:
            yield system, verdict
