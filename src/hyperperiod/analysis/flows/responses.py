# SPDX-License-Identifier: BSD-2-Clause
"""The responses of all tasks of one vcpu, if releases of hops spread as bounds so far say.

Under rm, dm, fp and fifo by the busy window of the level (`busy_window`); under edf the deadline
if the demand bound fits the supply, and the busy window of the vcpu in any case; of callbacks of an
executor as `prm_executor` has it. Where a flow has
more work than bandwidth, or a closed source, its queue bounds what is pending (`backlog_bound`):
under rm, dm, fp and fifo, and edf with one task.

Inputs: routes, a vcpu, the streams of its tasks. Results: bounds in nanoseconds; None: unbounded.
Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_executor import Executor
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.flows.busy_window import backlog_bound, busy_window, response_bound
from hyperperiod.analysis.flows.pieces import Visit, piece_bounds
from hyperperiod.analysis.flows.routes import NOTHING, Bounds, Routes, TaskBound, lowest
from hyperperiod.analysis.flows.stream import Stream
from hyperperiod.analysis.flows.vcpu import FlowVcpu
from hyperperiod.model.units import TIME_LIMIT_NS

ONCE = 2**60
"""A period that no window exceeds."""


def responses(routes: Routes, vcpu: FlowVcpu, streams: Sequence[Sequence[Stream]]) -> Bounds:
    """The responses in one vcpu if its tasks, in order of priority, are released by those."""
    component = vcpu.component
    if not component.sources:
        return {}
    names = [f"{vcpu.domain}.{one.name}" for one in component.sources]
    if component.local is Local.FIXED_PRIORITY:
        bounds_below: Bounds = {}
        above: list[Stream] = []
        for name, source, own in zip(names, component.sources, streams, strict=True):
            blocking = source.load.blocking
            response = lowest(
                response_bound(own, above, vcpu.supply, blocking),
                _by_backlog(routes, vcpu, [source], above, blocking),
            )
            above += own
            bounds_below[name] = TaskBound(response, _window_across(vcpu, above, blocking))
        return bounds_below | _pieces(routes, vcpu, names, streams)
    together = [stream for inside in streams for stream in inside]
    blocking = max(source.load.blocking for source in component.sources)
    across = _window_across(vcpu, together, blocking)
    if component.local is Local.EXECUTOR:
        timers = [name in routes.timers for name in names]
        callbacks = Executor(component, timers, streams, vcpu.supply)
        return {name: TaskBound(callbacks.bound(index), across) for index, name in enumerate(names)}
    by_backlog = _by_backlog(routes, vcpu, component.sources, (), blocking)
    if component.local is Local.EDF:
        # Jobs of one task are in order under edf as well.
        in_order = by_backlog if len(component.sources) == 1 else None
        holds = kept_demand(component, streams, vcpu.supply) is not None
        window = busy_window(together, vcpu.supply, blocking)
        return {
            name: TaskBound(lowest(_edf_response(source, window, holds=holds), in_order), across)
            for name, source in zip(names, component.sources, strict=True)
        }
    if component.fifo_with_busy:
        return dict.fromkeys(names, NOTHING)
    response = lowest(response_bound(together, (), vcpu.supply, blocking), by_backlog)
    return dict.fromkeys(names, TaskBound(response, across))


def _pieces(
    routes: Routes, vcpu: FlowVcpu, names: Sequence[str], streams: Sequence[Sequence[Stream]]
) -> Bounds:
    """The bounds of hops in a row."""
    if vcpu.across is None:
        return {}
    visits = []
    for level, (name, own) in enumerate(zip(names, streams, strict=True)):
        known = routes.visits.get(name)
        places = [(flow.name, hop) for flow, hop in known] if known else [("", 0)]
        visits += [
            Visit(flow, hop, level, stream) for (flow, hop), stream in zip(places, own, strict=True)
        ]
    blocking = [source.load.blocking for source in vcpu.component.sources]
    found = piece_bounds(visits, vcpu.across, blocking)
    return {piece: TaskBound(bound_ns, None) for piece, bound_ns in found.items()}


def _window_across(vcpu: FlowVcpu, streams: Sequence[Stream], blocking: int) -> int | None:
    """The longest busy window of these streams, which may go on across the ends of hops."""
    return None if vcpu.across is None else busy_window(streams, vcpu.across, blocking)


def _by_backlog(
    routes: Routes, vcpu: FlowVcpu, own: Sequence[NamedLoad], above: Sequence[Stream], blocking: int
) -> int | None:
    """The longest response of one of these tasks, which share a queue, by what can be pending."""
    backlog_ns = routes.backlog_ns(vcpu.domain, own)
    if backlog_ns is None:
        return None
    return backlog_bound(backlog_ns, above, vcpu.supply, blocking)


def _edf_response(source: NamedLoad, window_ns: int | None, *, holds: bool) -> int | None:
    """The deadline if it is kept, and no longer than work is pending at all."""
    if not holds:
        return window_ns
    return source.load.deadline if window_ns is None else min(source.load.deadline, window_ns)


def kept_demand(
    component: Component, streams: Sequence[Sequence[Stream]], supply: Supply | Staircase
) -> Component | None:
    """Returns streams as loads with whose demand edf keeps all deadlines; None if none are found.

    Tried are the bounds by jitter and, where a flow has both, those by its queue.
    """
    for by_queue in (False, True):
        demand = _as_loads(component, streams, by_queue=by_queue)
        if max(map(max, demand.loads)) < TIME_LIMIT_NS and edf(demand, supply).holds is True:
            return demand
    return None


def _as_loads(
    component: Component, streams: Sequence[Sequence[Stream]], *, by_queue: bool
) -> Component:
    """Streams in the form of the demand bound: what comes together is one job of all that work."""
    sources = [
        source._replace(load=load, in_phase=False)
        for source, inside in zip(component.sources, streams, strict=True)
        for stream in inside
        for load in _loads(stream, source.load, by_queue=by_queue)
    ]
    return replace(component, sources=tuple(sources))


def _loads(stream: Stream, load: Load, *, by_queue: bool) -> list[Load]:
    """One of the bounds of a stream, of the lowest rate, as loads that add up to it."""
    queue = stream.queue
    if stream.period is None:
        assert queue is not None, "a stream is bounded"
        return [load._replace(wcet=queue.size * stream.wcet, period=queue.spacing, jitter=0)]
    together = load._replace(wcet=stream.burst * stream.wcet, period=stream.period)
    if queue is not None and queue.size * stream.wcet * stream.period < (
        together.wcet * queue.spacing
    ):
        return [load._replace(wcet=queue.size * stream.wcet, period=queue.spacing, jitter=0)]
    if stream.jitter is not None and not (by_queue and queue):
        return [together._replace(jitter=stream.jitter)]
    assert queue is not None, "a stream is bounded"
    on_their_way = load._replace(wcet=queue.size * stream.wcet, period=ONCE, jitter=0)
    return [together._replace(jitter=queue.source_jitter), on_their_way]
