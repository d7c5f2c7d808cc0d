# SPDX-License-Identifier: BSD-2-Clause
"""Two tick models of slices agree: the semantics' own, and the one after Xen's scheduler.

`model.py` has slices and the slack rule weights as the core has them, `slices.py` has SEDF as Xen's
source has it. They are compared in every world of small systems until something happens in which
they are meant to differ:

- two deadlines or two scores are equal: Xen runs who came first, the rule whoever ran last, or the
  lower number;
- a vcpu wakes within a turn of extra time, with a claim to another one, or its period begins within
  it: Xen ends the turn, and idles if no whole one fits in any more; by the rule it goes on;
- a vcpu runs out of work in a turn that it has by its score: in Xen the others do not pay for it.

Under `keep` the first wake of all, of which the paper says nothing, is over (`booted`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from tests.model_naive.model import (
    ORDINARY,
    BudgetRule,
    OrderRule,
    Params,
    Policy,
    Setup,
    SlackRule,
)
from tests.model_naive.slices import Order, Slice, Wakes, World
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
    weighs = setup.policy.slack == "weights"
    vcpus = [
        Slice(
            one.period,
            one.budget,
            None if order == "edf" or one.priority == ORDINARY else one.priority,
            extra=one.extra and weighs,
        )
        for one in params
    ]
    wakes: Wakes = "once" if setup.policy.budget == "slice-once" else "keep"
    if order == "fp-edf":
        wakes = "classes"
    queues: Order = "edf" if order == "edf" else "fp"
    world = World(vcpus, wakes, queues, quantum=setup.share, claims=weighs)
    for vcpu in world.vcpus:
        vcpu.woken = vcpu.blocked = world.keeps(vcpu)  # the first wake of all is over
    return world


def tied(world: World) -> bool:
    """Whether the order of Xen's queues may be another one."""
    ordinary = [v for v in world.run_queue if world.vcpus[v].params.priority is None]
    deadlines = [world.vcpus[v].deadline for v in ordinary]
    claims = [world.vcpus[v].lost for v in world.lost_queue]
    scores = [world.vcpus[v].score for v in world.extra_queue]
    return any(len(set(queue)) < len(queue) for queue in (deadlines, claims, scores))


def parts_at_departure(world: World, v: int) -> bool:
    return world.in_extra and world.runs == v and v not in world.lost_queue


def parts_at_wake(world: World, until: int) -> bool:
    """A turn of extra time up to then was ended, and no other fits in before a period begins."""
    ended = world.in_extra and world.expires == world.now < until
    begins = min(world.vcpus[v].begin for v in world.wait_queue) if world.wait_queue else 0
    return ended and world.now < begins < world.now + world.quantum


def compare(setup: Setup, params: Sequence[Params], works: Sequence[dict[int, int]]) -> int:
    """Plays one world on both; how many ticks were compared."""
    rule, other = Run(setup, params), xen(setup, params)
    for now in range(TICKS):
        departed = rule.finish_tick() if now else rule.begin()
        if now:
            other.elapse()
        for v in departed:
            if parts_at_departure(other, v):
                return now
            other.block(v)
        for v in rule.arrive([work.get(now, 0) for work in works]):
            until = other.expires
            other.wake(v)
            if parts_at_wake(other, until):
                return now
        grant, runs = rule.world.decide()[0], other.decide()
        if tied(other):
            return now
        assert grant.run == runs, (now, setup, params, works)
        assert (grant.pay is None) == (runs is None or other.in_extra)
    return TICKS


@pytest.mark.parametrize("slack", ["none", "weights"])
@pytest.mark.parametrize(
    ("budget", "order", "priorities"),
    [
        ("slice", "fp", (0, 1)),
        ("slice", "edf", (0, 1)),
        ("slice", "fp-edf", (0, 1)),
        ("slice", "fp-edf", (0, ORDINARY)),
        ("slice", "fp-edf", (ORDINARY, 0)),
        ("slice", "fp-edf", (ORDINARY, ORDINARY)),
        ("slice-once", "fp", (0, 1)),
        ("slice-once", "edf", (0, 1)),
    ],
)
@pytest.mark.parametrize("systems", [1, pytest.param(len(SYSTEMS), marks=pytest.mark.slow)])
def test_they_agree_until_they_are_meant_to_differ(
    systems: int,
    budget: BudgetRule,
    order: OrderRule,
    priorities: tuple[int, int],
    slack: SlackRule,
) -> None:
    whole = compared = 0
    for pairs in SYSTEMS[:systems]:
        params = [
            Params(period, slice_, priorities[v], extra=v == 1)
            for v, (period, slice_) in enumerate(pairs)
        ]
        setup = Setup(Policy(budget, order, slack), share=2)
        for one, two in itertools.product(patterns(4), patterns(3)):
            works = [
                dict(zip((0, 3, 5, 8), one, strict=True)),
                dict(zip((1, 4, 7), two, strict=True)),
            ]
            ticks = compare(setup, params, works)
            compared += ticks
            whole += ticks == TICKS
    print(f"{whole} worlds to their end, {compared} ticks")
    assert whole > 160 * systems
    assert compared > 10_000 * systems
