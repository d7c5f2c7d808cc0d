# SPDX-License-Identifier: BSD-2-Clause
"""The hypervisor's own work takes real time at the start of a grant."""

from __future__ import annotations

from typing import Any

from tests.support.worlds import Run, domain, run, system, task

from hyperperiod.hosts.result import RunTask
from hyperperiod.model import Overheads, System


def costs(**overheads: int) -> Overheads:
    return Overheads(**{f"{name}_ns": cost for name, cost in overheads.items()})


def two(policy: str = "ds", **overheads: int) -> System:
    """low works in [0, 10); high comes at 4 for 2; both could have the whole pcpu."""
    return system(
        policy,
        domain("low", (100, 100), task("l", 100, 10), priority=1),
        domain("high", (100, 100), task("h", 100, 2, offset=4), priority=0),
        overheads=costs(**overheads),
    )


def finishes(ran: Run) -> tuple[Any, Any]:
    return ran.finishes("l")[0], ran.finishes("h")[0]


def test_without_any() -> None:
    assert finishes(run(two(), 50)) == (12, 6)


def test_context_switch() -> None:
    """To low at 0, to high at 4, back to low at 7; going idle is free."""
    ran = run(two(context_switch=1), 50)
    assert finishes(ran) == (15, 7)
    assert ran.result.pcpus[0].switches == 4


def test_a_context_switch_after_idling() -> None:
    one = system("ds", domain("d", (100, 100), task("t", 20, 3)), overheads=costs(context_switch=2))
    assert run(one, 60).finishes("t") == [5, 25, 45]


def test_pick() -> None:
    """At 0, at 4 and when high is done."""
    assert finishes(run(two(pick=1), 50)) == (15, 7)


def test_interrupt() -> None:
    """By a timer at 0 and by a kick at 4, but not when high departs."""
    assert finishes(run(two(interrupt=1), 50)) == (14, 7)


def test_wake() -> None:
    """One arrival before each of the first two picks, none before the third."""
    assert finishes(run(two(wake=1), 50)) == (14, 7)


def test_a_wake_that_makes_nobody_pick_is_paid_at_the_next_pick() -> None:
    one = system(
        "ds",
        domain("high", (100, 100), task("h", 100, 10), priority=0),
        domain("low", (100, 100), task("l", 100, 2, offset=4), priority=1),
        overheads=costs(wake=1),
    )
    ran = run(one, 50)
    # high pays for its own arrival, low for its own at 11.
    assert (ran.finishes("h"), ran.finishes("l")) == ([11], [14])


def test_replenish() -> None:
    """Budget 3 of 10: each refill costs 1 out of the budget, so 2 are left to work with."""
    one = system("ds", domain("d", (3, 10), task("t", 100, 5)), overheads=costs(replenish=1))
    ran = run(one, 100)
    assert ran.paid()[:6] == [
        (0, 3, "d", "d"),
        (3, 10, "idle", ""),
        (10, 13, "d", "d"),
        (13, 20, "idle", ""),
        (20, 22, "d", "d"),
        (22, 100, "idle", ""),
    ]
    assert ran.finishes("t") == [22]


def test_migration() -> None:
    """As in the global timeline without overheads, b moves to pcpu 0 at 3, for 2 more."""
    one = system(
        "deferrable+edf+none+global",
        domain("a", (20, 20), task("a", 20, 3)),
        domain("b", (30, 30), task("b", 30, 6)),
        domain("c", (10, 10), task("c", 10, 4, offset=1)),
        pcpus=2,
        overheads=costs(migration=2),
    )
    ran = run(one, 20)
    assert ran.finishes("b") == [10]
    assert ran.finishes("a") == [3]


def test_a_kick_waits_until_the_hypervisor_is_done() -> None:
    """low's pick lasts to 5; high, there since 4, is picked then and starts at 10."""
    assert finishes(run(two(pick=5), 50)) == (27, 12)


def test_the_payer_pays_for_it() -> None:
    """A job of 3 with 2 of overhead needs 5 of budget: it spends two periods' 4."""
    one = system("ds", domain("d", (4, 10), task("t", 100, 3)), overheads=costs(pick=2))
    ran = run(one, 30)
    # [0, 2) pick, [2, 4) work, depleted; [10, 12) pick, [12, 13) work.
    assert ran.finishes("t") == [13]


def shortest_ns(task: RunTask) -> int:
    """The shortest response; 0 if no job has finished."""
    return task.response_ns.min if task.response_ns else 0


def test_a_grant_shorter_than_its_overhead() -> None:
    """Budget 2, pick 3: the pick at the end of the grant comes late, and time still goes on."""
    one = system("ds", domain("d", (2, 10), task("t", 100, 1)), overheads=costs(pick=3))
    ran = run(one, 1000, check=False)
    assert (shortest_ns(ran.task("t")) or 3) >= 3
    assert ran.result.pcpus[0].picks < 1000


def test_all_of_them_only_make_jobs_later() -> None:
    everything = costs(context_switch=3, pick=2, replenish=1, wake=1, interrupt=1, migration=4)
    loads = [domain(f"d{i}", (60, 200), task(f"t{i}", 200, 20 + 3 * i)) for i in range(3)]
    plain = run(system("crps", *loads), 20_000)
    slow = run(system("crps", *loads, overheads=everything), 20_000)
    for i in range(3):
        assert slow.task(f"t{i}").misses == 0
        assert shortest_ns(slow.task(f"t{i}")) > shortest_ns(plain.task(f"t{i}")) > 0
