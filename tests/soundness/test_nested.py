# SPDX-License-Identifier: BSD-2-Clause
"""Domains in domains in domains: three and four levels, the outermost supply placed by an
adversary.

Every server is periodic: refilled at its own multiples, from any phase, and charged when it is
its turn, whether or not there is work below it. What the analysis promises a task at the bottom
holds under every placement and every phase that were tried; with explicit deadlines the outermost
server, alone on its pcpu, gets its budget at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.campaign import Trial, hunt, sizes

from hyperperiod.analysis import analyze
from hyperperiod.analysis.result import DomainResult
from hyperperiod.model import Domain, Interface, Sbf, Scheduler, System, Task, parse_policy, to_toml

# Servers run before the tasks come, so that the first jobs meet them in any state.
WARM_UP = 30
TICKS = 170
SCHEDULERS = (Scheduler.RM, Scheduler.DM, Scheduler.EDF)


def some_domain(draw: random.Random, name: str, levels: int, period: int, share: float) -> Domain:
    """A domain with this many levels, whose inside asks for less and less of it."""
    budget = max(1, min(period, round(period * share)))
    interface = Interface(period_ns=period, budget_ns=budget)
    scheduler = draw.choice(SCHEDULERS)
    inside: dict[str, Any]
    count = draw.choice([1, 1, 2])
    left = share * draw.uniform(0.5, 0.95) / count
    if levels == 1:
        tasks = []
        for index in range(count):
            own = draw.randint(2 * period, 6 * period)
            wcet = max(1, int(own * left * 0.7))
            deadline = draw.choice([own, draw.randint(max(wcet, own // 2), own)])
            tasks.append(Task(name=f"t{index}", period_ns=own, wcet_ns=wcet, deadline_ns=deadline))
        inside = {"tasks": tuple(tasks)}
    else:
        inside = {
            "domains": tuple(
                some_domain(
                    draw, f"{name}{index}", levels - 1, draw.randint(period, 3 * period), left
                )
                for index in range(count)
            )
        }
    return Domain(name=name, scheduler=scheduler, interface=interface, **inside)


@dataclass
class Node:
    """A server or a task at work: what is left, when it is due, what is inside."""

    domain: Domain | None
    task: Task | None
    phase: int
    left: int = 0
    due: int = 0
    jobs: list[list[int]] = field(default_factory=list)  # release, work left
    inside: list[Node] = field(default_factory=list)
    longest: int = 0

    @property
    def period(self) -> int:
        if self.task is not None:
            return self.task.period_ns or 1
        assert self.domain is not None
        assert self.domain.interface is not None
        return self.domain.interface.period_ns

    def renew(self, now: int) -> None:
        """Releases and refills of this instant, all the way down."""
        if now >= self.phase and (now - self.phase) % self.period == 0:
            if self.task is not None:
                self.due = now + (self.task.deadline_ns or 0)
                self.jobs.append([now, self.task.wcet_ns or 0])
            elif self.domain is not None and self.domain.interface is not None:
                self.left = self.domain.interface.budget_ns
                self.due = now + self.period
        for inner in self.inside:
            inner.renew(now)

    def wants(self) -> bool:
        return bool(self.jobs) if self.task is not None else self.left > 0

    def rank(self) -> tuple[int, ...]:
        """By the first job's deadline under edf; filled in by the domain around it."""
        if self.task is not None:
            return (self.jobs[0][0] + (self.task.deadline_ns or 0),)
        return (self.due,)

    def run(self, now: int) -> None:
        """One tick of supply, handed down to whoever is first."""
        if self.task is not None:
            first = self.jobs[0]
            first[1] -= 1
            if first[1] == 0:
                self.longest = max(self.longest, now + 1 - first[0])
                self.jobs.pop(0)
            return
        self.left -= 1
        ready = [inner for inner in self.inside if inner.wants()]
        if ready:
            self.first_of(ready).run(now)

    def first_of(self, ready: list[Node]) -> Node:
        assert self.domain is not None
        if self.domain.scheduler is Scheduler.EDF:
            return min(ready, key=Node.rank)
        by_deadline = self.domain.scheduler is Scheduler.DM

        def fixed(node: Node) -> int:
            given = node.task.deadline_ns if node.task is not None and by_deadline else None
            return given or node.period

        return min(ready, key=fixed)

    def at_the_end(self, now: int) -> None:
        for job in self.jobs:
            self.longest = max(self.longest, now - job[0])


def tree(draw: random.Random, domain: Domain, begin: int | None, *, outermost: bool) -> Node:
    """The outermost server refills at 0, the tasks come together at `begin` or any time later."""
    node = Node(domain, None, 0 if outermost else draw.choice([0, draw.randint(0, 20)]))
    node.inside = [
        Node(None, task, WARM_UP + draw.randint(0, 30) if begin is None else begin)
        for task in domain.tasks
    ] + [tree(draw, inner, begin, outermost=False) for inner in domain.domains]
    return node


def leaves(node: Node) -> Iterator[tuple[str, Node]]:
    for inner in node.inside:
        if inner.task is not None and node.domain is not None:
            yield f"{node.domain.name}.{inner.task.name}", inner
        yield from leaves(inner)


def one_run(draw: random.Random, outer: Domain, *, at_once: bool) -> dict[str, int]:
    """The longest response of each task under one placement and one choice of phases."""
    assert outer.interface is not None
    period, budget = outer.interface.period_ns, outer.interface.budget_ns
    turn = WARM_UP // period + draw.randint(1, 4)
    begin = draw.choice([None, turn * period + budget, turn * period + draw.randint(0, period)])
    root = tree(draw, outer, begin, outermost=True)
    worst = draw.random() < 0.5
    placed: frozenset[int] = frozenset()
    for now in range(TICKS):
        number, slot = divmod(now, period)
        if slot == 0:
            if at_once or (worst and number <= turn):
                placed = frozenset(range(budget))
            elif worst:
                placed = frozenset(range(period - budget, period))
            else:
                placed = frozenset(draw.sample(range(period), budget))
        root.renew(now)
        if slot in placed:
            root.run(now)
    for _, leaf in leaves(root):
        leaf.at_the_end(TICKS)
    return {name: leaf.longest for name, leaf in leaves(root)}


def promised(entry: DomainResult) -> dict[str, int]:
    """The bounds of all tasks in a domain that are called schedulable."""
    bounds = {
        f"{entry.name}.{task.name}": task.response_bound_ns
        for task in entry.tasks
        if task.schedulable and task.response_bound_ns is not None
    }
    for inner in entry.domains:
        bounds |= promised(inner)
    return bounds


def trial(draw: random.Random, levels: int) -> Trial:
    share = draw.uniform(0.7, 1)
    outer = some_domain(draw, "d", levels, draw.randint(2, 5), share)
    sbf = draw.choice([Sbf.GENERAL, Sbf.EDP])
    system = System(name="s", policy=parse_policy("ptps"), sbf=sbf, domains=(outer,))
    bounds = promised(analyze(system).domains[0])
    if not bounds:
        return Trial(accepted=False)
    for _ in range(6):
        for name, longest in one_run(draw, outer, at_once=sbf is Sbf.EDP).items():
            if name in bounds and longest > bounds[name]:
                text = to_toml(system)
                return Trial(True, f"{name} took {longest} > {bounds[name]} in {text}")
    return Trial(accepted=True)


@sizes(50)
def test_three_levels(systems: int) -> None:
    hunt("three levels", systems, lambda draw: trial(draw, 3), least_accepted=0.05)


@sizes(50)
def test_four_levels(systems: int) -> None:
    hunt("four levels", systems, lambda draw: trial(draw, 4), least_accepted=0.02)
