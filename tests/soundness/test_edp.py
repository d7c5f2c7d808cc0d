# SPDX-License-Identifier: BSD-2-Clause
"""The explicit-deadline model, from both sides.

Inside a component: whatever places the budget within the first `deadline` of every period, no
response exceeds its bound, and what is refused misses under the worst of them. On the host:
purely time-driven servers, whatever the work of the others, supply at least the bound with their
response bound as the deadline, in every window with work. That only these servers do is shown
beside it: the same hunt finds deferrable servers that do not. And whole systems in the
simulator keep every bound that the analysis promises with it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
from tests.support.campaign import WHOLE_HUNT, Trial, climb, draw_for, hunt, sizes
from tests.support.supplied import broken, component, refuted, some_loads, some_server

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import (
    Domain,
    Interface,
    Overheads,
    Sbf,
    Scheduler,
    System,
    Task,
    TaskKind,
    parse_policy,
    to_toml,
)
from hyperperiod.runs import simulate

TICKS = 80


def inside(draw: random.Random) -> Trial:
    server = some_server(draw, early=True)
    loads = some_loads(draw, server)
    local = draw.choice([Local.FIXED_PRIORITY, Local.EDF])
    supply = Supply(Shape.GENERAL, server.period, server.budget, server.deadline)
    part = component(local, loads)
    if local is Local.EDF:
        holds = edf(part, supply).holds
        bounds = [load.deadline for load in loads]
    else:
        verdicts = fixed_priority(part, supply)
        holds = all(verdict.holds for verdict in verdicts)
        bounds = [verdict.bound_ns or 0 for verdict in verdicts]
    if holds:
        return Trial(True, broken(draw, local, loads, server, bounds))
    plain = all(load.deadline <= load.period and load.jitter == 0 for load in loads)
    if plain and local is Local.FIXED_PRIORITY:
        ticks = server.budget + max(load.deadline for load in loads)
        return refuted(local, loads, server, ticks + 1)
    return Trial(accepted=False)


@sizes(150)
def test_inside_a_component(systems: int) -> None:
    hunt("edp inside", systems, inside)


@dataclass(frozen=True)
class Host:
    """(period, budget) by priority, who is watched, and in which ticks each has work."""

    slack: str
    servers: tuple[tuple[int, int], ...]
    watched: int
    working: tuple[frozenset[int], ...]


def supply_of(host: Host) -> list[int]:
    """How much the watched server ran up to each tick."""
    left = [0] * len(host.servers)
    served = [0]
    for now in range(TICKS):
        for index, (period, budget) in enumerate(host.servers):
            if now % period == 0:
                left[index] = budget
        working = [index for index, ticks in enumerate(host.working) if now in ticks]
        funded = [index for index in range(len(left)) if left[index]]
        run, payers = _grant(host.slack, working, funded)
        for payer in payers:
            left[payer] -= 1
        served.append(served[-1] + (run == host.watched))
    return served


def _grant(slack: str, working: list[int], funded: list[int]) -> tuple[int | None, set[int]]:
    """Who runs and who pays: the table of the semantics, in so many words."""
    ready = [index for index in funded if index in working]
    if slack == "deferrable":
        return (ready[0], {ready[0]}) if ready else (None, set())
    if not funded:
        return None, set()
    first = funded[0]
    if first in working:
        return first, {first}
    if slack == "lend":
        return (ready[0], {first, ready[0]}) if ready else (None, {first})
    if slack == "reclaim":
        return next(iter(ready or working), None), {first}
    return None, {first}


def least_margin(host: Host, supply: Supply) -> int:
    """Over the windows with work throughout, supply less its bound: negative is broken."""
    served, margin = supply_of(host), TICKS
    ticks, bound = host.working[host.watched], bounds_of(supply)
    for first in range(TICKS):
        last = first
        while last in ticks:
            last += 1
            margin = min(margin, served[last] - served[first] - bound[last - first])
    return margin


@cache
def bounds_of(supply: Supply) -> tuple[int, ...]:
    return tuple(supply.sbf(window) for window in range(TICKS + 1))


def some_work(draw: random.Random, period: int, budget: int) -> frozenset[int]:
    """Always, from some tick on, now and then, or just after the budget could be gone."""
    style = draw.random()
    if style < 0.2:
        return frozenset(range(TICKS))
    if style < 0.5:
        return frozenset(range(draw.randint(0, 20), TICKS))
    if style < 0.7:
        begin = draw.randint(0, 3) * period + budget
        return frozenset(range(begin, TICKS))
    ticks: set[int] = set()
    now = draw.randint(0, 8)
    while now < TICKS:
        length = draw.randint(1, 2 * period)
        ticks.update(range(now, min(TICKS, now + length)))
        now += length + draw.randint(1, period)
    return frozenset(ticks)


def some_host(draw: random.Random, slacks: list[str]) -> tuple[Host, Supply] | None:
    """A host whose watched server has a response bound, and the supply that this promises."""
    count = draw.randint(2, 4)
    servers = []
    for _ in range(count):
        period = draw.randint(2, 14)
        budget = max(1, min(period, int(period * draw.uniform(0.2, 1.6) / count)))
        servers.append((period, budget))
    if draw.random() < 0.8:
        servers.sort()
    watched = draw.randrange(count)
    group = Group(tuple(Server(i, f"s{i}", p, b, i) for i, (p, b) in enumerate(servers)))
    bound_ns = fp_response_time(group)[watched].bound_ns
    if bound_ns is None:
        return None
    working = tuple(some_work(draw, *server) for server in servers)
    supply = Supply(Shape.GENERAL, *servers[watched], bound_ns)
    return Host(draw.choice(slacks), tuple(servers), watched, working), supply


def attacked(draw: random.Random, host: Host, supply: Supply) -> Host:
    """The host with the work that leaves least, as far as a short climb finds it."""

    def neighbours(here: Host) -> list[Host]:
        which = draw.choice([here.watched, draw.randrange(len(here.servers))])
        options = [some_work(draw, *here.servers[which]) for _ in range(3)]
        moved = [list(here.working) for _ in options]
        for working, option in zip(moved, options, strict=True):
            working[which] = option
        return [replace(here, working=tuple(working)) for working in moved]

    return climb(host, neighbours, lambda here: -least_margin(here, supply), 4)[0]


def on_the_host(draw: random.Random, slacks: list[str]) -> Trial:
    drawn = some_host(draw, slacks)
    if drawn is None:
        return Trial(accepted=False)
    host, supply = drawn
    worst = attacked(draw, host, supply)
    margin = least_margin(worst, supply)
    return Trial(True, f"{worst} falls {-margin} short of {supply}" if margin < 0 else "")


@sizes(100)
def test_on_the_host(systems: int) -> None:
    hunt("edp on the host", systems, lambda draw: on_the_host(draw, ["none", "lend", "reclaim"]))


def test_deferrable_servers_have_no_such_deadline() -> None:
    trials = [on_the_host(draw_for("edp deferrable", n), ["deferrable"]) for n in range(300)]
    assert sum(bool(one.counterexample) for one in trials) > 5


def test_a_deadline_one_tick_too_early_is_found() -> None:
    found = 0
    for number in range(150):
        draw = draw_for("edp too early", number)
        drawn = some_host(draw, ["none", "lend", "reclaim"])
        if drawn is None or drawn[1].deadline_ns == drawn[1].budget_ns:
            continue
        host, supply = drawn
        early = replace(supply, explicit_deadline_ns=supply.deadline_ns - 1)
        found += least_margin(attacked(draw, host, early), early) < 0
    assert found > 10


def test_the_bound_is_reached() -> None:
    """On some hosts the worst window gets just the bound, far below the general one's reach."""
    tight = 0
    for number in range(200):
        drawn = some_host(draw_for("edp reached", number), ["none", "lend", "reclaim"])
        if drawn is not None and drawn[1].deadline_ns < drawn[1].period_ns:
            host, supply = drawn
            served = supply_of(
                replace(host, working=(frozenset(range(TICKS)),) * len(host.servers))
            )
            first = supply.budget_ns
            dark = next((t for t in range(first, TICKS) if served[t + 1] > served[first]), first)
            tight += dark - first == supply.blackout_ns
    assert tight > 0


STEP = 100_000


def some_domain(draw: random.Random, number: int, share: float) -> Domain:
    """One vcpu, or two with a task or more on each; the interface given or computed."""
    period = draw.choice([10, 12, 16, 20, 30, 40])
    budget = max(1, int(period * share))
    vcpus = 2 if draw.random() < 0.15 else 1
    tasks = []
    for index in range(draw.randint(vcpus, 3)):
        own = period * draw.randint(2, 8) + draw.choice([0, 0, draw.randint(0, 9)])
        wcet = max(1, int(own * share * draw.uniform(0.1, 0.6)))
        tasks.append(
            Task(
                name=f"t{index}",
                kind=draw.choice([TaskKind.PERIODIC, TaskKind.PERIODIC, TaskKind.SPORADIC]),
                period_ns=own * STEP,
                wcet_ns=wcet * STEP,
                deadline_ns=draw.choice([own, draw.randint(max(wcet, own // 2), own)]) * STEP,
                offset_ns=draw.choice([0, draw.randint(0, 40)]) * STEP,
                vcpu=index % 2 if vcpus == 2 else None,
            )
        )
    given: dict[str, Any] = {
        "interface": Interface(period_ns=period * STEP, budget_ns=budget * STEP)
    }
    computed: dict[str, Any] = {"interface_period_ns": period * STEP}
    return Domain(
        name=f"d{number}",
        scheduler=draw.choice([Scheduler.RM, Scheduler.DM, Scheduler.EDF]),
        vcpus=vcpus,
        tasks=tuple(tasks),
        **draw.choice([given, computed]),
    )


def some_system(draw: random.Random) -> System:
    """Time-driven servers, some with overheads, turns, or best-effort work beside them."""
    count = draw.randint(2, 4)
    domains = [some_domain(draw, number, draw.uniform(0.2, 1.3) / count) for number in range(count)]
    if draw.random() < 0.3:
        domains.append(Domain(name="rest", best_effort=True))
    overheads = Overheads()
    if draw.random() < 0.3:
        overheads = Overheads(
            context_switch_ns=draw.randint(0, 3000),
            pick_ns=draw.randint(0, 2000),
            replenish_ns=draw.randint(0, 1000),
            interrupt_ns=draw.randint(0, 1000),
        )
    return System(
        name="s",
        policy=parse_policy(draw.choice(["ptps", "wcps", "crps"])),
        quantum_ns=draw.choice([None, None, STEP]),
        overheads=overheads,
        sbf=Sbf.EDP,
        domains=tuple(domains),
    )


def simulated(draw: random.Random) -> Trial:
    system = some_system(draw)
    promised = analyze(system)
    sure = [task for domain in promised.domains for task in domain.tasks]
    if not any(task.schedulable for task in sure):
        return Trial(accepted=False)
    served = [domain for domain in promised.domains if domain.name != "rest"]
    if any(domain.interface is None for domain in served):
        return Trial(accepted=False)
    run = simulate(resolve(system), 60_000_000, draw.randint(0, 99))
    seen = [task for domain in run.domains for task in domain.tasks]
    for claim, result in zip(sure, seen, strict=True):
        if not claim.schedulable:
            continue
        longest = result.response_ns.max if result.response_ns else 0
        if result.misses or longest > (claim.response_bound_ns or 0):
            return Trial(True, f"{to_toml(system)}: {claim} {result}")
    return Trial(accepted=True)


@pytest.mark.parametrize("systems", [60, pytest.param(WHOLE_HUNT // 5, marks=pytest.mark.slow)])
def test_in_the_simulator(systems: int) -> None:
    hunt("edp simulated", systems, simulated)
