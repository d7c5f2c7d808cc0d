# SPDX-License-Identifier: BSD-2-Clause
"""Fixed priority in a domain whose server has most of its budget when a busy window begins.

A supply bound assumes that the vcpu's own work has used the budget up just before a window. A
domain that asks for little cannot have done so. Deferrable and hard constant bandwidth servers keep
what is not used. So what is gone at s, where the window of a task's level begins, is no more than
what the domain's tasks executed in the `span` before s in which the budget at hand can have been
used: a period P. (Deferrable: since the refill. Cbs: since d - P, and d > s.) Cbs under fixed
priority may still use after d what it had left when work came before d, within R(B) of that: its
span is P + R(B) where a task below the level may be at work at s, which then came before d.

**Who used it.** Let R_j bound the responses of task j, J_j be its jitter, T_j its period, C_j its
execution time. A nanosecond of the span that ends by s belongs to a job that is released within
X_j = span + R_j before s, and not that long before: it does not end before the nanosecond does.
These are at most n + 1 jobs, where n = floor((X_j + J_j) / T_j), and n if that leaves no rest.
Tasks below the level count with the most. Of the level's tasks some are *late*: n + 1 of their jobs
were there, and so their next one comes no earlier than (n + 1) T_j - J_j - X_j > 0 after s. Others
count with n, and their next job may come at s. One of the level's tasks releases a job at s, so not
all are late. Every choice of the late ones is looked at (with more than `MAX_CHOICES` tasks that
may be late: those above the task are taken as late and as not late, but for the smallest where the
task itself is late).

**The window.** `time_for(x, used)` bounds the time in which so much work is done from s on:
- deferrable: while x <= B - used is done the server has work and budget; a refill on the way only
  adds. Others take of [s, s + t) no more than I(t), as in `servers.known_servers`, but with s
  anywhere: a server spends most if its next refill comes when it has just spent a budget. Under
  EDF all others count. For more, the supply bound;
- cbs: `servers.known_bandwidth`, the bounds of one period and (3) with v = used.
If all work of the level that is released within t of s, with what may block it, is done by t, then
the window, or its job number so and so, ends by t.

**Which R.** The least that give themselves: they are raised from C_j until each holds, if those of
all tasks do. That is enough, by induction over time: let t be the first instant at which a job is
there for longer than its R_j. Until t all R hold, so what was used before the job's window, which
began before t, is no more than was assumed, and the job is done by then. Where the supply bound
gives a lower R_j, that is the limit; where it gives none, a task has R_j up to its deadline or the
domain has none.

Assumptions: those of `servers.known_servers`; no busy task. Inputs: a component, what is known of
its server, response bounds in nanoseconds, where there are any. Result: bounds, none above what it
was. Errors: none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.supply_bound import Staircase
from hyperperiod.model.frozen import FrozenFields

MAX_ROUNDS = 40
"""How often bounds are raised step by step; then all that still grow are what they were before."""
MAX_CHOICES = 4
MAX_JOBS = 50
"""Jobs of a task in one window that are looked at."""


class CarriedBudget(FrozenFields):
    """A server that keeps its budget: how long its vcpu waits for what is left of it.

    `stairs` of (amount, wait) are good up to `reach_ns`. What is gone of the budget at hand when
    work comes was used in the last `span_ns`, and amid work in the last `span_amid_ns`. `supply` is
    what there is whatever was used. With `kept`, what was used of a budget and what is left of it
    are waited for together, and the next one comes no later for what is left.
    """

    span_ns: int
    span_amid_ns: int
    budget_ns: int
    reach_ns: int
    stairs: tuple[tuple[int, int], ...]
    supply: Staircase
    kept: bool = False

    def time_for(self, amount_ns: int, used_ns: int) -> int:
        """The time (ns) in which so much comes if no more was used of the budget at hand."""
        if amount_ns <= 0:
            return 0
        left_ns = max(0, self.budget_ns - used_ns)
        if amount_ns <= min(left_ns, self.reach_ns):
            return amount_ns + self._wait_for(amount_ns + used_ns * self.kept)
        ready_ns = left_ns * self.kept
        return ready_ns + self.supply.time_for(amount_ns - ready_ns)

    def supplied(self, window_ns: int, used_ns: int) -> int:
        """Returns the least supply (ns) of a window of this length: the inverse of `time_for`."""
        return last_holding(
            lambda amount_ns: self.time_for(amount_ns, used_ns) <= window_ns, 0, window_ns + 1
        )

    def _wait_for(self, amount_ns: int) -> int:
        return self.stairs[bisect_left(self.stairs, (amount_ns,)) - 1][1]


class Coming(NamedTuple):
    """A load whose first job of a window comes no earlier than so far (ns) after it begins."""

    load: Load
    first_ns: int

    def work_in(self, window_ns: int) -> int:
        """The most that it releases (ns of execution) in a window of this length (ns)."""
        return max(0, -((self.first_ns - window_ns) // self.load.period)) * self.load.wcet


class Before(NamedTuple):
    """A budget (ns) that jobs of a load may have used before a window, and when the next job comes.

    A late load has had one job more than `used_ns` says, and then the next one no earlier than
    `late_ns`; that is 0 for a load that cannot have had one more.
    """

    load: Load
    used_ns: int
    late_ns: int

    @property
    def max_ns(self) -> int:
        """Returns the most (ns) that its jobs used, whenever the next one comes."""
        return self.used_ns + self.load.wcet * (self.late_ns > 0)


class Start(NamedTuple):
    """The begin of a window: the budget that is used (ns), and when the level's loads come."""

    used_ns: int
    above: tuple[Coming, ...]
    own: Coming


class CarriedJob(NamedTuple):
    """The job of that number in a window with that start: when it comes and ends, from there."""

    start: Start
    number: int
    release_ns: int
    finish_ns: int

    @property
    def response_ns(self) -> int:
        """The time (ns) from the release of the job to its end."""
        return self.finish_ns - self.release_ns


def bounds_in_hand(
    component: Component, hand: CarriedBudget, bounds_ns: Sequence[int | None]
) -> list[int | None]:
    """The response bounds of the sources, highest priority first, where they become lower."""
    limits = list(bounds_ns)
    if component.busy:
        return limits
    loads = component.loads
    found = [load.wcet for load in loads]
    for number in range(MAX_ROUNDS + len(loads)):
        before = list(found)
        for index, load in enumerate(loads):
            limit_ns = limits[index]
            max_ns = load.deadline if limit_ns is None else limit_ns
            latest = _response(loads, index, hand, found, max_ns)
            if latest is None and limit_ns is None:
                return limits
            bound_ns = limit_ns if latest is None else latest.response_ns
            found[index] = max(found[index], bound_ns or 0)
            if number >= MAX_ROUNDS and found[index] > before[index]:
                if limit_ns is None:
                    return limits
                found[index] = limit_ns
        if found == before:
            return list(found)
    return limits


def job_in_hand(
    component: Component, hand: CarriedBudget, bounds_ns: Sequence[int], index: int
) -> CarriedJob | None:
    """The job that a bound of `bounds_in_hand` is the response of, if it is one of these bounds."""
    return _response(component.loads, index, hand, bounds_ns, bounds_ns[index])


def _before(load: Load, bound_ns: int, span_ns: int) -> Before:
    """Returns what jobs of a load with this response bound can have used before a window."""
    jobs, rest_ns = divmod(span_ns + bound_ns + load.jitter, load.period)
    return Before(load, jobs * load.wcet, load.period - rest_ns if rest_ns else 0)


def _starts(before: Sequence[Before], index: int) -> Iterator[Start]:
    """Every way in which a window of this level may begin, or one no better in place of many."""
    level, own = before[: index + 1], before[index]
    below_ns = sum(one.max_ns for one in before[index + 1 :])
    if sum(one.late_ns > 0 for one in level) <= MAX_CHOICES:
        for late in product(*((False, True) if one.late_ns else (False,) for one in level)):
            if not all(late):
                used_ns = sum(
                    one.max_ns if is_late else one.used_ns
                    for one, is_late in zip(level, late, strict=True)
                )
                coming = [
                    Coming(one.load, one.late_ns if is_late else -one.load.jitter)
                    for one, is_late in zip(level, late, strict=True)
                ]
                yield Start(below_ns + used_ns, tuple(coming[:-1]), coming[-1])
        return
    above = level[:-1]
    coming = [Coming(one.load, -one.load.jitter) for one in above]
    used_ns = below_ns + sum(one.max_ns for one in above)
    yield Start(used_ns + own.used_ns, tuple(coming), Coming(own.load, -own.load.jitter))
    if own.late_ns:
        smallest_ns = min(one.max_ns - one.used_ns for one in above)
        used_ns += own.max_ns - smallest_ns
        yield Start(used_ns, tuple(coming), Coming(own.load, own.late_ns))


def _response(
    loads: Sequence[Load], index: int, hand: CarriedBudget, bounds_ns: Sequence[int], max_ns: int
) -> CarriedJob | None:
    """The job of a load that waits longest if these bounds hold; None if longer than the last."""
    amid = index + 1 < len(loads) or loads[index].blocking > 0
    span_ns = hand.span_amid_ns if amid else hand.span_ns
    before = [
        _before(load, bound_ns, span_ns) for load, bound_ns in zip(loads, bounds_ns, strict=True)
    ]
    found: list[CarriedJob] = []
    for start in _starts(before, index):
        jobs = _jobs_after(start, hand, max_ns)
        if jobs is None:
            return None
        found += jobs
    return max(found, key=lambda job: job.response_ns)


def _jobs_after(start: Start, hand: CarriedBudget, max_ns: int) -> list[CarriedJob] | None:
    """The own load's jobs in a window that begins like this; None if one is not done in time."""
    own = start.own
    found: list[CarriedJob] = []
    end_ns = 1
    for jobs in range(MAX_JOBS):
        # What comes later than the work before it is done begins another window.
        release_ns = own.first_ns + (jobs - 1) * own.load.period
        work_ns = jobs * own.load.wcet + own.load.blocking
        latest_ns = max(0, release_ns if jobs else own.first_ns) + max_ns
        ended_ns = _end(start, hand, work_ns, end_ns, latest_ns)
        if ended_ns is None:
            return None
        end_ns = ended_ns
        if jobs:
            found.append(CarriedJob(start, jobs, max(0, release_ns), end_ns))
        if end_ns <= release_ns + own.load.period:
            return found
    return None


def _end(
    start: Start, hand: CarriedBudget, own_ns: int, from_ns: int, latest_ns: int
) -> int | None:
    """Returns when (ns) so much work, and what comes above until then, is done; None: too late."""
    time_ns = from_ns
    while time_ns <= latest_ns:
        work_ns = own_ns + sum(one.work_in(time_ns) for one in start.above)
        next_ns = hand.time_for(work_ns, start.used_ns)
        if next_ns <= time_ns:
            return time_ns
        time_ns = next_ns
    return None
