# SPDX-License-Identifier: BSD-2-Clause
"""What is said to hold of a domain whatever the others do must hold whatever we make them do.

Whole systems (`whole_worlds.World`), most of them without overheads. One domain that is
accepted keeps its tasks; all others keep their servers, and get other work: their own jobs a
hundred times as long, hogs, bursts of sporadic jobs that are late and short, or nothing, which
begins and ends at any time. The domain's responses must stay below its bounds.

With overheads nothing is said of domains beside others. There another claim is hunted: the bounds
of the plain analysis hold however long the jobs of the others run, as these arrive no more often.
"""

from __future__ import annotations

import random
from fractions import Fraction

from tests.support.campaign import Trial, hunt, sizes
from tests.support.whole_worlds import SCHEDULERS, TICKS, World

from hyperperiod.analysis import Analysis
from hyperperiod.analysis.isolation import ARRIVALS
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.analysis.result import DomainResult
from hyperperiod.hosts.sim import run
from hyperperiod.model import (
    Domain,
    InputError,
    Overheads,
    Overrun,
    Scheduler,
    System,
    Task,
    TaskKind,
    to_toml,
    vcpus_of,
)

RUNS = 4


def bounds_of(row: DomainResult) -> dict[str, int]:
    """The bounds (ns) of the tasks of a domain that are in time, by their names."""
    return {
        task.name: task.response_bound_ns
        for task in row.tasks
        if task.schedulable and task.response_bound_ns is not None
    }


def other_tasks(draw: random.Random, world: World, domain: Domain, scheduler: Scheduler) -> Task:
    """A task that has nothing to do with what the domain was analysed with."""
    tick = world.tick
    period = draw.choice((1, 2, 3, 5, 11, 40))
    kind = draw.choice((TaskKind.PERIODIC, TaskKind.SPORADIC, TaskKind.EVENT))
    longest = draw.choice((1, 1, 3, 40)) * tick
    return Task(
        name=f"o{draw.randrange(10**9)}",
        kind=kind,
        period_ns=period * tick,
        wcet_ns=max(1, longest - draw.choice((0, 0, tick - 1))),
        offset_ns=draw.choice((0, draw.randint(0, 40 * tick))),
        jitter_ns=draw.choice((0, 0, draw.randint(0, 30 * tick))),
        etf=draw.choice((Fraction(1), Fraction(1, 100))),
        priority=draw.randint(0, 2) if scheduler.takes_priorities else None,
        vcpu=draw.randrange(domain.vcpus) if domain.vcpus > 1 else None,
    )


def hog(draw: random.Random, domain: Domain, scheduler: Scheduler, tick: int) -> Task:
    return Task(
        name="hog",
        kind=TaskKind.BUSY,
        offset_ns=draw.choice((0, draw.randint(0, 60 * tick))),
        priority=draw.randint(0, 2) if scheduler.takes_priorities else None,
        vcpu=draw.randrange(domain.vcpus) if domain.vcpus > 1 else None,
    )


def attacked(draw: random.Random, world: World, system: System, own: Domain) -> System:
    """The system in which the domain is as it was, and all others do as they like."""
    domains = []
    for domain in system.domains:
        if domain.name == own.name or draw.random() < 0.2:
            domains.append(domain)
            continue
        scheduler = draw.choice(SCHEDULERS)
        tasks = [other_tasks(draw, world, domain, scheduler) for _ in range(draw.randint(0, 3))]
        if draw.random() < 0.4:
            tasks.append(hog(draw, domain, scheduler, world.tick))
        domains.append(domain.replace(scheduler=scheduler, tasks=tuple(tasks)))
    names = {f"{domain.name}.{task.name}" for domain in domains for task in domain.tasks}
    flows = tuple(flow for flow in system.flows if names.issuperset(flow.hops))
    return overrun(draw, system.replace(domains=tuple(domains), flows=flows), own)


def overrun(draw: random.Random, system: System, own: Domain, share: float = 0.5) -> System:
    """The system with jobs a hundred times as long in domains other than one."""
    longer = [
        Overrun(task=f"{domain.name}.{task.name}", factor=100, every=draw.choice((1, 1, 2, 5)))
        for domain in system.domains
        for task in domain.tasks
        if domain.name != own.name and task.kind is not TaskKind.BUSY and draw.random() < share
    ]
    return system.replace(overruns=tuple(longer))


def broken(system: System, own: Domain, bounds: dict[str, int], horizon_ns: int, seed: int) -> str:
    """The first task of the domain that a run finds late or above its bound; empty: none."""
    found = next(one for one in run(system, horizon_ns, seed).domains if one.name == own.name)
    for task in found.tasks:
        latest_ns = 0 if task.response_ns is None else task.response_ns.max
        bound_ns = bounds.get(task.name)
        if bound_ns is not None and (task.misses or latest_ns > bound_ns):
            what = f"{own.name}.{task.name} took {latest_ns}, bound {bound_ns}"
            return f"{what}, {task.misses} misses, seed {seed}\n{to_toml(system)}"
    return ""


def trial(draw: random.Random) -> Trial:
    """Draws a system and attacks each domain of which something is promised."""
    world = World(draw)
    if draw.random() < 0.7:
        world.overheads = Overheads()
    try:
        system = resolve_what_can_be(world.system()).whole()
    except InputError:  # a spare of too long a period
        return Trial(accepted=False)
    if any(vcpu.interface is None and not vcpu.best_effort for vcpu in vcpus_of(system)):
        return Trial(accepted=False)
    found = Analysis(system).result(isolation=True)
    accepted = False
    for domain, row, plain in zip(system.domains, found.isolation, found.domains, strict=True):
        bounds, arrivals = bounds_of(row), row.reason == ARRIVALS
        if arrivals and not system.flows:
            bounds = bounds_of(plain)
        for _ in range(RUNS if bounds and len(system.domains) > 1 else 0):
            accepted = True
            still = world.harmonic or system.flows
            other = system if still else world.shifted(system)
            other = (
                overrun(draw, other, domain, 0.8)
                if arrivals
                else attacked(draw, world, other, domain)
            )
            counterexample = broken(
                other, domain, bounds, TICKS * world.tick, draw.randrange(10**6)
            )
            if counterexample:
                return Trial(True, f"{counterexample}analysed:\n{to_toml(system)}")
    return Trial(accepted)


@sizes(75)
def test_no_domain_is_hurt_by_what_others_do(systems: int) -> None:
    hunt("isolation", systems, trial, least_accepted=0.2)
