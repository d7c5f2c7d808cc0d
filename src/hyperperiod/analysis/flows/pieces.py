# SPDX-License-Identifier: BSD-2-Clause
"""How long an item takes through several hops in a row on one vcpu, under fixed priority.

Papers: Lehoczky, RTSS 1990, for windows with several jobs of one kind; Schlatow and Ernst,
"Response- time analysis for task chains in communicating threads", RTAS 2016, for chains as one
piece of work and for who can be before whom on them. The proof is our own.

Let x be an item of a flow, and a piece the hops from `first` to `last` of its way, all of them
tasks of one vcpu. L is the lowest of their priorities, and s the last instant, before x comes to
`first`, before which no work of L or above was pending. From s until x is done at `last` such work
is pending without a gap, where one hop ends and the next one begins as well: the supply bound must
hold across that (`Cover.HOPS`).

**Who came when.** Follow an item in this window back over hops of L or above that it went through
on this vcpu without a gap, to the first of these: its *entry*. It was not pending there before s,
or such work would have been. So of each hop there are no more jobs in the window than releases at
its entry, which spread less.

**Who is not before x.** Items of a flow stay in order, since jobs of one task do. A later one than
x is at `last` after x; and at a hop before, it goes on while x waits further on only if some hop
that x waits at there does not have a higher priority. So if x comes to `first` a after s, of
`last`, of hops behind it in the same row, and of those of a lower priority than all from there to
`last`, only items have part in the window that entered in the closed window [0, a]. All others have
what enters before x is done. Alone on a hop x is behind all jobs of that task that were released in
[0, a].

So x is done at the least w for which the supply in w covers the blocking of L, the former by a, and
the latter by w; that is `response_bound`.

Assumptions: those of `busy_window`; `streams` bound releases at each visit. Inputs: the visits of a
vcpu, each with its place in order of priority, the supply across hops, the blocking at each place.
Result: a bound by flow, first and last hop; None where there is none. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hyperperiod.analysis.flows.busy_window import Supplied, response_bound
from hyperperiod.analysis.flows.stream import Stream

LONGEST = 4
"""Hops of a piece; whole rows of hops may be longer."""


class Visit(NamedTuple):
    """What releases a task: hop number `hop` of a flow, or the task itself (no flow)."""

    flow: str
    hop: int
    level: int
    stream: Stream


class Piece(NamedTuple):
    """Hops of a flow, from `first` to `last`."""

    flow: str
    first: int
    last: int


def piece_bounds(
    visits: Sequence[Visit], supply: Supplied, blocking: Sequence[int]
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
                if whole or last - first < LONGEST:
                    yield Piece(flow, first, last)
                last += 1

    def bound(self, piece: Piece, supply: Supplied, blocking: Sequence[int]) -> int | None:
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
