# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems of domains whose vcpus differ: what each is given, and where it is.

All tasks are pinned unless `moving` asks for others. Each seed is one system, the same everywhere.
"""

from __future__ import annotations

import random
from typing import Any

from tests.support.rules import SCHEDULERS

from hyperperiod.model import PRESETS, InputError, Policy, Scheduler, Scope, Slack, System

GLOBAL = [one for one in Scheduler if one.is_global]
PERIODS_MS = (4, 5, 8, 10, 16, 20, 40)


def drawn(seed: int, policy: Policy | None = None, *, moving: bool = False) -> System:
    """The system of that seed, under a policy that is drawn, too, unless it is given."""
    draw = random.Random(seed)
    chosen = policy or draw.choice(list(PRESETS.values()))
    while True:
        try:
            return System.of(_system(draw, chosen, moving=moving))
        except InputError:
            continue  # a policy for one pcpu, a vcpu without demand or interface


def _system(draw: random.Random, policy: Policy, *, moving: bool) -> dict[str, Any]:
    pcpus = draw.randint(1, 4)
    pinned = policy.scope is Scope.PARTITIONED and pcpus > 1
    numbered = draw.random() < 0.5
    return {
        "name": "drawn",
        "policy": policy,
        "pcpus": pcpus,
        "domain": [
            _domain(draw, f"d{number}", pcpus if pinned else 0, policy, numbered, moving=moving)
            for number in range(draw.randint(1, 3))
        ],
    }


def _domain(
    draw: random.Random, name: str, pcpus: int, policy: Policy, numbered: bool, *, moving: bool
) -> dict[str, Any]:
    """`pcpus` is 0 where nothing is pinned."""
    vcpus = draw.randint(1, 4)
    scheduler = draw.choice([*SCHEDULERS, *GLOBAL] if moving else SCHEDULERS)
    domain: dict[str, Any] = {"name": name, "scheduler": scheduler}
    form = draw.choice(["tables", "tables", "tables", "pcpus", "plain"])
    if form == "tables":
        domain["vcpu"] = [_vcpu(draw, pcpus, policy, numbered) for _ in range(vcpus)]
        if draw.random() < 0.3:
            domain |= _interface(draw)
        if pcpus:
            domain["pcpu"] = draw.randrange(pcpus)
    else:
        domain |= {"vcpus": vcpus, **_interface(draw)}
        if pcpus and form == "pcpus":
            domain["pcpus"] = [draw.randrange(pcpus) for _ in range(vcpus)]
        elif pcpus:
            domain["pcpu"] = draw.randrange(pcpus)
    if numbered:
        domain["priority"] = draw.randrange(4)
    domain["task"] = [
        _task(draw, f"t{vcpu}{number}", scheduler, vcpu, moving=moving)
        for vcpu in range(vcpus)
        for number in range(draw.randint(0 if form == "tables" else 1, 2))
    ]
    return domain


def _vcpu(draw: random.Random, pcpus: int, policy: Policy, numbered: bool) -> dict[str, Any]:
    vcpu: dict[str, Any] = {}
    if pcpus and draw.random() < 0.8:
        vcpu["pcpu"] = draw.randrange(pcpus)
    kind = draw.random()
    if kind < 0.7:
        vcpu |= _interface(draw)
    elif kind < 0.8:
        vcpu["best_effort"] = True
    elif kind < 0.9:
        vcpu["interface_period"] = f"{draw.choice(PERIODS_MS)}ms"
    if kind < 0.7 and policy.slack is Slack.EXTRA and draw.random() < 0.5:
        vcpu["extra"] = True
    if kind < 0.7 and numbered and draw.random() < 0.5:
        vcpu["priority"] = draw.randrange(4)
    return vcpu


def _interface(draw: random.Random) -> dict[str, Any]:
    period = draw.choice(PERIODS_MS)
    budget = draw.randint(1, max(1, period // 2))
    return {"interface": {"period": f"{period}ms", "budget": f"{budget}ms"}}


def _task(
    draw: random.Random, name: str, scheduler: Scheduler, vcpu: int, *, moving: bool
) -> dict[str, Any]:
    period = draw.choice(PERIODS_MS) * draw.randint(1, 5)
    task: dict[str, Any] = {
        "name": name,
        "kind": draw.choice(["periodic", "periodic", "sporadic"]),
        "period": f"{period}ms",
        "wcet": f"{draw.randint(1, 100 * period)}us",
    }
    if draw.random() < 0.3:
        task["deadline"] = f"{draw.randint(max(1, period // 2), period)}ms"
    if not scheduler.is_global and not (moving and draw.random() < 0.3):
        task["vcpu"] = vcpu
    if scheduler.takes_priorities:
        task["priority"] = draw.randrange(4)
    return task
