# SPDX-License-Identifier: BSD-2-Clause
"""Servers under EDF on one pcpu: bandwidths sum to at most 1.

Papers: Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time
environment", JACM 1973; for constant bandwidth servers Abeni and Buttazzo, RTSS 1998. Proved by
machine: servers_edf in proofs/host.v, for periodic and polling servers, and cbs_edf in
proofs/cbs_supply.v.

Assumptions: periodic servers (whatever slack rule hands their time on, see `fp_response_time`),
polling servers (which behave no worse than tasks released at their refills), or hard constant
bandwidth servers, whose deadline rule never demands more than budget / period in any interval.
For these the test is exact. It is not for deferrable servers: see `deferrable_edf`.

Overheads are added as demand of their own; the test then looks at every window (`prm_edf` on a
full pcpu) and is sufficient only.

Inputs: a group on one pcpu. Result: one verdict for all its servers. Errors: none.
"""

from __future__ import annotations

from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict


def edf_utilization(group: Group) -> Verdict:
    """Whether the bandwidths of all servers sum to at most 1, exactly; one verdict for all."""
    if group.overloaded:
        return Verdict.no(f"bandwidths sum to {float(group.bandwidth):.6g}, above 1")
    if not group.lost or not group.servers:
        return Verdict.yes()
    verdict = edf(as_tasks(group), WHOLE_PCPU)
    if verdict.holds:
        return verdict
    return Verdict.unknown("with overheads the test is only sufficient")


def as_tasks(group: Group) -> Component:
    """Budgets as work due at the end of each period, and overheads as demand of their own."""
    shortest_ns = min(server.period_ns for server in group.servers)
    sources = [
        NamedLoad(server.name, Load(server.budget_ns, server.period_ns, server.period_ns))
        for server in group.servers
    ]
    # Windows that matter hold at least one server's deadline; shorter ones need no entry.
    sources += [
        NamedLoad(
            "overheads", load._replace(deadline=shortest_ns, jitter=load.jitter + shortest_ns)
        )
        for load in group.lost
    ]
    return Component(Local.EDF, tuple(sources))
