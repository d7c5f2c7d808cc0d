# SPDX-License-Identifier: BSD-2-Clause
"""Policies on the simulator: who runs, who pays, until when, worked out by hand.

The usual pair: `high` has 4 in 10 and needs 2 of it, `low` has 5 in 10 and never has enough.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.worlds import change, domain, run, swap, system, task

from hyperperiod.model import System, load_system
from hyperperiod.trace.format import Kind

ROOT = Path(__file__).parents[2]


def pair(policy: str, offset: int = 0, **more: object) -> System:
    return system(
        policy,
        domain("high", (4, 10), task("t", 10, 2, offset=offset), priority=0),
        domain("low", (5, 10), task("hog", kind="busy"), priority=1),
        **more,
    )


def test_ptps_lets_budget_idle_away() -> None:
    assert run(pair("ptps"), 10).paid() == [
        (0, 2, "high", "high"),
        (2, 4, "idle", "high"),
        (4, 9, "low", "low"),
        (9, 10, "idle", ""),
    ]


def test_wcps_lends_and_both_pay() -> None:
    assert run(pair("wcps"), 10).paid() == [
        (0, 2, "high", "high"),
        (2, 4, "low", "high;low"),
        (4, 7, "low", "low"),
        (7, 10, "idle", ""),
    ]


def test_crps_gives_and_the_owner_pays() -> None:
    assert run(pair("crps"), 10).paid() == [
        (0, 2, "high", "high"),
        (2, 4, "low", "high"),
        (4, 9, "low", "low"),
        (9, 10, "idle", ""),
    ]


def test_a_deferrable_server_keeps_its_budget() -> None:
    assert run(pair("ds", offset=3), 10).paid() == [
        (0, 3, "low", "low"),
        (3, 5, "high", "high"),
        (5, 7, "low", "low"),
        (7, 10, "idle", ""),
    ]


def test_a_polling_server_loses_it() -> None:
    """The job that comes at 3 is served in the next period, and the one of 13 waits for 20."""
    assert run(pair("polling", offset=3), 20).paid() == [
        (0, 5, "low", "low"),
        (5, 10, "idle", ""),
        (10, 12, "high", "high"),
        (12, 17, "low", "low"),
        (17, 20, "idle", ""),
    ]


def test_a_sporadic_server_gets_back_what_it_used_a_period_later() -> None:
    one = system("sporadic", domain("d", (2, 10), task("t", 40, 5, offset=3)))
    assert run(one, 40).paid() == [
        (0, 3, "idle", ""),
        (3, 5, "d", "d"),
        (5, 13, "idle", ""),
        (13, 15, "d", "d"),
        (15, 23, "idle", ""),
        (23, 24, "d", "d"),
        (24, 40, "idle", ""),
    ]


def test_cbs_starts_a_period_when_work_comes() -> None:
    """Deadline 13 at the first arrival; depleted at 5, it waits for that and gets 23."""
    one = system("cbs", domain("d", (2, 10), task("t", 40, 5, offset=3)))
    assert run(one, 40).paid() == [
        (0, 3, "idle", ""),
        (3, 5, "d", "d"),
        (5, 13, "idle", ""),
        (13, 15, "d", "d"),
        (15, 23, "idle", ""),
        (23, 24, "d", "d"),
        (24, 40, "idle", ""),
    ]


def test_extra_time_needs_permission() -> None:
    hog = task("hog", kind="busy")
    with_it = run(system("rtds", domain("d", (2, 10), hog, extra=True)), 30)
    assert with_it.paid() == [(0, 30, "d", "d")]
    assert with_it.domain("d").donated_ns == 0
    without = run(system("rtds", domain("d", (2, 10), hog)), 30)
    assert without.domain("d").supply_ns == 6


def test_ertds_example_3_interval_by_interval() -> None:
    """Fig. 5 of the ERTDS paper (A to G in its drawing), twice over."""
    us = 1000
    figure = [
        (0, 2, "vm1", "vm1"),
        (2, 4, "vm2", "vm2"),
        (4, 5, "vm1", "spare"),  # A, B
        (5, 9, "vm2", "vm2"),
        (9, 11, "vm1", "vm1"),
        (11, 12, "vm1", "spare"),  # C, D
        (12, 18, "vm2", "vm2"),
        (18, 20, "vm1", "vm1"),
        (20, 22, "vm1", "spare"),  # E, F
        (22, 24, "idle", "spare"),  # G
    ]
    expected = [
        ((start + shift) * us, (end + shift) * us, who, pay)
        for shift in (0, 24)
        for start, end, who, pay in figure
    ]
    ran = run(load_system(ROOT / "systems/ertds-example3.toml"), 48 * us)
    assert ran.paid() == expected
    assert ran.result.domains[0].donated_ns == 8 * us


def test_best_effort_fills_what_is_idle() -> None:
    one = system("ptps", domain("d", (4, 10), task("t", 10, 2)), domain("rest", None))
    ran = run(one, 20)
    assert ran.paid() == [
        (0, 2, "d", "d"),
        (2, 4, "rest", "d"),
        (4, 10, "rest", ""),
        (10, 12, "d", "d"),
        (12, 14, "rest", "d"),
        (14, 20, "rest", ""),
    ]
    assert ran.domain("rest").supply_ns == ran.domain("rest").donated_ns == 16


def test_best_effort_takes_turns_of_a_millisecond() -> None:
    ms = 1_000_000
    ran = run(system("ptps", domain("a", None), domain("b", None)), 4 * ms)
    assert [row[:3] for row in ran.paid()] == [
        (0, ms, "a"),
        (ms, 2 * ms, "b"),
        (2 * ms, 3 * ms, "a"),
        (3 * ms, 4 * ms, "b"),
    ]


def test_best_effort_with_tasks() -> None:
    rest = domain("rest", None, task("late", 20, 9, deadline=8), scheduler="edf")
    ran = run(system("ptps", domain("d", (4, 10), task("t", 10, 4)), rest), 20)
    assert ran.drawn() == "0 t 4 late 10 t 14 late 17 - 20"
    assert ran.task("late").misses == 1


def test_partitioned_pcpus_do_not_meet() -> None:
    one = system(
        "crps",
        domain("a", (4, 10), task("x", 10, 3), pcpu=1),
        domain("b", (5, 10), task("y", 10, 5), pcpu=0),
        domain("c", (5, 10), task("z", 10, 5), pcpu=1),
        pcpus=3,
    )
    ran = run(one, 10)
    assert ran.drawn(0) == "0 y 5 - 10"
    assert ran.drawn(1) == "0 x 3 z 8 - 10"
    assert ran.drawn(2) == "0 - 10"


def test_global_edf_places_and_migrates() -> None:
    """c displaces the later b on pcpu 1; b goes on at 3 on pcpu 0, where a is done."""
    one = system(
        "deferrable+edf+none+global",
        domain("a", (20, 20), task("a", 20, 3)),
        domain("b", (30, 30), task("b", 30, 6)),
        domain("c", (10, 10), task("c", 10, 4, offset=1)),
        pcpus=2,
    )
    ran = run(one, 10)
    assert ran.drawn(0) == "0 a 3 b 8 - 10"
    assert ran.drawn(1) == "0 b 1 c 5 - 10"
    assert ran.result.preemptions == 1
    assert ran.result.migrations == 1
    assert ran.result.pcpus[0].migrations == 1
    assert ran.result.pcpus[1].preemptions == 1


def test_a_completion_is_no_preemption() -> None:
    """t ends at 4 in the very instant in which the better one comes."""
    one = system(
        "ds",
        domain("low", (20, 20), task("t", 20, 4), priority=1),
        domain("high", (20, 20), task("u", 20, 4, offset=4), priority=0),
    )
    assert run(one, 20).result.preemptions == 0


def test_a_hot_swap() -> None:
    swapped = pair("ptps", swap=(swap(13, "crps"),))
    ran = run(swapped, 20)
    assert ran.paid()[4:] == [
        (10, 12, "high", "high"),
        (12, 13, "idle", "high"),
        (13, 14, "low", "high"),
        (14, 19, "low", "low"),
        (19, 20, "idle", ""),
    ]
    assert ran.times_of(Kind.SWAP) == [13]


def test_a_swap_on_every_pcpu() -> None:
    one = system(
        "ptps",
        domain("a", (4, 10), task("x", 10, 2), pcpu=0),
        domain("b", (4, 10), task("y", 10, 2), pcpu=1),
        domain("rest", None, pcpu=1),
        pcpus=2,
        swap=(swap(11, "ds"), swap(23, "crps")),
    )
    ran = run(one, 30)
    assert ran.times_of(Kind.SWAP) == [11, 23]
    # Idling costs a its budget, but not under ds; of the 4 it has at 20 it uses 2.
    assert ran.paid(0) == [
        (0, 2, "a", "a"),
        (2, 4, "idle", "a"),
        (4, 10, "idle", ""),
        (10, 12, "a", "a"),
        (12, 20, "idle", ""),
        (20, 22, "a", "a"),
        (22, 23, "idle", ""),
        (23, 25, "idle", "a"),
        (25, 30, "idle", ""),
    ]
    assert (23, 25, "rest", "b") in ran.paid(1)


def test_a_change_takes_effect_at_the_next_refill() -> None:
    changed = pair("crps", change=(change(5, "low", (8, 10)),))
    assert run(changed, 20).paid() == [
        (0, 2, "high", "high"),
        (2, 4, "low", "high"),
        (4, 9, "low", "low"),
        (9, 10, "idle", ""),
        (10, 12, "high", "high"),
        (12, 14, "low", "high"),
        (14, 20, "low", "low"),
    ]


def test_a_changed_period_changes_the_priority() -> None:
    """By default a server with the shorter period comes first, also after a change."""
    one = system(
        "ds",
        domain("a", (5, 20), task("x", kind="busy")),
        domain("b", (5, 30), task("y", kind="busy")),
        change=(change(1, "b", (5, 10)),),
    )
    ran = run(one, 60)
    assert ran.drawn() == "0 x 5 y 10 - 20 x 25 - 30 y 35 - 40 y 45 x 50 y 55 - 60"


@pytest.mark.parametrize(
    ("wanted", "drawn"),
    [
        ((5, 10), "0 a 1 - 3 b 8 - 13 b 18 - 30"),
        ((3, 12), "0 a 1 - 3 b 6 - 15 b 18 - 27 b 30"),
    ],
)
def test_under_cbs_an_arrival_that_starts_a_period_brings_the_change(
    wanted: tuple[int, int], drawn: str
) -> None:
    """Asked for at 2, due at 10; the job at 3 finds 4 left, more than (10 - 3) / 2."""
    tasks = task("a", 100, 1), task("b", 100, 10, offset=3)
    one = system("cbs", domain("d", (5, 10), *tasks), change=(change(2, "d", wanted),))
    assert run(one, 30).drawn() == drawn


@pytest.mark.parametrize(
    ("before", "after", "drawn"),
    [
        ("ds", "polling", "0 a 3 - 10 t 11 - 30"),
        ("polling", "ds", "0 a 3 - 6 t 7 - 30"),
    ],
)
def test_the_policy_after_a_swap_decides_whether_idle_budget_is_lost(
    before: str, after: str, drawn: str
) -> None:
    """The swap comes at the very instant at which the work ends."""
    tasks = task("a", 100, 3), task("t", 100, 1, offset=6)
    one = system(before, domain("d", (5, 10), *tasks), swap=(swap(3, after),))
    assert run(one, 30).drawn() == drawn


@pytest.mark.parametrize("pcpus", [1, 2])
def test_more_vcpus_than_a_word(pcpus: int) -> None:
    """150 vcpus in one lock domain: the wide build of the engine, the same rules."""
    many = [domain(f"d{i}", (10, 3000 + i), task(f"t{i}", 3000 + i, 10)) for i in range(150)]
    ran = run(system("deferrable+edf+none+global", *many, pcpus=pcpus), 3000)
    assert [ran.finishes(f"t{i}")[0] for i in range(150)] == [
        10 * (i // pcpus + 1) for i in range(150)
    ]
