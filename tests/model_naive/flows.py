# SPDX-License-Identifier: BSD-2-Clause
"""Domains with tasks and flows on the naive model, one tick at a time.

Written from the prose of the semantics: shares no code with the simulator. Each domain has one
vcpu. A task is a list of jobs; the domain's vcpu executes the first job of the task that is first
in the domain's order, and that is decided again in every tick. An item of a flow is a number that
moves from task to task; releases and execution times are handed in, so draws are somebody else's.

One tick t, in order: work of [t-1, t) is done, jobs complete and their items stand before the next
hop; vcpus depart; budgets are refilled; sources release items, jobs are released, vcpus arrive;
every pcpu gets its grant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .model import Grant, Params, Setup, World


class TaskSpec(NamedTuple):
    """`releases`: of a task that is no hop. `key`: smaller is first, under rm, dm, fp and executor.

    `works`: how long each of its jobs takes, if not the wcet.
    """

    domain: int
    wcet: int
    deadline: int
    key: int
    releases: Sequence[int] = ()
    works: Sequence[int] = ()


class DomainSpec(NamedTuple):
    """A domain with one vcpu; `order` is static, edf, fifo, executor, or "timers between".

    The last is an executor that looks at timers (key 0) between any two callbacks.
    """

    server: Params
    world: int
    order: str = "static"


class SourceSpec(NamedTuple):
    """When the items of a flow come, a burst at each release."""

    sporadic: bool
    period: int
    offset: int = 0
    jitter: int = 0
    burst: int = 1


class ClientsSpec(NamedTuple):
    """Clients that send an item each and wait for it; `think`: for how long (client, how often)."""

    clients: int
    offset: int
    think: Callable[[int, int], int]


class FlowSpec(NamedTuple):
    """`releases`: when each item comes, unless clients send them.

    `ring`: the most items of all flows at the first hop; 0: any number.
    """

    releases: Sequence[int]
    hops: Sequence[int]
    queue: int
    closed: ClientsSpec | None = None
    ring: int = 0


@dataclass
class Client:
    """What one is doing: it sends at an instant, or waits for an item of that number."""

    thought: int = 0
    sends: int | None = None
    waits_for: int | None = None


@dataclass
class Job:
    """`item`: (flow, hop, number), of a hop's job."""

    release: int
    left: int
    item: tuple[int, int, int] | None = None


@dataclass
class Outcome:
    """What happened: grants by tick, per task (release, finish), per flow item -> finish.

    `first`: by tick, the task and number of the job that is first in each domain, if any.
    `sent`: per flow, when each item of clients was.
    """

    grants: list[list[Grant]] = field(default_factory=list)
    first: list[list[tuple[int, int] | None]] = field(default_factory=list)
    jobs: list[list[tuple[int, int | None]]] = field(default_factory=list)
    finished: list[dict[int, int]] = field(default_factory=list)
    dropped: list[list[int]] = field(default_factory=list)
    sent: list[list[int]] = field(default_factory=list)


Work = Callable[[int, int, int], int]
"""How long item number i of a flow takes at a hop: (flow, hop, i)."""


class _Play:
    def __init__(
        self,
        setups: Sequence[Setup],
        domains: Sequence[DomainSpec],
        tasks: Sequence[TaskSpec],
        flows: Sequence[FlowSpec],
        work: Work | None,
    ) -> None:
        self.domains, self.tasks, self.flows = domains, tasks, flows
        self.work = work
        members = [
            [d for d, one in enumerate(domains) if one.world == w] for w in range(len(setups))
        ]
        self.members = members
        self.worlds = [
            World(setup, [domains[d].server for d in inside], 0)
            for setup, inside in zip(setups, members, strict=True)
        ]
        self.waiting: list[list[Job]] = [[] for _ in tasks]
        self.on: list[int | None] = [None] * len(domains)  # the task whose job is on the vcpu
        self.executed = [False] * len(domains)  # ... and it was executed since it is there
        self.ready: list[set[int]] = [set() for _ in domains]  # what an executor saw as it looked
        self.working = [False] * len(domains)
        self.out = Outcome(
            jobs=[[] for _ in tasks],
            finished=[{} for _ in flows],
            dropped=[[] for _ in flows],
            sent=[[] for _ in flows],
        )
        self.under_way = [0] * len(flows)
        self.clients = [
            [self.thinking(flow, client, Client(), flow.closed.offset) for client in range(count)]
            if flow.closed and (count := flow.closed.clients)
            else []
            for flow in flows
        ]

    def thinking(self, flow: FlowSpec, number: int, client: Client, now: int) -> Client:
        """The client begins to think."""
        assert flow.closed is not None
        client.sends = now + flow.closed.think(number, client.thought)
        client.thought += 1
        client.waits_for = None
        return client

    def key(self, task: int) -> tuple[int, bool, int]:
        """Smaller is first. Ties go to the job being executed under edf and fifo."""
        spec, job = self.tasks[task], self.waiting[task][0]
        order = self.domains[spec.domain].order
        if order not in ("edf", "fifo"):
            return spec.key, True, task
        executing = self.on[spec.domain] == task and self.executed[spec.domain]
        return (job.release + (spec.deadline if order == "edf" else 0), not executing, task)

    def place(self) -> None:
        """Each vcpu has the first job of its domain."""
        for d in range(len(self.domains)):
            offers = [
                t for t, spec in enumerate(self.tasks) if spec.domain == d and self.waiting[t]
            ]
            order = self.domains[d].order
            if order in ("executor", "timers between"):
                if self.on[d] is not None and self.executed[d]:
                    continue
                always = {t for t in offers if order != "executor" and self.tasks[t].key == 0}
                offers = [t for t in offers if t in self.ready[d] | always] or offers
            best = min(offers, key=self.key, default=None)
            if best != self.on[d]:
                self.executed[d] = False
            self.on[d] = best

    def tick(self, now: int) -> None:
        reached = self.elapse(now) if now else []
        for world in self.worlds:
            world.refill()
        for f, flow in enumerate(self.flows):
            for number, release in enumerate(flow.releases):
                if release == now:
                    reached += self.come(f, number, reached)
            reached += self.send(f, now)
        self.release(now, reached)
        self.place()
        for d in range(len(self.domains)):
            if self.on[d] is not None and not self.working[d]:
                self.working[d] = True
                w = self.domains[d].world
                self.worlds[w].arrive(self.members[w].index(d))
        self.out.grants.append([grant for world in self.worlds for grant in world.decide()])
        self.out.first.append([
            None if t is None else (t, len(self.out.jobs[t]) - len(self.waiting[t]))
            for t in self.on
        ])  # fmt: skip

    def elapse(self, now: int) -> list[tuple[int, int, int]]:
        """The tick that is over; returns the items that stand before another hop."""
        reached: list[tuple[int, int, int]] = []
        for w, world in enumerate(self.worlds):
            ran = [grant.run for grant in world.grants if grant.run is not None]
            world.elapse()
            for v in ran:
                reached += self.execute(self.members[w][v], now)
        self.place()
        for d in range(len(self.domains)):
            if self.on[d] is None and self.working[d]:
                self.working[d] = False
                w = self.domains[d].world
                self.worlds[w].depart(self.members[w].index(d))
        return reached

    def execute(self, d: int, now: int) -> list[tuple[int, int, int]]:
        task = self.on[d]
        assert task is not None, "a vcpu that was granted has a job"
        job = self.waiting[task][0]
        self.executed[d] = True
        if not self.ready[d]:
            tasks = enumerate(self.tasks)
            self.ready[d] = {t for t, one in tasks if one.domain == d and self.waiting[t]}
        self.ready[d].add(task)
        job.left -= 1
        if job.left > 0:
            return []
        self.waiting[task].pop(0)
        self.ready[d].remove(task)
        self.on[d] = None
        place = next(
            i for i, (at, end) in enumerate(self.out.jobs[task]) if end is None and at <= now
        )
        self.out.jobs[task][place] = (job.release, now)
        if job.item is None:
            return []
        flow, hop, number = job.item
        if hop + 1 < len(self.flows[flow].hops):
            return [(flow, hop + 1, number)]
        self.under_way[flow] -= 1
        self.out.finished[flow][number] = now
        for which, client in enumerate(self.clients[flow]):
            if client.waits_for == number:
                self.thinking(self.flows[flow], which, client, now)
        return []

    def send(self, flow: int, now: int) -> list[tuple[int, int, int]]:
        """The clients that are done with thinking."""
        sent = []
        for client in self.clients[flow]:
            if client.sends == now:
                client.sends, client.waits_for = None, len(self.out.sent[flow])
                sent += self.come(flow, client.waits_for, [])
                self.out.sent[flow].append(now)
        waiting = sum(client.waits_for is not None for client in self.clients[flow])
        assert not self.clients[flow] or waiting == self.under_way[flow]
        return sent

    def come(
        self, flow: int, number: int, reached: list[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]:
        """The item, if it is not dropped; `reached` have come before the first or another hop."""
        spec = self.flows[flow]
        first = spec.hops[0]
        there = len(self.waiting[first])
        there += sum(self.flows[f].hops[hop] == first for f, hop, _ in reached)
        if self.under_way[flow] == spec.queue or there == spec.ring > 0:
            self.out.dropped[flow].append(number)
            return []
        self.under_way[flow] += 1
        return [(flow, 0, number)]

    def release(self, now: int, reached: list[tuple[int, int, int]]) -> None:
        for t, spec in enumerate(self.tasks):
            for number, release in enumerate(spec.releases):
                if release == now:
                    self.add(t, Job(now, spec.works[number] if spec.works else spec.wcet))
        for item in sorted(reached, key=lambda one: (one[0], one[2])):
            flow, hop, number = item
            task = self.flows[flow].hops[hop]
            took = self.work(flow, hop, number) if self.work else self.tasks[task].wcet
            self.add(task, Job(now, took, item))

    def add(self, task: int, job: Job) -> None:
        self.waiting[task].append(job)
        self.out.jobs[task].append((job.release, None))


def play(
    setups: Sequence[Setup],
    domains: Sequence[DomainSpec],
    tasks: Sequence[TaskSpec],
    flows: Sequence[FlowSpec],
    ticks: int,
    work: Work | None = None,
) -> Outcome:
    """Ticks 0 to `ticks` - 1, and what completes at `ticks`."""
    game = _Play(setups, domains, tasks, flows, work)
    for now in range(ticks):
        game.tick(now)
    game.elapse(ticks)
    return game.out


_MASK = 2**64 - 1
_FLOWS = 0xFFFFFF


def draw_between(
    seed: int, domain: int, task: int, job: int, stream: int, low: int, high: int
) -> int:
    """The draw of the semantics, in Python's integers: stream 0 execution, 1 jitter, 2 gap."""

    def mix(x: int) -> int:
        for _ in range(2):
            x ^= x >> 32
            x = x * 0xD6E8FEB86659FD93 & _MASK
        return x ^ x >> 32

    who = domain << 40 | task << 8 | stream
    drawn = mix(mix(mix(seed + 0x9E3779B97F4A7C15 & _MASK) ^ who) + job & _MASK)
    return low + (drawn * (high - low + 1) >> 64)


def source_releases(seed: int, flow: int, source: SourceSpec, end: int) -> list[int]:
    """When the items of a flow come before `end`."""
    arrival, release, number = source.offset, 0, 0
    found: list[int] = []
    while True:
        late = draw_between(seed, _FLOWS, flow << 16, number, 1, 0, source.jitter)
        release = max(arrival + late, release)
        if release >= end:
            return found
        found += [release] * source.burst
        number += 1
        longest = 2 * source.period if source.sporadic else source.period
        arrival += draw_between(seed, _FLOWS, flow << 16, number, 2, source.period, longest)


def client_thinks(seed: int, flow: int, low: int, high: int) -> Callable[[int, int], int]:
    """For how long a client thinks, drawn from low to high."""

    def think(client: int, often: int) -> int:
        return draw_between(seed, _FLOWS, flow << 16, client << 32 | often, 2, low, high)

    return think


def item_work(seed: int, ranges: Mapping[tuple[int, int], tuple[int, int]]) -> Work:
    """Execution times of items from the range (least, most) of each (flow, hop)."""

    def work(flow: int, hop: int, number: int) -> int:
        low, high = ranges[flow, hop]
        return draw_between(seed, _FLOWS, flow << 16 | hop + 1, number, 0, low, high)

    return work
