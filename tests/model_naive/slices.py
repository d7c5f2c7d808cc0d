# SPDX-License-Identifier: BSD-2-Clause
"""SEDF, SEDF' and PSEDF on one pcpu, one tick at a time.

This is the oracle of everything that is said about these three policies. It follows the
description of Xen's scheduler (the wake path of Xen 3.4 and 4.4) and the two changes of the PSEDF
paper, shares no code with anything else, and is meant to be checked by reading.

A vcpu has a slice of time in each of its periods, a deadline (the end of the current period, which
begins one period earlier) and what it has used since. It is in one of three places: in the run
queue, in the wait queue (its period has not begun), or in neither (it is blocked).

- A vcpu that has used its slice moves to its next period and waits for it.
- One that blocks keeps deadline and use. When it wakes
  - before its period has begun, it waits for that;
  - after its deadline (long unblocking), its next period begins now;
  - in between (short unblocking), under `once` its slice is lost and it waits for the next
    period; under `keep` (SEDF') it goes on with what is left; under `classes` (PSEDF) so do the
    vcpus with a priority, and the slices of all others are lost.
- The first wake of all counts as short unblocking with a deadline one slice away.
- Order: the earliest deadline, among equals who came first; under `fp` the vcpus with a priority
  come before all others, by priority.
- Extra time: a gap of at least a quantum in which somebody waits for a period goes, a quantum at
  a time, to vcpus that asked for it: first to those that lost time to short unblocking, then by
  weight. In Xen those that lost time need not ask (`claims`).

A period ends at its deadline (`sharp`). Xen does that only at the next call of its scheduler, so
that a vcpu that runs past its deadline uses up the old slice first; `sharp=False` does the same.

What Xen's source has but never sets or compiles is left out: bursts (doubled periods), the
latency parameter, the other variants of unblocking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Wakes = Literal["once", "keep", "classes"]
Order = Literal["edf", "fp"]
NEVER = 1 << 60


class Slice(NamedTuple):
    """A vcpu: its slice of each period; a priority if it is a real-time one (smaller is higher)."""

    period: int
    slice: int
    priority: int | None = None
    extra: bool = False
    weight: int = 0


def weighted(vcpus: Sequence[Slice], period: int, safety: int) -> list[Slice]:
    """Vcpus with a weight and no period share what the others leave of a common period."""
    left = period - safety
    for vcpu in vcpus:
        if not vcpu.weight:
            left -= period * vcpu.slice // vcpu.period
    total = sum(vcpu.weight for vcpu in vcpus)
    return [
        vcpu._replace(period=period, slice=max(0, vcpu.weight * left // total))
        if vcpu.weight and not vcpu.extra
        else vcpu
        for vcpu in vcpus
    ]


class Vcpu:
    """A vcpu and where it stands."""

    def __init__(self, params: Slice) -> None:
        self.params = params
        self.deadline = 0
        self.used = 0
        self.work = False
        self.woken = False  # it has been woken at least once
        self.blocked = False  # it has blocked at least once
        self.queued = 0  # the how-manieth to enter the run queue
        self.lost = 0  # time lost to short unblocking, and its score
        self.score = 0  # of extra time by weight

    @property
    def begin(self) -> int:
        return self.deadline - self.params.period


class World:
    """The vcpus of one pcpu. Per tick: `elapse`, then `block`, then `wake`, then `decide`."""

    def __init__(
        self,
        vcpus: Sequence[Slice],
        wakes: Wakes = "once",
        order: Order = "edf",
        *,
        sharp: bool = True,
        quantum: int = 1,
        booted: bool = False,
        claims: bool = False,
    ) -> None:
        self.vcpus = [Vcpu(params) for params in vcpus]
        for vcpu in self.vcpus:
            vcpu.woken = vcpu.blocked = booted  # the first wake of all is over
        self.claims = claims
        self.wakes = wakes
        self.order = order
        self.sharp = sharp
        self.quantum = quantum
        self.now = 0
        self.runs: int | None = None
        self.in_extra = False
        self.expires = 0
        self.run_queue: list[int] = []
        self.wait_queue: list[int] = []
        self.lost_queue: list[int] = []
        self.extra_queue: list[int] = []
        self.entries = 0

    # -- what the host tells it ----------------------------------------------------------------

    def elapse(self) -> None:
        """One tick passes; who runs in a period of its own uses it."""
        self.now += 1
        if self.runs is not None and not self.in_extra:
            self.vcpus[self.runs].used += 1

    def block(self, v: int) -> None:
        """The running vcpu has no work any more."""
        vcpu = self.vcpus[v]
        assert vcpu.work
        vcpu.work = False
        vcpu.blocked = True
        if v in self.run_queue and vcpu.used >= vcpu.params.slice:
            self._next_period(vcpu)
        if self.runs == v:
            self._finish_extra()
            self.runs = None
            self.expires = self.now
        for queue in (self.run_queue, self.wait_queue, self.lost_queue, self.extra_queue):
            if v in queue:
                queue.remove(v)

    def wake(self, v: int) -> None:
        """A vcpu that had no work has some now."""
        vcpu = self.vcpus[v]
        assert not vcpu.work
        vcpu.work = True
        if not vcpu.woken:
            vcpu.woken = True
            vcpu.deadline = self.now + vcpu.params.slice
        if self.now < vcpu.begin:
            self._wait(v)
            if vcpu.lost:
                self.lost_queue.append(v)
        elif self.now >= vcpu.deadline:
            vcpu.deadline = self.now + vcpu.params.period
            vcpu.used = 0
            self._enter(v)
        elif self.keeps(vcpu) and vcpu.params.slice:
            self._enter(v)
        else:
            self._unblock_short(v)
        if self.runs is None or vcpu.begin < self.expires or self._outbids(v):
            self.expires = self.now

    def _outbids(self, v: int) -> bool:
        """Whether its claim comes before what the turn of extra time was given for."""
        if not self.in_extra or self.runs is None or v not in self.lost_queue:
            return False
        by_score = self.runs not in self.lost_queue
        return by_score or self.vcpus[v].lost < self.vcpus[self.runs].lost

    def _unblock_short(self, v: int) -> None:
        """No more of this period; what is lost gives a claim on extra time."""
        vcpu = self.vcpus[v]
        lost = vcpu.params.slice - vcpu.used
        vcpu.deadline += vcpu.params.period
        vcpu.used = 0
        self._wait(v)
        asks = vcpu.params.extra or self.claims
        if asks and vcpu.blocked and lost > 0:
            vcpu.lost = (vcpu.params.period << 10) // lost
            self.lost_queue.append(v)

    # -- the decision --------------------------------------------------------------------------

    def decide(self) -> int | None:
        """Who runs in the tick that begins now."""
        if self.now >= self.expires:
            self._schedule()
        return self.runs

    def _schedule(self) -> None:
        self._stop()
        self._begin_periods()
        self._repair()
        head = self._head()
        if head is not None:
            vcpu = self.vcpus[head]
            self.runs, self.in_extra = head, False
            self.expires = min(self.now + vcpu.params.slice - vcpu.used, self._first_begin())
            if self.sharp:
                self.expires = min(self.expires, vcpu.deadline)
            return
        self._give_extra()

    def _stop(self) -> None:
        """The one that ran has used its slice, or stays in the run queue; or was on extra time."""
        self._finish_extra()
        v, self.runs = self.runs, None
        if v is None or v not in self.run_queue:
            return
        vcpu = self.vcpus[v]
        if vcpu.used >= vcpu.params.slice:
            self.run_queue.remove(v)
            self._next_period(vcpu)
            self._wait(v)

    def keeps(self, vcpu: Vcpu) -> bool:
        real_time = vcpu.params.priority is not None
        return self.wakes == "keep" or (self.wakes == "classes" and real_time)

    def _next_period(self, vcpu: Vcpu) -> None:
        vcpu.used -= vcpu.params.slice
        vcpu.deadline += vcpu.params.period

    def _begin_periods(self) -> None:
        """Whose period has begun leaves the wait queue, in the order of their beginnings."""
        due = [v for v in self.wait_queue if self.vcpus[v].begin <= self.now]
        for v in sorted(due, key=lambda v: self.vcpus[v].begin):
            self.wait_queue.remove(v)
            self._enter(v)

    def _repair(self) -> None:
        """A period that has ended is over: the next one has a fresh slice."""
        for v in sorted(self.run_queue, key=self._rank):
            vcpu = self.vcpus[v]
            late = vcpu.deadline <= self.now if self.sharp else vcpu.deadline < self.now
            if not late and vcpu.params.slice:
                if self.sharp:
                    continue
                break
            vcpu.deadline += vcpu.params.period
            while vcpu.deadline < self.now or (self.sharp and vcpu.deadline == self.now):
                vcpu.deadline += vcpu.params.period
            vcpu.used = 0
            self.run_queue.remove(v)
            if vcpu.begin > self.now or not vcpu.params.slice:
                self._wait(v)
            else:
                self._enter(v)

    def _head(self) -> int | None:
        return min(self.run_queue, key=self._rank) if self.run_queue else None

    def _rank(self, v: int) -> tuple[int, int, int]:
        """Smaller is first: real-time vcpus by priority, then deadlines, then who came first."""
        vcpu = self.vcpus[v]
        priority = vcpu.params.priority if self.order == "fp" else None
        return NEVER if priority is None else priority, vcpu.deadline, vcpu.queued

    def _first_begin(self) -> int:
        return min((self.vcpus[v].begin for v in self.wait_queue), default=NEVER)

    # -- queues --------------------------------------------------------------------------------

    def _enter(self, v: int) -> None:
        self.entries += 1
        self.vcpus[v].queued = self.entries
        self.run_queue.append(v)

    def _wait(self, v: int) -> None:
        self.wait_queue.append(v)
        if self.vcpus[v].params.extra and v not in self.extra_queue:
            self.extra_queue.append(v)

    # -- extra time ----------------------------------------------------------------------------

    def _give_extra(self) -> None:
        """A gap goes to who lost time, then by score; nobody waits: idle."""
        gap = self._first_begin() - self.now
        self.expires = self._first_begin()
        if not self.wait_queue or gap < self.quantum:
            return
        if self.lost_queue:
            self.runs = min(self.lost_queue, key=lambda v: self.vcpus[v].lost)
        elif self.extra_queue:
            self.runs = min(self.extra_queue, key=lambda v: self.vcpus[v].score)
        if self.runs is not None:
            self.in_extra = True
            self.expires = self.now + self.quantum

    def _finish_extra(self) -> None:
        """A quantum that ended: a claim is settled by one; a turn by weight raises the score."""
        if not self.in_extra or self.runs is None:
            return
        self.in_extra = False
        v = self.runs
        vcpu = self.vcpus[v]
        if v in self.lost_queue:
            self.lost_queue.remove(v)
            vcpu.lost = 0
            return
        if v in self.extra_queue:
            before = vcpu.score
            vcpu.score = self._turn_costs(vcpu.params)
            if not vcpu.work:
                return
            self.extra_queue.remove(v)
            for other in self.extra_queue:
                self.vcpus[other].score -= before
            self.extra_queue.append(v)

    def _turn_costs(self, params: Slice) -> int:
        if params.weight:
            return (1 << 17) // params.weight
        return (params.period << 10) // max(1, params.slice)
