# SPDX-License-Identifier: BSD-2-Clause
"""The vcpus and tasks of a system in the order of the file: their global ids.

Every host, trace and report numbers them this way. Priorities are here too: given ones, or the
rank of the server's period among the distinct periods of the system, so that equal periods are
equal priorities. Where the order is fp-edf, a domain without one is ordinary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hyperperiod.model.domain import Domain
from hyperperiod.model.interface import Interface
from hyperperiod.model.limits import PRIORITY_LIMIT
from hyperperiod.model.policy import Order, Policy
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.system import System
from hyperperiod.model.task import Task

ORDINARY = PRIORITY_LIMIT
"""After every priority that a file can give: of servers that have none, under fp-edf."""


@dataclass(frozen=True)
class Vcpu:
    """One vcpu; `id` counts over the whole system, `index` within its domain."""

    id: int
    name: str
    domain_index: int
    index: int
    domain: Domain
    interface: Interface | None
    priority: int | None
    pcpu: int | None
    best_effort: bool
    extra: bool
    weight: int | None


@dataclass(frozen=True)
class PlacedTask:
    """One task; `id` counts over the whole system, `index` within its domain."""

    id: int
    domain_index: int
    index: int
    domain: Domain
    task: Task


def vcpus_of(system: System) -> tuple[Vcpu, ...]:
    """All vcpus. Priorities by period are None until every interface is known."""
    priorities = _priorities(system)
    vcpus: list[Vcpu] = []
    for domain_index, domain in enumerate(system.domains):
        for index, name in enumerate(domain.vcpu_names):
            vcpus.append(
                Vcpu(
                    id=len(vcpus),
                    name=name,
                    domain_index=domain_index,
                    index=index,
                    domain=domain,
                    interface=domain.interface,
                    priority=priorities[domain_index],
                    pcpu=domain.pcpu,
                    best_effort=domain.best_effort,
                    extra=domain.extra,
                    weight=domain.weight,
                )
            )
    return tuple(vcpus)


def tasks_of(system: System) -> tuple[PlacedTask, ...]:
    """The tasks of all outermost domains, numbered in the order of the file."""
    placed: list[PlacedTask] = []
    for domain_index, domain in enumerate(system.domains):
        for index, task in enumerate(domain.tasks):
            placed.append(PlacedTask(len(placed), domain_index, index, domain, task))
    return tuple(placed)


def hops_of(system: System) -> tuple[tuple[int, ...], ...]:
    """For each flow the ids of its hops among `tasks_of`."""
    ids = {f"{one.domain.name}.{one.task.name}": one.id for one in tasks_of(system)}
    return tuple(tuple(ids[hop] for hop in flow.hops) for flow in system.flows)


def is_ordinary(policy: Policy, domain: Domain) -> bool:
    """Whether its servers come after all that have a priority, by deadline."""
    return policy.order is Order.FP_EDF and domain.priority is None and not domain.best_effort


def by_period(system: System) -> bool:
    """Whether priorities are the periods, since none are given, nor have a meaning by that."""
    none_given = all(domain.priority is None for domain in system.domains)
    return none_given and system.policy.order is not Order.FP_EDF


def priorities_in(system: System) -> Callable[[int | None, int], int]:
    """The place of a server among those of the system, from its given priority and its period.

    As given, by period, or after all others: which of the two is worked out once.
    """
    periods = by_period(system)

    def priority_of(given: int | None, period_ns: int) -> int:
        if given is not None:
            return given
        return period_ns if periods else ORDINARY

    return priority_of


def _priorities(system: System) -> list[int | None]:
    """One per domain; None for best effort and ordinary, and for all while a period is unknown."""
    if not by_period(system):
        return [domain.priority for domain in system.domains]
    served = [domain for domain in system.domains if not domain.best_effort]
    periods = {_period_ns(domain) for domain in served}
    known = sorted(period for period in periods if period is not None)
    if len(known) != len(periods):
        return [None] * len(system.domains)
    rank = {period: priority for priority, period in enumerate(known)}
    return [
        None if domain.best_effort else rank[_period_ns(domain) or 0] for domain in system.domains
    ]


def _period_ns(domain: Domain) -> int | None:
    return domain.interface.period_ns if domain.interface else domain.interface_period_ns


class InterfaceResult(ResultObject):
    """An interface in results: period and budget of each vcpu, bandwidth of all of them."""

    period_ns: int
    budget_ns: int
    bandwidth: float


def bandwidth_of(domain: Domain) -> Fraction:
    """The bandwidth of all vcpus of a domain together, in pcpus; 0 without interface."""
    return domain.interface.bandwidth * domain.vcpus if domain.interface else Fraction(0)


def interface_result(domain: Domain) -> InterfaceResult | None:
    """A domain's interface as results show it."""
    if domain.interface is None:
        return None
    return InterfaceResult(
        period_ns=domain.interface.period_ns,
        budget_ns=domain.interface.budget_ns,
        bandwidth=float(bandwidth_of(domain)),
    )
