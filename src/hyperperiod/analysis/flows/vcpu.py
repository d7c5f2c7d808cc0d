# SPDX-License-Identifier: BSD-2-Clause
"""The vcpus that flows go through, each with its tasks and the supply that it surely gets.

A piece of several hops needs a supply bound that holds across the end of a hop, where the vcpu may
depart and arrive at one instant (`Cover.HOPS` in the table of proofs). With overheads that is a
pick with a wake, which the budget pays for: the supply of a piece loses those as well. Periodic
servers spend their budget whatever the work is, deferrable ones only while they run, and polling
ones lose it only if there is no work after the arrivals of that instant: nothing changes for them.
Under the sporadic and cbs rules an arrival acts. What is left of a sporadic budget becomes a refill
that dates from now, later than without the arrival; a cbs server with more left than it could use
by its deadline gets a new deadline a period from now, and the service until the old one is lost.
Their hops are bounded one by one: the bound of a single hop needs supply only while the item is
pending there.

Where the system asks for it (`Sbf.SERVERS`) and it is known what the other servers leave to these
(`servers.known_servers`), that is the supply. It is never less than that of the interface: there a
budget has come by the end of its period, too, as its test demands.

Inputs: a domain and its supply contract. Results: its vcpus. Errors: NotCovered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    SupplyContract,
    components_of,
    supply_of,
)
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.proofs import Cover, find_refinement, proof_of
from hyperperiod.model import Domain, Sbf


@dataclass(frozen=True)
class FlowVcpu:
    """A component that has hops, and its supply.

    `by_interface` is the supply of the interface alone if the vcpu may get no more than that,
    whatever the others do. `across` is what it gets while items go from one of its tasks to the
    next without a gap; None: nothing is known of that.
    """

    domain: str
    component: Component
    supply: Supply | Staircase
    by_interface: Supply | None
    across: Supply | Staircase | None


def vcpus_of(domain: Domain, contract: SupplyContract | None) -> list[FlowVcpu]:
    """The vcpus of a domain with their supply; NotCovered where none is known."""
    if contract is None:
        raise NotCovered("it has no interface")
    components = components_of(domain)
    supply = supply_of(domain, contract, components)
    exact = not contract.lost_ns and not proof_of(contract.rules).loose
    by_interface = supply if exact else None
    known = _known_supplies(contract)
    if known:
        sharper = find_refinement(contract.rules)
        holds_across = sharper is not None and Cover.HOPS in sharper.covers
        return [
            FlowVcpu(domain.name, component, stairs, by_interface, stairs if holds_across else None)
            for component, stairs in zip(components, known, strict=True)
        ]
    across = _supply_across_hops(domain, contract, components)
    return [
        FlowVcpu(domain.name, component, supply, by_interface, across) for component in components
    ]


def _known_supplies(contract: SupplyContract) -> tuple[Staircase, ...]:
    """Returns the supply that other servers leave to each vcpu; empty if unknown or not asked."""
    if contract.sbf is not Sbf.SERVERS or contract.known is None:
        return ()
    return () if contract.known.refused else contract.known.supplies


def _supply_across_hops(
    domain: Domain, contract: SupplyContract, components: Sequence[Component]
) -> Supply | None:
    if Cover.HOPS not in proof_of(contract.rules).covers:
        return None
    try:
        with_wakes = replace(contract, lost_ns=contract.lost_across_hops_ns)
        return supply_of(domain, with_wakes, components)
    except NotCovered:
        return None
