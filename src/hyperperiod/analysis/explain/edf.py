# SPDX-License-Identifier: BSD-2-Clause
"""Why loads under EDF are in time or not: the first window in which more is due than supplied.

Papers: those of `prm_edf`. Only windows that end at a deadline matter. They are looked at from
the shortest on; where none of those is short although one must be (utilisation above the
bandwidth by a hair), a window beyond which the long-term rates alone decide is taken. If none is
short, the one with least left is shown, of those up to the length beyond which the rates leave
more and more.

Assumptions: those of `prm_edf`. Inputs: the sources, the name of the one that is asked about, a
provision, the window that the analysis found, if it found one. Result: an account. Errors: none.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm

from hyperperiod.analysis.component import Load, Source
from hyperperiod.analysis.explain.account import (
    Account,
    Provision,
    Role,
    Share,
    Window,
    arrivals,
    staircase,
    supply_corners,
)
from hyperperiod.analysis.tasks.demand_bound import dbf
from hyperperiod.model import format_time

WORK = 200_000


def account(
    sources: Sequence[Source], name: str, provision: Provision, found_ns: int = 0
) -> Account:
    """The account of the set; `name` is only marked as the one asked about."""
    return _Edf(sources, name, provision, found_ns).account()


def demand(loads: Sequence[Load], window_ns: int) -> int:
    """What is due in a window, and the longest blocking of a load that can be due in it."""
    return dbf(loads, window_ns) + _blocking(loads, window_ns)


def _blocking(loads: Sequence[Load], window_ns: int) -> int:
    return max((load.blocking for load in loads if load.deadline <= window_ns), default=0)


class _Edf:
    def __init__(
        self, sources: Sequence[Source], name: str, provision: Provision, found_ns: int
    ) -> None:
        self.sources, self.name, self.provision = sources, name, provision
        self.loads = [source.load for source in sources]
        self.supply = provision.supply
        self.utilization = sum((Fraction(one.wcet, one.period) for one in self.loads), Fraction(0))
        self.window_ns, self.complete = self._search(found_ns)

    def account(self) -> Account:
        window = self._window()
        longest_ns = max(load.deadline for load in self.loads)
        end_ns = max(self.window_ns, min(longest_ns, 3 * self.window_ns))
        end_ns = end_ns * 115 // 100 + 1
        jumps = [arrivals(load, load.deadline, end_ns) for load in self.loads]
        return Account(
            test="edf",
            critical_instant=self._critical_instant(),
            windows=(window,),
            story=tuple(self._story(window)),
            deadline_ns=self.window_ns,
            demand=staircase(jumps, lambda at: demand(self.loads, at), end_ns),
            supply=supply_corners(self.supply, end_ns),
            blackout_ns=self.supply.blackout_ns,
            end_ns=end_ns,
        )

    def _search(self, found_ns: int) -> tuple[int, bool]:
        """The window that is told, and whether the search saw all that matter before it."""
        tightest_ns, least_ns = 0, None
        last_ns: int | None = None
        steps = WORK // len(self.loads) + 1
        for at in _deadlines(self.loads):
            if (last_ns is not None and at > last_ns) or steps == 0:
                break
            left_ns = self.supply.sbf(at) - demand(self.loads, at)
            if left_ns < 0:
                return at, True
            if least_ns is None or left_ns < least_ns:
                tightest_ns, least_ns = at, left_ns
                last_ns = self._last(least_ns)
            steps -= 1
        far_ns = found_ns or self._far()
        if steps == 0 and far_ns and demand(self.loads, far_ns) > self.supply.sbf(far_ns):
            return far_ns, False
        return tightest_ns, steps > 0

    def _last(self, left_ns: int) -> int | None:
        """Beyond this window every one leaves as much or more; None if that cannot be said."""
        longest_ns = max(load.deadline for load in self.loads)
        if self.utilization > self.supply.bandwidth:
            return None
        if self.utilization == self.supply.bandwidth:
            # From here on everything repeats.
            begin_ns = max(longest_ns, self.supply.blackout_ns)
            return begin_ns + lcm(self.supply.period_ns, *(load.period for load in self.loads))
        # From the longest deadline on: dbf(t) <= sum of U (t - D + J + T); always: sbf(t) >=
        # bandwidth (t - blackout).
        offset = sum(
            (
                Fraction(one.wcet, one.period) * (one.period - one.deadline + one.jitter)
                for one in self.loads
            ),
            Fraction(0),
        )
        offset += max(load.blocking for load in self.loads)
        room = left_ns + offset + self.supply.bandwidth * self.supply.blackout_ns
        return max(longest_ns, int(room / (self.supply.bandwidth - self.utilization)) + 1)

    def _far(self) -> int:
        """A window in which the rates alone exceed the supply; 0 if there is none."""
        if self.utilization <= self.supply.bandwidth:
            return 0
        # dbf(t) > sum of U (t - D + J), sbf(t) <= bandwidth * t
        lead = sum(
            Fraction(one.wcet, one.period) * (one.deadline - one.jitter) for one in self.loads
        )
        return max(1, int(lead / (self.utilization - self.supply.bandwidth)) + 1)

    def _window(self) -> Window:
        shares = []
        for source in self.sources:
            jobs = _due(source.load, self.window_ns)
            role = Role.OWN if source.name == self.name else Role.OTHER
            shares.append(Share(source.name, role, jobs * source.load.wcet, jobs, source.load.wcet))
        blocking_ns = _blocking(self.loads, self.window_ns)
        shares.append(Share("blocking", Role.BLOCKING, blocking_ns))
        supply_ns = self.supply.sbf(self.window_ns)
        kept = tuple(share for share in shares if share.time_ns)
        short = sum(share.time_ns for share in kept) > supply_ns
        what = ("first" if self.complete else "far") if short else "tightest"
        lost = self.provision.lost_in(self.window_ns)
        return Window(what, self.window_ns, supply_ns, kept, lost)

    def _critical_instant(self) -> str:
        early = ", later jobs as early as their jitter allows" if self._jittery else ""
        return f"everything is released together{early}"

    @property
    def _jittery(self) -> bool:
        return any(load.jitter for load in self.loads)

    def _story(self, window: Window) -> Iterator[str]:
        length = format_time(window.window_ns)
        if window.short_ns > 0:
            which = "the first" if self.complete else "one"
            yield (
                f"The window of {length} is {which} in which more is due than surely supplied:"
                f" {format_time(window.short_ns)} are missing, so some job that is due by then"
                " can be late. EDF does not say whose."
            )
        else:
            seen = "" if self.complete else " looked at"
            yield (
                f"No window{seen} asks for more than is supplied. The tightest, of {length},"
                f" leaves {format_time(-window.short_ns)}."
            )
        if self.utilization > self.supply.bandwidth:
            yield (
                f"In the long run {float(self.utilization):.4g} of a pcpu is asked for and"
                f" {float(self.supply.bandwidth):.4g} supplied."
            )


def _due(load: Load, window_ns: int) -> int:
    if window_ns < load.deadline:
        return 0
    return (window_ns - load.deadline + load.jitter) // load.period + 1


def _deadlines(loads: Sequence[Load]) -> Iterator[int]:
    """The windows that end at a deadline, from the shortest on, each once, without an end."""
    coming = [(load.deadline, index, 0) for index, load in enumerate(loads)]
    heapq.heapify(coming)
    last = 0
    while True:
        at, index, number = coming[0]
        if at > last:
            yield at
            last = at
        load = loads[index]
        number = max(number + 1, load.jitter // load.period + 1)
        heapq.heapreplace(
            coming, (load.deadline + number * load.period - load.jitter, index, number)
        )
