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

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from hyperperiod.analysis.component import Source
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


Bounds = dict[str, TaskBound]
"""By domain.task; of several hops in a row by `name_of`, which no task has."""

NOTHING = TaskBound(None, None)


class Routes:
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
        self.limits = {domain.name: limit_of(system, domain) for domain in system.domains}
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
        spread_ns = max(0, latest_ns - self.earliest_ns(flow, place))
        jitter_ns = flow.source.jitter_ns + spread_ns
        hopeless_ns = SPREAD * flow.source.period_ns
        return None if spread_ns > hopeless_ns or jitter_ns > LIMIT else jitter_ns

    def earliest_ns(self, flow: Flow, hops: int) -> int:
        """The shortest from the source to the end of so many hops."""
        rows = groupby(flow.hops[:hops], lambda hop: (self.places[hop][0], self.tasks[hop].vcpu))
        return shortest_ns(
            (sum(map(self.least_ns, row)), self.limits[domain]) for (domain, _), row in rows
        )

    def latest_ns(self, flow: Flow, hops: int, bounds: Bounds) -> int | None:
        """The longest from the source to the end of so many hops."""
        reached: list[int | None] = [0]
        for end in range(1, hops + 1):
            ways = [
                before_ns + piece_ns
                for start in range(end)
                if (before_ns := reached[start]) is not None
                and (piece_ns := self._piece_ns(flow, start, end, bounds)) is not None
            ]
            reached.append(min(ways, default=None))
        return reached[hops]

    def _piece_ns(self, flow: Flow, start: int, end: int, bounds: Bounds) -> int | None:
        """The bound of one hop, or of several in a row on one vcpu."""
        hops = flow.hops[start:end]
        if NOTHING in (bounds[hop] for hop in hops):
            return None
        together = bounds.get(name_of(Piece(flow.name, start, end - 1)), NOTHING).response_ns
        if len(hops) == 1:
            return least(together, bounds[hops[0]].response_ns)
        if len({self.vcpu_of.get(hop, -1) for hop in hops}) != 1:
            return None
        windows = [window for hop in hops if (window := bounds[hop].window_ns) is not None]
        return least(together, max(windows) if len(windows) == len(hops) else None)


def least(*bounds: int | None) -> int | None:
    """The best of several bounds; None if there is none."""
    return min((bound for bound in bounds if bound is not None), default=None)


def name_of(piece: Piece) -> str:
    """What the bound of several hops in a row stands under."""
    return f"{piece.flow} {piece.first} {piece.last}"


def most_on_their_way(flow: Flow) -> int:
    """Items: what the queue holds, or one of each client."""
    return flow.source.clients or flow.queue
