# SPDX-License-Identifier: BSD-2-Clause
"""Responses of all hops that agree with one another: the circle of jitters and responses.

If every job of a hop responds between r and R, releases at the next hop spread by R - r more than
there. With that jitter the response of every task is bounded inside its vcpu (`responses`). New
responses give new jitters, and so on until nothing changes.

Why the fixed point is sound although the argument is a circle. Take the first instant at which
something is pending for longer than its bound. All else up to then kept its bound, so all releases
up to then were within their streams, and the bound on that one, which looks at nothing later, was
kept as well: there is no such instant. Nothing is assumed of phases, so tasks that one item visits
twice count as if both visits could coincide with any others.

No fixed point within many rounds is "unbounded", and the iteration goes on for the others: the
hops behind are then bounded by the source and the queue of their flow alone.

Inputs: routes and all vcpus. Results: a bound (ns) of every task of these vcpus, and the streams
that they were found with. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod._analysis import Local
from hyperperiod.analysis.flows.responses import responses
from hyperperiod.analysis.flows.routes import NOTHING, Bounds, Jitters, Routes, TaskBound
from hyperperiod.analysis.flows.stream import Stream
from hyperperiod.analysis.flows.vcpu import FlowVcpu
from hyperperiod.analysis.flows.windows import Inside

ROUNDS = 200
"""How many rounds the iteration has; flows whose bounds still grow after them are given up."""


class Fixed(NamedTuple):
    """Bounds that agree with one another, and what they make of each vcpu."""

    bounds: Bounds
    insides: tuple[Inside, ...]


def fixed_point(routes: Routes, vcpus: Sequence[FlowVcpu]) -> Fixed:
    """Responses of all hops, and of all tasks beside them, that agree with one another."""
    bounds: Bounds = {
        hop: TaskBound(routes.min_ns(hop), routes.min_ns(hop)) if hop in routes.vcpu_of else NOTHING
        for hop in routes.visits
    }
    given_up: set[str] = set()
    inside = [_Inside(routes, one) for one in vcpus]
    while True:
        for _ in range(ROUNDS):
            found: Bounds = dict(bounds)
            jitters = routes.jitters_ns(bounds)
            for one in inside:
                found |= one.responses(jitters)
            found |= dict.fromkeys(given_up, NOTHING)
            if found == bounds:
                return Fixed(bounds, tuple(one.explained() for one in inside))
            growing = {hop for hop in routes.visits if found[hop] != bounds[hop]}
            bounds = found
        given_up |= growing


class _Inside:
    """The bounds inside of a vcpu: they change only if the releases of its tasks do."""

    def __init__(self, routes: Routes, vcpu: FlowVcpu) -> None:
        self.routes = routes
        self.vcpu = vcpu
        self.streams: list[list[Stream]] = []
        self.bounds: Bounds = {}

    def responses(self, jitters: Jitters) -> Bounds:
        """The responses in the vcpu if releases spread so far at each hop."""
        sources = self.vcpu.component.sources
        streams = [self.routes.streams(self.vcpu.domain, one, jitters) for one in sources]
        if streams != self.streams:
            self.streams = streams
            self.bounds = responses(self.routes, self.vcpu, streams)
        return self.bounds

    def explained(self) -> Inside:
        """Returns the vcpu with the streams, backlogs (ns) and timers of its last bounds."""
        sources, domain = self.vcpu.component.sources, self.vcpu.domain
        alone = self.vcpu.component.local in (Local.FIXED_PRIORITY, Local.EXECUTOR)
        groups = [[one] if alone else sources for one in sources]
        backlogs_ns = tuple(self.routes.backlog_ns(domain, group) for group in groups)
        timers = tuple(f"{domain}.{one.name}" in self.routes.timers for one in sources)
        return Inside(self.vcpu, tuple(map(tuple, self.streams)), backlogs_ns, timers)
