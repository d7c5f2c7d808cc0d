# SPDX-License-Identifier: BSD-2-Clause
"""Tasks under global EDF on whole pcpus and one vcpu more: the deterministic MPR.

Paper: Xu, Phan, Sokolsky, Xi, Lu, Gill and Lee, "Cache-aware compositional analysis of real-time
multicore virtualization platforms", RTSS 2013 (DMPR): a cluster of m vcpus of which m - 1 always
have a pcpu, and one has an interface (P, B).

It gives the same bandwidth with less uncertainty than m equal vcpus (`mpr`): only one of them can
be without supply. The test is that of `mpr` with the supply (m - 1) t + sbf(t).

Assumptions, inputs, results and errors: those of `mpr`; `supply` is that of the one partial vcpu.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    SupplyContract,
    cluster_of,
    shape_for,
)
from hyperperiod.analysis.domains.minimal_budget import MinimalBudget
from hyperperiod.analysis.domains.mpr import judge_cluster, min_cluster_budget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.result import DmprResult
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Domain


def dmpr(loads: Sequence[Load], supply: Supply, vcpus: int) -> Verdict:
    """Whether the loads meet their deadlines on vcpus - 1 whole pcpus and this supply."""
    return judge_cluster(loads, supply, 1, vcpus - 1)


def minimal_dmpr_budget(
    loads: Sequence[Load], shape: Shape, period_ns: int, vcpus: int, granule_ns: int = 1
) -> MinimalBudget:
    """The least budget of the partial vcpu for the period."""
    return min_cluster_budget(loads, shape, period_ns, (1, vcpus - 1), granule_ns)


def dmpr_result(
    domain: Domain, contract: SupplyContract, quantum_ns: int | None
) -> DmprResult | None:
    """Beside a domain under gedf: all vcpus but one whole, the last with the least budget.

    At the domain's own period and under its budget rule; null without an interface, of its own or
    of an inner domain, or where the supply bound that was asked for does not fit. Overheads are not
    added.
    """
    if any(one.interface is None for one in (domain, *domain.domains)):
        return None
    cluster = cluster_of(domain)
    if cluster is None or domain.interface is None:
        return None
    period_ns = domain.interface.period_ns
    try:
        shape = shape_for(contract, period_ns, [cluster], moving=True)
    except NotCovered:
        return None
    found = minimal_dmpr_budget(
        cluster.loads, shape, period_ns, domain.vcpus, quantum_ns or 1
    ).budget_ns
    whole = domain.vcpus - 1
    bandwidth = None if found is None else whole + found / period_ns
    return DmprResult(whole_pcpus=whole, budget_ns=found, bandwidth=bandwidth)
