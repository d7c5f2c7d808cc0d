# SPDX-License-Identifier: BSD-2-Clause
"""Two tick models of slices agree: the semantics' own, and the one after Xen's scheduler.

`model.py` has the slice rules as the core has them, `slices.py` has SEDF as Xen's source has it.
They are compared in every world of small systems, without extra time, until something happens in
which they are meant to differ:

- a vcpu blocks with its slice used up: Xen moves it to its next period at once, and a wake in that
  one is a short unblocking; by the rule its next period begins with the wake;
- two deadlines are equal: Xen runs who came first, the rule whoever ran last;
- the first wake of all, which Xen takes for a short unblocking (here all are over: `booted`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from tests.model_naive.model import BudgetRule, Params, Policy, Setup
from tests.model_naive.slices import Slice, Wakes, World
from tests.model_naive.workload import Run

SYSTEMS = [
    ((3, 1), (5, 2)),
    ((4, 2), (5, 2)),
    ((4, 3), (6, 2)),
    ((5, 4), (3, 2)),
    ((6, 3), (4, 3)),
]
TICKS = 14


def patterns(slots: int) -> Iterator[tuple[int, ...]]:
    """Units of work at so many instants: none, one or three."""
    return itertools.product((0, 1, 3), repeat=slots)


def xen(setup: Setup, params: Sequence[Params]) -> World:
    order = setup.policy.order
    vcpus = [
        Slice(one.period, one.budget, one.priority if order == "fp" else None) for one in params
    ]
    wakes: Wakes = "once" if setup.policy.budget == "slice-once" else "keep"
    return World(vcpus, wakes, order, booted=True)


def used_up(world: World, v: int) -> bool:
    return world.vcpus[v].used >= world.vcpus[v].params.slice


def tied(world: World) -> bool:
    """Whether the order of Xen's queue may be another one."""
    if world.order == "fp":
        return False
    deadlines = [world.vcpus[v].deadline for v in world.run_queue]
    return len(set(deadlines)) < len(deadlines)


def compare(setup: Setup, params: Sequence[Params], works: Sequence[dict[int, int]]) -> int:
    """Plays one world on both; how many ticks were compared."""
    rule, other = Run(setup, params), xen(setup, params)
    for now in range(TICKS):
        departed = rule.finish_tick() if now else rule.begin()
        if now:
            other.elapse()
        if any(used_up(other, v) for v in departed):
            return now
        for v in departed:
            other.block(v)
        for v in rule.arrive([work.get(now, 0) for work in works]):
            other.wake(v)
        grant, runs = rule.world.decide()[0].run, other.decide()
        if tied(other):
            return now
        assert grant == runs, (now, setup, params, works)
    return TICKS


@pytest.mark.parametrize("order", ["fp", "edf"])
@pytest.mark.parametrize("budget", ["slice", "slice-once"])
def test_they_agree_until_they_are_meant_to_differ(budget: BudgetRule, order: str) -> None:
    whole = compared = 0
    for pairs in SYSTEMS:
        params = [Params(period, slice_, v) for v, (period, slice_) in enumerate(pairs)]
        setup = Setup(Policy(budget, "edf" if order == "edf" else "fp"))
        for one, two in itertools.product(patterns(4), patterns(3)):
            works = [
                dict(zip((0, 3, 5, 8), one, strict=True)),
                dict(zip((1, 4, 7), two, strict=True)),
            ]
            ticks = compare(setup, params, works)
            compared += ticks
            whole += ticks == TICKS
    assert whole > 500
    assert compared > 30_000
