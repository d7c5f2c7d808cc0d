# SPDX-License-Identifier: BSD-2-Clause
"""The guarantee, searched for counterexamples.

Whenever the host-level test of a policy holds for a server, its vcpu must get at least the
supply bound in every window in which it has work, whatever the others do. Random servers,
random awkward workloads, and the naive tick model as the scheduler.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest
from tests.model_naive.model import ORDINARY as NAIVE_ORDINARY
from tests.model_naive.model import Params, Setup
from tests.model_naive.model import Policy as NaivePolicy
from tests.model_naive.workload import Run

from hyperperiod._analysis import Shape
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import ORDINARY, Budget, Order, Policy, Scope, Slack
from hyperperiod.model.policy import legal_policies

TICKS = 160
POLICIES = legal_policies()


@dataclass
class World:
    """One random system: servers in ticks, and how work comes to each."""

    policy: Policy
    pcpus: int
    quantum: int | None
    servers: list[Server]
    styles: list[str]

    @property
    def group(self) -> Group:
        return Group(tuple(self.servers), self.pcpus, (), self.quantum is not None)

    def rule(self, index: int) -> Budget:
        """Ordinary servers lose the slices that others keep."""
        ordinary = self.servers[index].priority == ORDINARY
        return Budget.SLICE_ONCE if ordinary else self.policy.budget


def some_world(draw: random.Random, policy: Policy) -> World:
    pcpus = 1 if policy.scope is Scope.PARTITIONED else draw.randint(1, 3)
    quantum = draw.choice([None, None, 1, 2])
    grain = quantum or 1
    count = draw.randint(2, 4 if pcpus == 1 else 5)
    priorities = draw.choice(["period", "period", "equal", "any"])
    servers = []
    for order in range(count):
        period = draw.randint(2, 12)
        share = draw.uniform(0.1, 1.6 * pcpus / count)
        budget = draw.randint(1, max(1, min(period, int(period * share))))
        rank = {"period": period, "equal": 0, "any": draw.randint(0, 2)}[priorities]
        if policy.order is Order.FP_EDF and draw.random() < 0.5:
            rank = ORDINARY
        servers.append(Server(order, f"s{order}", period * grain, budget * grain, rank))
    styles = [draw.choice(["busy", "sparse", "late", "heavy"]) for _ in servers]
    return World(policy, pcpus, quantum, servers, styles)


def start(draw: random.Random, world: World) -> Run:
    policy, grain = world.policy, world.quantum or 1
    spare = (0, 0)
    if policy.slack is Slack.SPARE:
        period = draw.randint(3, 12)
        spare = (period * grain, draw.randint(1, period) * grain)
    setup = Setup(
        NaivePolicy(policy.budget.value, policy.order.value, policy.slack.value),
        world.pcpus,
        world.quantum,
        *spare,
    )
    extra = policy.slack is Slack.EXTRA
    params = [
        Params(s.period_ns, s.budget_ns, rank, extra and draw.random() < 0.5)
        for s in world.servers
        for rank in (min(s.priority, NAIVE_ORDINARY),)
    ]
    return Run(setup, params)


class Arrivals:
    """Work that comes all the time, now and then, just before refills, or in heaps."""

    def __init__(self, draw: random.Random, world: World, run: Run) -> None:
        self.draw, self.world, self.run = draw, world, run
        self.next = [draw.randint(0, 20) for _ in world.servers]

    def at(self, now: int) -> list[int]:
        return [self._units(index, now) for index in range(len(self.world.servers))]

    def _units(self, index: int, now: int) -> int:
        server, style = self.world.servers[index], self.world.styles[index]
        if style == "busy":
            return 5 if self.run.backlog[index] < 3 else 0
        if now < self.next[index]:
            return 0
        period, budget = server.period_ns, server.budget_ns
        self.next[index] = now + self.draw.randint(1, 2 * period)
        if style == "late":
            begin = (now // period + 1) * period
            self.next[index] = begin + self.draw.choice([period - budget, period - 1])
            return budget
        return self.draw.randint(1, 2 if style == "sparse" else 3 * budget)


def record(draw: random.Random, world: World) -> tuple[list[list[int]], list[list[int]]]:
    """Per vcpu and tick: had it work, and how long did it run up to there.

    Work has a number, 0 for none. It is another one where vcpus lose by running out of work and
    getting some at one instant.
    """
    run = start(draw, world)
    arrivals = Arrivals(draw, world, run)
    count = len(world.servers)
    working: list[list[int]] = [[] for _ in range(count)]
    served = [[0] for _ in range(count)]
    spell = [1] * count
    grants = run.start(arrivals.at(0))
    for now in range(TICKS):
        for index in range(count):
            working[index].append(spell[index] if run.backlog[index] else 0)
            ran = any(grant.run == index for grant in grants)
            served[index].append(served[index][-1] + ran)
        run.finish_tick()
        for index in run.arrive(arrivals.at(now + 1)):
            spell[index] += world.rule(index) is Budget.SLICE_ONCE
        grants = run.world.decide()
    return working, served


def broken_window(
    working: list[int], served: list[int], bound: list[int]
) -> tuple[int, int] | None:
    """A window with work throughout and less supply than the bound."""
    begin = 0
    while begin < TICKS:
        if not working[begin]:
            begin += 1
            continue
        end = begin
        while end < TICKS and working[end] == working[begin]:
            end += 1
        for first in range(begin, end):
            for last in range(first + 1, end + 1):
                if served[last] - served[first] < bound[last - first]:
                    return first, last
        begin = end
    return None


def check(draw: random.Random, policy: Policy, counts: Counter[str]) -> None:
    world = some_world(draw, policy)
    found = host_level(policy, world.group)
    if not any(verdict.holds for verdict in found.servers):
        return
    working, served = record(draw, world)
    for index, (server, verdict) in enumerate(zip(world.servers, found.servers, strict=True)):
        if not verdict.holds:
            continue
        counts[str(policy)] += 1
        late = world.rule(index) in (Budget.POLLING, Budget.SPORADIC, Budget.SLICE_ONCE)
        late |= policy.budget is Budget.SLICE and policy.order is Order.EDF
        shape = Shape.POLLING if late else Shape.GENERAL
        supply = Supply(shape, server.period_ns, server.budget_ns)
        bound = [supply.sbf(window) for window in range(TICKS + 1)]
        broken = broken_window(working[index], served[index], bound)
        assert broken is None, (world, index, broken)


def test_every_policy() -> None:
    draw = random.Random(60)
    counts: Counter[str] = Counter()
    for number in range(12 * len(POLICIES)):
        check(draw, POLICIES[number % len(POLICIES)], counts)
    assert sum(counts.values()) > 400


@pytest.mark.slow
def test_every_policy_at_length() -> None:
    draw = random.Random(61)
    counts: Counter[str] = Counter()
    for number in range(400 * len(POLICIES)):
        check(draw, POLICIES[number % len(POLICIES)], counts)
    assert sum(counts.values()) > 10_000


def test_harmonic_windows() -> None:
    """Periodic and deferrable servers: windows that begin with a period, or lie within one."""
    draw = random.Random(62)
    policies = [p for p in POLICIES if p.budget in (Budget.PERIODIC, Budget.DEFERRABLE)]
    checked = 0
    for number in range(10 * len(policies)):
        world = some_world(draw, policies[number % len(policies)])
        found = host_level(world.policy, world.group)
        working, served = record(draw, world)
        for index, verdict in enumerate(found.servers):
            if not verdict.holds:
                continue
            server = world.servers[index]
            supply = Supply(Shape.HARMONIC, server.period_ns, server.budget_ns)
            for first in range(TICKS):
                last = first
                within = first - first % server.period_ns + server.period_ns
                while last < TICKS and working[index][last]:
                    last += 1
                    if first % server.period_ns and last > within:
                        break
                    gained = served[index][last] - served[index][first]
                    assert gained >= supply.sbf(last - first), (world, index, first, last)
                    checked += 1
    assert checked > 10_000
