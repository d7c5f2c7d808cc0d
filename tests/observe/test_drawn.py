# SPDX-License-Identifier: BSD-2-Clause
"""Systems that are known: drawn, simulated, written as Linux would, and read back."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.as_ftrace import FORMS, as_ftrace
from tests.support.drawn_threads import MS, drawn
from tests.support.worlds import Run, longest_ns, run

from hyperperiod.model import Task
from hyperperiod.observe.observe import Asked, observe
from hyperperiod.observe.result import ObservedThread
from hyperperiod.trace.format import NONE, Kind
from hyperperiod.trace.jobs import jobs
from hyperperiod.trace.records import each

HORIZON_NS = 2_000 * MS


def read_back(one: Run, path: Path, form: str, digits: int) -> dict[str, ObservedThread]:
    path.write_text(as_ftrace((one.header, one.records), form, digits))
    result = observe(str(path), Asked()).result
    assert (result.damaged, result.gaps, result.cut) == (0, 0, False)
    return {thread.name: thread for thread in result.threads}


class Truth(NamedTuple):
    """What one task did: releases and times of the jobs that finished, the longest response."""

    releases_ns: list[int]
    costs_ns: list[int]
    response_max_ns: int


def truths(one: Run) -> dict[str, Truth]:
    """Returns what each task did, from the records of the run, followed one by one."""
    ran: Counter[tuple[int, int]] = Counter()
    since: dict[int, tuple[tuple[int, int], int]] = {}
    for record in each(one.records):
        if record.kind in (Kind.RUN, Kind.IDLE):
            job, start_ns = since.pop(record.pcpu, ((NONE, 0), record.time_ns))
            ran[job] += record.time_ns - start_ns
            since[record.pcpu] = ((record.task, record.job), record.time_ns)
    names = [task["name"] for task in one.header["tasks"]]
    found = {name: Truth([], [], longest_ns(one.task(name))) for name in names}
    for done in jobs(one.header, one.records):
        if done.finish_ns is not None:
            found[done.task].releases_ns.append(done.release_ns)
            found[done.task].costs_ns.append(ran[names.index(done.task), done.job])
    return found


def against_grid(releases: list[int], period_ns: int) -> int:
    """How far the latest release lies behind the earliest, which have no holes between them."""
    late = [release_ns - number * period_ns for number, release_ns in enumerate(releases)]
    return max(late) - min(late)


def require_found_again(number: int, path: Path) -> None:
    """To the nanosecond where the times have nanoseconds, else to the microsecond of each time."""
    system = drawn(number)
    one = run(system, HORIZON_NS, number, check=False)
    truth = truths(one)
    for digits in (9, 6):
        found = read_back(one, path, FORMS[number % 4], digits)
        tasks = [task for domain in system.domains for task in domain.tasks]
        assert found.keys() == {task.name for task in tasks}
        for task in tasks:
            thread, tick_ns = found[task.name], 10 ** (9 - digits)
            about = f"system {number}, {task}, {tick_ns} ns: {thread}"
            require_found(task, truth[task.name], thread, tick_ns, about)


@pytest.mark.parametrize("number", range(4))
def test_drawn_systems_are_found_again(number: int, tmp_path: Path) -> None:
    require_found_again(number, tmp_path / "trace.txt")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4, 64))
def test_many_drawn_systems_are_found_again(number: int, tmp_path: Path) -> None:
    require_found_again(number, tmp_path / "trace.txt")


@pytest.mark.parametrize("number", range(3))
def test_each_job_is_kept_where_it_is_asked_for(number: int, tmp_path: Path) -> None:
    """The text has nanoseconds and loses nothing; its times count from the first event."""
    one = run(drawn(number), HORIZON_NS, number, check=False)
    every = jobs(one.header, one.records)
    first_ns = min(job.release_ns for job in every)
    text = tmp_path / "trace.txt"
    text.write_text(as_ftrace((one.header, one.records), digits=9))
    domains = [(f"process{index}", re.compile(f"^thread{index}")) for index in range(4)]
    assert not list(observe(str(text), Asked(domains=domains)).jobs)
    kept = list(observe(str(text), Asked(domains=domains, jobs=True)).jobs)
    assert sorted(
        (job.domain, job.task, job.release_ns + first_ns, job.ran_ns) for job in kept
    ) == [(job.domain, job.task, job.release_ns, job.ran_ns) for job in every if job.finish_ns]


def require_found(
    task: Task, truth: Truth, thread: ObservedThread, tick_ns: int, about: str
) -> None:
    assert thread.kind == "periodic", about
    assert thread.jobs == len(truth.costs_ns), about
    assert thread.period_ns is not None
    assert task.period_ns is not None
    if task.period_ns % MS == 0 or (task.jitter_ns == 0 and tick_ns == 1):
        assert thread.period_ns == task.period_ns, about
    # Two grids with so many periods, none of which is off by more than its jitter.
    together_ns = thread.jitter_ns + task.jitter_ns + tick_ns
    assert abs(thread.period_ns - task.period_ns) * (thread.jobs - 1) <= together_ns, about
    jitter_ns = against_grid(truth.releases_ns, thread.period_ns)
    assert abs(thread.jitter_ns - jitter_ns) < tick_ns, about
    if thread.period_ns == task.period_ns:
        assert thread.jitter_ns < task.jitter_ns + tick_ns, about
    assert abs(thread.response_max_ns - truth.response_max_ns) < tick_ns, about
    # A piece of half a millisecond may be wrong by a tick.
    longest_ns = max(truth.costs_ns)
    wrong_ns = (-(-longest_ns // (MS // 2)) + 2) * (tick_ns - 1)
    assert abs(thread.cost_max_ns - longest_ns) <= min(wrong_ns, 0.02 * longest_ns), about
    mean_ns = sum(truth.costs_ns) / thread.jobs
    assert abs(thread.cost_mean_ns - mean_ns) <= wrong_ns + 1, about
    ranked_ns = sorted(truth.costs_ns)[-(-thread.jobs * 99 // 100) - 1]
    assert -wrong_ns <= thread.cost_p99_ns - ranked_ns <= ranked_ns // 64 + wrong_ns, about
