# SPDX-License-Identifier: BSD-2-Clause
"""A table of windows made of servers: each gets its budget in each of its periods.

On each pcpu the major frame is the least common multiple of the periods there, and that of the
system of all of these. Its jobs are the budgets: one for each server and period, due at the end of
it. EDF lays them out if anything can (Liu and Layland 1973), and from any instant on it says
whether what is left can still be laid out. So with few windows: whoever runs goes on, and whoever
is first by EDF runs until its budget is used up, as long as EDF can lay out the rest; where it
cannot, EDF decides up to the next change. Windows are then no more than EDF's, as a rule. Where
OR-Tools is installed, it is asked for fewer still (`fewest_windows`).

Inputs: a partitioned system with all interfaces. Result: the system with windows in their place.
Errors: InputError for bandwidths above a pcpu, a frame that is too long or of too many budgets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import lcm
from typing import NamedTuple

from hyperperiod.model.errors import InputError
from hyperperiod.model.fewest_windows import fewer_windows
from hyperperiod.model.interface import WINDOW_LIMIT, Interface, TimeWindow
from hyperperiod.model.policy import TABLE
from hyperperiod.model.system import System
from hyperperiod.model.units import format_time


class _Job(NamedTuple):
    """A budget of a server: when it is there, by when it is due, whose it is, what is left."""

    deadline_ns: int
    owner: int
    release_ns: int
    left_ns: int


class _Span(NamedTuple):
    owner: int
    start_ns: int
    end_ns: int


def with_table(system: System, *, solve: bool = True) -> System:
    """The system under a table in which each server gets its budget in each of its periods.

    With `solve` a solver may make windows fewer, which takes seconds for each pcpu.
    """
    frame_ns = lcm(*(one.interface.period_ns for one in system.domains if one.interface))
    domains = list(system.domains)
    for pcpu in range(system.pcpus):
        members = [at for at, one in enumerate(domains) if one.each_vcpu[0].pcpu == pcpu]
        servers = [served for index in members if (served := domains[index].interface)]
        if not servers:
            continue
        spans = _laid_out(servers, pcpu, frame_ns, solve=solve)
        for number, index in enumerate(members):
            windows = tuple(
                TimeWindow(start_ns=one.start_ns, duration_ns=one.end_ns - one.start_ns)
                for one in spans
                if one.owner == number
            )
            cleared = {"interface": None, "priority": None, "extra": False, "pcpus": None}
            domains[index] = domains[index].replace(windows=windows, pcpu=pcpu, **cleared)
    fields = {"policy": TABLE, "major_frame_ns": frame_ns, "domains": domains}
    return System(**(vars(system) | fields))


def _laid_out(
    servers: Sequence[Interface], pcpu: int, frame_ns: int, *, solve: bool
) -> list[_Span]:
    """The spans of the servers on a pcpu over the major frame (ns) of the system."""
    key = f"pcpu {pcpu}"
    own_ns = lcm(*(one.period_ns for one in servers))
    budgets = sum(frame_ns // one.period_ns for one in servers)
    if budgets > WINDOW_LIMIT:
        found = f"a major frame of {format_time(frame_ns)}, with {budgets} budgets"
        raise InputError("", None, key, found, f"periods with at most {WINDOW_LIMIT} in their lcm")
    bandwidth = sum(one.bandwidth for one in servers)
    if bandwidth > 1:
        found = f"bandwidths sum to {float(bandwidth):.6g}"
        raise InputError("", None, key, found, "at most 1: no table has more")
    once = _few_windows(servers, own_ns)
    if solve:
        fewer = fewer_windows(servers, own_ns, len(once))
        once = [_Span(*piece) for piece in fewer] if fewer else once
    spans: list[_Span] = []
    for turn_ns in range(0, frame_ns, own_ns):
        for one in once:
            _append(spans, _Span(one.owner, one.start_ns + turn_ns, one.end_ns + turn_ns))
    return spans


def _append(spans: list[_Span], span: _Span) -> None:
    """Adds a span behind others; what goes on where the last one ends becomes one with it."""
    if spans and (spans[-1].owner, spans[-1].end_ns) == (span.owner, span.start_ns):
        span = span._replace(start_ns=spans.pop().start_ns)
    spans.append(span)


def _few_windows(servers: Sequence[Interface], frame_ns: int) -> list[_Span]:
    jobs = [
        _Job(start_ns + one.period_ns, owner, start_ns, one.budget_ns)
        for owner, one in enumerate(servers)
        for start_ns in range(0, frame_ns, one.period_ns)
    ]
    spans: list[_Span] = []
    now_ns = 0
    while jobs:
        ready = [one for one in jobs if one.release_ns <= now_ns]
        if not ready:
            now_ns = min(one.release_ns for one in jobs)
            continue
        last = spans[-1].owner if spans else None
        first = min(ready, key=lambda one: (one.deadline_ns, one.owner != last))
        going_on = [one for one in ready if one.owner == last]
        for job in (*going_on[:1], first):
            rest = [one for one in jobs if one is not job]
            if _fits(rest, now_ns + job.left_ns):
                ran_ns = job.left_ns
                break
        else:
            job, rest = first, [one for one in jobs if one is not first]
            until_ns = min(one.release_ns for one in jobs if one.release_ns > now_ns)
            ran_ns = min(job.left_ns, until_ns - now_ns)
            rest.append(job._replace(left_ns=job.left_ns - ran_ns))
        _append(spans, _Span(job.owner, now_ns, now_ns + ran_ns))
        jobs, now_ns = rest, now_ns + ran_ns
    return spans


def _fits(jobs: Sequence[_Job], now_ns: int) -> bool:
    """Whether EDF, and so anything, finishes these jobs in time if it begins now."""
    return all(end_ns <= deadline_ns for end_ns, deadline_ns in _by_edf(jobs, now_ns))


def _by_edf(jobs: Sequence[_Job], now_ns: int) -> Iterator[tuple[int, int]]:
    """Yields when EDF finishes each job, and by when it is due (ns)."""
    coming = sorted(jobs, key=lambda one: one.release_ns, reverse=True)
    ready: list[tuple[int, int]] = []
    while coming or ready:
        if not ready:
            now_ns = max(now_ns, coming[-1].release_ns)
        while coming and coming[-1].release_ns <= now_ns:
            one = coming.pop()
            heappush(ready, (one.deadline_ns, one.left_ns))
        deadline_ns, left_ns = heappop(ready)
        ran_ns = min(left_ns, coming[-1].release_ns - now_ns) if coming else left_ns
        now_ns += ran_ns
        if ran_ns == left_ns:
            yield now_ns, deadline_ns
        else:
            heappush(ready, (deadline_ns, left_ns - ran_ns))
