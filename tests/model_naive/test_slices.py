# SPDX-License-Identifier: BSD-2-Clause
"""The tick model of SEDF, SEDF' and PSEDF against schedules worked out by hand.

A schedule is a text, one letter per tick: the vcpu that runs (a, b, ...), in capitals on extra
time, a dot when nobody does.
"""

from __future__ import annotations

import pytest
from tests.model_naive.slices import Order, Slice, Wakes, World, weighted

ENDLESS = 10**6
Work = dict[int, list[tuple[int, int]]]


def schedule(world: World, work: Work, ticks: int) -> str:
    """Runs the world; `work`: per vcpu when work comes and how much."""
    amounts = [0] * len(world.vcpus)
    text = ""
    runs: int | None = None
    for now in range(ticks):
        if now:
            world.elapse()
        if runs is not None:
            amounts[runs] -= 1
            if not amounts[runs]:
                world.block(runs)
        for v, steps in work.items():
            for when, amount in steps:
                if when == now:
                    amounts[v] += amount
                    if not world.vcpus[v].work:
                        world.wake(v)
        runs = world.decide()
        letter = "." if runs is None else "abcdef"[runs]
        text += letter.upper() if world.in_extra else letter
    return text


def one(wakes: Wakes = "once", *, period: int = 5, slice_: int = 2, booted: bool = True) -> World:
    return World([Slice(period, slice_)], wakes, booted=booted)


def test_the_first_wake_of_all_waits_for_a_slice() -> None:
    assert schedule(one(booted=False), {0: [(1, 1)]}, 8) == "...a...."


def test_under_keep_it_does_not() -> None:
    assert schedule(one("keep", booted=False), {0: [(1, 1)]}, 8) == ".a......"


def test_after_its_deadline_a_vcpu_starts_a_new_period() -> None:
    assert schedule(one(), {0: [(3, ENDLESS)]}, 15) == "...aa...aa...aa"


@pytest.mark.parametrize(
    ("wake", "once", "keep"),
    [
        # The period is [0, 5), one tick of two is used; relative to its begin and end.
        (1, "a....a....", "aa........"),
        (2, "a....a....", "a.a......."),
        (4, "a....a....", "a...a....."),
        (5, "a....a....", "a....a...."),
        (6, "a.....a...", "a.....a..."),
    ],
)
def test_wakes_within_a_period(wake: int, once: str, keep: str) -> None:
    work = {0: [(0, 1), (wake, 1)]}
    assert schedule(one(), work, 10) == once
    assert schedule(one("keep"), work, 10) == keep


@pytest.mark.parametrize(
    ("wake", "once", "keep"),
    [
        # The slice of [0, 5) is used up in it: the vcpu is in [5, 10) already.
        (2, "aa...a........", "aa...a........"),
        (4, "aa...a........", "aa...a........"),
        (5, "aa........a...", "aa...a........"),
        (9, "aa........a...", "aa.......a...."),
        (10, "aa........a...", "aa........a..."),
    ],
)
def test_a_slice_that_is_used_up_moves_the_vcpu_on(wake: int, once: str, keep: str) -> None:
    work = {0: [(0, 2), (wake, 1)]}
    assert schedule(one(), work, 14) == once
    assert schedule(one("keep"), work, 14) == keep


def test_a_kept_slice_is_spent_back_to_back_with_the_next() -> None:
    assert schedule(one("keep"), {0: [(0, 1), (4, 9)]}, 14) == "a...aaa...aa.."


@pytest.mark.parametrize(
    ("sharp", "expected"), [(True, "a....aaaaa..aaaa"), (False, "a....aaaaaaaaaaa")]
)
def test_late_repair_as_in_the_source(sharp: bool, expected: str) -> None:
    """Xen lets a vcpu that runs past its deadline use up the old slice, and then another."""
    world = World([Slice(6, 4)], "keep", sharp=sharp, booted=True)
    assert schedule(world, {0: [(0, 1), (5, ENDLESS)]}, 16) == expected


@pytest.mark.parametrize(("order", "expected"), [("edf", "bbaaacc"), ("fp", "aaabbcc")])
def test_orders(order: Order, expected: str) -> None:
    vcpus = [Slice(9, 3, 0), Slice(8, 2), Slice(9, 2)]
    world = World(vcpus, "keep", order, booted=True)
    assert schedule(world, {v: [(0, ENDLESS)] for v in range(3)}, 7) == expected


def test_equal_deadlines_are_served_in_order_of_coming() -> None:
    world = World([Slice(8, 2), Slice(8, 2)], booted=True)
    assert schedule(world, {1: [(0, 2)], 0: [(0, 2)]}, 4) == "bbaa"


def test_real_time_vcpus_preempt_whatever_the_deadlines() -> None:
    world = World([Slice(20, 2, 0), Slice(4, 3)], "keep", "fp", booted=True)
    assert schedule(world, {0: [(1, 2)], 1: [(0, ENDLESS)]}, 8) == "baabbbb."


def test_time_lost_to_short_unblocking_comes_before_weights() -> None:
    """a blocks after one of two ticks and wakes too soon: one turn for that, then by score."""
    vcpus = [Slice(8, 2, extra=True), Slice(8, 2, extra=True, weight=256)]
    world = World(vcpus, booted=True)
    text = schedule(world, {0: [(0, 1), (3, ENDLESS)], 1: [(0, ENDLESS)]}, 8)
    assert text == "abbAABBB"


def test_weights_share_the_gaps() -> None:
    vcpus = [Slice(400, 1, extra=True, weight=300), Slice(400, 1, extra=True, weight=100)]
    text = schedule(World(vcpus, booted=True), {v: [(0, ENDLESS)] for v in range(2)}, 400)
    assert abs(text.count("A") - 3 * text.count("B")) <= 4


def test_a_gap_shorter_than_a_quantum_is_idle() -> None:
    world = World([Slice(6, 4, extra=True)], quantum=3, booted=True)
    assert schedule(world, {0: [(0, ENDLESS)]}, 12) == "aaaa..aaaa.."
    world = World([Slice(6, 3, extra=True)], quantum=3, booted=True)
    assert schedule(world, {0: [(0, ENDLESS)]}, 12) == "aaaAAAaaaAAA"


def test_weighted_vcpus_share_what_is_left() -> None:
    vcpus = [Slice(20, 5), Slice(0, 0, weight=2), Slice(0, 0, weight=1)]
    assert [v.slice for v in weighted(vcpus, period=100, safety=5)] == [5, 46, 23]
