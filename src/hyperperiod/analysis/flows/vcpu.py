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

Inputs: a domain and its promise. Results: its vcpus. Errors: NotCovered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    Promise,
    components_of,
    supply_of,
)
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.proofs import Cover, proof_of
from hyperperiod.model import Domain


@dataclass(frozen=True)
class Vcpu:
    """A component that has hops, and its supply.

    `least`: it may get no more than that. `across` is what it gets while items go from one of its
    tasks to the next without a gap; None: nothing is known of that.
    """

    domain: str
    component: Component
    supply: Supply
    least: bool
    across: Supply | None


def vcpus_of(domain: Domain, promise: Promise | None) -> list[Vcpu]:
    """The vcpus of a domain with their supply; NotCovered where none is known."""
    if promise is None:
        raise NotCovered("it has no interface")
    components = components_of(domain)
    supply = supply_of(domain, promise, components)
    least = not promise.lost_ns and not proof_of(promise.rules).loose
    across = _supply_across_hops(domain, promise, components)
    return [Vcpu(domain.name, component, supply, least, across) for component in components]


def _supply_across_hops(
    domain: Domain, promise: Promise, components: Sequence[Component]
) -> Supply | None:
    if Cover.HOPS not in proof_of(promise.rules).covers:
        return None
    try:
        with_wakes = replace(promise, lost_ns=promise.lost_across_hops_ns)
        return supply_of(domain, with_wakes, components)
    except NotCovered:
        return None
