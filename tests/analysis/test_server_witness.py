# SPDX-License-Identifier: BSD-2-Clause
"""Witnesses of servers: they agree with the verdict, and their shares with plain definitions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.analysis import plain

from hyperperiod.analysis import analyze
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.servers.witnesses import server_witness
from hyperperiod.analysis.witness import Role, Window, Witness
from hyperperiod.model import (
    Domain,
    Interface,
    Overheads,
    Scheduler,
    System,
    Task,
    parse_policy,
)

MS = 1_000_000

SEEDS = range(20)
ROUNDS = 8
ONE_PCPU = (
    "ptps", "wcps", "periodic+edf", "polling", "ds", "deferrable+edf+none", "cbs", "cbs+fp+none",
    "sporadic+fp+none", "sporadic+edf+none", "sedf", "sedf-prime", "psedf",
)  # fmt: skip
GLOBAL = ("rtds", "deferrable+fp+none+global", "periodic+edf+none+global", "cbs+edf+none+global")


def drawn(draw: random.Random, policy: str) -> Group:
    """Servers, some of equal priority, and now and then something above them."""
    pcpus = draw.choice([2, 3, 3]) if policy in GLOBAL else 1
    servers = []
    for index in range(draw.randrange(1, 5) + pcpus - 1):
        period = draw.randrange(3, 30)
        budget = draw.randrange(1, max(2, period * pcpus // (pcpus + 1)))
        servers.append(Server(index, f"s{index}", period, budget, draw.randrange(3), index))
    lost = (Load(1, draw.randrange(20, 60), 1),) if draw.random() < 0.3 else ()
    return Group(tuple(servers), pcpus, overhead=lost)


@pytest.mark.parametrize("policy", [*ONE_PCPU, *GLOBAL])
@pytest.mark.parametrize("seed", SEEDS)
def test_servers_are_explained_by_the_test_that_judges_them(policy: str, seed: int) -> None:
    draw = random.Random(f"witness {policy} {seed}")
    rules = parse_policy(policy)
    for _ in range(ROUNDS):
        group = drawn(draw, policy)
        found = host_level(rules, group)
        for server, verdict, test in zip(group.servers, found.servers, found.deciders, strict=True):
            witness = server_witness(test, group, server)
            if witness is None:
                assert test.name == "baker" or group.overhead
                continue
            assert (witness.holds is True) is (verdict.holds is True), (group, server)
            for window in witness.windows[:1]:
                assert (window.short_ns <= 0) is witness.holds
                CHECKS[witness.test](group, server, witness, window)


def shares(window: Window) -> dict[str, int]:
    return {share.who: share.time_ns for share in window.shares}


def above(group: Group, own: Server) -> list[Server]:
    return [one for one in group.servers if one is not own and one.priority <= own.priority]


def check_fixed_priority(group: Group, own: Server, witness: Witness, window: Window) -> None:
    """Budgets of those above as jobs; deferrable ones may come late once, by period - budget."""
    sums = shares(window)
    late = any(load.jitter for load in witness.loads)
    asked = own.budget_ns + plain.released(group.overhead, window.window_ns)
    for other in above(group, own):
        jitter = other.period_ns - other.budget_ns if late else 0
        load = Load(other.budget_ns, other.period_ns, other.period_ns, jitter)
        assert sums[other.name] == plain.released([load], window.window_ns)
        asked += sums[other.name]
    assert window.demand_ns == asked
    assert window.supply_ns == window.window_ns
    assert window.window_ns <= own.period_ns


def check_edf(group: Group, _own: Server, _witness: Witness, window: Window) -> None:
    """Budgets as work due at the end of each period."""
    sums = shares(window)
    for one in group.servers:
        due = window.window_ns // one.period_ns * one.budget_ns
        assert sums.get(one.name, 0) == due
    lost = plain.released(group.overhead, window.window_ns)
    assert sums.get("overheads", 0) <= lost + sum(load.wcet for load in group.overhead)
    assert window.supply_ns == window.window_ns >= min(s.period_ns for s in group.servers)


def longest_run(other: Server, refill: int, window: int) -> int:
    """Time that a server with its next refill so far away can spend, slot by slot."""
    left, spent = other.budget_ns, 0
    for slot in range(window):
        if slot >= refill and (slot - refill) % other.period_ns == 0:
            left = other.budget_ns
        if left:
            left, spent = left - 1, spent + 1
    return spent


def most_on_grid(other: Server, own: Server, window: int) -> int:
    """The most over all refills that two grids from time 0 leave possible."""
    refills = {
        other.period_ns - start % other.period_ns
        for start in range(0, own.period_ns * other.period_ns, own.period_ns)
    }
    return max(longest_run(other, refill, window) for refill in refills)


def check_grid(group: Group, own: Server, witness: Witness, window: Window) -> None:
    sums = shares(window)
    for other in above(group, own):
        assert sums[other.name] == most_on_grid(other, own, window.window_ns)
    if witness.holds:
        assert window.window_ns == witness.finish_ns


def most_due(other: Server, window: int) -> int:
    """Budgets of periods that end with the window, each spent as late as it may be."""
    spent, end = 0, window
    while end > 0:
        spent += min(other.budget_ns, end)
        end -= other.period_ns
    return spent


def check_part(group: Group, own: Server, window: Window, most: dict[str, int]) -> None:
    """Each pcpu gets its part of what the others take, none of more than is not the server's."""
    lost = plain.released(group.overhead, own.period_ns)
    room = own.period_ns - own.budget_ns - lost + 1
    if group.pcpus > 1:
        most = {name: min(amount, max(0, room)) for name, amount in most.items()}
    expected = sum(most.values()) // group.pcpus + lost + own.budget_ns
    assert (window.window_ns, window.supply_ns) == (own.period_ns, own.period_ns)
    assert window.demand_ns == expected
    for share in window.shares:
        if share.who in most:
            assert abs(group.pcpus * share.time_ns - most[share.who]) < group.pcpus


def check_deferrable_edf(group: Group, own: Server, _witness: Witness, window: Window) -> None:
    others = [one for one in group.servers if one is not own]
    check_part(group, own, window, {o.name: most_due(o, own.period_ns) for o in others})


def check_global_fp(group: Group, own: Server, _witness: Witness, window: Window) -> None:
    others = above(group, own)
    check_part(group, own, window, {o.name: most_on_grid(o, own, own.period_ns) for o in others})


def check_iterative_bcl(group: Group, own: Server, witness: Witness, window: Window) -> None:
    assert witness.holds
    assert window.supply_ns == own.period_ns
    for share in window.shares:
        other = next(one for one in group.servers if one.name == share.who)
        most = most_due(other, own.period_ns)
        assert share.role is Role.OWN or share.time_ns <= most


def check_cbs_fp(group: Group, own: Server, _witness: Witness, window: Window) -> None:
    period = own.period_ns
    total = Fraction(own.budget_ns)
    for load in group.overhead:
        total += Fraction(load.wcet * (period + load.period), load.period)
    for other in above(group, own):
        bandwidth = Fraction(other.budget_ns, other.period_ns)
        total += bandwidth * (period + other.period_ns - other.budget_ns)
    assert window.supply_ns == period
    assert total <= window.demand_ns < total + 1


def check_gfb(group: Group, own: Server, _witness: Witness, window: Window) -> None:
    rates = [Fraction(one.budget_ns, one.period_ns) for one in group.servers]
    allowed = group.pcpus - (group.pcpus - 1) * max(rates)
    assert window.supply_ns == allowed * own.period_ns // 1
    assert abs(window.demand_ns - sum(rates, Fraction(0)) * own.period_ns) < 1
    sums = shares(window)
    for one, rate in zip(group.servers, rates, strict=True):
        assert abs(sums.get(one.name, 0) - rate * own.period_ns) < 1


def check_alone(group: Group, own: Server, _witness: Witness, window: Window) -> None:
    assert len(group.servers) <= group.pcpus
    assert (window.demand_ns, window.supply_ns) == (own.budget_ns, own.period_ns)


CHECKS = {
    "fixed priority": check_fixed_priority,
    "edf": check_edf,
    "deferrable grid": check_grid,
    "deferrable edf": check_deferrable_edf,
    "global fixed priority": check_global_fp,
    "iterative bcl": check_iterative_bcl,
    "cbs fixed priority": check_cbs_fp,
    "gfb": check_gfb,
    "a pcpu each": check_alone,
}


def test_the_draws_reach_every_kind_of_witness() -> None:
    seen = set()
    for policy in [*ONE_PCPU, *GLOBAL]:
        rules = parse_policy(policy)
        for seed in SEEDS:
            draw = random.Random(f"witness {policy} {seed}")
            for _ in range(ROUNDS):
                group = drawn(draw, policy)
                found = host_level(rules, group)
                for server, test in zip(group.servers, found.deciders, strict=True):
                    witness = server_witness(test, group, server)
                    if witness is not None:
                        seen.add((witness.test, witness.holds))
    assert {test for test, _ in seen} == set(CHECKS)
    for kind in ("fixed priority", "edf", "deferrable edf", "global fixed priority"):
        assert {(kind, True), (kind, False)} <= seen


def system_of(draw: random.Random, policy: str) -> System:
    """Domains under several schedulers, some with too small a budget, sometimes with overheads."""
    domains = []
    for number in range(draw.randrange(1, 4)):
        period = draw.choice([10, 15, 20, 50]) * MS
        tasks = tuple(
            Task(
                name=f"t{at}",
                wcet_ns=draw.randrange(1, 6) * MS,
                period_ns=draw.choice([40, 60, 100, 200]) * MS,
                jitter_ns=draw.choice([0, 0, MS]),
                blocking_ns=draw.choice([0, 0, MS]),
            )
            for at in range(draw.randrange(1, 4))
        )
        domains.append(
            Domain(
                name=f"d{number}",
                scheduler=draw.choice([Scheduler.RM, Scheduler.EDF, Scheduler.FIFO]),
                tasks=tasks,
                interface=Interface(
                    period_ns=period, budget_ns=draw.randrange(1, 7) * period // 10
                ),
            )
        )
    switch_ns = draw.choice([0, 0, 10_000, MS // 2])
    costs = Overheads(context_switch_ns=switch_ns)
    return System(name="s", policy=parse_policy(policy), domains=tuple(domains), overheads=costs)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_agrees_with_the_verdict(seed: int) -> None:
    """A subject that holds has a covered window, a server that may not has a short one."""
    draw = random.Random(f"told {seed}")
    policy = ("ptps", "periodic+edf", "ds", "polling", "deferrable+edf+none")[seed % 5]
    one = system_of(draw, policy)
    for domain in one.domains:
        check_told(one, domain.name)
        for task in domain.tasks:
            check_told(one, f"{domain.name}.{task.name}")


def check_told(one: System, name: str) -> None:
    found = analyze(one, explain=name).explain
    assert found is not None
    for window in found.windows[:1]:
        if found.schedulable:
            assert window.short_ns <= 0, found.text
        elif found.kind == "server":
            assert window.short_ns > 0, found.text
