# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems for runs of every kind, and how long each is to run.

Any system, now and then with thefts; items that pass several tasks; vcpus that move from pcpu to
pcpu; domains whose jobs move between their vcpus.
"""

from __future__ import annotations

import random

from tests.support import small_flows
from tests.support.random_systems import random_system, step_of
from tests.support.rules import GLOBAL, LOCAL
from tests.support.vcpus_drawn import drawn
from tests.support.worlds import domain, server, task
from tests.support.worlds import system as small_system

from hyperperiod.analysis import resolve
from hyperperiod.model import Change, InputError, Interface, Policy, Scope, Stolen, System, vcpus_of
from hyperperiod.model.policy import legal_policies

MS = 1_000_000
HORIZON_NS = 200 * MS
PARTITIONED = [policy for policy in legal_policies() if policy.scope is Scope.PARTITIONED]


def moving(seed: int, policy: Policy) -> System:
    """A drawn system whose vcpus go from pcpu to pcpu, some with another interface."""
    draw = random.Random(f"moves {seed}")
    system = next(filter(None, (resolved(seed * 1000 + n, policy) for n in range(1000))))
    changes: dict[tuple[int, str], Change] = {}
    for _ in range(draw.randint(1, 12)):
        vcpu = draw.choice(vcpus_of(system))
        at_ns = draw.choice((draw.randrange(HORIZON_NS), draw.randrange(40) * 4 * MS))
        new = draw.random() < 0.3 and not vcpu.best_effort
        changes[at_ns, vcpu.name] = Change(
            at_ns=at_ns,
            domain=vcpu.name,
            pcpu=draw.randrange(system.pcpus),
            interface=Interface(period_ns=8 * MS, budget_ns=draw.randint(1, 4) * MS)
            if new
            else None,
        )
    fields = vars(system) | {"changes": tuple(changes.values())}
    return System.of(fields)


def resolved(number: int, policy: Policy) -> System | None:
    """A drawn system on several pcpus with its interfaces, if all of its work can be served."""
    system = drawn(number, policy)
    try:
        return resolve(system) if system.pcpus > 1 else None
    except InputError:
        return None


def drawn_system(seed: int, draw: random.Random) -> tuple[System, int]:
    """Any system, now and then with thefts, and how long it is to run."""
    system = random_system(seed)
    step_ns = step_of(system)
    period_ns = draw.randint(5, 30) * step_ns
    thefts = (Stolen(period_ns=period_ns, duration_ns=draw.randint(1, 4) * step_ns),)
    return system.replace(stolen=thefts if draw.random() < 0.3 else ()), 60 * step_ns


def with_flows(seed: int, draw: random.Random) -> tuple[System, int]:
    """Items that pass several tasks."""
    policies = small_flows.PARTITIONED + small_flows.GLOBAL
    return small_flows.draw_system(draw, policies[seed % len(policies)]), 150


def with_moves(seed: int, draw: random.Random) -> tuple[System, int]:
    """Vcpus that go from pcpu to pcpu."""
    del draw
    return moving(seed, PARTITIONED[seed % len(PARTITIONED)]), 100_000_000


def with_global_guests(seed: int, draw: random.Random) -> tuple[System, int]:
    """Domains whose jobs move between their vcpus, beside others."""
    del seed
    several = draw.random() < 0.5
    rules = draw.choice(GLOBAL if several else LOCAL)
    domains = [
        domain(
            f"d{number}",
            (draw.randint(1, 5), draw.randint(6, 12)),
            *(task(f"t{n}", draw.randint(6, 20), draw.randint(1, 4)) for n in range(3)),
            scheduler=draw.choice(("gedf", "grm", "gdm", "rm")),
            **({"vcpus": 2} if several else {"pcpus": (0, 1)}),
        )
        for number in range(draw.randint(1, 3))
    ]
    policy = "+".join(rules) + ("+global" if several else "")
    spare = server(2, 12)
    return small_system(policy, *domains, pcpus=2, spare=spare), 200


DRAWN = (drawn_system, with_flows, with_moves, with_global_guests)
