# SPDX-License-Identifier: BSD-2-Clause
"""Domains whose jobs move between their vcpus, on the naive model, one tick at a time.

Written from the prose of the semantics ("Global guests"): shares no code with the simulator. A
world is a lock domain of the naive model; the vcpus of a domain may be in several of them. A task
is a list of releases with the same execution time.

Everything is decided again in every tick, from the jobs that are there and the grants of the
worlds. What is remembered from tick to tick is who executed what last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .model import Grant, Params, Setup, World


class VcpuSpec(NamedTuple):
    """A vcpu: its server, and the world that it is in."""

    server: Params
    world: int


class TaskSpec(NamedTuple):
    """`key`: smaller is first, unless the domain goes by deadlines."""

    domain: int
    wcet: int
    deadline: int
    key: int
    releases: Sequence[int]


class GuestSpec(NamedTuple):
    """The vcpus of a domain, by their numbers; jobs are ordered by deadlines, or by keys."""

    vcpus: Sequence[int]
    by_deadline: bool


class Job(NamedTuple):
    """A job: which one of which task, when it was released, what it has left."""

    task: int
    number: int
    release: int
    left: int


class Executed(NamedTuple):
    """What a pcpu does in a tick: the vcpu, the job on it (task, number), who pays."""

    vcpu: int | None
    job: tuple[int, int] | None
    pay: object
    also: object


class GlobalGuests:
    """Some domains and the worlds that their vcpus are in."""

    def __init__(
        self,
        setups: Sequence[Setup],
        vcpus: Sequence[VcpuSpec],
        guests: Sequence[GuestSpec],
        tasks: Sequence[TaskSpec],
    ) -> None:
        self.vcpus, self.guests, self.tasks = vcpus, guests, tasks
        self.members = [
            [v for v, one in enumerate(vcpus) if one.world == w] for w in range(len(setups))
        ]
        self.worlds = [
            World(setup, [vcpus[v].server for v in inside], 0)
            for setup, inside in zip(setups, self.members, strict=True)
        ]
        self.jobs: list[list[Job]] = [[] for _ in tasks]  # unfinished, oldest first
        self.finished: list[list[int]] = [[] for _ in tasks]
        self.work = [False] * len(vcpus)
        self.unpolled: dict[int, tuple[int, int]] = {}  # what a decision of this tick took away
        self.executes: dict[int, int] = {}  # in the tick before: the task of each vcpu
        self.remembers: dict[int, int] = {}  # what each vcpu executed last, while that is there
        self.ran_on: dict[int, int] = {}  # where the oldest job of a task was executed last

    # -- the hypervisor ------------------------------------------------------------------------

    def granted(self) -> set[int]:
        """The vcpus that have work and a pcpu."""
        running = {
            self.members[w][grant.run]
            for w, world in enumerate(self.worlds)
            for grant in world.grants
            if grant.run is not None
        }
        return {v for v in running if self.work[v]}

    def arrive(self, v: int) -> None:
        """A polling server loses nothing if it has work again at the end of an instant."""
        self.work[v] = True
        w = self.vcpus[v].world
        local = self.members[w].index(v)
        if v in self.unpolled:
            vcpu = self.worlds[w].vcpus[local]
            vcpu.remaining, vcpu.level = self.unpolled.pop(v)
        self.worlds[w].arrive(local)

    def depart(self, v: int) -> None:
        self.work[v] = False
        w = self.vcpus[v].world
        self.worlds[w].depart(self.members[w].index(v))

    def decide(self) -> None:
        for w, world in enumerate(self.worlds):
            before = {
                self.members[w][local]: (vcpu.remaining, vcpu.level)
                for local, vcpu in world.vcpus.items()
            }
            world.decide()
            for local, vcpu in world.vcpus.items():
                v = self.members[w][local]
                if (vcpu.remaining, vcpu.level) != before[v]:
                    self.unpolled.setdefault(v, before[v])

    # -- the guests ----------------------------------------------------------------------------

    def in_order(self, g: int) -> list[int]:
        """The tasks of a domain that have a job, the first in its order first."""

        def rank(task: int) -> tuple[int, bool, int]:
            spec, job = self.tasks[task], self.jobs[task][0]
            key = job.release + spec.deadline if self.guests[g].by_deadline else spec.key
            return key, task not in self.remembers.values(), task

        return sorted(
            (t for t, s in enumerate(self.tasks) if s.domain == g and self.jobs[t]), key=rank
        )

    def placed(self, g: int) -> dict[int, int]:
        """Which task's job is on which vcpu if the pcpus stay as they are."""
        free = sorted(set(self.guests[g].vcpus) & self.granted())
        first = self.in_order(g)[: len(free)]
        places = {v: t for v, t in self.executes.items() if v in free and t in first}
        for task in first:
            if task in places.values():
                continue
            left = [v for v in free if v not in places]
            last = self.ran_on.get(task)
            places[last if last in left else left[0]] = task
        return places

    def waits(self, g: int) -> bool:
        return len(self.in_order(g)) > len(self.placed(g))

    def idle(self, g: int) -> list[int]:
        """The vcpus of a domain that have no work, in order."""
        return [v for v in sorted(self.guests[g].vcpus) if not self.work[v]]

    def leave(self, among: set[int]) -> bool:
        """Where no job waits, vcpus without a job depart; did any?"""
        leaving = [
            v
            for g, guest in enumerate(self.guests)
            if not self.waits(g)
            for v in guest.vcpus
            if v in among and self.work[v] and v not in self.placed(g)
        ]
        for v in leaving:
            self.depart(v)
        return bool(leaving)

    def come(self) -> None:
        """Where jobs wait after releases, as many vcpus have work as there are jobs."""
        for g, guest in enumerate(self.guests):
            if not self.waits(g):
                continue
            wanted = min(len(self.in_order(g)), len(guest.vcpus))
            while len(guest.vcpus) - len(self.idle(g)) < wanted:
                self.arrive(self.idle(g)[0])

    def ask(self) -> bool:
        """Where a job still waits, one more vcpu of the domain asks for a pcpu; did any?"""
        asking = [
            self.idle(g)[0] for g in range(len(self.guests)) if self.waits(g) and self.idle(g)
        ]
        for v in asking:
            self.arrive(v)
        return bool(asking)

    # -- a tick --------------------------------------------------------------------------------

    def tick(self, now: int) -> list[list[Executed]]:
        if now:
            self.elapse(now)
        self.unpolled = {}
        for world in self.worlds:
            world.refill()
        for t, spec in enumerate(self.tasks):
            if now in spec.releases:
                number = list(spec.releases).index(now)
                self.jobs[t].append(Job(t, number, now, spec.wcet))
        self.come()
        self.decide()
        while self.ask() or self.leave(set(range(len(self.vcpus)))):
            self.decide()
        self.execute()
        return [
            [self.executed(w, grant) for grant in world.grants]
            for w, world in enumerate(self.worlds)
        ]

    def elapse(self, now: int) -> None:
        """The tick that is over: its work is done and charged, jobs finish, vcpus depart."""
        for world in self.worlds:
            world.elapse()
        for v, task in list(self.executes.items()):
            job = self.jobs[task][0]
            self.jobs[task][0] = job._replace(left=job.left - 1)
            if job.left == 1:
                self.jobs[task].pop(0)
                self.finished[task].append(now)
                del self.executes[v], self.remembers[v], self.ran_on[task]
        self.leave(self.granted())

    def execute(self) -> None:
        """From now on the jobs are executed where they are placed."""
        placed = [self.placed(g) for g in range(len(self.guests))]
        self.executes = {v: t for places in placed for v, t in places.items()}
        for v, task in self.executes.items():
            self.remembers = {u: t for u, t in self.remembers.items() if t != task and u != v}
            self.remembers[v] = task
            self.ran_on[task] = v

    def executed(self, w: int, grant: Grant) -> Executed:
        run, pay, also = grant.run, grant.pay, grant.also
        inside = self.members[w]

        def name(payer: object) -> object:
            return inside[payer] if isinstance(payer, int) else payer

        if run is None:
            return Executed(None, None, name(pay), name(also))
        task = self.executes[inside[run]]
        return Executed(inside[run], (task, self.jobs[task][0].number), name(pay), name(also))
