# SPDX-License-Identifier: BSD-2-Clause
"""Finds the grid on which jobs are released: the period, exactly, and the jitter against it.

Each release has a number, and one that is missing leaves a hole. A timer may be late, and much, but
it is never early. So of all lines below the points (k, r(k)) the one that is nearest to them in the
mean is the grid: its slope is the period. (Moon, Skelly and Towsley find the skew of clocks in this
way: "Estimation and removal of clock skew from network delay measurements", INFOCOM 1999.) It is an
edge of the convex hull of the points, and the jitter of a period T, max(r(k) - k T) - min(r(k) - k
T), depends on corners of the hull alone. So these and two sums are all that is kept.

The numbers come from a grid that follows the releases: at first its period is the mean of the gaps,
each taken for as many as it has median gaps, later that of the grid found so far. A release belongs
to the last point that it is early for by no more than an eighth of a period. The point after that
one follows an early release at once, and a late one slowly.

Whoever sleeps for a while after each job keeps gaps, not phases: the longer one looks, the further
these wander. On a grid a release that is late is caught up with. So there is none where the jitter
is more than twice of what releases are ever late for and caught up with, from one to the next.

The period found is rarely a round number, for clocks and timers are not. It is rounded as far as
the mean lateness grows by no more than the clock's resolution and a quarter of itself. The jitter
is that of the rounded period, so what was seen fits the period and jitter that are said.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

WARM_UP = 512
"""So many releases are looked at together, for a first guess of the period."""
_FULL = Fraction(7, 10)
"""So many points of a grid have releases: of two thirds, pairs of releases would make one."""
_WANDERS = 2
"""So many times what is caught up with; lateness drawn anew for each of 60 releases is no more."""
_SLOWLY = 1024
"""So many periods later the grid has followed late releases by one: clocks drift more slowly."""
_SETTLED = 16
"""So many releases say where the grid begins: the first of all may be late."""

Point = tuple[int, int]


class Grid(NamedTuple):
    """A period (ns), what it was before it was rounded, and the jitter of the rounded one."""

    period_ns: int
    fitted_ns: Fraction
    jitter_ns: int


class Releases:
    """The releases of one thread (ns), in order."""

    def __init__(self) -> None:
        self.count = 0
        self.gap_min_ns: int | None = None
        self._first: list[int] = []
        self._last_ns: int | None = None
        self._points = _Points()
        # The grid as guessed so far: its period, its last point, the number of that, and from which
        # number on the period is guessed anew.
        self._period_ns = self._point_ns = self._number = 0
        self._again = WARM_UP
        self._has_grid = True
        # The most that a release was later than the one before, and that it was less late.
        self._delay_ns = self._caught_up_ns = 0

    def add(self, release_ns: int) -> None:
        """Takes the next release; one before the last says that time went back: no grid is left."""
        self.count += 1
        if self._last_ns is not None and release_ns >= self._last_ns:
            gap_ns = release_ns - self._last_ns
            self.gap_min_ns = gap_ns if self.gap_min_ns is None else min(gap_ns, self.gap_min_ns)
        self._last_ns = release_ns
        if self._period_ns:
            self._place(release_ns)
        else:
            self._first.append(release_ns)
            if len(self._first) == WARM_UP:
                self._begin()

    def grid(self, resolution_ns: int) -> Grid | None:
        """Returns the grid of the releases, or None if they have none.

        They have one if no two belong to one point of it, most points have one, and their phases do
        not wander. `resolution_ns` is the clock's.
        """
        if len(self._first) > 1:
            self._begin()
        if not (self._has_grid and self._period_ns and self.count >= _FULL * self._number):
            return None
        points = self._points
        fitted = points.fitted()
        late = points.lateness(fitted)
        allowed = late + resolution_ns + late / 4
        period_ns = next(
            period_ns
            for unit in (10**digits for digits in range(9, -1, -1))
            if (period_ns := round(fitted / unit) * unit)
            and (points.lateness(Fraction(period_ns)) <= allowed or unit == 1)
        )
        jitter_ns = points.jitter_ns(period_ns)
        # Both are known to a tick at each end.
        caught_up_ns = min(self._delay_ns, self._caught_up_ns) + 2 * resolution_ns
        if jitter_ns >= min(period_ns, _WANDERS * caught_up_ns):
            return None
        return Grid(period_ns, fitted, jitter_ns)

    def _begin(self) -> None:
        """Guesses the grid from the first releases, and places them: twice, for the grid that is
        found is a far better guess."""
        gaps = [b - a for a, b in pairwise(self._first)]
        median_ns = max(1, median_low(gaps))
        points = sum((gap_ns + median_ns // 2) // median_ns for gap_ns in gaps)
        self._period_ns = max(1, sum(gaps) // max(1, points))
        self._place_first()
        if self._points.count > 1:
            self._period_ns = self._fitted_ns()
            self._place_first()
        self._first.clear()

    def _place_first(self) -> None:
        """Places the first releases on a grid of the period guessed."""
        self._points = _Points()
        self._number, self._again, self._has_grid = 0, WARM_UP, True
        self._delay_ns = self._caught_up_ns = 0
        # The first release may be late itself; an early one of some begins the grid.
        half_ns = self._period_ns // 2
        phases = sorted(
            (release_ns - self._first[0] + half_ns) % self._period_ns - half_ns
            for release_ns in self._first[:_SETTLED]
        )
        self._point_ns = self._first[0] + phases[len(phases) // 8]
        for release_ns in self._first:
            self._place(release_ns)

    def _place(self, release_ns: int) -> None:
        points = self._points_in(release_ns - self._point_ns)
        if self._points.count:
            self._has_grid &= points > 0
            if not self._has_grid:
                return
            gap_ns = release_ns - self._points.lower[-1][1]
            delay_ns = gap_ns - max(1, self._points_in(gap_ns)) * self._period_ns
            self._delay_ns = max(self._delay_ns, delay_ns)
            self._caught_up_ns = max(self._caught_up_ns, points * self._period_ns - gap_ns)
        self._number += points
        self._point_ns += points * self._period_ns
        self._point_ns += min(release_ns - self._point_ns, points * self._period_ns // _SLOWLY)
        self._points.add((self._number, release_ns))
        if self._number >= self._again:
            self._again = 2 * self._number
            self._period_ns = self._fitted_ns()

    def _points_in(self, ahead_ns: int) -> int:
        return (ahead_ns + self._period_ns // 8) // self._period_ns

    def _fitted_ns(self) -> int:
        return max(1, round(self._points.fitted()))


class _Points:
    """The corners of the convex hull of points, and the sums of their coordinates."""

    def __init__(self) -> None:
        self.count = 0
        self.sums = (0, 0)
        self.upper: list[Point] = []
        self.lower: list[Point] = []

    def add(self, point: Point) -> None:
        """Takes a point that lies further right than the one before."""
        self.count += 1
        self.sums = (self.sums[0] + point[0], self.sums[1] + point[1])
        for hull, side in ((self.upper, 1), (self.lower, -1)):
            while len(hull) > 1 and side * _turn(hull[-2], hull[-1], point) >= 0:
                hull.pop()
            hull.append(point)

    def fitted(self) -> Fraction:
        """Returns the period of the least mean lateness, which is convex in the period."""
        edges = [Fraction(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(self.lower)]
        late = self.lateness
        at = bisect_left(
            range(len(edges) - 1), True, key=lambda i: late(edges[i]) <= late(edges[i + 1])
        )
        return edges[at]

    def lateness(self, period: Fraction) -> Fraction:
        """Returns how late (ns) a release is in the mean, on the latest grid that none precedes."""
        return (self.sums[1] - self.sums[0] * period) / self.count - self.earliest(period)

    def earliest(self, period: Fraction) -> Fraction:
        """Returns where (ns) that grid begins."""
        return min(release_ns - number * period for number, release_ns in self.lower)

    def jitter_ns(self, period_ns: int) -> int:
        """Returns how far (ns) behind the earliest release the latest is, against the grid."""
        latest_ns = max(release_ns - number * period_ns for number, release_ns in self.upper)
        return latest_ns - int(self.earliest(Fraction(period_ns)))


def _turn(a: Point, b: Point, c: Point) -> int:
    """Returns above 0 if the way from `a` over `b` to `c` turns left, below 0 if right."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
