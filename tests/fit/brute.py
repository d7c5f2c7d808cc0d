# SPDX-License-Identifier: BSD-2-Clause
"""The best choice by trying all of them: slow, and independent of how `fit` works.

Budgets are found by trying every multiple of the grid, verdicts come from `analyze` on the whole
system, and events are counted one by one over the hyperperiod.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm

from hyperperiod.analysis import analyze
from hyperperiod.model import Domain, Interface, Scheduler, Scope, System, Task, parse_policy

MS = 1_000_000
NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Best:
    """The least of all choices; None where no choice is schedulable."""

    bandwidth: Fraction | None
    cost: Fraction | None


def least_budget(system: System, domain: Domain, period_ns: int, step_ns: int) -> int | None:
    """The least multiple of the step with which the domain holds if it is alone."""
    pcpu = None if system.policy.scope is Scope.GLOBAL else 0
    for budget_ns in range(step_ns, period_ns + 1, step_ns):
        interface = Interface(period_ns=period_ns, budget_ns=budget_ns)
        alone = domain.replace(interface=interface, pcpu=pcpu)
        update = {"domains": (alone,), "pcpus": 1}
        if analyze(system.replace(**update)).schedulable is True:
            return budget_ns
    return None


def choices(system: System, periods_ns: Sequence[int], step_ns: int) -> Iterator[System]:
    """Every complete system."""
    is_global = system.policy.scope is Scope.GLOBAL
    options: list[list[Domain]] = []
    for domain in system.domains:
        pins = [domain.pcpu] if is_global or domain.pcpu is not None else range(system.pcpus)
        given = [domain.interface] if domain.interface else []
        found = given or [
            Interface(period_ns=period_ns, budget_ns=budget_ns)
            for period_ns in periods_ns
            if (budget_ns := least_budget(system, domain, period_ns, step_ns)) is not None
        ]
        options.append(
            [domain.replace(interface=interface, pcpu=pin) for interface in found for pin in pins]
        )
    for domains in product(*options):
        yield system.replace(domains=domains)


def bandwidth(system: System) -> Fraction:
    return sum(
        (d.interface.bandwidth * d.vcpus for d in system.domains if d.interface), Fraction(0)
    )


def cost(system: System) -> Fraction:
    """EventRates per second: the model of docs/fit.md, counted."""
    if system.policy.scope is Scope.GLOBAL:
        return _cost_of(list(system.domains), system.pcpus)
    return sum(
        (
            _cost_of([d for d in system.domains if d.pcpu == pcpu], 1)
            for pcpu in range(system.pcpus)
        ),
        Fraction(0),
    )


def _cost_of(domains: list[Domain], pcpus: int) -> Fraction:
    servers = [d.interface for d in domains if d.interface for _ in range(d.vcpus)]
    if not servers:
        return Fraction(0)
    whole_ns = lcm(*(one.period_ns for one in servers))
    instants = {t for one in servers for t in range(0, whole_ns, one.period_ns)}
    total = Fraction(len(instants) * NS_PER_S, whole_ns)
    for one in servers:
        rate = Fraction(NS_PER_S, one.period_ns)
        total += rate + (rate if one.budget_ns < one.period_ns else 0)
    for period_ns in {one.period_ns for one in servers}:
        longer = [one.bandwidth for one in servers if one.period_ns > period_ns]
        total += Fraction(NS_PER_S, period_ns) * sum(longer, Fraction(0)) / pcpus
    return total


def best(
    system: System, periods_ns: Sequence[int], step_ns: int, limit: Fraction | None = None
) -> Best:
    """The least bandwidth, and the least cost among those within a limit of bandwidth."""
    least: Fraction | None = None
    cheapest: Fraction | None = None
    for complete in choices(system, periods_ns, step_ns):
        width = bandwidth(complete)
        if width > system.pcpus:
            continue
        price = cost(complete) if limit is None or width <= limit else None
        better = least is None or width < least
        cheaper = price is not None and (cheapest is None or price < cheapest)
        if (better or cheaper) and analyze(complete).schedulable is True:
            least = width if better else least
            cheapest = price if cheaper else cheapest
    return Best(least, cheapest)


def drawn(number: int, policy: str, *, domains: int, pcpus: int, load: float = 0.6) -> System:
    """A small random system without pins, some interfaces given."""
    draw = random.Random(f"{number} {policy} {domains} {pcpus}")
    made = []
    for index in range(domains):
        tasks = []
        for place in range(draw.choice((1, 1, 2))):
            period_ns = draw.choice((6, 8, 9, 10, 12, 15, 20, 30)) * MS
            share = load * pcpus / domains * draw.uniform(0.2, 1.1)
            wcet_ns = max(50_000, int(share * period_ns) // 50_000 * 50_000 // (1 + place))
            tasks.append(Task(name=f"t{place}", period_ns=period_ns, wcet_ns=wcet_ns))
        given = None
        if draw.random() < 0.15:
            given = Interface(period_ns=draw.choice((3, 4)) * MS, budget_ns=2 * MS)
        made.append(
            Domain(
                name=f"d{index}",
                tasks=tuple(tasks),
                interface=given,
                scheduler=draw.choice((Scheduler.RM, Scheduler.EDF)),
            )
        )
    return System(
        name=f"drawn-{number}", policy=parse_policy(policy), pcpus=pcpus, domains=tuple(made)
    )
