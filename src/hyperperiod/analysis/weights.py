# SPDX-License-Identifier: BSD-2-Clause
"""Slices by weight: who has a weight and no interface shares what a pcpu has left.

Xen's SEDF (`sedf_adjust_weights` in its last versions): a common period of 100 ms, of which 5 ms
are kept back; what the others have reserved, projected to that period, is taken off, and the rest
is divided by weight. It concerns the policies whose slack rule is weights. Each vcpu of a domain
has the domain's weight.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.model import Domain, Interface, Slack, System

PERIOD_NS = 100_000_000
SAFETY_NS = 5_000_000


def has_slice_by_weight(system: System, domain: Domain) -> bool:
    """Whether the slice of this domain is what its weight gives it."""
    return (
        system.policy.slack is Slack.WEIGHTS
        and domain.weight is not None
        and domain.interface is None
        and not domain.best_effort
    )


def slices_by_weight(system: System, members: Sequence[Domain]) -> dict[str, Interface | None]:
    """The interfaces that weights give on one pcpu, by domain.

    system:  says the quantum, of which slices are whole multiples
    members: all domains of the pcpu; those without a weight have an interface or are best effort
    result:  None where nothing is left for a slice
    """
    weighted = [domain for domain in members if has_slice_by_weight(system, domain)]
    reserved_ns = sum(
        domain.vcpus * (PERIOD_NS * domain.interface.budget_ns // domain.interface.period_ns)
        for domain in members
        if domain.interface is not None
    )
    left_ns = PERIOD_NS - SAFETY_NS - reserved_ns
    total = sum(domain.vcpus * _weight(domain) for domain in weighted)
    granule_ns = system.quantum_ns or 1
    found: dict[str, Interface | None] = {}
    for domain in weighted:
        slice_ns = _weight(domain) * left_ns // total // granule_ns * granule_ns
        fits = slice_ns > 0 and PERIOD_NS % granule_ns == 0
        found[domain.name] = Interface(period_ns=PERIOD_NS, budget_ns=slice_ns) if fits else None
    return found


def _weight(domain: Domain) -> int:
    assert domain.weight is not None
    return domain.weight
