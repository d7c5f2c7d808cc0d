# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems in which one item passes 5 to 30 hops of one vcpu.

One or two servers stand beside it, whose jobs preempt it. And three such that were later than what
was once their bound.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.support.worlds import domain, system, task

from hyperperiod.model import Domain, Flow, Scope, System, parse_policy

POLICIES = (
    "ptps", "wcps", "crps", "periodic+edf", "ds", "deferrable+edf+none", "deferrable+edf+extra",
    "polling", "polling+edf", "sporadic", "sporadic+edf", "cbs", "cbs+fp", "rtds", "ertds",
    "slice+fp", "slice+edf", "slice+edf+extra", "psedf", "periodic+fp+none+global",
    "periodic+edf+none+global", "deferrable+fp+extra+global",
)  # fmt: skip
ONCE = 1_000_000
"""A period that no run reaches: the jobs beside the chain come once, where they are placed."""


def draw_chain(rng: random.Random, scale: int) -> tuple[Domain, list[str]]:
    """The domain that items stay in, and their way through it: short work on small budgets."""
    period = rng.randint(8, 60) * scale
    budget = rng.choice((1, 2, 2, 3, 5, period // (4 * scale))) * scale
    scheduler = rng.choice(("rm", "fp", "edf", "fifo", "fifo"))
    tasks = []
    for number in range(rng.randint(1, 2)):
        more: dict[str, Any] = {"priority": rng.randint(0, 2)} if scheduler == "fp" else {}
        wcet = rng.randint(1, min(budget, 3))
        tasks.append(task(f"t{number}", 4 * period, wcet, kind="event", deadline=ONCE, **more))
    hops = [f"chain.{rng.choice(tasks).name}" for _ in range(rng.randint(5, 30))]
    return domain("chain", (budget, period), *tasks, scheduler=scheduler), hops


def draw_beside(rng: random.Random, name: str, share: float) -> Domain:
    """A server that gets in the way, with jobs that come once each, the last of them for long."""
    period = rng.randint(6, 60)
    budget = max(1, int(share * period))
    count = rng.randint(1, 4)
    jobs = [
        task(
            f"j{number}",
            ONCE,
            rng.randint(1, 3 * period if number < count - 1 else 60 * period),
            offset=rng.randint(0, 4 * period),
        )
        for number in range(count)
    ]
    return domain(name, (budget, period), *jobs, scheduler="fifo")


def draw_system(rng: random.Random, policies: Sequence[str] = POLICIES) -> System:
    policy = rng.choice(policies)
    rules = parse_policy(policy)
    pcpus = rng.randint(1, 2) if rules.scope is Scope.GLOBAL else 1
    overheads = {}
    scale = 1
    if rng.random() < 0.4:
        # Costs are small beside the budgets, as on real machines.
        scale = 40
        keys = ("wake", "wake", "pick", "context_switch", "interrupt", "replenish")
        overheads = {key: rng.choice((0, 0, 0, 1, 2, 8)) for key in keys}
    chain, hops = draw_chain(rng, scale)
    assert chain.interface is not None
    rest = 1 - chain.interface.budget_ns / chain.interface.period_ns
    count = rng.choice((0, 1, 1, 2) if overheads else (1, 1, 1, 2)) + pcpus - 1
    beside = [
        draw_beside(rng, f"b{number}", min(1, pcpus * rng.choice((0.7, 0.9, 1, 1)) / count) * rest)
        for number in range(count)
    ]
    domains = [chain, *beside]
    if rng.random() < 0.5:
        domains.reverse()
    if rules.order != "edf":
        # Mostly the chain is last: that is where it waits longest.
        last = rng.random() < 0.8
        numbers = {one.name: place for place, one in enumerate(beside, 1)}
        numbers["chain"] = len(domains) if last else 0
        domains = [one.replace(priority=numbers[one.name]) for one in domains]
    source = {"kind": "periodic", "period": ONCE, "offset": rng.randint(0, 100 * scale)}
    flow = Flow.of({"name": "f", "source": source, "hops": hops, "deadline": ONCE, "queue": 1})
    sbf = rng.choice(("general", "servers"))
    return system(policy, *domains, pcpus=pcpus, flow=(flow,), overheads=overheads, sbf=sbf)


KNOWN = {
    # policy: interface of the chain, its hops, that of b, its jobs (offset, wcet), source, response
    "sporadic": ((2, 12), (1,) * 10, (9, 11), ((2, 9), (7, 27), (12, 27)), 5, 73),
    "cbs": (
        (2, 60),
        (1, 1, 2, 1, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2),
        (57, 59),
        ((46, 6), (51, 2850), (233, 57)),
        100,
        1008,
    ),
}
"""Chains that were later than the busy window of all their hops, which was once their bound."""


def known_chain(policy: str) -> System:
    """One of KNOWN as a system."""
    interface, wcets, other, jobs, source, _ = KNOWN[policy]
    sizes_of = sorted(set(wcets))
    hops = [task(f"h{w}", ONCE, w, kind="event", deadline=ONCE) for w in sizes_of]
    beside = [task(f"j{i}", ONCE, w, offset=o) for i, (o, w) in enumerate(jobs)]
    priorities = ({"priority": 1}, {"priority": 0}) if policy == "sporadic" else ({}, {})
    flow = Flow.of(
        {
            "name": "f",
            "source": {"kind": "periodic", "period": ONCE, "offset": source},
            "hops": [f"a.h{w}" for w in wcets],
            "deadline": ONCE,
        }
    )
    return system(
        policy,
        domain("a", interface, *hops, scheduler="fifo", **priorities[0]),
        domain("b", other, *beside, scheduler="fifo", **priorities[1]),
        flow=(flow,),
    )


def wakes_of_hops() -> System:
    """Ten hops, of which each wakes its domain anew: this was once forgotten."""
    hop = task("h", 1_000_000, 1_000, kind="event", deadline=10**9)
    source = {"kind": "periodic", "period": 20_000_000, "offset": 50_000}
    flow = Flow.of({"name": "f", "source": source, "hops": ["a.h"] * 10, "deadline": 1_992_000})
    return system(
        "ptps",
        domain("a", (50_000, 1_000_000), hop, scheduler="fifo"),
        flow=(flow,),
        overheads={"wake": 10_000},
    )
