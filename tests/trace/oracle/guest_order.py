# SPDX-License-Identifier: BSD-2-Clause
"""A domain that schedules globally runs the first of its jobs, one on each vcpu with a pcpu.

Such a domain (its scheduler is gedf, grm, gdm or gfp) is in the header's `global_guests`. A task
offers its oldest unfinished job. At every moment

- a job runs on one vcpu at a time;
- no job waits for one that comes after it in the domain's order;
- while a job waits, all vcpus of the domain have work, and each that has a pcpu runs a job;
- while none waits, those vcpus have work that run a job, and no others.

Of jobs that are equal any may be first here. A host that is late (overheads) may be so here, too.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.trace.oracle.finding import PropertyVerdict, Watch, lateness_ns, skipped
from tests.trace.oracle.replay import by_instant

from hyperperiod.trace.format import NONE, Header, Kind, Records, TaskEntry, server_name, task_name
from hyperperiod.trace.records import Record

NEVER: Final = 1 << 64
"""What is sorted behind every deadline, period and priority."""


class _Job(NamedTuple):
    number: int
    deadline_ns: int


class _Guest:
    """A domain that schedules globally: its vcpus and tasks, by their ids."""

    def __init__(self, header: Header, domain: str, scheduler: str) -> None:
        self.scheduler = scheduler
        self.vcpus = [v for v, one in enumerate(header["vcpus"]) if one["domain"] == domain]
        self.tasks = [t for t, one in enumerate(header["tasks"]) if one["domain"] == domain]
        self.entries = header["tasks"]

    def rank(self, task: int, job: _Job) -> tuple[int, int]:
        """The smaller is first; equal under gedf are those with one deadline."""
        if self.scheduler == "gedf":
            return job.deadline_ns, 0
        return _static_key(self.scheduler, self.entries[task]), task


def _static_key(scheduler: str, task: TaskEntry) -> int:
    """A task's key under a guest's fixed priorities, lowest first; without one it is last."""
    key = {"grm": "period_ns", "gdm": "deadline_ns", "gfp": "priority"}[scheduler]
    found = task[key]  # type: ignore[literal-required]
    return NEVER if found is None else found


class _Check:
    def __init__(self, header: Header) -> None:
        self.header = header
        self.finding = PropertyVerdict()
        self.watch = Watch(self.finding, lateness_ns(header))
        self.guests = [
            _Guest(header, domain, scheduler)
            for domain, scheduler in header.get("global_guests", {}).items()
        ]
        self.jobs: list[deque[_Job]] = [deque() for _ in header["tasks"]]
        self.grants: list[tuple[int, int]] = [(NONE, NONE)] * header["pcpus"]
        """By pcpu: the vcpu and the task that run."""
        self.work: set[int] = set()

    def apply(self, record: Record) -> None:
        if record.kind == Kind.RELEASE:
            self.jobs[record.task].append(_Job(record.job, record.value or NEVER))
        elif record.kind == Kind.COMPLETE and self.jobs[record.task]:
            self.jobs[record.task].popleft()
        elif record.kind == Kind.RUN:
            self.grants[record.pcpu] = (record.vcpu, record.task)
        elif record.kind == Kind.IDLE:
            self.grants[record.pcpu] = (NONE, NONE)
        elif record.kind == Kind.ARRIVE:
            self.work.add(record.vcpu)
        elif record.kind == Kind.DEPART:
            self.work.discard(record.vcpu)

    def judge(self, now_ns: int, until_ns: int) -> None:
        """Everything of an instant has happened, and stays so until the next."""
        for guest in self.guests:
            for key, text in self._wrong(guest):
                self.watch.wrong(key, now_ns, until_ns, text)

    def _wrong(self, guest: _Guest) -> Iterator[tuple[object, str]]:
        granted = {v: t for v, t in self.grants if v in guest.vcpus}
        running = [t for t in granted.values() if t != NONE]
        for task in {t for t in running if running.count(t) > 1}:
            yield ("twice", task), f"{task_name(self.header, task)} runs on two vcpus at once"
        waiting = [t for t in guest.tasks if self.jobs[t] and t not in running]
        yield from self._out_of_order(guest, waiting, running)
        for vcpu in guest.vcpus:
            name = server_name(self.header, vcpu)
            runs = granted.get(vcpu, NONE) != NONE
            if waiting and vcpu not in self.work:
                yield ("asks", vcpu), f"{name} has no work while a job of its domain waits"
            elif waiting and vcpu in granted and not runs:
                yield ("idles", vcpu), f"{name} runs nothing while a job of its domain waits"
            elif not waiting and vcpu in self.work and not runs:
                yield ("works", vcpu), f"{name} has work but no job of its domain waits"

    def _out_of_order(
        self, guest: _Guest, waiting: list[int], running: list[int]
    ) -> Iterator[tuple[object, str]]:
        for late in running:
            for early in waiting:
                job = self.jobs[late]
                if not job or guest.rank(early, self.jobs[early][0]) >= guest.rank(late, job[0]):
                    continue
                who, other = task_name(self.header, early), task_name(self.header, late)
                text = f"{who} job {self.jobs[early][0].number} waits for {other}"
                yield ("order", early, late), f"{text} job {job[0].number}"


def check(header: Header, records: Records) -> PropertyVerdict:
    """Follow the jobs of such domains, and the vcpus that they are on."""
    if not header.get("global_guests"):
        return skipped("no domain schedules its jobs globally")
    checker = _Check(header)
    before_ns: int | None = None
    for time_ns, together in by_instant(records):
        if before_ns is not None:
            checker.judge(before_ns, time_ns)
        for record in together:
            checker.apply(record)
        before_ns = time_ns
    return checker.finding
