# SPDX-License-Identifier: BSD-2-Clause
"""Guests whose jobs move between vcpus that may differ: what these supply together.

Each vcpu with a server has a supply bound of its own, by the rule that it is under and its own
interface (`domain_level`); the test and its proof are in `domains.virtual_multiprocessor`.
Best-effort vcpus are promised nothing, and only add.

Inputs: a domain and what stands behind each of its vcpus. Results: verdicts on its tasks, if every
vcpu gets its budget. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.analysis.component import Component, component_of_tasks
from hyperperiod.analysis.domains.domain_level import (
    BEST_EFFORT,
    NO_DEADLINE,
    UNPINNED,
    DomainVerdict,
    NotCovered,
    SupplyContract,
    judge_cluster,
    supply_under,
)
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import NamedVerdict, Verdict
from hyperperiod.model import Domain

NO_INTERFACE = "a vcpu has no interface"


def judge_guest(domain: Domain, contracts: Sequence[SupplyContract]) -> DomainVerdict:
    """The verdicts on a domain whose jobs move, `contracts` being those of its vcpus in order."""
    component = component_of_tasks(domain.scheduler, domain.tasks)
    busy = {name: Verdict.unknown(NO_DEADLINE) for name in component.busy}
    try:
        whole, parts = judge_cluster(component, supplies_of(domain, contracts, component))
    except NotCovered as error:
        whole = Verdict.unknown(str(error))
        parts = {task.name: whole for task in domain.tasks}
    return DomainVerdict(whole, parts | busy)


def tests_of_guest(domain: Domain, contracts: Sequence[SupplyContract]) -> tuple[NamedVerdict, ...]:
    """What each test that applies says of such a domain."""
    from hyperperiod.analysis.domains.every_test import tests_of_cluster

    component = component_of_tasks(domain.scheduler, domain.tasks)
    try:
        supplies = supplies_of(domain, contracts, component)
    except NotCovered:
        return ()
    return tests_of_cluster(domain, component, supplies)


def supplies_of(
    domain: Domain, contracts: Sequence[SupplyContract], component: Component
) -> list[Supply]:
    """The supply of each vcpu with a server; NotCovered where nothing is proved of one."""
    if not domain.scheduler.is_global:
        raise NotCovered(UNPINNED)
    supplies = []
    for keys, contract in zip(domain.each_vcpu, contracts, strict=True):
        if keys.best_effort:
            continue
        if keys.interface is None:
            raise NotCovered(NO_INTERFACE)
        supplies.append(supply_under(keys.interface, contract, [component], moving=True))
    if not supplies:
        raise NotCovered(BEST_EFFORT)
    return supplies
