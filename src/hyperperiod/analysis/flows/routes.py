# SPDX-License-Identifier: BSD-2-Clause
"""Which flows release which tasks, and how far: streams, backlog, and the way of an item so far.

The bound of a flow, from the actual release at the source, is the sum over its hops, but not
always of their own bounds: while an item goes through several hops on one vcpu, one after the
other, it is pending there without a gap, so the busy window of the lowest of these levels bounds
all of them together, and the time without supply is paid only once; under fixed priority `pieces`
often knows less. Of all ways to cut the path into such pieces and single hops the best one counts
(`Routes.latest_ns`), for jitters as well: if an item is at the end of so many hops between r and R
after its source, releases there spread by R - r more than at the source.

Inputs: a system, and bounds of all tasks so far. Results: streams, work and times in nanoseconds;
None where nothing is bounded. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from hyperperiod.analysis.component import NamedLoad
from hyperperiod.analysis.flows.best_case import limit_of, shortest_ns
from hyperperiod.analysis.flows.busy_window import LIMIT
from hyperperiod.analysis.flows.pieces import Piece
from hyperperiod.analysis.flows.stream import Queue, Stream
from hyperperiod.model import Domain, Flow, System, Task

SPREAD = 256
"""Periods of its source over which a flow may spread before its jitter counts as unbounded."""


class TaskBound(NamedTuple):
    """A task's longest response, and its level's busy window across hops; None: unbounded."""

    response_ns: int | None
    window_ns: int | None


Bounds = dict[str | Piece, TaskBound]
"""By domain.task, and by piece for hops in a row."""

Jitters = dict[str, list[int | None]]
"""How far releases (ns) spread at each hop of a flow, by its name; None: without a known bound."""

NOTHING = TaskBound(None, None)


class Routes:
    """The flows of a system, looked up by the tasks that they release."""

    def __init__(self, system: System) -> None:
        self.flows = system.flows
        self.rings = {one.name: one.queue for one in system.devices}
        self.timers = system.timers
        self.tasks: dict[str, Task] = {
            f"{domain.name}.{task.name}": task for domain in system.domains for task in domain.tasks
        }
        self.places = {
            f"{domain.name}.{task.name}": (domain.name, task.name)
            for domain in system.domains
            for task in domain.tasks
        }
        self.limits = {domain.name: limit_of(system, domain) for domain in system.domains}
        self.vcpu_of: dict[str, int] = {}  # only tasks that are analysed
        self.visits: dict[str, list[tuple[Flow, int]]] = {}
        for flow in system.flows:
            for place, hop in enumerate(flow.hops):
                self.visits.setdefault(hop, []).append((flow, place))
        self.queues = {flow.name: self._queue(flow) for flow in system.flows}
        self.earliest = {flow.name: self._earliest_ns(flow) for flow in system.flows}

    def touches(self, domain: Domain) -> bool:
        """Whether a task of the domain is a hop."""
        return any(f"{domain.name}.{task.name}" in self.visits for task in domain.tasks)

    def stay_in(self, domain: Domain) -> bool:
        """Whether an item goes from one task of the domain right to another, or the same."""
        names = {f"{domain.name}.{task.name}" for task in domain.tasks}
        return any(
            {before, after} <= names for flow in self.flows for before, after in pairwise(flow.hops)
        )

    def min_ns(self, hop: str) -> int:
        """Returns the least execution time (ns) of a job."""
        return self.tasks[hop].bcet_ns or 1

    def streams(self, domain: str, source: NamedLoad, jitters: Jitters) -> list[Stream]:
        """Returns the streams that release a task: those of flows, or its own."""
        name = f"{domain}.{source.name}"
        load = source.load
        if name not in self.visits:
            return [Stream(load.wcet, load.period, load.jitter)]
        return [
            Stream(
                load.wcet,
                flow.source.period_ns,
                jitters[flow.name][place],
                flow.source.burst,
                self.queues[flow.name],
            )
            for flow, place in self.visits[name]
        ]

    def _queue(self, flow: Flow) -> Queue:
        """Returns the bound on releases at any hop of the flow, whatever the responses."""
        spacing_ns = flow.source.think_range_ns[0] + sum(map(self.min_ns, flow.hops))
        return Queue(max_on_their_way(flow), flow.source.jitter_ns, min(spacing_ns, LIMIT))

    def backlog_ns(self, domain: str, sources: Sequence[NamedLoad]) -> int | None:
        """The most work of these tasks that can be pending at once; None: only items are bounded.

        An item is at one of its hops, however often it comes to these tasks on its way.
        """
        max_ns: dict[str, int] = {}
        for source in sources:
            name = f"{domain}.{source.name}"
            if name not in self.visits:
                return None
            for flow, _ in self.visits[name]:
                item_ns = max_on_their_way(flow) * source.load.wcet
                max_ns[flow.name] = max(max_ns.get(flow.name, 0), item_ns)
        return sum(max_ns.values())

    def jitters_ns(self, bounds: Bounds) -> Jitters:
        """Returns by flow the jitter (ns) of the releases at each hop, beyond a constant."""
        return {flow.name: self._jitters_of(flow, bounds) for flow in self.flows}

    def _jitters_of(self, flow: Flow, bounds: Bounds) -> list[int | None]:
        source = flow.source
        if source.period_ns is None:
            return [None] * len(flow.hops)
        latest = self.latest_ns(flow, bounds)
        hopeless_ns = SPREAD * source.period_ns
        jitters: list[int | None] = []
        for earliest_ns, latest_ns in zip(self.earliest[flow.name], latest[:-1], strict=True):
            # First guesses may be below the least.
            spread_ns = None if latest_ns is None else max(0, latest_ns - earliest_ns)
            if spread_ns is None or spread_ns > min(hopeless_ns, LIMIT - source.jitter_ns):
                jitters.append(None)
            else:
                jitters.append(source.jitter_ns + spread_ns)
        return jitters

    def _earliest_ns(self, flow: Flow) -> list[int]:
        """The shortest from the source to the release at each hop."""
        found = [0]
        before_ns = row_ns = 0
        for before, hop in pairwise(flow.hops):
            row_ns += self.min_ns(before)
            through_ns = before_ns + shortest_ns([(row_ns, self.limits[self.places[before][0]])])
            found.append(through_ns)
            if self._server_of(before) != self._server_of(hop):
                before_ns, row_ns = through_ns, 0
        return found

    def _server_of(self, hop: str) -> tuple[str, int | None]:
        """Domain and vcpu of a task: hops of which these are the same have one server."""
        return self.places[hop][0], self.tasks[hop].vcpu

    def latest_ns(self, flow: Flow, bounds: Bounds) -> list[int | None]:
        """The longest from the source to the release, and last to the end of the way."""
        reached: list[int | None] = [None] * (len(flow.hops) + 1)
        reached[0] = 0
        for start in range(len(flow.hops)):
            before_ns = reached[start]
            if before_ns is None:
                continue
            for end, piece_ns in self._pieces_from(flow, start, bounds):
                reached[end] = lowest(reached[end], before_ns + piece_ns)
        return reached

    def _pieces_from(self, flow: Flow, start: int, bounds: Bounds) -> Iterator[tuple[int, int]]:
        """The hops in a row on one vcpu from there on, with a bound: the end of each row of them.

        One hop has its own bound; for several the longest of their busy windows is one.
        """
        window_ns: int | None = 0
        vcpu = self.vcpu_of.get(flow.hops[start], -1)
        for end in range(start, len(flow.hops)):
            hop = flow.hops[end]
            bound = bounds[hop]
            if bound == NOTHING or self.vcpu_of.get(hop, -1) != vcpu:
                return
            if window_ns is not None:
                window_ns = None if bound.window_ns is None else max(window_ns, bound.window_ns)
            together = bounds.get(Piece(flow.name, start, end), NOTHING).response_ns
            piece_ns = lowest(together, bound.response_ns if end == start else window_ns)
            if piece_ns is not None:
                yield end + 1, piece_ns


def lowest(*bounds: int | None) -> int | None:
    """The best of several bounds; None if there is none."""
    return min((bound for bound in bounds if bound is not None), default=None)


def max_on_their_way(flow: Flow) -> int:
    """Items: what the queue holds, or one of each client."""
    return flow.source.clients or flow.queue
