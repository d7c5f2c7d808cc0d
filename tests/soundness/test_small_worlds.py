# SPDX-License-Identifier: BSD-2-Clause
"""Host-level tests against all there is: every arrival pattern of two servers in small worlds.

Time is in ticks; at each tick each vcpu gets nothing, one unit of work or several. Patterns that
lead to the same state go on together. A server is wronged if it has work throughout a period of
its own and does not get its budget in it. What a test accepts wrongs nobody; where it is exact,
what it refuses wrongs somebody.

What a test accepts also keeps the law that the theorems about supplies stand on (proofs/model.v):
while a server has work without a gap in one period, from its beginning on under the polling rule,
it waits for at most its period less its budget.
"""

from __future__ import annotations

import itertools
from math import lcm

import pytest
from tests.model_naive.model import Params, Policy, Setup
from tests.model_naive.workload import Run

from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Budget, parse_policy

HEAP = 3
POLICIES = {
    "periodic+fp": Policy("periodic", "fp"),
    "periodic+edf": Policy("periodic", "edf"),
    "polling": Policy("polling", "fp"),
    "polling+edf": Policy("polling", "edf"),
    "ds": Policy("deferrable", "fp"),
    "deferrable+edf": Policy("deferrable", "edf"),
}
# Whether there was work since the refill, what was got if so, and how long the work that is there
# has waited since the refill.
Account = tuple[bool, int, int]
States = dict[tuple[object, tuple[Account, ...]], Run]


def wronged(policy: str, servers: tuple[Server, ...]) -> tuple[set[int], set[int]]:
    """The servers that some pattern of work cheats of a budget, and those that break the law."""
    setup = Setup(POLICIES[policy])
    params = [Params(one.period_ns, one.budget_ns, one.priority) for one in servers]
    cheated: set[int] = set()
    lawless: set[int] = set()
    first = Run(setup, params)
    first.begin()
    states: States = {(first.key(), ((True, 0, 0),) * len(servers)): first}
    for now in range(lcm(*(one.period_ns for one in servers)) + 1):
        states = _tick(states, servers, now, cheated, lawless)
    return cheated, lawless


def _tick(
    states: States,
    servers: tuple[Server, ...],
    now: int,
    cheated: set[int],
    lawless: set[int],
) -> States:
    """One tick of every pattern that is left."""
    after: States = {}
    for (_, accounts), run in states.items():
        for units in itertools.product((0, 1, HEAP), repeat=len(servers)):
            if any(more and left > 1 for more, left in zip(units, run.backlog, strict=True)):
                continue
            twin = run.copy()
            twin.arrive(units)
            ran = [grant.run for grant in twin.world.decide()]
            working = [left > 0 for left in twin.backlog]
            twin.finish_tick()
            kept = []
            for index, one in enumerate(servers):
                always, got, waited = accounts[index]
                always, got = always and working[index], got + (index in ran)
                lawful = always if run.world.setup.policy.budget == "polling" else working[index]
                waited = waited + (index not in ran) if lawful else 0
                if waited > one.period_ns - one.budget_ns:
                    lawless.add(index)
                if (now + 1) % one.period_ns == 0:
                    if always and got < one.budget_ns:
                        cheated.add(index)
                    always, got, waited = True, 0, 0
                kept.append((always, got if always else 0, waited))
            after[twin.key(), tuple(kept)] = twin
    return after


def worlds(longest: int) -> list[tuple[Server, ...]]:
    """All pairs of servers up to this period that together do not exceed the pcpu."""
    return [
        (Server(0, "a", p, b, 1), Server(1, "b", q, c, 2))
        for p, q in itertools.product(range(2, longest + 1), repeat=2)
        for b, c in itertools.product(range(1, p), range(1, q))
        if b * q + c * p <= p * q and lcm(p, q) <= 12
    ]


EXACT = (Budget.PERIODIC, Budget.POLLING)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("longest", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_every_pattern(policy: str, longest: int) -> None:
    rules = parse_policy(policy)
    accepted = 0
    for servers in worlds(longest):
        verdicts = host_level(rules, Group(servers)).servers
        cheated, lawless = wronged(policy, servers)
        assert cheated <= lawless
        for index, verdict in enumerate(verdicts):
            accepted += verdict.holds is True
            assert not (verdict.holds is True and index in lawless), (servers, index)
            if verdict.holds is True or rules.budget in EXACT:
                assert (index in cheated) is (verdict.holds is not True), (servers, index)
            elif verdict.holds is False:
                assert index in cheated, (servers, index)
    assert accepted > 0
