# SPDX-License-Identifier: BSD-2-Clause
"""End-to-end response times of flows: holistic analysis on the supply of servers.

Papers: Tindell and Clark, "Holistic schedulability analysis for distributed hard real-time
systems", Microprocessing and Microprogramming 1994; compositional performance analysis (Richter
2005), as pyCPA does it, is the same iteration; Shin and Lee, RTSS 2003, for the supply.

An item is released at its first hop by the source, within its jitter. Each part of the analysis has
a file:

- `routes`: which flows release which tasks, how far releases spread at a hop, and the way of an
  item in pieces of one hop or several;
- `vcpu`: the supply of each vcpu, across the ends of hops as well;
- `responses`: the bounds of all tasks in one vcpu, given those spreads (`stream`, `busy_window`);
- `fixed_point`: bounds that agree with one another, and why they are sound;
- `windows`: why a task has its bound, for explanations;
- `registry`: tests of whole flows, which may say more;
- `verdicts`: what all that says of flows and domains, `found` and `results` how it is told.

No bound (no fixed point within many rounds, a hop in a domain without a supply contract, work above
the bandwidth) is "unbounded". A closed source bounds nothing but how many items are on their way,
one of each client, and so does the queue of a flow whose hop has more work than bandwidth: an item
waits for at most as many others at each hop.

Assumptions: servers get their budgets (`host_level`), but for those that are named as doubtful;
the supply bound of `domain_level`, while work is pending without a gap, also where one ends at the
instant at which the next comes. There a slice-once server loses its slice, so nothing is said of
its domain if items go on inside it. Overheads count as everywhere (`overheads`), the releases of
hops by the source and the queue.

Inputs: the system with its interfaces, a supply contract per domain. Results: verdicts for the
domains that have a hop, and for the flows, in nanoseconds. Sufficient only: true or null. Errors:
none.
"""

from __future__ import annotations

from collections.abc import Mapping

from hyperperiod.analysis.domains.domain_level import NotCovered, SupplyContract
from hyperperiod.analysis.flows.fixed_point import fixed_point
from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.analysis.flows.registry import whole_verdicts
from hyperperiod.analysis.flows.routes import Routes
from hyperperiod.analysis.flows.vcpu import FlowVcpu, vcpus_of
from hyperperiod.analysis.flows.verdicts import judge_domain, judge_flow, judge_whole, not_covered
from hyperperiod.model import Budget, System

LOSES = (
    "an item goes on inside the domain, which loses it a slice: no supply bound holds on its way"
)


def analyze_flows(
    system: System,
    contracts: Mapping[str, SupplyContract],
    not_guaranteed: Mapping[str, str] | None = None,
) -> FlowAnalysis:
    """All flows together; `contracts` by name of the domain, for those that have an interface.

    `not_guaranteed` says, by name too, why a server may not get its budget. What goes through there
    has no bound, and what it does to others elsewhere is bounded by the source and the queue.
    """
    routes = Routes(system)
    vcpus, refused = _vcpus(routes, system, contracts, not_guaranteed or {})
    bounds, insides = fixed_point(routes, vcpus)
    settled = not system.swaps and not system.changes
    wholes = whole_verdicts(system) if settled and system.flows else {}
    flows = tuple(
        judge_flow(routes, flow, bounds).replace(whole=wholes.get(flow.name))
        for flow in system.flows
    )
    domains = {
        domain.name: not_covered(domain, refused[domain.name])
        if domain.name in refused
        else judge_domain(
            routes, domain, [one for one in vcpus if one.domain == domain.name], bounds
        )
        for domain in system.domains
        if routes.touches(domain)
    }
    proved = judge_whole(routes, system, wholes, bounds)
    return FlowAnalysis(domains | proved, flows, frozenset(proved), insides)


def _vcpus(
    routes: Routes,
    system: System,
    contracts: Mapping[str, SupplyContract],
    not_guaranteed: Mapping[str, str],
) -> tuple[list[FlowVcpu], dict[str, str]]:
    """The vcpus that have hops, known to the routes from here on; and domains without, with why."""
    vcpus: list[FlowVcpu] = []
    refused: dict[str, str] = {}
    for domain in system.domains:
        if not routes.touches(domain):
            continue
        try:
            if domain.name in not_guaranteed:
                raise NotCovered(not_guaranteed[domain.name])
            contract = contracts.get(domain.name)
            if (
                contract is not None
                and contract.rule is Budget.SLICE_ONCE
                and routes.stay_in(domain)
            ):
                raise NotCovered(LOSES)
            vcpus += vcpus_of(domain, contract)
        except NotCovered as error:
            refused[domain.name] = str(error)
    for number, one in enumerate(vcpus):
        for source in one.component.sources:
            routes.vcpu_of[f"{one.domain}.{source.name}"] = number
    return vcpus, refused
