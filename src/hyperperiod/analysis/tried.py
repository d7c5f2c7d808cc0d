# SPDX-License-Identifier: BSD-2-Clause
"""What changes beside a domain's budget when another one is tried in its place.

- What overheads take of it: on shared pcpus each budget used up under extra time is an event, and
  smaller ones are used up more often.
- Whether its server gets it: such events take time from all, and Baker's test may lose a group in
  which one server asks for less.
- The latest time after a refill at which it has come (`Sbf.EDP`): later with a larger budget.

Assumptions: those of `overheads`, `host_level` and `supply_contracts`. Inputs: a system with its
interfaces filled in, the number of the domain, its supply contract, group and host verdict as they
are. Errors: none.
"""

from __future__ import annotations

from dataclasses import dataclass

from hyperperiod.analysis.domains.domain_level import SupplyContract, judge_domain
from hyperperiod.analysis.overheads import budget_loss_ns
from hyperperiod.analysis.servers.groups import domains_by_group, groups_of
from hyperperiod.analysis.servers.host_level import HostVerdict, host_level
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.model import Domain, Interface, Sbf, Scope, Slack, System

_NOT_SUSTAINABLE = "baker"


@dataclass(frozen=True)
class Tried:
    """One domain of a system, and what is known of it with its present budget."""

    system: System
    index: int
    contract: SupplyContract
    group: Group
    host: HostVerdict

    def lost_ns(self, budget_ns: int) -> int:
        """Returns how much (ns) overheads may take of one budget of `budget_ns`, if it had that."""
        if not self._counts_budgets:
            return self.contract.lost_ns
        changed = self._with(budget_ns)
        return budget_loss_ns(changed, changed.domains, changed.domains[self.index])

    def accepted(self, budget_ns: int) -> bool:
        """Whether tests confirm the domain with such a budget, and its server if they do now."""
        return self._serves(budget_ns) and self._kept(budget_ns)

    @property
    def _counts_budgets(self) -> bool:
        policy = self.system.policy
        extra = policy.slack is Slack.EXTRA and self._domain.extra
        return extra and policy.scope is Scope.GLOBAL and any(vars(self.system.overheads).values())

    @property
    def _domain(self) -> Domain:
        return self.system.domains[self.index]

    def _serves(self, budget_ns: int) -> bool:
        """The search saw all but the deadline of a larger budget."""
        if self.contract.sbf is not Sbf.EDP or budget_ns <= self._budget_ns:
            return True
        changed = self._with(budget_ns)
        contract = contracts_of(changed)[self._domain.name]
        return judge_domain(changed.domains[self.index], contract).whole.holds is True

    def _kept(self, budget_ns: int) -> bool:
        if not self._counts_budgets and self.host.test != _NOT_SUSTAINABLE:
            return True
        if not self._holds(self.group, self.host):
            return True
        changed = groups_of(self._with(budget_ns))
        own = next(
            number
            for number, members in enumerate(domains_by_group(self.system))
            if self.index in members
        )
        return self._holds(changed[own], host_level(self.system.policy, changed[own]))

    def _holds(self, group: Group, host: HostVerdict) -> bool:
        """Whether the servers of the domain, in this group, get their budgets."""
        return all(
            verdict.holds
            for server, verdict in zip(group.servers, host.servers, strict=True)
            if server.domain_index == self.index
        )

    @property
    def _budget_ns(self) -> int:
        assert self._domain.interface is not None, "what has no budget has none to try"
        return self._domain.interface.budget_ns

    def _with(self, budget_ns: int) -> System:
        domain = self._domain
        assert domain.interface is not None, "what has no budget has none to try"
        interface = Interface(period_ns=domain.interface.period_ns, budget_ns=budget_ns)
        changed = domain.replace(interface=interface)
        domains = self.system.domains
        return self.system.replace(
            domains=(*domains[: self.index], changed, *domains[self.index + 1 :])
        )
