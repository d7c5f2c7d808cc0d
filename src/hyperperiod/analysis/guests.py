# SPDX-License-Identifier: BSD-2-Clause
"""Guests whose jobs move between vcpus that may differ: what these supply together.

Each vcpu with a server has a supply bound of its own, by the rule that it is under and its own
interface (`domain_level`); the test and its proof are in `domains.virtual_multiprocessor`.
Best-effort vcpus are promised nothing, and only add.

Where periods are given without budgets, all such vcpus get the same share of theirs, the least that
the test confirms (by bisection: more supply never makes it worse). Other budgets may need less in
all.

Inputs: a domain and what stands behind each of its vcpus. Results: verdicts on its tasks, if every
vcpu gets its budget; the domain with budgets. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.component import Component, component_of_tasks
from hyperperiod.analysis.domains.domain_level import (
    BEST_EFFORT,
    NO_DEADLINE,
    UNPINNED,
    DomainVerdict,
    NotCovered,
    SupplyContract,
    contract_under,
    judge_cluster,
    require_knowing,
    supply_under,
)
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import NamedVerdict, Verdict
from hyperperiod.model import Domain, Interface, Policy, Sbf
from hyperperiod.model.own_vcpu import served_by

if TYPE_CHECKING:
    from hyperperiod.analysis.domains.component_sensitivity import Sensitivity

NO_INTERFACE = "a vcpu has no interface"


class GuestSupply:
    """A domain whose jobs move, judged by what its vcpus supply together if each gets its budget.

    `contracts` are those of the vcpus in order. Where nothing is proved of one of them there are no
    `supplies`.
    """

    def __init__(self, domain: Domain, contracts: Sequence[SupplyContract]) -> None:
        self.domain = domain
        self.component = component_of_tasks(domain.scheduler, domain.tasks)
        self.supplies: list[Supply] = []
        self._refused: NotCovered | None = None
        try:
            self.supplies = _supplies_of(domain, contracts, self.component)
        except NotCovered as error:
            self._refused = error

    def judge(self) -> DomainVerdict:
        """The verdicts on the domain and on its tasks."""
        busy = {name: Verdict.unknown(NO_DEADLINE) for name in self.component.busy}
        if self._refused is None:
            whole, parts = judge_cluster(self.component, self.supplies)
        else:
            whole = Verdict.unknown(str(self._refused))
            parts = {task.name: whole for task in self.domain.tasks}
        return DomainVerdict(whole, parts | busy)

    def tests(self) -> tuple[NamedVerdict, ...]:
        """Returns the verdict of each test that applies."""
        from hyperperiod.analysis.domains.every_test import tests_of_cluster

        if self._refused is not None:
            return ()
        return tests_of_cluster(self.domain, self.component, self.supplies)

    def sensitivity(self) -> Sensitivity | None:
        """Returns the margins of its tasks on the supply that there is; None where unknown."""
        from hyperperiod.analysis.domains.cluster_sensitivity import cluster_sensitivity

        if self._refused is not None or self.component.starved:
            return None
        return cluster_sensitivity(self.component, self.supplies)


def _supplies_of(
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
        require_knowing(domain, keys.interface)
        supplies.append(supply_under(keys.interface, contract, [component], moving=True))
    if not supplies:
        raise NotCovered(BEST_EFFORT)
    return supplies


def with_budgets(domain: Domain, policy: Policy, granule_ns: int) -> Domain | None:
    """The domain with the least budgets of vcpus that have only a period; None if none will do.

    A domain in which nothing is open, or a period is, stays as it is.
    """
    periods_ns = [
        0 if keys.best_effort or keys.interface is not None else keys.interface_period_ns
        for keys in domain.each_vcpu
    ]
    longest_ns = max((period_ns or 0 for period_ns in periods_ns), default=0)
    if longest_ns == 0 or None in periods_ns or not domain.scheduler.is_global:
        return domain
    contracts = [contract_under(policy, domain, Sbf.GENERAL)] * domain.vcpus

    def with_share(units: int) -> Domain:
        def served(period_ns: int) -> dict[str, Any]:
            granules = -(-units * period_ns // (longest_ns * granule_ns))
            budget_ns = min(period_ns, granules * granule_ns)
            return served_by(Interface(period_ns=period_ns, budget_ns=budget_ns))

        return domain.with_vcpus(served(one) if one else {} for one in periods_ns)

    def fails(units: int) -> bool:
        return GuestSupply(with_share(units), contracts).judge().whole.holds is not True

    if fails(longest_ns):
        return None
    return with_share(last_holding(fails, 0, longest_ns) + 1)
