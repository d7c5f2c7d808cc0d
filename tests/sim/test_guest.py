# SPDX-License-Identifier: BSD-2-Clause
"""Schedulers inside a domain, each by a timeline worked out by hand.

The domain has its pcpu to itself, so what is drawn is the local schedule.
"""

from __future__ import annotations

import pytest
from tests.support.worlds import Run, alone, domain, event, flow, run, system, task

from hyperperiod.model import Task
from hyperperiod.trace.format import Kind


def test_rm_prefers_the_short_period() -> None:
    ran = run(alone("rm", task("slow", 20, 6), task("fast", 5, 2)), 20)
    assert ran.drawn() == "0 fast 2 slow 5 fast 7 slow 10 fast 12 - 15 fast 17 - 20"
    assert ran.result.preemptions == 1


def test_rm_breaks_ties_by_the_file() -> None:
    assert run(alone("rm", task("a", 10, 2), task("b", 10, 2)), 10).drawn() == "0 a 2 b 4 - 10"
    assert run(alone("rm", task("b", 10, 2), task("a", 10, 2)), 10).drawn() == "0 b 2 a 4 - 10"


def test_dm_prefers_the_short_deadline() -> None:
    one = alone("dm", task("a", 10, 3), task("b", 20, 3, deadline=5))
    assert run(one, 10).drawn() == "0 b 3 a 6 - 10"


def test_fp_prefers_the_small_number() -> None:
    one = alone("fp", task("a", 10, 3, priority=7), task("b", 20, 3, priority=3))
    assert run(one, 10).drawn() == "0 b 3 a 6 - 10"


def test_edf_prefers_the_early_deadline() -> None:
    one = alone("edf", task("a", 12, 5, deadline=12), task("b", 12, 3, deadline=6, offset=2))
    assert run(one, 12).drawn() == "0 a 2 b 5 a 8 - 12"


def test_edf_lets_the_running_job_go_on_in_a_tie() -> None:
    """b comes at 2 with the deadline of a, 10: no preemption, whatever the file's order."""
    a, b = task("a", 20, 5, deadline=10), task("b", 20, 3, deadline=8, offset=2)
    for tasks in ((a, b), (b, a)):
        ran = run(alone("edf", *tasks), 20)
        assert ran.drawn() == "0 a 5 b 8 - 20"
        assert ran.result.preemptions == 0


def test_edf_breaks_other_ties_by_the_file() -> None:
    """c is done at 4, just when a comes with the deadline of the waiting b: neither runs."""
    c = task("c", 40, 4, deadline=5)
    a, b = task("a", 40, 2, deadline=6, offset=4), task("b", 40, 2, deadline=10)
    assert run(alone("edf", a, b, c), 10).drawn() == "0 c 4 a 6 b 8 - 10"
    assert run(alone("edf", b, a, c), 10).drawn() == "0 c 4 b 6 a 8 - 10"


def test_fifo_goes_by_release_and_never_preempts() -> None:
    one = alone("fifo", task("slow", 40, 8), task("fast", 5, 1, offset=1))
    ran = run(one, 20)
    assert ran.drawn() == "0 slow 8 fast 10 - 11 fast 12 - 16 fast 17 - 20"
    assert ran.result.preemptions == 0


def test_fifo_breaks_ties_by_the_file() -> None:
    one = alone("fifo", task("b", 9, 1), task("a", 9, 1), task("c", 9, 1))
    assert run(one, 9).drawn() == "0 b 1 a 2 c 3 - 9"


def test_an_executor_runs_timers_first_then_the_file_and_never_preempts() -> None:
    sub = task("sub", 40, 4, kind="sporadic")
    one = alone("executor", sub, task("slow", 40, 3), task("fast", 8, 1, offset=1))
    ran = run(one, 16)
    # 0: slow and sub are ready, and all that is ready is done before anything else is looked at.
    assert ran.drawn() == "0 slow 3 sub 7 fast 8 - 9 fast 10 - 16"
    assert ran.result.preemptions == 0


def test_an_executor_takes_one_job_of_each_callback_in_a_window() -> None:
    """At 6 two jobs of a wait, and one of b: the second of a is not in the window with it."""
    callbacks = event("a", 1), event("b", 1), task("long", 99, 6)
    two = flow("f", 99, "d.a", burst=2, queue=2, offset=1), flow("g", 99, "d.b", offset=2)
    one = system("ptps", domain("d", (10, 10), *callbacks, scheduler="executor"), flow=two)
    assert run(one, 12).drawn() == "0 long 6 a 7 b 8 a 9 - 12"


def test_an_executor_polls_when_it_runs_not_when_it_is_done() -> None:
    """The budget of 4 is over at 4; at 10, when the next one comes, a timer is ready as well."""
    one = system(
        "ptps",
        domain(
            "d",
            (4, 10),
            task("first", 99, 4),
            task("sub", 99, 1, kind="sporadic", offset=1),
            task("timer", 99, 1, offset=9),
            scheduler="executor",
        ),
    )
    assert run(one, 15).drawn() == "0 first 4 - 10 timer 11 sub 12 - 15"


@pytest.mark.parametrize("scheduler", ["rm", "dm", "fp", "edf", "fifo", "executor"])
def test_jobs_of_a_task_are_fifo(scheduler: str) -> None:
    """The first job needs three periods; the later ones follow in order, and none is lost."""
    ranks: list[dict[str, int]] = [{"priority": 1}, {"priority": 0}]
    late, first = ranks if scheduler == "fp" else ({}, {})
    ran = run(
        alone(
            scheduler,
            task("t", 10, 8, deadline=30, **late),
            task("hog", 1000, 15, deadline=15, **first),
        ),
        100,
    )
    finishes = ran.finishes("t")
    done = [finish for finish in finishes if finish is not None]
    assert done == sorted(done)
    assert ran.releases("t") == list(range(0, 100, 10))
    assert finishes[len(done) :] == [None] * (len(finishes) - len(done))


@pytest.mark.parametrize("tasks", [63, 64, 65, 200])
def test_many_tasks(tasks: int) -> None:
    """Ranks beyond one word of the mask: all released at once, run in order of period."""
    many = [task(f"t{i}", 10_000 + 100 * ((i * 7) % tasks), 3) for i in range(tasks)]
    ran = run(alone("rm", *many), 10_000)
    by_period = sorted(range(tasks), key=lambda i: many[i].period_ns or 0)
    assert [ran.finishes(f"t{i}")[0] for i in by_period] == [3 * (k + 1) for k in range(tasks)]


# -- several vcpus -----------------------------------------------------------------------------


def run_pair(*tasks: Task, scheduler: str = "fp") -> Run:
    """A domain of two vcpus that have a pcpu each, under a global policy."""
    whole = domain("d", (1000, 1000), *tasks, scheduler=scheduler, vcpus=2)
    return run(system("deferrable+edf+none+global", whole, pcpus=2), 20)


def drawn_pair(*tasks: Task, scheduler: str = "fp") -> list[str]:
    ran = run_pair(*tasks, scheduler=scheduler)
    return [ran.drawn(0), ran.drawn(1)]


def test_a_job_takes_the_lowest_idle_vcpu() -> None:
    a, b, c = (task(name, 100, 4, priority=rank) for rank, name in enumerate("abc"))
    assert drawn_pair(a, b, c) == ["0 a 4 c 8 - 20", "0 b 4 - 20"]


def test_a_better_job_displaces_the_weakest() -> None:
    a, b = task("a", 100, 10, priority=1), task("b", 100, 10, priority=2)
    top = task("top", 100, 3, priority=0, offset=5)
    assert drawn_pair(a, b, top) == ["0 a 10 - 20", "0 b 5 top 8 b 13 - 20"]


def test_a_job_does_not_displace_an_equal() -> None:
    a, b = task("a", 100, 10, deadline=20), task("b", 100, 10, deadline=20)
    c = task("c", 100, 2, deadline=15, offset=5)
    assert drawn_pair(a, b, c, scheduler="edf") == ["0 a 10 c 12 - 20", "0 b 10 - 20"]


def test_a_pinned_task_waits_for_its_vcpu() -> None:
    a = task("a", 100, 6, priority=0)
    pinned = task("pinned", 100, 3, priority=1, vcpu=0)
    assert drawn_pair(a, pinned) == ["0 a 6 pinned 9 - 20", "0 - 20"]


def test_a_job_displaced_by_a_pinned_one_moves() -> None:
    a = task("a", 100, 6, priority=1)
    pinned = task("pinned", 100, 3, priority=0, vcpu=0, offset=2)
    assert drawn_pair(a, pinned) == ["0 a 2 pinned 5 - 20", "0 - 2 a 6 - 20"]


def test_a_vcpu_departs_only_if_nothing_waits() -> None:
    """Both jobs end at 4; one job waits and takes vcpu 0; vcpu 1 departs, and only it."""
    a, b, c = (task(name, 100, 4, priority=rank) for rank, name in enumerate("abc"))
    ran = run_pair(a, b, c)
    departs = [
        (int(row["time_ns"]), int(row["vcpu"])) for row in ran.records if row["kind"] == Kind.DEPART
    ]
    assert departs == [(4, 1), (8, 0)]


def test_a_job_stays_on_its_vcpu_without_a_pcpu() -> None:
    """One pcpu for two vcpus with budgets of 2 in 10: each job keeps its own vcpu."""
    a, b = task("a", 100, 3, priority=0), task("b", 100, 3, priority=1)
    whole = domain("d", (2, 10), a, b, scheduler="fp", vcpus=2)
    ran = run(system("deferrable+edf+none+global", whole), 20)
    assert ran.paid() == [
        (0, 2, "d.0", "d.0"),
        (2, 4, "d.1", "d.1"),
        (4, 10, "idle", ""),
        (10, 11, "d.1", "d.1"),  # equal deadlines: the last to run goes on
        (11, 12, "d.0", "d.0"),
        (12, 20, "idle", ""),
    ]
