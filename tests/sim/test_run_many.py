# SPDX-License-Identifier: BSD-2-Clause
"""Many runs in one call count what each counts alone, whatever the threads."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hyperperiod import InputError
from hyperperiod.analysis import resolve
from hyperperiod.hosts.sim import TASK_COUNTS, ManyCounts, run, run_many
from hyperperiod.model import System, load_system

SYSTEMS = sorted((Path(__file__).parents[2] / "systems").glob("*.toml"))
HORIZON_NS = 200_000_000


def runnable() -> list[tuple[System, int]]:
    """Every example system that the simulator runs, twice, with seeds of their own."""
    found = []
    for path in SYSTEMS:
        try:
            system = resolve(load_system(path, pinned=True))
            run(system, 1_000_000)
        except InputError:
            continue
        found += [(system, 1), (system, 2**64 - 1)]
    return found


@pytest.fixture(scope="module")
def systems() -> list[tuple[System, int]]:
    found = runnable()
    assert len(found) > 30
    assert any(system.flows for system, _ in found)
    assert any(domain.vcpus > 1 for system, _ in found for domain in system.domains)
    return found


def expected(system: System, seed: int) -> tuple[list[list[int]], list[list[int]], int]:
    """The rows of a run alone."""
    result = run(system, HORIZON_NS, seed)
    tasks = []
    for task in result.tasks:
        times = task.response_ns
        spread = [times.min, times.mean, times.p50, times.p99, times.max] if times else [-1] * 5
        tasks.append([task.jobs, task.misses, *spread])
    given = [
        [one.supply_ns, one.donated_ns]
        for domain in result.domains
        for one in (domain.each_vcpu or [domain])
    ]
    return tasks, given, result.misses


def kept(counts: ManyCounts) -> list[list[int]]:
    """The columns of tasks that a result has as they are."""
    names = [name for name in TASK_COUNTS if name not in ("due", "finished")]
    rows: list[list[int]] = counts.tasks[:, [TASK_COUNTS.index(one) for one in names]].tolist()
    return rows


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_counts_are_those_of_single_runs(systems: list[tuple[System, int]], threads: int) -> None:
    counts = run_many(systems, HORIZON_NS, threads)
    task = vcpu = 0
    for number, (system, seed) in enumerate(systems):
        tasks, given, misses = expected(system, seed)
        assert kept(counts)[task : task + len(tasks)] == tasks, system.name
        assert counts.misses[number] == misses
        task += len(tasks)
        for domain in system.domains:
            own = counts.vcpus[vcpu : vcpu + domain.vcpus]
            plain = len(given) and domain.is_plain and domain.vcpus > 1
            if plain:
                assert own.sum(axis=0).tolist() == given.pop(0)
            else:
                assert own.tolist() == [given.pop(0) for _ in range(domain.vcpus)]
            vcpu += domain.vcpus
        assert not given
    assert (task, vcpu) == (len(counts.tasks), len(counts.vcpus))


def test_threads_change_nothing(systems: list[tuple[System, int]]) -> None:
    many = systems * 4
    alone, together = run_many(many, HORIZON_NS), run_many(many, HORIZON_NS, 4)
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


def test_due_jobs_are_those_of_the_ratio(systems: list[tuple[System, int]]) -> None:
    counts = run_many(systems, HORIZON_NS)
    due, misses = (counts.tasks[:, TASK_COUNTS.index(name)] for name in ("due", "misses"))
    ratios = [task.dmr for system, seed in systems for task in run(system, HORIZON_NS, seed).tasks]
    for all_, late, ratio in zip(due.tolist(), misses.tolist(), ratios, strict=True):
        assert ratio == (late / all_ if all_ else None)


def test_nothing_is_nothing() -> None:
    counts = run_many([], HORIZON_NS, 3)
    assert [len(one) for one in counts] == [0, 0, 0]


def test_who_is_refused_is_named(systems: list[tuple[System, int]]) -> None:
    """A system that only the core refuses, as it is not checked when it is copied."""
    system = systems[0][0]
    domain = system.domains[0]
    assert domain.interface is not None
    broken = domain.replace(interface=domain.interface.replace(budget_ns=2**61))
    wrong = system.replace(name="wrong", domains=(broken, *system.domains[1:]))
    with pytest.raises(InputError, match=r"wrong.*budget is zero or above its period"):
        run_many([systems[0], (wrong, 1), systems[1]], HORIZON_NS, 2)


def test_memory_is_that_of_the_counts(systems: list[tuple[System, int]]) -> None:
    """Python's part; what native code holds is measured by `bench.sweep`."""

    def held() -> int:
        run_many(systems, HORIZON_NS)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        held()
        before = held()
        after = [held() for _ in range(10)]
        assert max(after) < before + 5_000
    finally:
        tracemalloc.stop()


ENDLESS = """
import sys
from hyperperiod.analysis import resolve
from hyperperiod.hosts.sim import run_many
from hyperperiod.model import load_system

system = resolve(load_system(sys.argv[1]))
try:
    print("begun", flush=True)
    run_many([(system, seed) for seed in range(1000)], 10**15, 2)
except KeyboardInterrupt:
    print("ended", flush=True)
"""


def test_ctrl_c_ends_it() -> None:
    """Runs of eleven days end as soon as they are asked to."""
    path = next(path for path in SYSTEMS if path.stem == "flight-control")
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "ended\n"
    assert process.returncode == 0
