# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with flows, small enough for the naive model: two or three domains, short times."""

from __future__ import annotations

import random
from typing import Any

from tests.support.worlds import closed, domain, flow, system, task

from hyperperiod.model import Domain, Flow, System, Task, TaskKind

PARTITIONED = (
    "periodic+fp+none", "periodic+fp+lend", "periodic+fp+reclaim", "periodic+edf+none",
    "deferrable+fp+none", "deferrable+edf+none", "polling+fp+none", "sporadic+fp+none",
    "cbs+edf+none", "deferrable+fp+extra",
)  # fmt: skip
GLOBAL = ("deferrable+edf+none+global", "periodic+fp+none+global", "cbs+edf+none+global")
ORDERS = {"rm": "static", "fp": "static", "edf": "edf", "fifo": "fifo", "executor": "executor"}


def draw_task(rng: random.Random, name: str, scheduler: str, *, hop: bool) -> Task:
    more: dict[str, Any] = {"deadline": rng.randint(2, 40)}
    if scheduler == "fp":
        more["priority"] = rng.randint(0, 3)
    if hop:
        more |= {"kind": "event", "etf": rng.choice((1.0, 0.3))}
    else:
        more["offset"] = rng.randint(0, 9)
    return task(name, rng.randint(6, 40), rng.randint(1, 5), **more)


def draw_domain(rng: random.Random, name: str, **place: Any) -> Domain:
    length = rng.randint(2, 12)
    scheduler = rng.choice(list(ORDERS))
    inside = [
        draw_task(rng, f"t{number}", scheduler, hop=number == 0 or rng.random() < 0.5)
        for number in range(rng.randint(1, 3))
    ]
    given = (rng.randint(1, length), length)
    return domain(name, given, *inside, scheduler=scheduler, **place)


def draw_flow(rng: random.Random, name: str, hops: list[str]) -> Flow:
    return flow(
        name,
        rng.randint(5, 40),
        *hops,
        queue=rng.randint(1, 4),
        kind=rng.choice(("periodic", "sporadic")),
        offset=rng.randint(0, 9),
        jitter=rng.choice((0, 0, 7, 60)),
        burst=rng.choice((1, 1, 2, 3)),
    )


def draw_closed(rng: random.Random, name: str, hops: list[str]) -> Flow:
    return closed(
        name,
        rng.randint(1, 5),
        rng.choice((0, 0, 1, 7, 25)),
        *hops,
        draw=rng.choice(("constant", "uniform")),
        offset=rng.randint(0, 9),
    )


def draw_system(rng: random.Random, policy: str) -> System:
    """Two or three domains of up to three tasks; one or two flows through some of them."""
    pcpus = rng.choice((1, 2))
    pinned = pcpus > 1 and not policy.endswith("+global")
    domains = [
        draw_domain(rng, f"d{d}", **({"pcpu": d % pcpus} if pinned else {}))
        for d in range(rng.choice((2, 3)))
    ]
    hops = [
        f"{one.name}.{inside.name}"
        for one in domains
        for inside in one.tasks
        if inside.kind is TaskKind.EVENT
    ]
    flows = [
        rng.choice((draw_flow, draw_closed))(
            rng, f"f{f}", [rng.choice(hops) for _ in range(rng.randint(1, 4))]
        )
        for f in range(rng.choice((1, 2)))
    ]
    # Event tasks outside all flows release themselves, which is not what is tested here.
    used = {hop for one in flows for hop in one.hops}
    unused = [hop for hop in hops if hop not in used]
    flows += [draw_flow(rng, f"u{f}", [hop]) for f, hop in enumerate(unused)]
    return system(policy, *domains, pcpus=pcpus, flow=tuple(flows))
