# SPDX-License-Identifier: BSD-2-Clause
"""What stands behind the interface of each domain, at every depth.

The budget rule of its server (that of the policy; inner servers are periodic), the supply bound
that the system asks for, what overheads may take of one budget, and the explicit deadline, if
there is one: the latest time after a refill at which the budget has been spent. For the
servers of the host that is the response bound of `fp_response_time`, where `edp` says that it is
sound; for an inner server it is its response bound in the test of the domain around it. Several
vcpus of a domain share the latest deadline of them. Of servers of the host there is, too, what the
others on their pcpus leave to them (`known_servers`).

Inputs: a system with its interfaces filled in. Result: a `SupplyContract` for each domain by name.
Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hyperperiod.analysis.domains.domain_level import (
    SupplyContract,
    contract_inside,
    contract_under,
    judge_domain,
)
from hyperperiod.analysis.domains.edp import refusal
from hyperperiod.analysis.overheads import budget_loss_ns
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.groups import domains_by_group, groups_of
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Domain, Sbf, System

if TYPE_CHECKING:
    from hyperperiod.analysis.servers.known_servers import Known
    from hyperperiod.analysis.window_loss import WindowLoss


def contracts_of(
    system: System, groups: Sequence[Group] | None = None, *, sbfs: Container[Sbf] = tuple(Sbf)
) -> dict[str, SupplyContract]:
    """One supply contract per domain; names are unique at every depth.

    `groups` are those of the system, where they are known already. What only supply bounds that are
    not among `sbfs` use is left out: finding it may take longer than all else.
    """
    groups = groups_of(system) if groups is None else groups
    return {
        name: contract
        for group, members in zip(groups, domains_by_group(system), strict=True)
        for name, contract in _contracts_of_group(system, group, members, sbfs)
    }


def _contracts_of_group(
    system: System, group: Group, members: list[int], sbfs: Container[Sbf]
) -> Iterator[tuple[str, SupplyContract]]:
    refused = refusal(system.policy)
    bounds = fp_response_time(group) if refused is None and Sbf.EDP in sbfs else []
    domains = [system.domains[index] for index in members]
    unsettled = _unsettled(system, domains)
    for index, domain in zip(members, domains, strict=True):
        deadline_ns = _latest(group, bounds, index) if bounds else None
        by_servers = bool(domain.windows) or Sbf.SERVERS in sbfs

        def loss_ns(inner: Domain, own: Domain = domain) -> int:
            period_ns = inner.interface.period_ns if inner.interface else 0
            return budget_loss_ns(system, domains, own, period_ns)

        contract = replace(
            contract_under(system.policy, domain, system.sbf),
            lost_ns=loss_ns(domain),
            deadline_ns=deadline_ns,
            refused=refused or "",
            lost_across_hops_ns=budget_loss_ns(system, domains, domain, across_hops=True),
            windows=_windows(system, domains, domain),
            known=_known(system, group, index, unsettled) if by_servers else None,
        )
        yield domain.name, contract
        yield from _inside(loss_ns, domain, contract)


def _known(system: System, group: Group, index: int, unsettled: str) -> Known | None:
    """Returns the refined supplies of the servers of the domain with this number in a group."""
    if system.domains[index].interface is None:
        return None
    # Loaded where it is asked for: a simulation has interfaces, and needs no more.
    from hyperperiod.analysis.servers.known_servers import known_supply

    return known_supply(system.policy, group, index, unsettled)


def _unsettled(system: System, domains: Sequence[Domain]) -> str:
    """Returns why the servers of a group are not all that there will be; empty if they are."""
    if system.swaps or system.changes:
        return "swaps or changes are to come"
    if not all(domain.interface or domain.best_effort for domain in domains):
        return "a domain on the same pcpus has no interface yet"
    return ""


def _windows(system: System, domains: Sequence[Domain], own: Domain) -> WindowLoss | None:
    """The account of overheads by windows, which systems without any need not load."""
    if not any(vars(system.overheads).values()):
        return None
    from hyperperiod.analysis.window_loss import window_loss

    return window_loss(system, domains, own)


def _latest(group: Group, bounds: list[Verdict], index: int) -> int | None:
    """The deadline that all servers of the domain keep; None if one has none."""
    own = [bounds[number] for number in group.numbers_of(index)]
    known = [bound.bound_ns for bound in own if bound.holds and bound.bound_ns is not None]
    return max(known) if known and len(known) == len(own) else None


def _inside(
    loss_ns: Callable[[Domain], int], domain: Domain, contract: SupplyContract
) -> Iterator[tuple[str, SupplyContract]]:
    """Inner servers: periodic, with their response bound under the server around them."""
    if not domain.domains:
        return
    verdicts = {}
    if all(inner.interface is not None for inner in domain.domains):
        verdicts = judge_domain(domain, contract).parts
    for inner in domain.domains:
        found = verdicts.get(inner.name)
        deadline_ns = found.bound_ns if found is not None and found.holds else None
        lost_ns = loss_ns(inner)
        behind = replace(
            contract_inside(contract.sbf),
            lost_ns=lost_ns,
            deadline_ns=deadline_ns,
            refused=contract.refused,
        )
        yield inner.name, behind
        yield from _inside(loss_ns, inner, behind)
