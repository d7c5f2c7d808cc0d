# SPDX-License-Identifier: BSD-2-Clause
"""Why a task under fifo is in time or not: the job that waits longest.

Paper: none; the argument is that of `prm_fifo`. A job released a into a busy window is done when
the supply covers all work released in [0, a]. Releases are looked at from the first on, to the
first at which a job with this deadline would be late, or to the end of the busy window.

Assumptions: those of `prm_fifo`. Inputs: the sources, the one that is asked about, a provision.
Result: an account; its window reaches from 0 to the finish if the job is in time, else to its
deadline. Errors: none.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

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
from hyperperiod.model import format_time

WORK = 1_000_000


def account(sources: Sequence[Source], own: Source, provision: Provision) -> Account:
    """The account of one of the sources."""
    return _Fifo(sources, own, provision).account()


class _Fifo:
    def __init__(self, sources: Sequence[Source], own: Source, provision: Provision) -> None:
        self.sources, self.own, self.provision = sources, own, provision
        self.loads = [source.load for source in sources]
        self.blocking_ns = max(load.blocking for load in self.loads)
        self.release_ns, self.finish_ns = self._longest()
        self.deadline_ns = self.release_ns + own.load.deadline

    def account(self) -> Account:
        late = self.finish_ns > self.deadline_ns
        window = self._window("deadline" if late else "done", min(self.finish_ns, self.deadline_ns))
        end_ns = min(max(self.finish_ns, self.deadline_ns), 3 * self.deadline_ns) * 108 // 100
        jumps = [arrivals(load, 0, end_ns) for load in self.loads]
        return Account(
            test="fifo",
            critical_instant="everything is released together, then as often as it may be",
            windows=(window,),
            story=(self._story(),),
            deadline_ns=self.deadline_ns,
            release_ns=self.release_ns,
            finish_ns=self.finish_ns,
            demand=staircase(jumps, self._asked, end_ns),
            supply=supply_corners(self.provision.supply, end_ns),
            blackout_ns=self.provision.supply.blackout_ns,
            end_ns=end_ns,
        )

    def _asked(self, at: int) -> int:
        """All work released in [0, at]."""
        return self.blocking_ns + sum(_jobs(load, at) * load.wcet for load in self.loads)

    def _longest(self) -> tuple[int, int]:
        """Release and finish of the job that waits longest, or of the first late one."""
        worst = (0, 0)
        steps = WORK // len(self.loads) + 1
        finish_ns = 0
        for at in _releases(self.loads):
            if (finish_ns and at >= finish_ns) or steps == 0:
                break  # the busy window is over
            finish_ns = self.provision.supply.time_for(self._asked(at))
            if finish_ns - at > worst[1] - worst[0]:
                worst = (at, finish_ns)
            if finish_ns - at > self.own.load.deadline:
                break
            steps -= 1
        return worst

    def _window(self, what: str, window_ns: int) -> Window:
        """Work released up to the job, against the supply of the window."""
        shares = []
        for source in self.sources:
            jobs = _jobs(source.load, self.release_ns)
            role = Role.OWN if source is self.own else Role.OTHER
            shares.append(Share(source.name, role, jobs * source.load.wcet, jobs, source.load.wcet))
        if self.blocking_ns:
            shares.append(Share("blocking", Role.BLOCKING, self.blocking_ns))
        supply_ns = self.provision.supply.sbf(window_ns)
        return Window(what, window_ns, supply_ns, tuple(shares), self.provision.lost_in(window_ns))

    def _story(self) -> str:
        waits = format_time(self.finish_ns - self.release_ns)
        when = f"{format_time(self.release_ns)} after" if self.release_ns else "at"
        begin = (
            f"A job released {when} the beginning of the busy window waits for all work released"
            f" no later and is done after {waits}"
        )
        left_ns = self.deadline_ns - self.finish_ns
        if left_ns < 0:
            return f"{begin}, {format_time(-left_ns)} too late."
        return f"{begin}, {format_time(left_ns)} before the deadline; no other waits longer."


def _jobs(load: Load, at: int) -> int:
    return (at + load.jitter) // load.period + 1


def _releases(loads: Sequence[Load]) -> Iterator[int]:
    """The instants of releases, from 0 on, each once, without an end."""
    yield 0
    coming = [
        (number * load.period - load.jitter, index, number)
        for index, load in enumerate(loads)
        for number in (load.jitter // load.period + 1,)
    ]
    heapq.heapify(coming)
    last = 0
    while True:
        at, index, number = coming[0]
        if at > last:
            yield at
            last = at
        load = loads[index]
        heapq.heapreplace(coming, ((number + 1) * load.period - load.jitter, index, number + 1))
