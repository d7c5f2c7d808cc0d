# SPDX-License-Identifier: BSD-2-Clause
"""What the account of overheads refuses, as costs grow: against runs that pay them.

Three domains with two tasks each, a quarter of a pcpu, deferrable servers under fixed priority with
harmonic periods, budgets half as much again as they would have to be without overheads. A system
survives if no run that was tried misses a deadline: a few phases and seeds.
"""

from __future__ import annotations

import random

from bench.acceptance import Family

from hyperperiod.analysis import analyze
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import Domain, Interface, Overheads, System, Task, parse_policy, to_toml
from hyperperiod.runs import simulate

US = 1_000
PERIODS = (4_000, 6_000, 8_000, 10_000, 12_000, 16_000)
HORIZON_NS = 240_000 * US
RUNS = 4


def draw(generator: random.Random, load: float) -> System:
    """Each cost is `load` microseconds, migrations aside."""
    cost_ns = round(load * US)
    costs = Overheads(
        context_switch_ns=cost_ns,
        pick_ns=cost_ns,
        replenish_ns=cost_ns,
        wake_ns=cost_ns,
        interrupt_ns=cost_ns,
    )
    domains = tuple(_domain(generator, number) for number in range(3))
    free = System(name="drawn", policy=parse_policy("ds"), domains=domains)
    found = resolve_what_can_be(free).system.domains
    roomy = tuple(domain.replace(interface=_more(domain)) for domain in found)
    return free.replace(domains=roomy, overheads=costs)


def _domain(generator: random.Random, number: int) -> Domain:
    tasks = []
    for place in range(2):
        period = generator.choice(PERIODS)
        wcet = max(1, round(period * generator.uniform(0.02, 0.06)))
        tasks.append(Task(name=f"t{place}", period_ns=period * US, wcet_ns=wcet * US))
    period_ns = generator.choice((500, 1_000, 2_000)) * US
    return Domain(name=f"d{number}", tasks=tuple(tasks), interface_period_ns=period_ns, pcpu=0)


def _more(domain: Domain) -> Interface | None:
    if domain.interface is None:
        return None
    period_ns = domain.interface.period_ns
    budget_ns = min(period_ns, domain.interface.budget_ns * 3 // 2)
    return Interface(period_ns=period_ns, budget_ns=budget_ns)


def accounted(system: System) -> bool:
    return analyze(system).schedulable is True


def survives(system: System) -> bool:
    if any(domain.interface is None for domain in system.domains):
        return False
    generator = random.Random(to_toml(system))
    return all(
        task.misses == 0
        for number in range(RUNS)
        for domain in simulate(_moved(generator, system, number), HORIZON_NS, number).domains
        for task in domain.tasks
    )


def _moved(generator: random.Random, system: System, number: int) -> System:
    """The first run begins with everything at once, the others anywhere."""
    if number == 0:
        return system
    domains = []
    for domain in system.domains:
        tasks = tuple(
            task.replace(offset_ns=generator.randrange(16_000) * US) for task in domain.tasks
        )
        domains.append(domain.replace(tasks=tasks))
    return system.replace(domains=tuple(domains))


FAMILY = Family(
    name="overheads",
    title="Overheads, three domains on a quarter of a pcpu",
    axis="each cost in microseconds",
    loads=(0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20),
    draw=draw,
    tests={"charged to budgets": accounted},
    survives=survives,
)
