# SPDX-License-Identifier: BSD-2-Clause
"""When jobs are released and how long they run, for every kind of task."""

from __future__ import annotations

import itertools

import pytest
from tests.support.worlds import Run, alone, domain, run, system, task

from hyperperiod.model import Overrun
from hyperperiod.trace.format import Kind


def executed(ran: Run, name: str) -> list[int]:
    """How long each finished job of a task was executed, in a domain that has it alone."""
    return [
        job.finish_ns - job.start_ns
        for job in ran.jobs(name)
        if job.finish_ns is not None and job.start_ns is not None
    ]


def test_offset() -> None:
    ran = run(alone("rm", task("t", 10, 2, offset=3)), 30)
    assert ran.releases("t") == [3, 13, 23]
    assert ran.drawn() == "0 - 3 t 5 - 13 t 15 - 23 t 25 - 30"


def test_a_release_at_the_horizon_is_not_in_the_run() -> None:
    assert run(alone("rm", task("t", 10, 2)), 20).releases("t") == [0, 10]
    assert run(alone("rm", task("t", 10, 2)), 21).releases("t") == [0, 10, 20]


def test_jitter_is_uniform_and_counts_from_the_arrival() -> None:
    releases = run(alone("rm", task("t", 10, 1, jitter=4)), 10_000).releases("t")
    late = [release - 10 * job for job, release in enumerate(releases)]
    assert set(late) == {0, 1, 2, 3, 4}
    assert all(150 < late.count(value) < 250 for value in range(5))


def test_releases_do_not_overtake() -> None:
    """With a jitter of three periods a release may have to wait for the one before it."""
    ran = run(alone("rm", task("t", 10, 1, jitter=30)), 2000)
    releases = ran.releases("t")
    assert releases == sorted(releases)
    assert len(set(releases)) < len(releases)
    assert all(10 * job <= release for job, release in enumerate(releases))


def test_jitter_with_a_backlog() -> None:
    """The cursor that walks behind sees the releases that the one in front saw."""
    ran = run(alone("rm", task("t", 10, 9, jitter=35, etf=0.2)), 5000)
    for job in ran.jobs("t"):
        assert job.deadline_ns == job.release_ns + 10
    completes = [row for row in ran.records if row["kind"] == Kind.COMPLETE]
    responses = [
        job.finish_ns - job.release_ns for job in ran.jobs("t") if job.finish_ns is not None
    ]
    assert [int(row["value"]) for row in completes] == responses


def test_sporadic_gaps() -> None:
    releases = run(alone("rm", task("t", 10, 1, kind="sporadic", offset=5)), 20_000).releases("t")
    gaps = {after - before for before, after in itertools.pairwise(releases)}
    assert releases[0] == 5
    assert gaps == set(range(10, 21))


def test_an_event_comes_a_period_after_the_last_one_finished() -> None:
    """Under a hog of 4 in 20 the second job, released at 12, has the pcpu from 12 to 14."""
    ran = run(alone("rm", task("hog", 9, 4), task("e", 10, 2, kind="event")), 40)
    assert ran.finishes("e") == [6, 18, 33]
    assert ran.releases("e") == [0, 16, 28]


def test_execution_times_are_uniform_from_bcet_to_wcet() -> None:
    times = executed(run(alone("rm", task("t", 20, 10, etf=0.5)), 20_000), "t")
    assert set(times) == set(range(5, 11))
    assert all(110 < times.count(value) < 230 for value in range(5, 11))


def test_some_jobs_overrun_and_all_others_are_as_before() -> None:
    """Every third job released in [100, 900): 5, 8, ... 41 of periods of 20; rounded up."""
    plain = alone("rm", task("t", 20, 10, etf=0.5), task("u", 30, 3))
    longer = {"task": "d.t", "factor": 1.3, "from": 100, "to": 900, "every": 3}
    before = executed(run(plain, 2000), "t")
    ran = run(plain.replace(overruns=(Overrun.of(longer),)), 2000)
    expected = [
        -(-13 * time // 10) if 5 <= job < 45 and job % 3 == 2 else time
        for job, time in enumerate(before)
    ]
    assert executed(ran, "t") == expected
    assert ran.releases("t") == list(range(0, 2000, 20))


def test_items_overrun_by_their_numbers_at_the_hop() -> None:
    """Two flows share a hop: of each it is every second item, whichever job that is."""
    hop = task("hop", 100, 4, kind="event")
    flows = [
        {"name": name, "source": {"period": 100, "offset": at}, "hops": ["d.hop"], "deadline": 50}
        for name, at in (("f", 0), ("g", 30))
    ]
    of = {"task": "d.hop", "factor": 2, "every": 2}
    both = system("ptps", domain("d", (1000, 1000), hop), flow=flows, overrun=[of])
    ran = run(both, 400)
    assert executed(ran, "hop") == [4, 4, 8, 8, 4, 4, 8, 8]


def test_a_busy_task_never_ends() -> None:
    ran = run(alone("rm", task("hog", kind="busy", offset=4), task("t", 10, 2)), 20)
    assert ran.drawn() == "0 t 2 - 4 hog 10 t 12 hog 20"
    hog = ran.task("hog")
    assert (hog.jobs, hog.misses, hog.dmr, hog.response_ns) == (1, 0, None, None)


def test_busy_jobs_come_back_to_back() -> None:
    ran = run(alone("rm", task("hog", None, 3, kind="busy"), task("t", 10, 2)), 20)
    assert ran.finishes("hog") == [5, 8, 13, 16, 19, None]
    assert ran.releases("hog") == [0, 5, 8, 13, 16, 19]
    # It never departs in between.
    assert ran.times_of(Kind.DEPART) == []
    assert ran.times_of(Kind.ARRIVE) == [0]


def test_draws_do_not_depend_on_the_schedule() -> None:
    """Another policy, interface and domain beside it: the same releases and execution times."""
    inner = task("t", 100, 20, etf=0.3, jitter=9)
    gaps = task("s", 70, 5, kind="sporadic")
    small = system("ptps", domain("d", (50, 50), inner, gaps))
    other = system(
        "crps",
        domain("d", (30, 50), inner, gaps),
        domain("e", (10, 50), task("x", 50, 10)),
    )
    one, two = run(small, 20_000), run(other, 20_000)
    for name in ("t", "s"):
        assert one.releases(name) == two.releases(name)
    assert one.domain("d").supply_ns == pytest.approx(two.domain("d").supply_ns, abs=40)


def test_the_seed_changes_the_draws() -> None:
    one = alone("rm", task("t", 20, 10, etf=0.5))
    assert executed(run(one, 2000, seed=1), "t") != executed(run(one, 2000, seed=2), "t")


@pytest.mark.parametrize("policy", ["crps", "rtds", "sporadic"])
def test_the_same_seed_gives_the_same_bytes(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole trace, also with checks off and with the run cut into many pieces."""
    one = system(
        policy,
        domain("a", (4, 10), task("x", 20, 7, etf=0.3, jitter=5), extra=True),
        domain("b", (5, 15), task("y", 30, 9, etf=0.3), task("z", 45, 2, kind="sporadic")),
    )
    first = run(one, 20_000, seed=7).trace
    assert first == run(one, 20_000, seed=7).trace
    assert first == run(one, 20_000, seed=7, check=False).trace
    assert first != run(one, 20_000, seed=8).trace
    monkeypatch.setattr("hyperperiod.hosts.sim.INSTANTS_AT_ONCE", 3)
    assert first == run(one, 20_000, seed=7).trace


def test_memory_does_not_grow_with_a_backlog() -> None:
    """Twice as much work as time: half of all jobs wait in the end, and none is kept anywhere."""
    ran = run(alone("rm", task("t", 10, 20, deadline=1000)), 100_000)
    assert ran.task("t").jobs == 10_000
    assert len([finish for finish in ran.finishes("t") if finish is not None]) == 5_000
