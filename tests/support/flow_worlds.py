# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with flows: two or three domains, one or two flows through their tasks.

Some tasks are visited twice, with jitter, bursts, queues and tasks beside them, or items come from
clients that wait, under every policy whose servers have a supply bound.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from tests.support.worlds import domain, system, task

from hyperperiod.model import Domain, Flow, System, Task, TaskKind

POLICIES = (
    "ptps", "wcps", "crps", "ds", "polling", "sporadic", "periodic+edf", "periodic+edf+reclaim",
    "deferrable+edf+none", "deferrable+edf+extra", "cbs", "rtds", "ertds",
)  # fmt: skip
TIME_DRIVEN = ("ptps", "wcps", "crps")


def draw_task(rng: random.Random, name: str, scheduler: str, *, hop: bool) -> Task:
    period = rng.randint(10, 60)
    more: dict[str, Any] = {"kind": "event"} if hop else {"jitter": rng.choice((0, 0, 5))}
    if not hop:
        more["kind"] = rng.choice(("periodic", "sporadic"))
    if scheduler == "fp":
        more["priority"] = rng.randint(0, 2)
    more["deadline"] = rng.randint(period // 2, 3 * period)
    more["etf"] = rng.choice((1.0, 1.0, 0.5))
    return task(name, period, rng.randint(1, 4), **more)


def draw_domain(rng: random.Random, name: str, share: Fraction, **place: Any) -> Domain:
    """A server of about `share` of a pcpu, and one to three tasks, the first of them a hop."""
    period = rng.choice((4, 5, 6, 8, 10, 12))
    budget = min(period, max(1, int(share * period)))
    scheduler = rng.choice(("rm", "rm", "dm", "fp", "edf", "fifo"))
    inside = [
        draw_task(rng, f"t{number}", scheduler, hop=number == 0 or rng.random() < 0.4)
        for number in range(rng.randint(1, 3))
    ]
    extra = rng.random() < 0.3
    return domain(name, (budget, period), *inside, scheduler=scheduler, extra=extra, **place)


def draw_source(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.35:
        return {
            "kind": "closed",
            "clients": rng.choice((1, 1, 2, 3, 6)),
            "think": rng.choice((0, 1, 5, 30, 120)),
            "think_draw": rng.choice(("constant", "uniform")),
        }
    return {
        "kind": rng.choice(("periodic", "sporadic")),
        "period": rng.randint(12, 90),
        "jitter": rng.choice((0, 0, 5, 30)),
        "burst": rng.choice((1, 1, 1, 2)),
    }


def draw_flow(rng: random.Random, name: str, hops: list[str]) -> Flow:
    source = draw_source(rng)
    queue = {} if "clients" in source else {"queue": rng.choice((1, 2, 3, 8))}
    deadline = rng.randint(20, 300)
    return Flow.of({"name": name, "source": source, "hops": hops, "deadline": deadline, **queue})


def draw_system(rng: random.Random) -> System:
    policy = rng.choice(POLICIES)
    together = policy in ("rtds", "ertds")
    pcpus = rng.choice((1, 1, 2))
    count = rng.choice((2, 3))
    share = Fraction(rng.randint(50, 120) * (1 if together and pcpus == 1 else pcpus), 100 * count)
    domains = [
        draw_domain(
            rng,
            f"d{number}",
            min(share, Fraction(1)),
            **({} if together or pcpus == 1 else {"pcpu": number % pcpus}),
        )
        for number in range(count)
    ]
    hops = [
        f"{one.name}.{inside.name}"
        for one in domains
        for inside in one.tasks
        if inside.kind is TaskKind.EVENT
    ]
    flows = [
        draw_flow(rng, f"f{number}", [rng.choice(hops) for _ in range(rng.randint(1, 4))])
        for number in range(rng.choice((1, 1, 2)))
    ]
    sbf = "edp" if policy in TIME_DRIVEN and rng.random() < 0.5 else "general"
    sbf = rng.choice((sbf, "servers"))
    return system(policy, *domains, pcpus=pcpus, flow=tuple(flows), sbf=sbf)
