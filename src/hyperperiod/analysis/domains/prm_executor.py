# SPDX-License-Identifier: BSD-2-Clause
"""Callbacks of a ROS 2 executor on a periodic resource: sufficient tests.

Papers: Casini, Blass, Luetkebohle and Brandenburg, "Response-time analysis of ROS 2 processing
chains under reservation-based scheduling", ECRTS 2019; Tang et al., "Response time analysis and
priority assignment of processing chains on ROS2 executors", RTSS 2020; Blass et al., "A ROS 2
response-time analysis exploiting starvation freedom and execution-time variance", RTSS 2021. The
bounds here are simpler, and their proofs our own.

**Any order.** Let x be a job of callback i, and s the last instant up to its release, a later, at
which nothing released before is pending. From s until x is done the executor always has work, and
it runs no job of i that is later than x. So x is done at the least w after s for which the supply
in w covers i's own work released in [0, a] and all other work released in [0, w): the response of
the lowest task under fixed priority. Nothing is assumed of the order of callbacks.

**Windows.** Let R_j be a bound on the response of each other callback j, and x be released while k
jobs of i are pending, x included. At each polling point a window opens, with one job at most of
each subscription. If an older job of i is in the window that is open now, x is in one of the k - 1
that follow, else in one of k. So of every other subscription at most k + 1 jobs run before x is
done. Of every callback j, only what was released after R_j before the release of x. Timers count by
that alone, since some executors look at them between any two callbacks. If all this work fits the
supply in a window R from the release of x, and no more than k jobs of i are released in any window
as long as R, then R is a bound: take the first job that responds later, and look at those of i that
are pending at its release. They came within R before it, so they are no more than k.

Assumptions: callbacks are not preempted by one another. Inputs: which of them are timers; the
streams that release each callback, or a component; a supply; blocking, once at its longest.
Results: bounds in nanoseconds; None: none was found. A utilization above the bandwidth is false.
Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.flows.busy_window import LIMIT, backlog_bound, response_bound
from hyperperiod.analysis.flows.stream import Queue, Stream
from hyperperiod.analysis.verdict import Verdict

MOST_PENDING = 64
"""So many jobs of one callback are pending at the most where windows are counted."""


def executor(component: Component, supply: Supply | Staircase) -> list[Verdict]:
    """One verdict per callback of a component without flows, in its order."""
    count = len(component.sources)
    if component.utilization > supply.bandwidth:
        return [Verdict.no("the tasks ask for more than the bandwidth of the interface")] * count
    last = [supply.last_response(component.with_last(index).loads) for index in range(count)]
    return [
        Verdict.yes(bound_ns)
        if found is _analysis.Verdict.HOLDS
        else Verdict.unknown("the test for executors is only sufficient, and does not confirm it")
        for found, bound_ns in last
    ]


class ByWindows(NamedTuple):
    """The bound by windows: so many own jobs, and what of the others runs before the last."""

    response_ns: int
    pending: int
    others: dict[int, list[Stream]]


class Executor:
    """The callbacks of one executor: which are timers, and the streams that release each."""

    def __init__(
        self,
        component: Component,
        timers: Sequence[bool],
        streams: Sequence[Sequence[Stream]],
        supply: Supply | Staircase,
    ) -> None:
        self.timers = timers
        self.streams = streams
        self.supply = supply
        self.blocking = max(source.load.blocking for source in component.sources)
        self.in_any_order = [self._in_any_order(index) for index in range(len(streams))]

    def bound(self, index: int) -> int | None:
        """The lower of both bounds on the response of a callback."""
        by_windows = self.by_windows(index)
        found = [self.in_any_order[index], by_windows.response_ns if by_windows else None]
        return min((bound for bound in found if bound is not None), default=None)

    def by_windows(self, index: int) -> ByWindows | None:
        """The bound by windows, by the fewest pending jobs with which it holds."""
        pending, own = 1, self.streams[index]
        while pending <= MOST_PENDING:
            others = self._in_windows(index, pending + 1)
            if others is None:
                return None
            work = pending * own[0].wcet
            beside = [stream for inside in others.values() for stream in inside]
            bound = backlog_bound(work, beside, self.supply, self.blocking)
            if bound is None:
                return None
            fits = _most_pending(own, bound)
            if fits <= pending:
                return ByWindows(bound, pending, others)
            pending = fits
        return None

    def _in_any_order(self, index: int) -> int | None:
        rest = (*self.streams[:index], *self.streams[index + 1 :])
        others = [stream for inside in rest for stream in inside]
        return response_bound(self.streams[index], others, self.supply, self.blocking)

    def _in_windows(self, index: int, windows: int) -> dict[int, list[Stream]] | None:
        """Returns what else runs in so many windows; None if a timer has no bound."""
        found: dict[int, list[Stream]] = {}
        once_each = Queue(windows, 0, LIMIT)
        for other, inside in enumerate(self.streams):
            if other == index:
                continue
            is_timer = self.timers[other]
            found[other] = [
                _released_before(stream, self.in_any_order[other])._replace(
                    queue=None if is_timer else once_each
                )
                for stream in inside
            ]
            if is_timer and any(stream.jitter is None for stream in found[other]):
                return None
        return found


def _released_before(stream: Stream, late: int | None) -> Stream:
    """Returns a stream with what is pending of it when a window begins; None: unbounded."""
    if late is None or stream.jitter is None:
        return stream._replace(jitter=None)
    return stream._replace(jitter=stream.jitter + late)


def _most_pending(streams: Sequence[Stream], response: int) -> int:
    """Returns how many jobs are pending at most at a release, if each responds within that."""
    counts = zip(streams, _analysis.stream_counts(streams, response), strict=True)
    return sum(min(count, stream.queue.size) if stream.queue else count for stream, count in counts)
