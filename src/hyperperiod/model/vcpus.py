# SPDX-License-Identifier: BSD-2-Clause
"""The vcpus and tasks of a system in the order of the file: their global ids.

Every host, trace and report numbers them this way, and whoever asks about a server asks its `Vcpu`,
which has the defaults of its domain filled in. Priorities are here too: given ones, or the rank of
the server's period among the distinct periods of the system, so that equal periods are equal
priorities. Where the order is fp-edf, a server without one is ordinary.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hyperperiod.model.changes import Change
from hyperperiod.model.domain import Domain
from hyperperiod.model.frozen import FrozenFields
from hyperperiod.model.interface import Interface
from hyperperiod.model.limits import PRIORITY_LIMIT
from hyperperiod.model.own_vcpu import VcpuKeys
from hyperperiod.model.policy import Order, Policy
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.system import System
from hyperperiod.model.task import Task

ORDINARY = PRIORITY_LIMIT
"""After every priority that a file can give: of servers that have none, under fp-edf."""


class Vcpu(FrozenFields):
    """One vcpu; `id` counts over the whole system, `index` within its domain.

    `priority` is its place by the priorities of all; `given` are the keys as the file has them.
    """

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
    given: VcpuKeys


class PlacedTask(FrozenFields):
    """One task; `id` counts over the whole system, `index` within its domain."""

    id: int
    domain_index: int
    index: int
    domain: Domain
    task: Task


def vcpus_of(system: System) -> tuple[Vcpu, ...]:
    """All vcpus. Priorities by period are None until every interface is known."""
    rank_of = _ranks(system)
    vcpus: list[Vcpu] = []
    for domain_index, domain in enumerate(system.domains):
        each = zip(domain.vcpu_names, domain.each_vcpu, strict=True)
        for index, (name, keys) in enumerate(each):
            vcpus.append(
                Vcpu(
                    id=len(vcpus),
                    name=name,
                    domain_index=domain_index,
                    index=index,
                    domain=domain,
                    interface=keys.interface,
                    priority=rank_of(keys),
                    pcpu=keys.pcpu,
                    best_effort=keys.best_effort,
                    extra=keys.extra,
                    weight=keys.weight,
                    given=keys,
                )
            )
    return tuple(vcpus)


def changed_vcpus(system: System, change: Change) -> list[Vcpu]:
    """The vcpus that a change is about."""
    return [one for one in vcpus_of(system) if change.domain in (one.domain.name, one.name)]


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


def is_ordinary(policy: Policy, one: Domain | VcpuKeys) -> bool:
    """Whether its server comes after all that have a priority, by deadline."""
    return policy.order is Order.FP_EDF and one.priority is None and not one.best_effort


def by_period(system: System) -> bool:
    """Whether priorities are the periods, since none are given, nor have a meaning by that."""
    none_given = all(
        keys.priority is None for domain in system.domains for keys in domain.each_vcpu
    )
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


def _ranks(system: System) -> Callable[[VcpuKeys], int | None]:
    """The priority of a vcpu; None for best effort and ordinary, for all while a period is open."""
    if not by_period(system):
        return lambda keys: keys.priority
    served = (keys for domain in system.domains for keys in domain.each_vcpu)
    periods = {keys.period_ns for keys in served if not keys.best_effort}
    known = sorted(period for period in periods if period is not None)
    rank = {period: priority for priority, period in enumerate(known)}
    if len(known) != len(periods):
        rank = {}
    return lambda keys: None if keys.best_effort else rank.get(keys.period_ns or 0)


class InterfaceResult(ResultObject):
    """An interface in results: period and budget of each vcpu, bandwidth of all of them."""

    period_ns: int
    budget_ns: int
    bandwidth: float


def bandwidth_of(domain: Domain) -> Fraction:
    """The bandwidth of all vcpus of a domain together, in pcpus; 0 without interface."""
    each = (keys.interface.bandwidth for keys in domain.each_vcpu if keys.interface is not None)
    return sum(each, Fraction(0))


def interface_result(domain: Domain) -> InterfaceResult | None:
    """A domain's interface as results show it; None also where its vcpus have different ones."""
    found = {keys.interface for keys in domain.each_vcpu}
    return interface_of_vcpu(found.pop(), domain.vcpus) if len(found) == 1 else None


def interface_of_vcpu(interface: Interface | None, vcpus: int = 1) -> InterfaceResult | None:
    """The interface of each of some vcpus as results show it, with the bandwidth of all of them."""
    if interface is None:
        return None
    return InterfaceResult(
        period_ns=interface.period_ns,
        budget_ns=interface.budget_ns,
        bandwidth=float(vcpus * interface.bandwidth),
    )
