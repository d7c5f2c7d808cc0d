# SPDX-License-Identifier: BSD-2-Clause
"""The definitions of flows/stream, flows/busy_window and flows/pieces in plain Python.

Written to be checked by reading against the proofs there: integers and fractions of any size, no
step saved. The kernels are compared with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.flows.pieces import Piece, Visit
from hyperperiod.analysis.flows.stream import Stream

STEPS = 10_000
STEPS_AT_FULL_LOAD = 500
LONGEST_WINDOW = 2**60
LONGEST_PIECE = 4


def count(stream: Stream, window: int) -> int:
    """The most releases in a half-open window of this length."""
    if window <= 0:
        return 0
    bounds = []
    if stream.period is not None and stream.jitter is not None:
        bounds.append(-(-(window + stream.jitter) // stream.period) * stream.burst)
    if stream.period is not None and stream.queue is not None:
        came = -(-(window + stream.queue.source_jitter) // stream.period) * stream.burst
        bounds.append(stream.queue.size + came)
    if stream.queue is not None:
        bounds.append(-(-window // stream.queue.spacing) * stream.queue.size)
    return min(bounds)


def next_growth(stream: Stream, offset: int) -> int:
    """The first offset after this one at which a closed window can hold more."""
    steps = []
    if stream.period is not None and stream.jitter is not None:
        steps.append(_next_multiple(offset, stream.period, stream.jitter))
    if stream.period is not None and stream.queue is not None:
        steps.append(_next_multiple(offset, stream.period, stream.queue.source_jitter))
    if stream.queue is not None:
        steps.append(_next_multiple(offset, stream.queue.spacing, 0))
    return min(steps)


def rate_of(stream: Stream) -> Fraction:
    """Work per time in the long run."""
    rates = []
    if stream.period is not None:
        rates.append(Fraction(stream.burst * stream.wcet, stream.period))
    if stream.queue is not None:
        rates.append(Fraction(stream.queue.size * stream.wcet, stream.queue.spacing))
    return min(rates)


def _next_multiple(offset: int, period: int, early: int) -> int:
    """The first instant after the offset that is `early` before a multiple of the period."""
    return ((offset + early) // period + 1) * period - early


def response_bound(
    own: Sequence[Stream], above: Sequence[Stream], supply: Supply | Staircase, blocking: int = 0
) -> int | None:
    """The longest response of a job of `own`."""
    rate = sum((rate_of(stream) for stream in (*own, *above)), Fraction(0))
    if rate > supply.bandwidth:
        return None
    # A window under full load may have no end.
    steps = STEPS if rate < supply.bandwidth else STEPS_AT_FULL_LOAD
    worst = offset = finish = 0
    for _ in range(steps):
        ahead = blocking + sum(stream.wcet * count(stream, offset + 1) for stream in own)
        done = _finish(ahead, above, supply, finish)
        if done is None:
            return None
        finish = done
        worst = max(worst, finish - offset)
        offset = min(next_growth(stream, offset) for stream in own)
        if offset >= finish:
            return worst
    return None


def backlog_bound(
    backlog: int, above: Sequence[Stream], supply: Supply | Staircase, blocking: int = 0
) -> int | None:
    """The longest response of a job of own work of which never more than `backlog` is pending."""
    if sum((rate_of(stream) for stream in above), Fraction(0)) > supply.bandwidth:
        return None
    return _finish(blocking + backlog, above, supply, 0)


def busy_window(
    streams: Sequence[Stream], supply: Supply | Staircase, blocking: int = 0
) -> int | None:
    """The longest time without a gap in which work of these streams is pending."""
    if sum((rate_of(stream) for stream in streams), Fraction(0)) > supply.bandwidth:
        return None
    return _min_window(
        lambda window: (
            blocking + sum(stream.wcet * count(stream, window + 1) for stream in streams)
        ),
        supply,
        1,
    )


def _finish(
    ahead: int, above: Sequence[Stream], supply: Supply | Staircase, start: int
) -> int | None:
    """The least window from `start` on whose supply covers what is ahead and above."""
    return _min_window(
        lambda window: ahead + sum(stream.wcet * count(stream, window) for stream in above),
        supply,
        max(start, supply.time_for(ahead)),
    )


def _min_window(
    work_in: Callable[[int], int], supply: Supply | Staircase, start: int
) -> int | None:
    """The least window from `start` on whose supply covers the work in it."""
    window = start
    for _ in range(STEPS):
        if window > LONGEST_WINDOW:
            return None
        needed = supply.time_for(work_in(window))
        if needed <= window:
            return window
        window = needed
    return None


def piece_bounds(
    visits: Sequence[Visit], supply: Supply | Staircase, blocking: Sequence[int]
) -> dict[Piece, int | None]:
    """The longest time from the release at the first hop to the completion at the last one."""
    rows = _Rows(visits)
    return {piece: rows.bound(piece, supply, blocking) for piece in rows.pieces()}


class _Rows:
    """The visits by flow and hop."""

    def __init__(self, visits: Sequence[Visit]) -> None:
        self.visits = visits
        self.at = {(visit.flow, visit.hop): visit for visit in visits if visit.flow}

    def pieces(self) -> Iterator[Piece]:
        """All that are short, and whole rows."""
        for flow, first in self.at:
            last = first
            while (flow, last) in self.at:
                whole = (flow, first - 1) not in self.at and (flow, last + 1) not in self.at
                if whole or last - first < LONGEST_PIECE:
                    yield Piece(flow, first, last)
                last += 1

    def bound(
        self, piece: Piece, supply: Supply | Staircase, blocking: Sequence[int]
    ) -> int | None:
        """That of one piece."""
        hops = range(piece.first, piece.last + 1)
        lowest = max(self.at[piece.flow, hop].level for hop in hops)
        own: list[Stream] = []
        above: list[Stream] = []
        for visit in self.visits:
            if visit.level <= lowest:
                behind = own if self._is_behind(visit, piece, lowest) else above
                entry = self._entry(visit, lowest)
                behind.append(entry.stream._replace(wcet=visit.stream.wcet))
        return response_bound(own, above, supply, blocking[lowest])

    def _entry(self, visit: Visit, lowest: int) -> Visit:
        """Where an item came into a row of hops of this priority or above."""
        while visit.flow:
            before = self.at.get((visit.flow, visit.hop - 1))
            if before is None or before.level > lowest:
                break
            visit = before
        return visit

    def _is_behind(self, visit: Visit, piece: Piece, lowest: int) -> bool:
        """Whether what enters after the item has no part in its wait."""
        first = self.at[piece.flow, piece.first]
        if piece.first == piece.last and visit.level == first.level:
            return True
        if visit.flow != piece.flow or self._entry(visit, lowest) != self._entry(first, lowest):
            return False
        ahead = range(max(piece.first, visit.hop + 1), piece.last + 1)
        return all(self.at[piece.flow, hop].level < visit.level for hop in ahead)
