# SPDX-License-Identifier: BSD-2-Clause
"""Thefts that were seen on Linux, and the `[[stolen]]` tables that bound them.

A theft is a stretch for which a pcpu was not there to be granted: a thread of a higher class ran,
or one that the kernel has bound to the cpu. The scheduler records the two ends.

What the analysis takes from tables is how much thefts take of any window, the sum of ceil(t / T) C,
and how many there are in it, the sum of ceil(t / T) (`analysis.stolen`). So k equal tables of C
every T bound what was seen if no window from the begin of a theft to the end of one has more than k
ceil(t / T) of them, or more than k C ceil(t / T) of their time. For each T there is a least k and a
least C. Thefts of very different length, as a real-time thread's and the kernel's own, are bounded
apart. Which T, and where that line is drawn, is chosen so that the tables allow the least of a
window; any choice holds for what was seen. It says nothing of what was not seen: a bound by
measurement is as good as what the machine had to do meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from hyperperiod.hosts.rings import Ring
from hyperperiod.model import Stolen

STEAL: Final = 49
RETURN: Final = 50
"""Kinds of records (core/env.h)."""
WINDOW_NS: Final = 10_000_000
"""The window of which tables allow as little as they can."""
PICK_NS: Final = 10_000
"""What a theft costs beside its length, where tables are compared: the decision after it."""
PERIODS_NS: Final = tuple(ms * 1_000_000 for ms in (1, 2, 4, 5, 8, 10, 20, 40, 50, 100))
MOST_TABLES: Final = 8
STEP: Final = 4
"""So many times as long as the next shorter one is a theft of very different length."""
DURATION_STEP_NS: Final = 1_000
PERIOD_STEP_NS: Final = 100_000
"""Durations are rounded up to the one, periods down to the other."""


class Theft(NamedTuple):
    """A stretch for which a pcpu was away (ns since the epoch)."""

    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """For how long it was away."""
        return self.end_ns - self.begin_ns


def thefts_in(ring: Ring) -> list[Theft]:
    """The thefts from the pcpu of a lock domain that has only one, as they were recorded."""
    found = []
    begin_ns = None
    for kind, time_ns in zip(
        ring.records["kind"].tolist(), ring.records["time_ns"].tolist(), strict=True
    ):
        if kind == STEAL:
            begin_ns = time_ns
        elif kind == RETURN and begin_ns is not None:
            # Before the epoch the core's time stands still: nothing is known of these.
            if time_ns > begin_ns > 0:
                found.append(Theft(begin_ns, time_ns))
            begin_ns = None
    return found


def bound(thefts: Iterable[Theft]) -> tuple[Stolen, ...]:
    """Tables that bound these thefts; none if there are none."""
    seen = sorted(thefts)
    if not seen:
        return ()
    return min((tuple(_apart(seen, line)) for line in _lines(seen)), key=_allowed_ns)


def _lines(seen: Sequence[Theft]) -> Iterator[int]:
    """Lengths up to which thefts may be bounded apart from the others: where there is a step."""
    lengths = sorted(theft.length_ns for theft in seen)
    yield lengths[-1]
    yield from (shorter for shorter, longer in pairwise(lengths) if longer > STEP * shorter)


def _apart(seen: Sequence[Theft], line_ns: int) -> Iterator[Stolen]:
    """The tables of the thefts up to a length, and of those above."""
    for some in (
        [theft for theft in seen if theft.length_ns <= line_ns],
        [theft for theft in seen if theft.length_ns > line_ns],
    ):
        if some:
            yield from min(_bounds(some), key=_allowed_ns)


def _bounds(seen: Sequence[Theft]) -> Iterator[tuple[Stolen, ...]]:
    """Equal tables that bound these thefts, for some periods."""
    begins_ns = np.array([theft.begin_ns for theft in seen])
    apart_ns = [
        int((begins_ns[after:] - begins_ns[:-after]).min())
        for after in range(1, min(MOST_TABLES + 1, len(seen)))
    ]
    rounded = (one // PERIOD_STEP_NS * PERIOD_STEP_NS for one in apart_ns)
    for period_ns in {*PERIODS_NS, *(one for one in rounded if 0 < one < PERIODS_NS[-1])}:
        tables, duration_ns = _least(seen, period_ns)
        if duration_ns < period_ns:
            yield (Stolen(period_ns=period_ns, duration_ns=duration_ns),) * tables


def _least(seen: Sequence[Theft], period_ns: int) -> tuple[int, int]:
    """How many tables of this period bound these thefts, and of what duration."""
    begins_ns = np.array([theft.begin_ns for theft in seen])
    ends_ns = np.array([theft.end_ns for theft in seen])
    until_ns = np.concatenate([[0], np.cumsum(ends_ns - begins_ns)])
    tables, most_ns = 1, 0
    for first in range(len(seen)):
        count = np.arange(1, len(seen) - first + 1)
        spans = -(-(ends_ns[first:] - begins_ns[first]) // period_ns)
        starts = (begins_ns[first:] - begins_ns[first]) // period_ns + 1
        tables = max(tables, int((-(-count // starts)).max()))
        most_ns = max(most_ns, int((-(-(until_ns[first + 1 :] - until_ns[first]) // spans)).max()))
    each_ns = -(-most_ns // tables)
    return tables, -(-each_ns // DURATION_STEP_NS) * DURATION_STEP_NS


def _allowed_ns(stolen: Sequence[Stolen]) -> tuple[int, int]:
    """What tables allow of a window, and of a long one, with the decisions after thefts."""
    short, long = (
        sum(-(-window_ns // one.period_ns) * (one.duration_ns + PICK_NS) for one in stolen)
        for window_ns in (WINDOW_NS, 100 * WINDOW_NS)
    )
    return short, long
