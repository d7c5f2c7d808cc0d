# SPDX-License-Identifier: BSD-2-Clause
"""Cuts what threads do into jobs: from when a thread is woken up to when it sleeps again.

A thread that is preempted stays in its job, on whichever cpu it goes on. Its execution time is its
time on cpus, with the interrupts in it. A job whose beginning or end was not seen (the trace begins
or ends in it, events were lost, the thread ended) is counted as partial and not looked at; one of
which only the wake-up was not seen has an execution time and no release.

A job may be part of a burst: the thread sleeps in between, but not for long. How long that is
follows from the first sleeps of the thread: they are sorted, and where one is longest against the
one before, four times as long at least, the two kinds part; where there is no such place, a
quarter of the median still is inside. Each thread is read in both ways, by jobs and by bursts. A
burst counts if the long sleeps before and after it were seen.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

from hyperperiod.observe.events import Event, Events, Exit, Gap, Interrupt, Switch, Wake
from hyperperiod.observe.releases import WARM_UP, Releases

INTERRUPT = 0
"""Stands among those who wake for an interrupt: it is the number of Linux's idle threads."""
_CLASS_BITS = 7
"""Execution times are counted in classes of so many leading bits."""


class Job(NamedTuple):
    """One job: release (ns, None if it was not seen), execution time, end."""

    release_ns: int | None
    ran_ns: int
    end_ns: int


class Series:
    """The jobs or the bursts of one thread, as counts and sums; if asked for, each of them."""

    def __init__(self, *, keeps: bool) -> None:
        self._kept = array("q") if keeps else None
        self.count = self.released = 0
        self.ran_ns = 0
        self.cost_max_ns = 0
        self.response_max_ns = 0
        self.releases = Releases()
        self._classes: Counter[int] = Counter()

    def add(self, job: Job) -> None:
        """Takes one that was seen whole."""
        self.count += 1
        self.ran_ns += job.ran_ns
        self.cost_max_ns = max(self.cost_max_ns, job.ran_ns)
        step = max(0, job.ran_ns.bit_length() - _CLASS_BITS)
        self._classes[((job.ran_ns >> step) + 1 << step) - 1] += 1
        if job.release_ns is not None:
            self.released += 1
            self.response_max_ns = max(self.response_max_ns, job.end_ns - job.release_ns)
            self.releases.add(job.release_ns)
            if self._kept is not None:
                self._kept.extend((job.release_ns, job.ran_ns, job.end_ns))

    def each(self) -> Iterator[tuple[int, int, int]]:
        """Yields release, time and end (ns) of those that were kept: whose release was seen."""
        numbers = iter(self._kept or ())
        return zip(numbers, numbers, numbers, strict=True)

    def cost_quantile_ns(self, percent: int) -> int:
        """Returns a time (ns) that so many percent of the execution times do not exceed.

        It is the upper edge of a class, at most 1/64 above the time itself.
        """
        left = -(-self.count * percent // 100)
        for edge_ns in sorted(self._classes):
            left -= self._classes[edge_ns]
            if left <= 0:
                return min(edge_ns, self.cost_max_ns)
        return 0


class Thread:
    """One thread: its jobs, its bursts, where it ran and who woke it up."""

    def __init__(self, pid: int, name: str, *, keeps: bool) -> None:
        self.pid = pid
        self.names = [name]
        self.process: int | None = None
        self.priorities: Counter[int] = Counter()
        self.cpus: set[int] = set()
        self.wakers: Counter[int] = Counter()
        self.partial = 0
        self.jobs, self.bursts = Series(keeps=keeps), Series(keeps=keeps)
        self.jobs_in_burst_max = 0
        self._inside_ns: int | None = None
        self._first: list[Job] = []
        # The burst that is not over, and how many jobs it has so far: 0 if not all were seen.
        self._burst: Job | None = None
        self._in_burst = 0

    @property
    def name(self) -> str:
        """What the thread is called last: threads name themselves after they start."""
        return self.names[-1]

    @property
    def priority(self) -> int | None:
        """The one that the thread has most often: that of a mutex it holds is not its own."""
        return max(self.priorities, key=self.priorities.__getitem__, default=None)

    def add(self, job: Job) -> None:
        """Takes a job that was seen whole."""
        self.jobs.add(job)
        self._follow(job)

    def add_partial(self, end_ns: int) -> None:
        """Takes note of a job that was not seen whole; the burst that it is in does not count."""
        self.partial += 1
        self.forget(end_ns)

    def forget(self, time_ns: int) -> None:
        """Before that nothing is known: a burst begins if the thread then sleeps for long."""
        self._follow(Job(None, 0, time_ns))

    def _follow(self, job: Job) -> None:
        if self._inside_ns is not None:
            self._join(job)
            return
        self._first.append(job)
        if len(self._first) == WARM_UP:
            self.part()

    def part(self) -> None:
        """Says which sleeps are inside of bursts, from those seen so far, once."""
        if self._inside_ns is not None:
            return
        self._inside_ns = _longest_inside(self._first)
        for job in self._first:
            self._join(job)
        self._first.clear()

    def _join(self, job: Job) -> None:
        assert self._inside_ns is not None, "bursts are told apart"
        burst = self._burst
        if burst is None or job.release_ns is None:
            self._burst, self._in_burst = job, int(job.release_ns is not None)
        elif job.release_ns - burst.end_ns > self._inside_ns:
            if self._in_burst:
                self.bursts.add(burst)
                self.jobs_in_burst_max = max(self.jobs_in_burst_max, self._in_burst)
            self._burst, self._in_burst = job, 1
        else:
            self._burst = Job(burst.release_ns, burst.ran_ns + job.ran_ns, job.end_ns)
            self._in_burst += bool(self._in_burst)


def _longest_inside(jobs: list[Job]) -> int:
    """Returns up to how long (ns) a thread with these first jobs sleeps inside of a burst."""
    sleeps = sorted(
        max(1, b.release_ns - a.end_ns)
        for a, b in pairwise(jobs)
        if a.release_ns is not None and b.release_ns is not None
    )
    if not sleeps:
        return 0
    apart = max(pairwise(sleeps), key=lambda two: two[1] / two[0], default=(1, 1))
    if apart[1] >= 4 * apart[0]:
        return isqrt(apart[0] * apart[1])
    return sleeps[len(sleeps) // 2] // 4


class _Life:
    """Where a thread is in its job: unknown, asleep, woken, preempted or running, since when."""

    def __init__(self, thread: Thread, gap: Gap) -> None:
        self.thread = thread
        self.forget(gap)
        self.ends = False

    def forget(self, gap: Gap) -> None:
        """After a gap nothing is known until the thread is woken up or sleeps."""
        self.gap = gap
        self.thread.forget(gap.time_ns)
        self.state = "unknown"
        self.whole = False
        self.release_ns: int | None = None
        self.woken_ns: int | None = None
        self.since_ns = self.ran_ns = 0

    def wake(self, event: Wake) -> bool:
        """A job begins, or (False) the thread was awake.

        A thread may be woken while it is on its way to sleep, when it still counts as running. If
        it then sleeps, that is when its next job was released; if it was caught before it slept, it
        is put on a queue (final) while it runs.
        """
        if self.state == "running":
            self.woken_ns = None if event.final else event.time_ns
        if self.state in ("running", "preempted") or (self.state == "woken" and event.final):
            return False
        if self.state == "woken":
            # Nobody wakes one that waits for a cpu: it has run and slept meanwhile, unseen.
            self.thread.add_partial(event.time_ns)
        on_its_way = event.final and self.state == "asleep"
        self.release_ns = event.time_ns
        if on_its_way and self.woken_ns is not None:
            self.release_ns = self.woken_ns
        self.state, self.whole, self.ran_ns = "woken", True, 0
        return True

    def doubt(self, time_ns: int) -> None:
        """The thread went on or off a cpu unseen: nothing is known until it is woken or sleeps."""
        if self.state == "running":
            self.thread.add_partial(time_ns)
        self.state, self.whole = "unknown", False

    def run(self, time_ns: int) -> None:
        if self.state == "asleep":
            self.release_ns, self.whole, self.ran_ns = self.woken_ns, True, 0
        elif self.state not in ("woken", "preempted"):
            self.whole = False
        self.state, self.since_ns, self.woken_ns = "running", time_ns, None

    def stop(self, time_ns: int, *, sleeps: bool) -> None:
        if self.state == "running":
            self.ran_ns += time_ns - self.since_ns
        else:
            self.whole = False
        self.state = "asleep" if sleeps else "preempted"
        if sleeps and self.whole and not self.ends:
            self.thread.add(Job(self.release_ns, self.ran_ns, time_ns))
        elif sleeps:
            self.thread.add_partial(time_ns)


class CpuTime:
    """What one cpu spent on interrupts and softirqs, each without what interrupted it (ns)."""

    def __init__(self) -> None:
        self.spent_ns = {"irq": 0, "softirq": 0}
        # The handlers that run, the innermost last. None interrupts one of its own kind.
        self._open: list[str] = []
        self._since_ns = 0

    @property
    def is_interrupted(self) -> bool:
        """Whether a handler runs there."""
        return bool(self._open)

    def step(self, event: Interrupt) -> None:
        """A handler begins or ends; an end without a beginning is passed over."""
        if self._open:
            self.spent_ns[self._open[-1]] += event.time_ns - self._since_ns
        self._since_ns = event.time_ns
        if event.kind in self._open:
            del self._open[self._open.index(event.kind) :]
        if event.begins:
            self._open.append(event.kind)

    def forget(self) -> None:
        """Events were lost: nobody knows which handlers run."""
        self._open.clear()


class Machine:
    """All threads and cpus of a trace, followed event by event; with `keeps` jobs are kept."""

    def __init__(self, least: int, *, keeps: bool) -> None:
        self.least = least
        self._keeps = keeps
        self.cpus: defaultdict[int, CpuTime] = defaultdict(CpuTime)
        self.ended_early = 0
        self._lives: dict[int, _Life] = {}
        self._ended: list[Thread] = []
        # Who came last to each cpu.
        self._on: dict[int, int] = {}
        self._gap = Gap(0)

    def follow(self, trace: Events) -> list[Thread]:
        """Returns the threads of a trace, but those that ended with fewer jobs than `least`."""
        for event in trace.read():
            self._step(event, trace)
        for pid, life in self._lives.items():
            # The trace ends in this job.
            life.thread.partial += life.state not in ("unknown", "asleep")
            life.thread.process = trace.processes.get(pid)
        return [*self._ended, *(life.thread for life in self._lives.values())]

    def _step(self, event: Event, trace: Events) -> None:
        match event:
            case Switch():
                self._switch(event, trace)
            case Wake():
                self._wake(event)
            case Interrupt():
                self.cpus[event.cpu].step(event)
            case Exit():
                if event.pid in self._lives:
                    self._lives[event.pid].ends = True
            case Gap():
                self._gap = event
                self._on.clear()
                for cpu in self.cpus.values():
                    cpu.forget()

    def _switch(self, event: Switch, trace: Events) -> None:
        self.cpus[event.cpu]  # known from now on, also without interrupts
        self._doubt(event)
        pid = event.before[1]
        if pid:
            life = self._life(event.before)
            life.thread.cpus.add(event.cpu)
            life.stop(event.time_ns, sleeps=event.sleeps)
            if event.ends or (life.ends and event.sleeps):
                self._end(pid, trace)
        if event.after[1]:
            life = self._life(event.after)
            life.thread.cpus.add(event.cpu)
            life.run(event.time_ns)
        self._on[event.cpu] = event.after[1]

    def _doubt(self, event: Switch) -> None:
        """Whoever gives way is who came last, or else switches in between are not in the trace."""
        pid = event.before[1]
        last = self._on.get(event.cpu, pid)
        if last != pid:
            for one in {last, pid} & self._lives.keys():
                self._lives[one].doubt(event.time_ns)

    def _wake(self, event: Wake) -> None:
        if event.who[1]:
            cpu = self.cpus[event.cpu]
            if self._life(event.who).wake(event):
                waker = INTERRUPT if cpu.is_interrupted else event.waker
                if waker is not None:
                    self._lives[event.who[1]].thread.wakers[waker] += 1

    def _end(self, pid: int, trace: Events) -> None:
        """A thread is gone, and its number may be another's later."""
        thread = self._lives.pop(pid).thread
        thread.process = trace.processes.pop(pid, None)
        if thread.jobs.count < self.least:
            self.ended_early += 1
        else:
            self._ended.append(thread)

    def _life(self, who: tuple[str, int, int]) -> _Life:
        """Returns the thread of that number, made if it is new; it may have changed its name."""
        name, pid, priority = who
        life = self._lives.get(pid)
        if life is None:
            life = self._lives[pid] = _Life(Thread(pid, name, keeps=self._keeps), self._gap)
        elif life.gap is not self._gap:
            life.forget(self._gap)
        thread = life.thread
        thread.priorities[priority] += 1
        if name != thread.names[-1]:
            thread.names = [*(one for one in thread.names if one != name), name][-8:]
        return life
