# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with flows that pass rows of hops on one vcpu.

A row has two to eight hops, now and then 30 in all, with priorities that go up and down along it
and tasks that are visited again. Sources are as fast as the budgets can bear, with jitter and
bursts, so that several items are in a row at once; other flows and other tasks share it. Jobs may
be shorter than their longest.
"""

from __future__ import annotations

import random
from fractions import Fraction

from tests.support.worlds import domain, system, task

from hyperperiod.model import Domain, Flow, System, Task

POLICIES = (
    "ptps", "ptps", "crps", "ds", "ds", "polling", "polling+edf", "periodic+edf",
    "deferrable+edf+none", "rtds",
)  # fmt: skip


def draw_inside(rng: random.Random, name: str, *, whole: bool) -> Domain:
    """A server, up to four tasks of hops in any order of priority, and perhaps one beside them.

    With the whole pcpu nothing but rows is left to bound, and little to spare in the bounds.
    """
    period = rng.choice((5, 8, 10, 12, 20))
    budget = period if whole else rng.randint(1, max(1, period // 2))
    scheduler = rng.choice(("fp", "fp", "fp", "fp", "edf", "fifo"))

    def level() -> dict[str, int]:
        return {"priority": rng.randint(0, 9)} if scheduler == "fp" else {}

    count = rng.randint(1, 4)
    inside: list[Task] = [
        task(
            f"t{number}",
            100,
            rng.randint(1, 3),
            kind="event",
            deadline=10_000,
            etf=rng.choice((1.0, 1.0, 0.5)),
            **level(),
        )
        for number in range(count)
    ]
    if rng.random() < 0.4:
        beside = task("beside", rng.randint(40, 120), rng.randint(1, 4), **level())
        inside.append(beside)
    return domain(name, (budget, period), *inside, scheduler=scheduler)


def draw_way(rng: random.Random, domains: list[Domain]) -> list[str]:
    """Rows of hops, mostly in one domain after the other."""
    rows = rng.choice((1, 2, 2, 3, 5))
    way: list[str] = []
    for _ in range(rows):
        one = rng.choice(domains)
        inside = [each.name for each in one.tasks if each.name != "beside"]
        way += [f"{one.name}.{rng.choice(inside)}" for _ in range(rng.choice((1, 2, 3, 3, 4, 8)))]
    return way[: 30 if rng.random() < 0.05 else 10]


def work_of(domains: list[Domain], ways: list[list[str]]) -> Fraction:
    """The shortest period at which one item per way fits the budgets of every domain."""
    shortest = Fraction(1)
    for one in domains:
        assert one.interface is not None
        wcet = {f"{one.name}.{each.name}": each.wcet_ns or 0 for each in one.tasks}
        asked = sum(wcet.get(hop, 0) for way in ways for hop in way)
        shortest = max(shortest, Fraction(asked * one.interface.period_ns, one.interface.budget_ns))
    return shortest


def draw_system(rng: random.Random) -> System:
    whole = rng.random() < 0.6
    count = 1 if whole else rng.choice((1, 2, 2))
    domains = [draw_inside(rng, f"d{number}", whole=whole) for number in range(count)]
    ways = [draw_way(rng, domains) for _ in range(rng.choice((1, 1, 2)))]
    shortest = work_of(domains, ways)
    flows = []
    for number, way in enumerate(ways):
        burst = rng.choice((1, 1, 1, 2))
        period = int(shortest * burst * Fraction(rng.randint(105, 300), 100)) + 1
        source = {
            "kind": rng.choice(("periodic", "periodic", "sporadic")),
            "period": period,
            "jitter": rng.choice((0, 0, rng.randint(0, period))),
            "burst": burst,
        }
        flows.append(
            Flow.of(
                {
                    "name": f"f{number}",
                    "source": source,
                    "hops": way,
                    "deadline": 10_000,
                    "queue": rng.choice((2, 4, 30)),
                }
            )
        )
    policy = rng.choice(POLICIES)
    return system(policy, *domains, flow=tuple(flows))
