# SPDX-License-Identifier: BSD-2-Clause
"""End-to-end response times of flows: holistic analysis on the supply of servers.

Papers: Tindell and Clark, "Holistic schedulability analysis for distributed hard real-time
systems", Microprocessing and Microprogramming 1994; compositional performance analysis (Richter
2005), as pyCPA does it, is the same iteration; Shin and Lee, RTSS 2003, for the supply.

An item is released at its first hop by the source, within its jitter. If every job of a hop
responds between r and R, releases at the next hop spread by R - r more than here. With that jitter
(`stream`) the response of every task of a domain is bounded inside its server (`busy_window` under
rm, dm, fp and fifo; under edf the deadline if the demand bound fits the supply, and the busy
window of the vcpu in any case). New responses give new jitters, and so on until nothing changes.

The bound of a flow, from the actual release at the source, is the sum over its hops, but not
always of their own bounds: while an item goes through several hops on one vcpu, one after the
other, it is pending there without a gap, so the busy window of the lowest of these levels bounds
all of them together, and the time without supply is paid only once. Of all ways to cut the path
into such pieces and single hops the best one counts, for jitters as well.

A piece needs a supply bound that holds across the end of a hop, where the vcpu may depart and
arrive at one instant (`Cover.HOPS` in the table of proofs). With overheads that is a pick with a
wake, which the budget pays for: the supply of a piece loses those as well. Periodic servers spend
their budget whatever the work is, deferrable ones only while they run, and polling ones lose it
only if there is no work after the arrivals of that instant: nothing changes for them. Under the
sporadic and cbs rules an arrival acts. What is left of a sporadic budget becomes a refill that
dates from now, later than without the arrival; a cbs server with more left than it could use by its
deadline gets a new deadline a period from now, and the service until the old one is lost. Their
hops are bounded one by one: the bound of a single hop needs supply only while the item is pending
there.

Why the fixed point is sound although the argument is a circle. Take the first instant at which
something is pending for longer than its bound. All else up to then kept its bound, so all releases
up to then were within their streams, and the bound on that one, which looks at nothing later, was
kept as well: there is no such instant. Nothing is assumed of phases, so tasks that one item visits
twice count as if both visits could coincide with any others.

No bound (no fixed point within many rounds, a hop in a domain without a promise, work above the
bandwidth) is "unbounded", and the iteration goes on for the others: the hops behind are then
bounded by the source and the queue of their flow alone.

A closed source bounds nothing but how many items are on their way, one of each client, and so does
the queue of a flow whose hop has more work than bandwidth: an item waits for at most as many others
at each hop (`backlog_bound`), under all schedulers but edf with several tasks.

Nothing is dropped if no more items than `queue` can come within the bound of the flow. A flow is
schedulable if nothing is dropped and the bound is within its deadline.

Assumptions: servers get their budgets (`host_level`), but for those that are named as doubtful;
the supply bound of `domain_level`, while work is pending without a gap, also where one ends at the
instant at which the next comes. There a slice-once server loses its slice, so nothing is said of
its domain if items go on inside it. Overheads count as everywhere (`overheads`), the releases of
hops by the source and the queue.

Inputs: the system with its interfaces, a promise per domain. Results: verdicts for the domains that
have a hop, and for the flows, in nanoseconds. Sufficient only: true or null. Errors: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, Source
from hyperperiod.analysis.domains.domain_level import (
    NO_DEADLINE,
    DomainVerdict,
    NotCovered,
    Promise,
    components_of,
    supply_of,
)
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.flows.busy_window import (
    LIMIT,
    backlog_bound,
    busy_window,
    response_bound,
)
from hyperperiod.analysis.flows.found import FlowAnalysis, FlowVerdict, HopBound, WholeVerdict
from hyperperiod.analysis.flows.registry import whole_verdicts
from hyperperiod.analysis.flows.stream import Queue, Stream
from hyperperiod.analysis.proofs import Cover, proof_of
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Budget, Domain, Flow, System, Task, format_time
from hyperperiod.model import Source as FlowSource
from hyperperiod.model.units import TIME_LIMIT_NS

ROUNDS = 200
"""Of the iteration, before those whose bounds still grow are given up."""

SPREAD = 256
"""Periods of its source over which a flow may spread before its jitter counts as unbounded."""

ONCE = 2**60
"""A period that no window exceeds."""

UNBOUNDED = "no bound was found for its response time"
LOSES = (
    "an item goes on inside the domain, which loses it a slice: no supply bound holds on its way"
)
NS_PER_S = 1_000_000_000
BELOW_BUSY = "below a busy task, it may never run"


@dataclass(frozen=True)
class _Vcpu:
    """A component that has hops, and its supply.

    `least`: it may get no more than that. `across` is what it gets while items go from one of its
    tasks to the next without a gap; None: nothing is known of that.
    """

    domain: str
    component: Component
    supply: Supply
    least: bool
    across: Supply | None


class TaskBound(NamedTuple):
    """A task's longest response, and its level's busy window across hops; None: unbounded."""

    response_ns: int | None
    window_ns: int | None


Bounds = dict[str, TaskBound]
"""By domain.task."""

NOTHING = TaskBound(None, None)


def analyze_flows(
    system: System, promises: Mapping[str, Promise], unkept: Mapping[str, str] | None = None
) -> FlowAnalysis:
    """All flows together; `promises` by name of the domain, for those that have an interface.

    `unkept` says, by name too, why a server may not get its budget. What goes through there has no
    bound, and what it does to others elsewhere is bounded by the source and the queue.
    """
    routes = _Routes(system)
    vcpus: list[_Vcpu] = []
    refused: dict[str, str] = {}
    for domain in system.domains:
        if not routes.touches(domain):
            continue
        try:
            if unkept and domain.name in unkept:
                raise NotCovered(unkept[domain.name])
            promise = promises.get(domain.name)
            if promise is not None and promise.rule is Budget.SLICE_ONCE and routes.stay_in(domain):
                raise NotCovered(LOSES)
            vcpus += _vcpus_of(domain, promise)
        except NotCovered as error:
            refused[domain.name] = str(error)
    for number, one in enumerate(vcpus):
        for source in one.component.sources:
            routes.vcpu_of[f"{one.domain}.{source.name}"] = number
    bounds = _fixed_point(routes, vcpus)
    settled = not system.swaps and not system.changes
    wholes = whole_verdicts(system) if settled and system.flows else {}
    flows = tuple(
        replace(_judge_flow(routes, flow, bounds), whole=wholes.get(flow.name))
        for flow in system.flows
    )
    domains = {
        domain.name: _unknown(domain, refused[domain.name])
        if domain.name in refused
        else _judge_domain(
            routes, domain, [one for one in vcpus if one.domain == domain.name], bounds
        )
        for domain in system.domains
        if routes.touches(domain)
    }
    proved = _judge_whole(routes, system, wholes, bounds)
    return FlowAnalysis(domains | proved, flows, frozenset(proved))


def _judge_whole(
    routes: _Routes, system: System, wholes: Mapping[str, WholeVerdict], bounds: Bounds
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


def _vcpus_of(domain: Domain, promise: Promise | None) -> list[_Vcpu]:
    if promise is None:
        raise NotCovered("it has no interface")
    components = components_of(domain)
    supply = supply_of(domain, promise, components)
    least = not promise.lost_ns and not proof_of(promise.rules).loose
    across = _supply_across_hops(domain, promise, components)
    return [_Vcpu(domain.name, component, supply, least, across) for component in components]


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


class _Routes:
    """Which flows release which tasks."""

    def __init__(self, system: System) -> None:
        self.flows = system.flows
        self.tasks: dict[str, Task] = {
            f"{domain.name}.{task.name}": task for domain in system.domains for task in domain.tasks
        }
        self.places = {
            f"{domain.name}.{task.name}": (domain.name, task.name)
            for domain in system.domains
            for task in domain.tasks
        }
        self.vcpu_of: dict[str, int] = {}  # only tasks that are analysed
        self.visits: dict[str, list[tuple[Flow, int]]] = {}
        for flow in system.flows:
            for place, hop in enumerate(flow.hops):
                self.visits.setdefault(hop, []).append((flow, place))

    def touches(self, domain: Domain) -> bool:
        """Whether a task of the domain is a hop."""
        return any(f"{domain.name}.{task.name}" in self.visits for task in domain.tasks)

    def stay_in(self, domain: Domain) -> bool:
        """Whether an item goes from one task of the domain right to another, or the same."""
        names = {f"{domain.name}.{task.name}" for task in domain.tasks}
        return any(
            {before, after} <= names for flow in self.flows for before, after in pairwise(flow.hops)
        )

    def least_ns(self, hop: str) -> int:
        """What a job takes at least."""
        return self.tasks[hop].bcet_ns or 1

    def streams(self, domain: str, source: Source, bounds: Bounds) -> list[Stream]:
        """What releases a task: flows, or itself."""
        name = f"{domain}.{source.name}"
        load = source.load
        if name not in self.visits:
            return [Stream(load.wcet, load.period, load.jitter)]
        return [
            Stream(
                load.wcet,
                flow.source.period_ns,
                self._jitter_ns(flow, place, bounds),
                flow.source.burst,
                self._queue(flow),
            )
            for flow, place in self.visits[name]
        ]

    def _queue(self, flow: Flow) -> Queue:
        """What bounds the releases at any hop of the flow, whatever the responses."""
        spacing_ns = flow.source.think_range_ns[0] + sum(map(self.least_ns, flow.hops))
        return Queue(most_on_their_way(flow), flow.source.jitter_ns, spacing_ns)

    def backlog_ns(self, domain: str, sources: Sequence[Source]) -> int | None:
        """The most work of these tasks that can be pending at once; None: only items are bounded.

        An item is at one of its hops, however often it comes to these tasks on its way.
        """
        most_ns: dict[str, int] = {}
        for source in sources:
            name = f"{domain}.{source.name}"
            if name not in self.visits:
                return None
            for flow, _ in self.visits[name]:
                item_ns = most_on_their_way(flow) * source.load.wcet
                most_ns[flow.name] = max(most_ns.get(flow.name, 0), item_ns)
        return sum(most_ns.values())

    def _jitter_ns(self, flow: Flow, place: int, bounds: Bounds) -> int | None:
        """How far releases at a hop may be from nominal ones, beyond a constant."""
        latest_ns = self.latest_ns(flow, place, bounds)
        if latest_ns is None or flow.source.period_ns is None:
            return None
        # First guesses may be below the least.
        spread_ns = max(0, latest_ns - sum(map(self.least_ns, flow.hops[:place])))
        jitter_ns = flow.source.jitter_ns + spread_ns
        hopeless_ns = SPREAD * flow.source.period_ns
        return None if spread_ns > hopeless_ns or jitter_ns > LIMIT else jitter_ns

    def latest_ns(self, flow: Flow, hops: int, bounds: Bounds) -> int | None:
        """The longest from the source to the end of so many hops."""
        reached: list[int | None] = [0]
        for end in range(1, hops + 1):
            ways = [
                before_ns + piece_ns
                for start in range(end)
                if (before_ns := reached[start]) is not None
                and (piece_ns := self._piece_ns(flow.hops[start:end], bounds)) is not None
            ]
            reached.append(min(ways, default=None))
        return reached[hops]

    def _piece_ns(self, hops: Sequence[str], bounds: Bounds) -> int | None:
        """The bound of one hop, or of several in a row on one vcpu."""
        if len(hops) == 1:
            return bounds[hops[0]].response_ns
        if len({self.vcpu_of.get(hop, -1) for hop in hops}) != 1:
            return None
        windows = [window for hop in hops if (window := bounds[hop].window_ns) is not None]
        return max(windows) if len(windows) == len(hops) else None


def most_on_their_way(flow: Flow) -> int:
    """Items: what the queue holds, or one of each client."""
    return flow.source.clients or flow.queue


def _fixed_point(routes: _Routes, vcpus: Sequence[_Vcpu]) -> Bounds:
    """Responses of all hops, and of all tasks beside them, that agree with one another."""
    bounds: Bounds = {
        hop: TaskBound(routes.least_ns(hop), routes.least_ns(hop))
        if hop in routes.vcpu_of
        else NOTHING
        for hop in routes.visits
    }
    given_up: set[str] = set()
    while True:
        for _ in range(ROUNDS):
            found: Bounds = dict(bounds)
            for one in vcpus:
                found |= _inside(routes, one, bounds)
            found |= dict.fromkeys(given_up, NOTHING)
            if found == bounds:
                return bounds
            growing = {hop for hop in routes.visits if found[hop] != bounds[hop]}
            bounds = found
        given_up |= growing


def _inside(routes: _Routes, vcpu: _Vcpu, bounds: Bounds) -> Bounds:
    """The responses in one vcpu if releases spread as those bounds say."""
    component = vcpu.component
    if not component.sources:
        return {}
    streams = [routes.streams(vcpu.domain, one, bounds) for one in component.sources]
    names = [f"{vcpu.domain}.{one.name}" for one in component.sources]
    if component.local is Local.FIXED_PRIORITY:
        bounds_below: Bounds = {}
        above: list[Stream] = []
        for name, source, own in zip(names, component.sources, streams, strict=True):
            blocking = source.load.blocking
            response = _least(
                response_bound(own, above, vcpu.supply, blocking),
                _by_backlog(routes, vcpu, [source], above, blocking),
            )
            above += own
            bounds_below[name] = TaskBound(response, _window_across(vcpu, above, blocking))
        return bounds_below
    together = [stream for inside in streams for stream in inside]
    blocking = max(source.load.blocking for source in component.sources)
    across = _window_across(vcpu, together, blocking)
    by_backlog = _by_backlog(routes, vcpu, component.sources, (), blocking)
    if component.local is Local.EDF:
        # Jobs of one task are in order under edf as well.
        in_order = by_backlog if len(component.sources) == 1 else None
        demand = _as_loads(component, streams)
        in_range = all(max(load) < TIME_LIMIT_NS for load in demand.loads)
        holds = in_range and edf(demand, vcpu.supply).holds is True
        window = busy_window(together, vcpu.supply, blocking)
        return {
            name: TaskBound(_least(_edf_response(source, window, holds=holds), in_order), across)
            for name, source in zip(names, component.sources, strict=True)
        }
    if component.fifo_with_busy:
        return dict.fromkeys(names, NOTHING)
    response = _least(response_bound(together, (), vcpu.supply, blocking), by_backlog)
    return dict.fromkeys(names, TaskBound(response, across))


def _window_across(vcpu: _Vcpu, streams: Sequence[Stream], blocking: int) -> int | None:
    """The longest busy window of these streams, which may go on across the ends of hops."""
    return None if vcpu.across is None else busy_window(streams, vcpu.across, blocking)


def _by_backlog(
    routes: _Routes, vcpu: _Vcpu, own: Sequence[Source], above: Sequence[Stream], blocking: int
) -> int | None:
    """The longest response of one of these tasks, which share a queue, by what can be pending."""
    backlog_ns = routes.backlog_ns(vcpu.domain, own)
    if backlog_ns is None:
        return None
    return backlog_bound(backlog_ns, above, vcpu.supply, blocking)


def _least(*bounds: int | None) -> int | None:
    """The best of several bounds."""
    return min((bound for bound in bounds if bound is not None), default=None)


def _edf_response(source: Source, window_ns: int | None, *, holds: bool) -> int | None:
    """The deadline if it is kept, and no longer than work is pending at all."""
    if not holds:
        return window_ns
    return source.load.deadline if window_ns is None else min(source.load.deadline, window_ns)


def _as_loads(component: Component, streams: Sequence[Sequence[Stream]]) -> Component:
    """Streams in the form of the demand bound: what comes together is one job of all that work."""
    sources = [
        replace(source, load=load, in_phase=False)
        for source, inside in zip(component.sources, streams, strict=True)
        for stream in inside
        for load in _loads(stream, source.load)
    ]
    return replace(component, sources=tuple(sources))


def _loads(stream: Stream, load: Load) -> list[Load]:
    """One of the bounds of a stream, that with the lowest rate, as loads that add up to it."""
    queue = stream.queue
    if stream.period is None:
        assert queue is not None, "a stream is bounded"
        return [load._replace(wcet=queue.size * stream.wcet, period=queue.spacing, jitter=0)]
    together = load._replace(wcet=stream.burst * stream.wcet, period=stream.period)
    if queue is not None and stream.rate * stream.period < together.wcet:
        return [load._replace(wcet=queue.size * stream.wcet, period=queue.spacing, jitter=0)]
    if stream.jitter is not None:
        return [together._replace(jitter=stream.jitter)]
    assert queue is not None, "a stream is bounded"
    on_their_way = load._replace(wcet=queue.size * stream.wcet, period=ONCE, jitter=0)
    return [together._replace(jitter=queue.source_jitter), on_their_way]


def _judge_flow(routes: _Routes, flow: Flow, bounds: Bounds) -> FlowVerdict:
    hops = tuple(HopBound(*routes.places[hop], bounds[hop].response_ns) for hop in flow.hops)
    total_ns = routes.latest_ns(flow, len(flow.hops), bounds)
    if total_ns is None:
        hop = next(hop for hop in hops if hop.bound_ns is None)
        verdict = Verdict.unknown(f"hop {hop.domain}.{hop.task}: {UNBOUNDED}")
        return FlowVerdict(flow, verdict, None, hops)
    most = _most_sent(flow.source, total_ns)
    if total_ns > flow.deadline_ns:
        bound, due = format_time(total_ns), format_time(flow.deadline_ns)
        verdict = Verdict.unknown(f"the bound of {bound} is above the deadline of {due}")
    elif most > flow.queue:
        verdict = Verdict.unknown(
            f"items may be dropped: up to {most} could be on their way, the queue is {flow.queue}"
        )
    else:
        verdict = Verdict.yes(total_ns)
    return FlowVerdict(flow, verdict, total_ns, hops)


def _most_sent(source: FlowSource, window_ns: int) -> int:
    """How many items can come in a window; clients never send more than have room."""
    if source.period_ns is None:
        return source.clients or 0
    return Stream(1, source.period_ns, source.jitter_ns, source.burst).count(window_ns)


def _unknown(domain: Domain, reason: str) -> DomainVerdict:
    whole = Verdict.unknown(reason)
    return DomainVerdict(whole, {task.name: whole for task in domain.tasks} | _busy(domain))


def _busy(domain: Domain) -> dict[str, Verdict]:
    return {t.name: Verdict.unknown(NO_DEADLINE) for t in domain.tasks if t.period_ns is None}


def _judge_domain(
    routes: _Routes, domain: Domain, vcpus: Sequence[_Vcpu], bounds: Bounds
) -> DomainVerdict:
    parts: dict[str, Verdict] = {}
    for one in vcpus:
        for source in one.component.sources:
            name = f"{domain.name}.{source.name}"
            parts[source.name] = _judge_task(bounds[name].response_ns, source.load.deadline)
        parts |= _exact_above_hops(routes, one)
        parts |= dict.fromkeys(one.component.starved, Verdict.no(BELOW_BUSY))
    return DomainVerdict(all_of(parts.values()), parts | _busy(domain))


def _judge_task(bound_ns: int | None, deadline_ns: int) -> Verdict:
    if bound_ns is None:
        return Verdict.unknown(UNBOUNDED)
    if bound_ns > deadline_ns:
        return Verdict.unknown(f"the bound of {format_time(bound_ns)} is above the deadline")
    return Verdict.yes(bound_ns)


def _exact_above_hops(routes: _Routes, vcpu: _Vcpu) -> dict[str, Verdict]:
    """Under fixed priority tasks above every hop do not notice them: the exact test holds."""
    component = vcpu.component
    if component.local is not Local.FIXED_PRIORITY or not vcpu.least:
        return {}
    places = [
        place
        for place, source in enumerate(component.sources)
        if f"{vcpu.domain}.{source.name}" in routes.visits
    ]
    first = places[0] if places else len(component.sources)
    sources = component.sources[:first]
    verdicts = fixed_priority(replace(component, sources=sources), vcpu.supply)
    return {source.name: verdict for source, verdict in zip(sources, verdicts, strict=True)}


def flow_entries(analysis: FlowAnalysis, outside: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """The flows as `analyze --json` has them.

    `outside`, by name of a domain: whether its servers get their budgets, and whatever else must
    hold there. What is not true for every hop leaves a flow unknown, and its bounds unsaid, unless
    a test of whole flows says more; the paper's own verdict stands beside that one.
    """
    return [_entry(one, all_of(outside[hop.domain] for hop in one.hops)) for one in analysis.flows]


def _entry(one: FlowVerdict, outside: Verdict) -> dict[str, Any]:
    verdict = one.verdict if outside.holds else Verdict.unknown(outside.reason)
    bound_ns = one.bound_ns if outside.holds else None
    paper = {}
    if one.whole is not None:
        paper = {"paper": {"test": one.whole.test, "schedulable": one.whole.paper}}
        sharper = one.whole.sound
        if sharper.holds and sharper.bound_ns is not None:
            verdict = sharper
            bound_ns = min(bound_ns or sharper.bound_ns, sharper.bound_ns)
        elif not verdict.holds:
            verdict = Verdict.unknown(sharper.reason)
    return {
        "name": one.flow.name,
        "deadline_ns": one.flow.deadline_ns,
        "response_bound_ns": bound_ns,
        "schedulable": verdict.holds,
        **({} if verdict.holds else {"reason": verdict.reason}),
        **paper,
        **_throughput(one.flow, bound_ns),
        "hops": [
            {
                "domain": hop.domain,
                "task": hop.task,
                "response_bound_ns": hop.bound_ns if outside.holds else None,
            }
            for hop in one.hops
        ],
    }


def _throughput(flow: Flow, bound_ns: int | None) -> dict[str, Any]:
    """What clients surely get: each one is back to thinking after at most `bound_ns`.

    So by any instant t each has had floor((t - offset) / cycle) items back, a cycle being that and
    the longest time for which it thinks: the interactive response time law, for the worst case.
    """
    if flow.source.clients is None:
        return {}
    cycle_ns = None if bound_ns is None else bound_ns + flow.source.think_range_ns[1]
    per_second = None if cycle_ns is None else flow.source.clients * NS_PER_S / cycle_ns
    return {"throughput_bound_hz": per_second}
