# SPDX-License-Identifier: BSD-2-Clause
"""A vcpu whose context is still on a pcpu that has gone is granted to nobody, in no role.

Two pcpus become one, and the policy is replaced by each that there is for one. Judged by a host
that saves contexts in no time: once the context is saved, the grants are the same.
"""

from __future__ import annotations

from itertools import product

import pytest
from tests.support import rules

from hyperperiod import _sim
from hyperperiod.model.policy import Budget, Order, Slack

MS = 1_000_000
VCPUS = range(3)
Codes = tuple[int, int, int]
POLICIES = [
    pytest.param(
        (Budget(budget).code, Order(order).code, Slack(slack).code), id=f"{budget}+{order}+{slack}"
    )
    for budget, order, slack in rules.LOCAL
]


def lose_a_pcpu(
    policy: Codes,
    before: tuple[bool, ...],
    after: tuple[bool, ...],
    gone: int,
    *,
    reports_saved: bool,
) -> tuple[_sim.Core, int | None]:
    """One pcpu of two goes; who ran there, and the core before it picks again."""
    core = _sim.Core(0, 0, 0, 2, 0, 100 * MS, 50 * MS, 0, reports_saved)
    for vcpu in VCPUS:
        assert core.add(vcpu, (10 + vcpu) * MS, 3 * MS, vcpu, 2 * (vcpu % 2), 0) == 0
        if before[vcpu]:
            core.arrive(vcpu, 0)
    ran = [core.pick(pcpu, 0)[2] for pcpu in range(2)][gone]
    for vcpu in VCPUS:
        if before[vcpu] and not after[vcpu]:
            core.depart(vcpu, MS)
    for vcpu in VCPUS:
        if after[vcpu] and not before[vcpu]:
            core.arrive(vcpu, MS)
    assert core.drop_pcpu(gone, MS) == 0
    assert core.set_policy(*policy, MS) == 0
    return core, ran


@pytest.mark.parametrize("policy", POLICIES)
def test_who_is_held_neither_runs_nor_pays_for_running(policy: Codes) -> None:
    for before, after in product(product((False, True), repeat=3), repeat=2):
        for gone in range(2):
            held, ran = lose_a_pcpu(policy, before, after, gone, reports_saved=True)
            free, _ = lose_a_pcpu(policy, before, after, gone, reports_saved=False)
            expected = free.pick(0, MS)
            _, _, run, _, also, _ = held.pick(0, MS)
            world = (before, after, gone, ran)
            assert ran is None or ran not in (run, also), world
            assert held.kicks(MS) == 0, world
            assert held.check(MS) == 0, world
            for vcpu in VCPUS:
                held.saved(vcpu, MS)
            grant = held.pick(0, MS) if held.kicks(MS) else None
            assert (grant is None) == (ran is None or ran != expected[2]), world
            assert grant in (None, expected), world
            assert held.check(MS) == 0, world
