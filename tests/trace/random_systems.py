# SPDX-License-Identifier: BSD-2-Clause
"""Random systems that use everything a host can run: all rules, swaps, changes, overheads.

The same seed gives the same system. Times are small multiples of a unit, so that refills,
arrivals and depletions fall together often: that is where schedulers go wrong.
"""

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

from hyperperiod.model import (
    Change,
    Domain,
    Interface,
    Overheads,
    Scheduler,
    Swap,
    System,
    Task,
    TaskKind,
    parse_policy,
)

ORDERS = ("fp", "edf")
LOCAL = [
    *product(("periodic",), ORDERS, ("none", "lend", "reclaim")),
    *product(("deferrable", "polling", "sporadic", "cbs"), ORDERS, ("none", "spare", "extra")),
]
GLOBAL = [
    *product(("periodic",), ORDERS, ("none",)),
    *product(("deferrable", "cbs"), ORDERS, ("none", "spare", "extra")),
]
UNITS_LONG = 400
"""The length of a run in units."""


def random_system(seed: int) -> tuple[System, int]:
    """A system and how long to run it."""
    random = Random(seed)
    together = random.random() < 0.35
    pcpus = random.randint(2, 3) if together else random.randint(1, 3)
    quantum_ns = 1000 if random.random() < 0.25 else None
    unit_ns = 1000 if quantum_ns else random.choice((1, 10, 1000))
    home = None if together else pcpus
    domains = [_domain(random, index, home, unit_ns) for index in range(random.randint(1, 5))]
    served = [domain.name for domain in domains if not domain.best_effort]
    policies = [_policy(rules, together) for rules in (GLOBAL if together else LOCAL)]
    system = System(
        name=f"random-{seed}",
        policy=random.choice(policies),
        pcpus=pcpus,
        quantum_ns=quantum_ns,
        domains=tuple(domains),
        spare=_interface(random, (6, 12, 40), 4, unit_ns),
        overheads=_overheads(random, unit_ns),
        swaps=_swaps(random, policies, unit_ns),
        changes=_changes(random, served, unit_ns),
    )
    return system, UNITS_LONG * unit_ns


def _policy(rules: Any, together: bool) -> Any:
    return parse_policy("+".join(rules) + ("+global" if together else ""))


def _interface(random: Random, periods: Any, most: int, unit_ns: int) -> Interface:
    period = random.choice(periods)
    budget = random.randint(1, min(most, max(1, period // 2)))
    return Interface(period_ns=period * unit_ns, budget_ns=budget * unit_ns)


def _domain(random: Random, index: int, pcpus: int | None, unit_ns: int) -> Domain:
    best_effort = random.random() < 0.2
    parts: dict[str, Any] = {
        "name": f"d{index}",
        "scheduler": random.choice([Scheduler.RM, Scheduler.DM, Scheduler.EDF, Scheduler.FIFO]),
        "vcpus": random.choice((1, 1, 1, 2)),
        "tasks": tuple(_task(random, at, unit_ns) for at in range(random.randint(1, 3))),
        "best_effort": best_effort,
        "extra": not best_effort and random.random() < 0.5,
    }
    if pcpus is not None:
        parts["pcpu"] = random.randrange(pcpus)
    if not best_effort:
        parts["interface"] = _interface(random, (4, 5, 6, 8, 10, 12, 20), 10, unit_ns)
    return Domain(**parts)


def _task(random: Random, index: int, unit_ns: int) -> Task:
    kind = random.choice([TaskKind.PERIODIC, *TaskKind])
    period_ns = random.choice((8, 10, 12, 20, 40)) * unit_ns
    if kind is TaskKind.BUSY:
        wcet_ns = random.choice((None, random.randint(1, 3 * unit_ns)))
        return Task(name=f"t{index}", kind=kind, wcet_ns=wcet_ns)
    return Task(
        name=f"t{index}",
        kind=kind,
        period_ns=period_ns,
        wcet_ns=random.randint(1, max(1, period_ns // 6)),
        offset_ns=random.choice((0, 0, random.randint(0, period_ns))),
        jitter_ns=random.choice((0, 0, random.randint(0, period_ns // 2))),
        etf=random.choice((Fraction(1), Fraction(1, 2), Fraction(1, 5))),
    )


def _overheads(random: Random, unit_ns: int) -> Overheads:
    if unit_ns < 1000 or random.random() < 0.5:
        return Overheads()
    costs = {name: random.choice((0, 1, 3, 20)) for name in Overheads.model_fields}
    return Overheads(**costs)


def _instants(random: Random, most: int, unit_ns: int) -> list[int]:
    count = random.choice((0, 0, random.randint(1, most)))
    return sorted({random.randint(1, UNITS_LONG * unit_ns) for _ in range(count)})


def _swaps(random: Random, policies: list[Any], unit_ns: int) -> tuple[Swap, ...]:
    times = _instants(random, 4, unit_ns)
    return tuple(Swap(at_ns=at_ns, policy=random.choice(policies)) for at_ns in times)


def _changes(random: Random, served: list[str], unit_ns: int) -> tuple[Change, ...]:
    times = _instants(random, 3, unit_ns) if served else []
    return tuple(
        Change(
            at_ns=at_ns,
            domain=random.choice(served),
            interface=_interface(random, (5, 6, 8, 10, 20), 10, unit_ns),
        )
        for at_ns in times
    )
