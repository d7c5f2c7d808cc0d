# SPDX-License-Identifier: BSD-2-Clause
"""Domains whose vcpus were judged one by one, put together again.

`hyperperiod.model.split` makes a domain of each vcpu, and the tests judge those. Here they become
rows of the domain that the file has. It holds if each vcpu with a server does; where jobs move
between the vcpus, the verdict on its tasks comes from what these supply together (`guests`), under
the condition that each gets its budget. Best-effort vcpus are promised nothing and do not count.

Inputs: the system as it was given with what interfaces are known, the results of its parts.
Results: one per domain of the file. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hyperperiod.analysis.domains.domain_level import BEST_EFFORT, DomainVerdict
from hyperperiod.analysis.result import (
    DomainResult,
    DomainSensitivityResult,
    TaskResult,
    TaskSensitivityResult,
    TestResult,
    VcpuResult,
)
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Domain, System
from hyperperiod.model.absent import ABSENT, Absent
from hyperperiod.model.split import task_names
from hyperperiod.model.vcpus import bandwidth_of, interface_result


class GuestFound(NamedTuple):
    """The verdicts on a domain whose jobs move, with its tests and margins."""

    verdict: DomainVerdict
    tests: tuple[TestResult, ...]
    sensitivity: DomainSensitivityResult | Absent | None = ABSENT
    tasks: Mapping[str, TaskSensitivityResult] | None = None


def whole_domains(
    system: System,
    parts: Sequence[DomainResult],
    guests: Mapping[str, GuestFound],
) -> tuple[DomainResult, ...]:
    """The results of the domains of the file from those of their parts, in their order.

    `guests` is what is known of the domains whose jobs move between vcpus, by name.
    """
    found = iter(parts)
    return tuple(
        _whole(domain, [next(found) for _ in domain.vcpu_names], guests.get(domain.name))
        if domain.is_split
        else next(found)
        for domain in system.domains
    )


def _whole(domain: Domain, parts: Sequence[DomainResult], guest: GuestFound | None) -> DomainResult:
    known = domain.is_served and all(
        keys.interface is not None or keys.best_effort for keys in domain.each_vcpu
    )
    served = [
        Verdict(part.schedulable, of_vcpu(part.name, part.reason))
        for part, keys in zip(parts, domain.each_vcpu, strict=True)
        if not keys.best_effort
    ]
    verdicts = [*served, *([] if guest is None else [guest.verdict.whole])]
    whole = all_of(verdicts) if served else Verdict.unknown(BEST_EFFORT)
    return DomainResult(
        name=domain.name,
        vcpus=domain.vcpus,
        utilization=float(domain.utilization),
        interface=interface_result(domain),
        interface_overhead=float(bandwidth_of(domain) - domain.utilization) if known else None,
        schedulable=whole.holds,
        reason=whole.reason,
        tests=() if guest is None else guest.tests,
        tasks=tuple(_tasks(domain, parts, guest, all_of(served))),
        sensitivity=ABSENT if guest is None else guest.sensitivity,
        each_vcpu=tuple(
            _row(part, keys.pcpu, alone=guest is None)
            for part, keys in zip(parts, domain.each_vcpu, strict=True)
        ),
    )


def of_vcpu(name: str, reason: str) -> str:
    """A reason with the vcpu that it is about, which those from the host level name already."""
    return reason if not reason or reason.startswith(name) else f"{name}: {reason}"


def _row(part: DomainResult, pcpu: int | None, *, alone: bool) -> VcpuResult:
    """A vcpu, `alone` with its tasks: of a server without any no test says anything."""
    return VcpuResult(
        name=part.name,
        pcpu=pcpu,
        utilization=part.utilization,
        interface=part.interface,
        interface_overhead=part.interface_overhead,
        schedulable=part.schedulable,
        reason=part.reason,
        tests=part.tests if alone else (),
        algorithm1=part.algorithm1,
        minimal_budget=part.minimal_budget,
        sensitivity=part.sensitivity if alone else ABSENT,
    )


def _tasks(
    domain: Domain, parts: Sequence[DomainResult], guest: GuestFound | None, outside: Verdict
) -> Iterator[TaskResult]:
    if guest is None:
        inside = {task.name: task for part in parts for task in part.tasks}
        yield from (inside[task.name] for task in domain.tasks)
        return
    for task in domain.tasks:
        verdict = guest.verdict.parts[task.name]
        if verdict.holds and not outside.holds:
            verdict = Verdict.unknown(outside.reason)
        yield TaskResult(
            name=task.name,
            deadline_ns=task.deadline_ns,
            response_bound_ns=verdict.bound_ns if verdict.holds else None,
            schedulable=verdict.holds,
            reason=verdict.reason,
            sensitivity=ABSENT if guest.tasks is None else guest.tasks.get(task.name),
        )


def name_in_parts(system: System, name: str, guaranteed: Mapping[str, Verdict]) -> str:
    """Returns the name among the parts of a task or server of the file; other names stay.

    The server of a domain is that of its first vcpu that is not sure of its budget, else of its
    first. Tasks whose jobs move are on no one vcpu and not meant.
    """
    for domain in system.domains:
        if domain.is_split and name == domain.name:
            doubtful = [one for one in domain.vcpu_names if not guaranteed[one].holds]
            return (doubtful or domain.vcpu_names)[0]
    return task_names(system.domains).get(name, name)
