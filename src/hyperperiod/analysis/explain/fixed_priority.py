# SPDX-License-Identifier: BSD-2-Clause
"""Why a load under fixed priority is in time or not: the window of its first late job.

Papers: those of `prm_fixed_priority`. A job is done at the least time t at which the supply
covers the work of all that is above it and of the jobs of its own up to it, all released
together at 0. It is late if in no window up to its deadline that is so; then the window in which
least is missing is shown beside the whole window up to the deadline. If every job is in time,
the job with the longest response is shown.

Assumptions: those of `prm_fixed_priority`. Inputs: the sources in order of priority, of which
the last is explained, a role for each, a provision. Result: an account. Errors: none; where the
supply never covers the work, `finish_ns` is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from hyperperiod.analysis.component import Load, Source
from hyperperiod.analysis.explain.account import (
    Account,
    Provision,
    Role,
    Share,
    Window,
    arrivals,
    jobs_released,
    staircase,
    supply_corners,
)
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.model import format_time

# Steps after which a search ends; the verdict of the analysis does not depend on it.
STEPS = 20_000
WORK = 2_000_000


class _Job(NamedTuple):
    """A job of the load: its number from 0, its release, its finish if the supply covers it."""

    number: int
    release_ns: int
    finish_ns: int | None


def account(
    sources: Sequence[Source],
    roles: Sequence[Role],
    provision: Provision,
    *,
    servers: bool = False,
) -> Account:
    """The account of the last source below the others; `servers` says what they are."""
    return _Fixed(sources, roles, provision, servers).account()


class _Fixed:
    def __init__(
        self,
        sources: Sequence[Source],
        roles: Sequence[Role],
        provision: Provision,
        servers: bool,
    ) -> None:
        self.sources, self.roles, self.provision = sources, roles, provision
        self.servers = servers
        self.above = [source.load for source in sources[:-1]]
        self.own = sources[-1].load
        self.name = sources[-1].name
        asked = sum((Fraction(load.wcet, load.period) for load in self.above), Fraction(0))
        self.hopeless = asked > provision.supply.bandwidth
        self.job = self._job_that_decides()
        self.deadline_ns = self.job.release_ns + self.own.deadline

    def account(self) -> Account:
        finish_ns = self.job.finish_ns
        late = finish_ns is None or finish_ns > self.deadline_ns
        if late:
            closest_ns = self._closest()
            windows = [self._window("closest", closest_ns)]
            if closest_ns != self.deadline_ns:
                windows.append(self._window("deadline", self.deadline_ns))
        else:
            assert finish_ns is not None, "a job in time has a finish"
            windows = [self._window("done", finish_ns)]
        end_ns = self._end(late)
        supply = self.provision.supply
        jumps = [arrivals(load, 0, end_ns) for load in self.above]
        return Account(
            test="fixed priority",
            critical_instant=self._critical_instant(),
            windows=tuple(windows),
            story=tuple(self._story(windows[0], late)),
            deadline_ns=self.deadline_ns,
            release_ns=self.job.release_ns,
            finish_ns=finish_ns,
            demand=staircase(jumps, lambda at: self._demand(at + 1), end_ns),
            supply=supply_corners(supply, end_ns),
            blackout_ns=supply.blackout_ns,
            end_ns=end_ns,
        )

    def _end(self, late: bool) -> int:
        """How far the picture goes: past the deadline, and to the late finish if it is near."""
        finish_ns = self.job.finish_ns or 0
        shown_ns = min(finish_ns, 2 * self.deadline_ns) if late else self.deadline_ns
        return max(self.deadline_ns, shown_ns) * 108 // 100

    def _job_that_decides(self) -> _Job:
        """The first late job, or the one with the longest response."""
        worst: _Job | None = None
        start_ns = 0
        for number in range(STEPS):
            release_ns = max(0, number * self.own.period - self.own.jitter)
            finish_ns = self._finish(number, start_ns)
            job = _Job(number, release_ns, finish_ns)
            if finish_ns is None or finish_ns > release_ns + self.own.deadline:
                return job
            if worst is None or finish_ns - release_ns > self._response(worst):
                worst = job
            start_ns = finish_ns
            if (number + 1) * self.own.period - self.own.jitter >= finish_ns:
                break
        assert worst is not None, "there is a first job"
        return worst

    @staticmethod
    def _response(job: _Job) -> int:
        assert job.finish_ns is not None, "only finished jobs are compared"
        return job.finish_ns - job.release_ns

    def _finish(self, number: int, start_ns: int) -> int | None:
        """The least time at which the supply covers the job; None if that is out of reach."""
        if self.hopeless:
            return None
        own_ns = (number + 1) * self.own.wcet + self.own.blocking
        time_ns = start_ns
        for _ in range(min(STEPS, WORK // len(self.sources))):
            next_ns = self.provision.supply.time_for(own_ns + rbf(self.above, max(time_ns, 1)))
            if next_ns <= time_ns:
                return time_ns
            time_ns = next_ns
        return None

    def _demand(self, window_ns: int) -> int:
        own_ns = (self.job.number + 1) * self.own.wcet + self.own.blocking
        return own_ns + rbf(self.above, window_ns)

    def _closest(self) -> int:
        """The window up to the deadline in which least is missing: just before a release."""
        least_ns = max(1, self.job.release_ns)
        points = {self.deadline_ns}
        each = max(2, WORK // (len(self.sources) ** 2 + 1))
        for load in self.above:
            steps = (self.deadline_ns - least_ns) // load.period + 1
            stride = max(1, steps // min(each, STEPS))
            jumps = arrivals(load, 0, self.deadline_ns)
            points.update(at for at in islice(jumps, 0, None, stride) if at >= least_ns)
        supply = self.provision.supply
        # Of equally short windows the longest is told: it is nearest to the deadline.
        return min(points, key=lambda at: (self._demand(at) - supply.sbf(at), -at))

    def _window(self, what: str, window_ns: int) -> Window:
        shares = [
            _share(source, role, jobs_released(source.load, window_ns))
            for source, role in zip(self.sources[:-1], self.roles, strict=False)
        ]
        if self.own.blocking:
            shares.append(Share("blocking", Role.BLOCKING, self.own.blocking))
        shares.append(_share(self.sources[-1], Role.OWN, self.job.number + 1))
        return Window(
            what,
            window_ns,
            self.provision.supply.sbf(window_ns),
            tuple(share for share in shares if share.time_ns),
            self.provision.lost_in(window_ns),
        )

    def _critical_instant(self) -> str:
        above = " and everything above it are" if self.above else " is"
        together = " together" if self.above else ""
        if self.servers:
            late = any(load.jitter for load in self.above)
            twice = ", those above have just spent a budget and do so again" if late else ""
            return f"{self.name}{above} refilled{together}{twice}"
        jittery = any(load.jitter for load in [*self.above, self.own])
        early = ", later jobs as early as their jitter allows" if jittery else ""
        blocked = ", while work of lower priority holds it up" if self.own.blocking else ""
        return f"{self.name}{above} released{together}{early}{blocked}"

    def _story(self, window: Window, late: bool) -> list[str]:
        if self.servers:
            return self._story_of_server(window, late)
        job = "its first job" if self.job.number == 0 else f"its job number {self.job.number + 1}"
        if not late:
            response_ns = window.window_ns - self.job.release_ns
            return [
                (
                    f"After {format_time(window.window_ns)} the supply has covered {job} and all"
                    f" that runs before it: a response of {format_time(response_ns)},"
                    f" {_time(self.own.deadline - response_ns)} before the deadline."
                )
            ]
        missing = (
            f"No window up to the deadline at {format_time(self.deadline_ns)} holds what is asked"
            f" for by {job} and all that runs before it. In the closest, of"
            f" {format_time(window.window_ns)}, {format_time(window.short_ns)} are missing."
        )
        finish_ns = self.job.finish_ns
        if finish_ns is None:
            return [missing, "The supply never covers it: more is asked for than supplied."]
        return [
            missing,
            (
                f"The supply covers it after {format_time(finish_ns)},"
                f" {format_time(finish_ns - self.deadline_ns)} too late."
            ),
        ]

    def _story_of_server(self, window: Window, late: bool) -> list[str]:
        left_ns = self.deadline_ns - window.window_ns
        if not late:
            return [
                (
                    f"Its budget is spent {format_time(window.window_ns)} after the refill,"
                    f" {_time(left_ns)} before the next."
                )
            ]
        missing = (
            f"No window up to its next refill at {format_time(self.deadline_ns)} has room for its"
            " budget and all that goes before it. In the closest, of"
            f" {format_time(window.window_ns)}, {format_time(window.short_ns)} are missing."
        )
        finish_ns = self.job.finish_ns
        if finish_ns is None:
            return [missing, "It may never be spent: more is asked for than the pcpu has."]
        return [
            missing,
            (
                f"It would be spent after {format_time(finish_ns)},"
                f" {format_time(finish_ns - self.deadline_ns)} too late."
            ),
        ]


def _time(time_ns: int) -> str:
    return format_time(time_ns) if time_ns else "nothing"


def _share(source: Source, role: Role, jobs: int) -> Share:
    load: Load = source.load
    return Share(source.name, role, jobs * load.wcet, jobs, load.wcet)
