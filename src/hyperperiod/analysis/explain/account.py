# SPDX-License-Identifier: BSD-2-Clause
"""The account of one test: a window, what is asked for in it and what is surely there.

An account is what `fixed_priority`, `edf`, `fifo` and `servers` make and what `tell` and the
plot show. Its windows come in order of weight: the first is the one that decides. In each the
shares sum to the demand, and what is lost plus the supply is the window. Curves are corners of
demand (a staircase: level up to the next corner, then a jump) and of supply (straight between
corners); long ones are thinned for the eye, no number that is told comes from them.

All times are integers in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import Supply

Corner = tuple[int, int]

# Corners of a curve; a picture is some 800 dots wide.
CORNERS = 1600


class Role(StrEnum):
    """What a share of a window is."""

    OWN = "own"
    HIGHER = "higher"
    EQUAL = "equal"
    OTHER = "other"
    BLOCKING = "blocking"
    OVERHEAD = "overhead"
    BLACKOUT = "blackout"
    GAP = "gap"


class Share(NamedTuple):
    """Time that somebody takes: `jobs` times `each_ns` where it comes in jobs."""

    who: str
    role: Role
    time_ns: int
    jobs: int | None = None
    each_ns: int | None = None


@dataclass(frozen=True)
class Window:
    """A window of time, what it is, and who takes how much of it."""

    what: str
    window_ns: int
    supply_ns: int
    shares: tuple[Share, ...]
    lost: tuple[Share, ...] = ()

    @property
    def demand_ns(self) -> int:
        return sum(share.time_ns for share in self.shares)

    @property
    def short_ns(self) -> int:
        """Demand less supply: above 0 something is missing."""
        return self.demand_ns - self.supply_ns


@dataclass(frozen=True)
class Account:
    """One test of one subject, worked out; `story` is in whole sentences."""

    test: str
    critical_instant: str
    windows: tuple[Window, ...]
    story: tuple[str, ...]
    deadline_ns: int
    release_ns: int = 0
    finish_ns: int | None = None
    demand: tuple[Corner, ...] = ()
    supply: tuple[Corner, ...] = ()
    blackout_ns: int = 0
    stairs: bool = True  # whether the demand jumps at its corners, or grows between them
    end_ns: int = 0

    @property
    def in_time(self) -> bool:
        """Whether the first window, which decides, is covered."""
        return self.windows[0].short_ns <= 0


@dataclass(frozen=True)
class Provision:
    """A supply, and the one that there would be without overheads."""

    supply: Supply
    nominal: Supply

    def lost_in(self, window_ns: int) -> tuple[Share, ...]:
        """What of a window brings no supply: the blackout, later gaps, overheads."""
        without_ns = window_ns - self.nominal.sbf(window_ns)
        dark_ns = min(without_ns, self.nominal.blackout_ns)
        overhead_ns = self.nominal.sbf(window_ns) - self.supply.sbf(window_ns)
        found = (
            Share("blackout", Role.BLACKOUT, dark_ns),
            Share("gaps between budgets", Role.GAP, without_ns - dark_ns),
            Share("overheads", Role.OVERHEAD, overhead_ns),
        )
        return tuple(share for share in found if share.time_ns)


def jobs_released(load: Load, window_ns: int) -> int:
    """The most jobs of a load released in [0, window)."""
    return -(-(window_ns + load.jitter) // load.period) if window_ns > 0 else 0


def releases(load: Load, end_ns: int) -> Iterator[int]:
    """The earliest instants of the releases of a load, in [0, end], each number of jobs once."""
    return arrivals(load, 0, end_ns)


def arrivals(load: Load, shift_ns: int, end_ns: int) -> Iterator[int]:
    """When jobs come at the earliest, `shift_ns` later, each instant once, up to the end."""
    yield from (shift_ns,) if shift_ns <= end_ns else ()
    first = load.jitter // load.period + 1
    yield from range(first * load.period - load.jitter + shift_ns, end_ns + 1, load.period)


def staircase(
    jumps: Iterable[Iterable[int]], height: Callable[[int], int], end_ns: int
) -> tuple[Corner, ...]:
    """Corners of a function that grows only at `jumps`; too many are thinned evenly."""
    places: set[int] = {0}
    for of_one in jumps:
        for place in of_one:
            places.add(place)
            if len(places) > CORNERS:
                step = max(1, end_ns // CORNERS)
                places = set(range(0, end_ns + 1, step))
                return _corners(sorted(places), height, end_ns)
    return _corners(sorted(place for place in places if place <= end_ns), height, end_ns)


def _corners(
    places: Sequence[int], height: Callable[[int], int], end_ns: int
) -> tuple[Corner, ...]:
    found = [(place, height(place)) for place in places]
    return (*found, (end_ns, found[-1][1])) if found[-1][0] < end_ns else tuple(found)


def supply_corners(supply: Supply, end_ns: int) -> tuple[Corner, ...]:
    """The corners of the supply bound up to a window."""
    dark_ns, period_ns = supply.blackout_ns, supply.period_ns
    if supply.budget_ns == period_ns:
        places = [0, min(dark_ns, end_ns), end_ns]
    elif (end_ns - dark_ns) // period_ns > CORNERS // 2:
        step = max(1, end_ns // CORNERS)
        places = list(range(0, end_ns + 1, step))
    else:
        starts = range(dark_ns, end_ns + 1, period_ns)
        places = [0, *(at for start in starts for at in (start, start + supply.budget_ns))]
    kept = sorted({place for place in places if place <= end_ns} | {end_ns})
    return tuple((place, supply.sbf(place)) for place in kept)
