# SPDX-License-Identifier: BSD-2-Clause
"""The servers of a system by the pcpus that they share.

Partitioned: one group per pcpu, empty ones included. Global: one group on all pcpus. Priorities
are those given, or the period itself: equal periods are equal priorities. Under fp-edf those
without one come last, as equals.
"""

from __future__ import annotations

from hyperperiod.analysis.overheads import longest_pick_ns, overhead_loads
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.stolen import stolen_loads
from hyperperiod.model import Domain, Scope, System, priorities_in, vcpus_of


def domains_by_group(system: System) -> list[list[int]]:
    """Indices of the domains of each group, in the order of the file."""
    if system.policy.scope is Scope.GLOBAL:
        return [list(range(len(system.domains)))]
    return [
        [index for index, domain in enumerate(system.domains) if domain.pcpu == pcpu]
        for pcpu in range(system.pcpus)
    ]


def groups_of(system: System) -> list[Group]:
    """The groups; domains without an interface have no server in them."""
    servers = _servers(system)
    shared = system.policy.scope is Scope.GLOBAL
    pcpus = system.pcpus if shared else 1
    sharing = [[system.domains[index] for index in members] for members in domains_by_group(system)]
    return [
        Group(
            servers=tuple(server for server in servers if server.domain_index in members),
            pcpus=pcpus,
            overhead=overhead_loads(system, sharing[pcpu]),
            stolen=stolen_loads(
                system,
                range(pcpus) if shared else [pcpu],
                longest_pick_ns(system, sharing[pcpu]),
            ),
            turns=system.quantum_ns is not None,
            moving=any(_wakes_at_will(system.domains[index]) for index in members),
        )
        for pcpu, members in enumerate(domains_by_group(system))
    ]


def _wakes_at_will(domain: Domain) -> bool:
    """Whether its vcpus may wake up more often than its tasks are released, as jobs move there.

    So may a vcpu without tasks, which some domain has whose vcpus are looked at one by one.
    """
    return domain.moves_jobs or not (domain.tasks or domain.domains)


def _servers(system: System) -> list[Server]:
    priority_of = priorities_in(system)
    return [
        Server(
            order=vcpu.id,
            name=vcpu.name,
            period_ns=vcpu.interface.period_ns,
            budget_ns=vcpu.interface.budget_ns,
            priority=priority_of(vcpu.given.priority, vcpu.interface.period_ns),
            domain_index=vcpu.domain_index,
            windows=vcpu.domain.windows,
        )
        for vcpu in vcpus_of(system)
        if vcpu.interface is not None
    ]
