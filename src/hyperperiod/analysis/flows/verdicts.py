# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on flows and on domains that have hops, from the bounds of all tasks.

Nothing is dropped if no more items than `queue` can come within the bound of the flow, and, where
they come in through a device, no more packets of all its flows than its ring holds within the bound
of the task that receives them, of each flow no more than its `queue`. A flow is
schedulable if nothing is dropped and the bound is within its deadline. Sufficient only: true or
null, but for tasks above every hop, which do not notice them, and tasks that never run.

Inputs: routes, bounds, vcpus, verdicts on whole flows. Results: verdicts. Errors: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hyperperiod._analysis import Local
from hyperperiod.analysis.domains.domain_level import NO_DEADLINE, DomainVerdict
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.flows.found import FlowVerdict, HopBound, WholeVerdict
from hyperperiod.analysis.flows.routes import Bounds, Routes
from hyperperiod.analysis.flows.vcpu import FlowVcpu
from hyperperiod.analysis.verdict import Verdict, all_of, better
from hyperperiod.model import Domain, Flow, System, format_time
from hyperperiod.model import Source as FlowSource

UNBOUNDED = "no bound was found for its response time"
BELOW_BUSY = "below a busy task, it may never run"


def judge_flow(routes: Routes, flow: Flow, bounds: Bounds) -> FlowVerdict:
    """Whether all items of a flow are in time and none is dropped, if servers get their budgets."""
    hops = tuple(HopBound(*routes.places[hop], bounds[hop].response_ns) for hop in flow.hops)
    total_ns = routes.latest_ns(flow, bounds)[-1]
    if total_ns is None:
        hop = next(hop for hop in hops if hop.bound_ns is None)
        verdict = Verdict.unknown(f"hop {hop.domain}.{hop.task}: {UNBOUNDED}")
        return FlowVerdict(flow, verdict, None, hops)
    sent = _max_sent(flow.source, total_ns)
    in_ring = _max_in_ring(routes, flow, bounds)
    if total_ns > flow.deadline_ns:
        bound, due = format_time(total_ns), format_time(flow.deadline_ns)
        verdict = Verdict.unknown(f"the bound of {bound} is above the deadline of {due}")
    elif sent > flow.queue:
        verdict = Verdict.unknown(
            f"items may be dropped: up to {sent} could be on their way, the queue is {flow.queue}"
        )
    elif flow.via is not None and not 0 < in_ring <= (ring := routes.rings[flow.via]):
        most = f"up to {in_ring}" if in_ring else "nobody knows how many"
        verdict = Verdict.unknown(
            f"packets may be dropped: {most} could be in the ring of {flow.via}, it holds {ring}"
        )
    else:
        verdict = Verdict.yes(total_ns)
    return FlowVerdict(flow, verdict, total_ns, hops)


def _max_sent(source: FlowSource, window_ns: int) -> int:
    """Returns the most items that come in a window; clients never send more than have room."""
    if source.period_ns is None:
        return source.clients or 0
    return -(-(window_ns + source.jitter_ns) // source.period_ns) * source.burst


def _max_in_ring(routes: Routes, flow: Flow, bounds: Bounds) -> int:
    """Returns the most packets in the ring through which a flow comes in; 0 if there is no bound.

    A packet that comes at t finds there those that came in (t - R, t]: R bounds the first hop.
    """
    response_ns = bounds[flow.hops[0]].response_ns
    if response_ns is None:
        return 0
    return sum(
        min(one.queue, _max_sent(one.source, response_ns))
        for one in routes.flows
        if one.via == flow.via
    )


def judge_whole(
    routes: Routes, system: System, wholes: Mapping[str, WholeVerdict], bounds: Bounds
) -> dict[str, DomainVerdict]:
    """The domains with hops, if all flows are proved as wholes: each hop has the sharper bound."""
    known = {name: one.response_ns for name, one in bounds.items() if one.response_ns is not None}
    hops: dict[str, int] = {}
    for flow in system.flows:
        hops_ns = wholes[flow.name].hops_ns if wholes else None
        if hops_ns is None:
            return {}
        for hop, bound_ns in zip(flow.hops, hops_ns, strict=True):
            hops[hop] = min(max(hops.get(hop, 0), bound_ns), known.get(hop, bound_ns))
    verdicts = {
        domain.name: {
            task.name: _judge_task(hops[f"{domain.name}.{task.name}"], task.deadline_ns or 0)
            for task in domain.tasks
        }
        for domain in system.domains
        if routes.touches(domain)
    }
    return {name: DomainVerdict(all_of(parts.values()), parts) for name, parts in verdicts.items()}


def not_covered(domain: Domain, reason: str) -> DomainVerdict:
    """Nothing is known of a domain, for that reason."""
    whole = Verdict.unknown(reason)
    return DomainVerdict(whole, {task.name: whole for task in domain.tasks} | _busy(domain))


def _busy(domain: Domain) -> dict[str, Verdict]:
    return {t.name: Verdict.unknown(NO_DEADLINE) for t in domain.tasks if t.period_ns is None}


def judge_domain(
    routes: Routes, domain: Domain, vcpus: Sequence[FlowVcpu], bounds: Bounds
) -> DomainVerdict:
    """Whether the tasks of a domain, with these vcpus, are in time on their supply."""
    parts: dict[str, Verdict] = {}
    for one in vcpus:
        for source in one.component.sources:
            name = f"{domain.name}.{source.name}"
            parts[source.name] = _judge_task(bounds[name].response_ns, source.load.deadline)
        for name, exact in _exact_above_hops(routes, one).items():
            parts[name] = better(exact, parts[name])
        parts |= dict.fromkeys(one.component.starved, Verdict.no(BELOW_BUSY))
    return DomainVerdict(all_of(parts.values()), parts | _busy(domain))


def _judge_task(bound_ns: int | None, deadline_ns: int) -> Verdict:
    if bound_ns is None:
        return Verdict.unknown(UNBOUNDED)
    if bound_ns > deadline_ns:
        return Verdict.unknown(f"the bound of {format_time(bound_ns)} is above the deadline")
    return Verdict.yes(bound_ns)


def _exact_above_hops(routes: Routes, vcpu: FlowVcpu) -> dict[str, Verdict]:
    """Under fixed priority tasks above every hop do not notice them: the exact test holds."""
    component = vcpu.component
    if component.local is not Local.FIXED_PRIORITY or vcpu.by_interface is None:
        return {}
    places = [
        place
        for place, source in enumerate(component.sources)
        if f"{vcpu.domain}.{source.name}" in routes.visits
    ]
    first = places[0] if places else len(component.sources)
    sources = component.sources[:first]
    verdicts = fixed_priority(replace(component, sources=sources), vcpu.by_interface)
    return {source.name: verdict for source, verdict in zip(sources, verdicts, strict=True)}
