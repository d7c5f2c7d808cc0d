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
Result: a bound by flow, first and last hop; None where there is none. The kernels choose the
pieces and bound them (`kernels/pieces.cpp`). Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.flows.stream import Stream


class Visit(NamedTuple):
    """The source of a task's jobs: hop number `hop` of a flow, or the task itself (no flow).

    `level` is the place of the task in the order of priority, 0 the first.
    """

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
    visits: Sequence[Visit], supply: Supply | Staircase, blocking: Sequence[int]
) -> dict[Piece, int | None]:
    """The longest time from the release at the first hop to the completion at the last one.

    Pieces are all of up to four hops, and whole rows.
    """
    return {
        Piece(flow, first, last): None if longest is None else longest[0]
        for flow, first, last, longest in _analysis.piece_bounds(visits, supply.numbers, blocking)
    }
