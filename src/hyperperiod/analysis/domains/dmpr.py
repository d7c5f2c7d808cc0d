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
from hyperperiod.analysis.domains.minimal_budget import Found
from hyperperiod.analysis.domains.mpr import judge_cluster, least_cluster_budget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import Verdict


def dmpr(loads: Sequence[Load], supply: Supply, vcpus: int) -> Verdict:
    """Whether the loads meet their deadlines on vcpus - 1 whole pcpus and this supply."""
    return judge_cluster(loads, supply, 1, vcpus - 1)


def minimal_dmpr_budget(
    loads: Sequence[Load], shape: Shape, period_ns: int, vcpus: int, granule_ns: int = 1
) -> Found:
    """The least budget of the partial vcpu for the period."""
    return least_cluster_budget(loads, shape, period_ns, (1, vcpus - 1), granule_ns)
