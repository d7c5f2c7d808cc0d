# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis calls schedulable misses nothing on Xen.

Systems are generated, their interfaces computed and judged with the overheads that were measured
on this very host. Those that are schedulable run on Xen, next to best-effort domains that never
sleep, one for each pcpu: no job may be late, and none may respond later than the analysis says.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count, islice
from pathlib import Path

import pytest
from tests.support.on_xen import need_xen, run_on_xen, with_overheads

from hyperperiod.analysis import AnalysisResult, analyze, resolve
from hyperperiod.model import Domain, InputError, Scheduler, System, Task, TaskKind, parse_policy
from hyperperiod.model.policy import PRESETS, Budget

OF_EACH = 4
"""Systems of each policy: 36 in all."""
HORIZON_NS = 10_000_000_000
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


def keeps_its_promise(
    system: System, verdict: AnalysisResult, horizon_ns: int, folder: Path
) -> None:
    """No miss on Xen, and no response beyond its bound."""
    result = run_on_xen(system, horizon_ns, 1, folder).result
    for promised, domain in zip(verdict.domains, result.domains, strict=True):
        for bound, task in zip(promised.tasks, domain.tasks, strict=True):
            where = f"{system.name} {domain.name}.{task.name}"
            assert task.misses == 0, where
            if bound.response_bound_ns is not None and task.response_ns is not None:
                longest_ns = task.response_ns.max
                assert longest_ns is None or longest_ns <= bound.response_bound_ns, where
    assert sum(task.jobs for domain in result.domains for task in domain.tasks) > 20


@pytest.mark.parametrize("preset", ["crps", "ds", "rtds"])
def test_a_system_for_a_second(preset: str, tmp_path: Path) -> None:
    need_xen()
    for system, verdict in islice(schedulable(preset), 1):
        keeps_its_promise(system, verdict, HORIZON_NS // 10, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", POLICIES)
def test_systems_of_each_policy_for_ten_seconds(preset: str, tmp_path: Path) -> None:
    need_xen()
    for system, verdict in islice(schedulable(preset), OF_EACH):
        keeps_its_promise(system, verdict, HORIZON_NS, tmp_path)


SHARED = {
    "rtds": (297, 421, 720, 838),
    "ertds": (290, 328, 391, 785),
    "deferrable+edf+none+global": (88, 250, 388, 811),
}
"""Numbers of systems on two pcpus that the analysis accepts: about one in a hundred."""


def keep_their_promises(policy: str, numbers: Sequence[int], horizon_ns: int, folder: Path) -> None:
    need_xen()
    for number in numbers:
        system = resolve(generated(policy, number, 2))
        verdict = analyze(system)
        assert verdict.schedulable is True, system.name
        keeps_its_promise(system, verdict, horizon_ns, folder)


def test_a_system_on_two_pcpus(tmp_path: Path) -> None:
    keep_their_promises("rtds", SHARED["rtds"][:1], HORIZON_NS // 20, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", SHARED)
def test_systems_on_two_pcpus_for_two_seconds(policy: str, tmp_path: Path) -> None:
    keep_their_promises(policy, SHARED[policy], HORIZON_NS // 5, tmp_path)
