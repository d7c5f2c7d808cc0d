# SPDX-License-Identifier: BSD-2-Clause
"""Counts that other tools agree on, for two generated systems of 50 tasks over 100 s."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.support.worlds import domain, system, task

from hyperperiod.hosts.result import RunResult
from hyperperiod.model import System, Task
from hyperperiod.runs import simulate

PEERS = Path(__file__).parents[1] / "data/peers"


def peer_tasks(name: str) -> tuple[list[Task], int, int]:
    """Tasks, horizon and number of jobs of one of the files."""
    found = json.loads((PEERS / name).read_text())
    tasks = [task(f"t{one['id']}", one["T"] * 1000, one["C"] * 1000) for one in found["tasks"]]
    return tasks, found["horizon_us"] * 1000, found["jobs_expected"]


def jobs_and_misses(result: RunResult) -> tuple[int, int]:
    return sum(task.jobs for task in result.tasks), result.misses


def one_domain(scheduler: str) -> tuple[System, int, int]:
    tasks, horizon, jobs = peer_tasks("sim50_u0.7.json")
    whole = domain("all", (10_000_000, 10_000_000), *tasks, scheduler=scheduler)
    return system("ptps", whole), horizon, jobs


def global_edf() -> tuple[System, int, int]:
    tasks, horizon, jobs = peer_tasks("sim50_u2.8_m4.json")
    periods = [one.period_ns or 0 for one in tasks]
    domains = [
        domain(one.name, (period, period), one) for one, period in zip(tasks, periods, strict=True)
    ]
    return system("rtds", *domains, pcpus=4), horizon, jobs


def test_rate_monotonic_on_one_pcpu() -> None:
    one, horizon, jobs = one_domain("rm")
    result = simulate(one, horizon)
    assert jobs_and_misses(result) == (jobs, 0)
    assert result.preemptions == 59_803


def test_edf_on_one_pcpu() -> None:
    """Within 0.1 %: with equal deadlines it is a matter of taste who preempts whom."""
    one, horizon, jobs = one_domain("edf")
    result = simulate(one, horizon)
    assert jobs_and_misses(result) == (jobs, 0)
    assert result.preemptions == pytest.approx(59_546, rel=0.001)


def test_global_edf_on_four_pcpus() -> None:
    """Fewer migrations than the 22,249 of a host that gives a displaced job any free pcpu."""
    one, horizon, jobs = global_edf()
    result = simulate(one, horizon)
    assert jobs_and_misses(result) == (jobs, 0)
    assert result.preemptions == 34_431
    assert 0.9 * 22_249 < result.migrations < 22_249


def test_a_hundred_seconds_take_much_less_than_one() -> None:
    """A bound that only a real slip breaks; `make bench` measures."""
    one, horizon, _ = one_domain("rm")
    start = time.process_time()
    simulate(one, horizon)
    assert time.process_time() - start < 0.5
