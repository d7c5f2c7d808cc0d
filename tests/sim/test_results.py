# SPDX-License-Identifier: BSD-2-Clause
"""The result object: what is counted, to the last job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.worlds import alone, domain, run, system, task

from hyperperiod import _sim
from hyperperiod.hosts.result import (
    Counts,
    PcpuCount,
    Responses,
    TaskCount,
    VcpuCount,
    make_result,
)
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.model import System
from hyperperiod.model.vcpus import InterfaceResult
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind, is_interrupted, read


def counts(one: System, horizon: int, name: str = "t") -> tuple[int, int, float | None]:
    found = run(one, horizon).task(name)
    return found.jobs, found.misses, found.dmr


def test_jobs_are_those_released_before_the_horizon() -> None:
    one = alone("rm", task("t", 10, 2))
    assert counts(one, 30) == (3, 0, 0)
    assert counts(one, 31) == (4, 0, 0)


def test_finishing_at_the_deadline_is_in_time() -> None:
    assert counts(alone("rm", task("t", 10, 10)), 30) == (3, 0, 0)


def test_finishing_at_the_horizon_counts() -> None:
    """The job that ends exactly at the horizon is finished, not missed."""
    ran = run(alone("rm", task("t", 10, 10)), 10)
    assert ran.task("t").response_ns == Responses(min=10, mean=10, p50=10, p99=10, max=10)
    assert ran.finishes("t") == [10]


def test_late_jobs_are_misses() -> None:
    """Jobs of 6 every 10 with a deadline of 5: all three are late; the third is due by 25."""
    one = alone("rm", task("t", 10, 6, deadline=5))
    assert counts(one, 30) == (3, 3, 1)


def test_an_unfinished_job_is_missed_once_its_deadline_is_there() -> None:
    one = alone("rm", task("t", 20, 12, deadline=10))
    assert counts(one, 9) == (1, 0, None)
    assert counts(one, 10) == (1, 1, 1)
    assert counts(one, 12) == (1, 1, 1)


def test_a_backlog_is_missed_one_by_one() -> None:
    """Jobs of 20 every 10, due after 15: at 60 jobs 0, 1 and 2 are done, all late; 3 and 4 are
    unfinished with their deadlines 45 and 55 passed; 5 is due at 65 and so not in dmr."""
    assert counts(alone("rm", task("t", 10, 20, deadline=15)), 60) == (6, 5, 1)


def test_misses_are_recorded() -> None:
    ran = run(alone("rm", task("t", 10, 20, deadline=15)), 60)
    assert ran.times_of(Kind.MISS) == [20, 40, 60, 60, 60]
    assert ran.times_of(Kind.END) == [60]


def test_dmr_of_events_with_long_deadlines() -> None:
    """Deadlines 40 after the release, several of them open at once: 0, 12, 24, 36, 48."""
    one = alone("rm", task("t", 10, 2, kind="event", deadline=40))
    for horizon, due in [(39, 0), (40, 1), (52, 2), (60, 2), (64, 3)]:
        found = run(one, horizon).task("t")
        assert found.dmr == (0 if due else None)


@pytest.mark.parametrize("kind", ["periodic", "sporadic", "event"])
def test_dmr_against_the_trace(kind: str) -> None:
    """Counted again from the jobs of the trace, at many horizons."""
    one = alone(
        "rm",
        task("hog", 13, 5, etf=0.2),
        task("t", 10, 5, kind=kind, deadline=23, jitter=7, etf=0.4),
    )
    for horizon in range(100, 400, 7):
        ran = run(one, horizon)
        jobs = ran.jobs("t")
        due = [job for job in jobs if job.deadline_ns is not None and job.deadline_ns <= horizon]
        missed = [
            job for job in due if job.finish_ns is None or job.finish_ns > (job.deadline_ns or 0)
        ]
        found = ran.task("t")
        assert found.jobs == len(jobs)
        assert found.misses == len(missed)
        assert found.dmr == (len(missed) / len(due) if due else None)


def test_no_response_without_a_finished_job() -> None:
    assert run(alone("rm", task("t", 100, 50)), 20).task("t").response_ns is None


def test_response_times_against_the_trace() -> None:
    one = alone("rm", task("hog", 130, 60, etf=0.1), task("t", 100, 50, etf=0.1, deadline=900))
    ran = run(one, 200_000)
    responses = np.array(
        [job.finish_ns - job.release_ns for job in ran.jobs("t") if job.finish_ns is not None]
    )
    found = ran.task("t").response_ns
    assert found is not None
    assert found.min == responses.min()
    assert found.max == responses.max()
    assert found.mean == int(responses.sum() / len(responses) + 0.5)
    for percent, shown in ((50, found.p50), (99, found.p99)):
        exact = np.sort(responses)[-(-percent * len(responses) // 100) - 1]
        assert abs(shown - exact) <= ran.result.response_error * exact


def test_histograms_hold_every_response() -> None:
    one = alone("rm", task("hog", 1300, 600, etf=0.1), task("t", 1000, 300, etf=0.1))
    ran = run(one, 500_000, histograms=True)
    found = ran.task("t").histogram
    assert found is not None
    responses = [
        job.finish_ns - job.release_ns for job in ran.jobs("t") if job.finish_ns is not None
    ]
    for low, high, count in found:
        assert count == sum(low <= response <= high for response in responses)
        assert (high - low) / 2 <= ran.result.response_error * max(low, 1)
    assert sum(count for _, _, count in found) == len(responses)
    assert simulate(one, 500_000).domains[0].tasks[0].histogram is None


def test_the_mean_is_exact_beyond_64_bits() -> None:
    one = alone("rm", task("t", 10, 1))
    total = 3 * 2**64
    task_count = TaskCount(
        jobs=4,
        finished=3,
        misses=0,
        due=3,
        sum_ns=total + 1,
        min_ns=1,
        max_ns=2**64,
        p50_ns=1,
        p99_ns=1,
    )
    result = make_result(one, _counts(one, task_count))
    responses = result.domains[0].tasks[0].response_ns
    assert responses is not None
    assert responses.mean == 2**64


def _counts(one: System, task_count: TaskCount) -> Counts:
    assert len(one.domains) == 1
    return Counts(
        host="sim",
        end_ns=10,
        seed=1,
        interrupted=False,
        response_error=0.0,
        tasks=[task_count],
        vcpus=[VcpuCount(1, 0)],
        pcpus=[PcpuCount(1, 1, 1, 0, 0)],
    )


def test_supply_and_donations() -> None:
    """crps: high has 4 in 10 and work for 1, low 2 in 10 and work without end. Low runs in
    [1, 4) on high's budget, in [4, 6) on its own, and nobody has budget in [6, 10)."""
    one = system(
        "crps",
        domain("high", (4, 10), task("t", 10, 1), priority=0),
        domain("low", (2, 10), task("hog", kind="busy"), priority=1),
    )
    ran = run(one, 100)
    assert ran.domain("high").supply_ns == 10
    assert ran.domain("high").donated_ns == 0
    assert ran.domain("low").supply_ns == 50
    assert ran.domain("low").donated_ns == 30
    pcpu = ran.result.pcpus[0]
    assert (pcpu.busy_ns, pcpu.idle_ns) == (60, 40)


def test_lent_time_is_paid_by_the_borrower_too() -> None:
    one = system(
        "wcps",
        domain("high", (4, 10), task("t", 10, 1), priority=0),
        domain("low", (2, 10), task("hog", kind="busy"), priority=1),
    )
    ran = run(one, 100)
    assert ran.domain("low").supply_ns == 20
    assert ran.domain("low").donated_ns == 0


def test_the_object_has_the_documented_keys() -> None:
    ran = run(system("ptps", domain("d", (5, 10), task("t", 10, 1)), domain("b", None)), 20)
    assert list(ran.result.to_dict()) == [
        "system",
        "host",
        "policy",
        "horizon_ns",
        "seed",
        "interrupted",
        "preemptions",
        "migrations",
        "response_error",
        "domains",
        "pcpus",
    ]
    assert ran.domain("d").interface == InterfaceResult(period_ns=10, budget_ns=5, bandwidth=0.5)
    assert ran.domain("b").interface is None
    assert ran.task("hog").jobs == 1


class Interrupt:
    """Progress that is interrupted, as by Ctrl-C, at its n-th call."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, _now_ns: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperperiod.hosts.sim.INSTANTS_AT_ONCE", 100)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("kind", ["periodic", "event"])
def test_an_interrupted_run_is_a_shorter_run(tmp_path: Path, kind: str) -> None:
    one = system(
        "crps",
        domain("a", (4, 10), task("x", 20, 7, etf=0.3, jitter=5, kind=kind, deadline=90)),
        domain("b", (5, 15), task("y", 30, 9, etf=0.3), task("z", 45, 2, kind="sporadic")),
    )
    seen: list[int] = []

    class Noting(Interrupt):
        def __call__(self, _now_ns: int) -> None:
            seen.append(_now_ns)
            super().__call__(_now_ns)

    cut = simulate(one, 100_000, 3, tmp_path / "cut.hpt", Noting(7))
    assert cut.interrupted is True
    assert cut.horizon_ns == seen[-1] < 100_000
    assert seen == sorted(seen)
    whole = simulate(one, cut.horizon_ns, 3, tmp_path / "whole.hpt")
    assert whole.interrupted is False
    assert cut.replace(interrupted=False) == whole
    header, cut_records = read(tmp_path / "cut.hpt")
    assert is_interrupted(header, cut_records)
    assert not is_interrupted(*read(tmp_path / "whole.hpt"))
    assert cut_records.tobytes() == read(tmp_path / "whole.hpt")[1].tobytes()


@pytest.mark.usefixtures("small_steps")
def test_progress_reaches_the_horizon() -> None:
    seen: list[int] = []
    simulate(alone("rm", task("t", 10, 2)), 5_000, progress=seen.append)
    assert len(seen) > 5
    assert seen[-1] == 5_000


def test_a_finished_run_cannot_go_on() -> None:
    native = _sim.Run(make_scenario(alone("rm", task("t", 10, 2)), 100, 1))
    native.advance(1000)
    native.finish()
    before: list[Any] = [native.tasks(), native.pcpus()]
    native.finish()
    assert before == [native.tasks(), native.pcpus()]
    with pytest.raises(ValueError, match="finished"):
        native.advance(1)
