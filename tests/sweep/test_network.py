# SPDX-License-Identifier: BSD-2-Clause
"""A cluster of three machines, which are network namespaces: it does without who dies.

On one machine are the scheduler and the sweep, on each of the others a worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sweep.clusters import PARTS, Cluster, ends_well, wait_for
from tests.sweep.namespaces import FIRST, machines, unplug
from tests.sweep.sweeps import MANY, files_of, rows_of, swept, written

PORT = 8786
SHORTEST = "11s"
"""The shortest time after which Dask takes a silent connection for dead; it is 30 s by default."""


@pytest.fixture
def homes() -> Iterator[list[list[str]]]:
    with machines(2) as made:
        yield made


@pytest.fixture
def cluster(tmp_path: Path, homes: list[list[str]]) -> Iterator[Cluster]:
    made = Cluster(tmp_path, FIRST, PORT, homes)
    try:
        yield made
    finally:
        made.stop()


def assert_done_once(cluster: Cluster, tmp_path: Path) -> None:
    """No system is lost and none is there twice, and each is what one process makes of it."""
    numbers = [row["system"] for row in rows_of(cluster.out, "systems")]
    assert sorted(numbers) == list(range(1600))
    assert swept(written(tmp_path, MANY), tmp_path / "alone").returncode == 0
    assert files_of(cluster.out) == files_of(tmp_path / "alone")


def test_a_worker_is_killed_and_the_scheduler_restarted(tmp_path: Path, cluster: Cluster) -> None:
    scheduler = cluster.start_scheduler()
    first, second = cluster.start_worker(), cluster.start_worker()
    process = cluster.sweeping()
    wait_for(lambda: cluster.done() >= 3, process)
    first.kill()
    before = cluster.done()
    wait_for(lambda: cluster.done() >= before + 3, process)
    scheduler.kill()
    scheduler.wait()
    second.kill()
    kept = {path: path.stat().st_mtime_ns for path in (cluster.out / "systems").glob("part-*")}
    assert len(kept) < PARTS
    cluster.start_scheduler()
    cluster.start_worker()
    cluster.start_worker()
    ends_well(process)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert_done_once(cluster, tmp_path)


@pytest.mark.slow
def test_a_machine_is_cut_off(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    homes: list[list[str]],
    cluster: Cluster,
) -> None:
    """No connection is closed, packets are lost: after a while its parts are done by the other."""
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", SHORTEST)
    cluster.start_scheduler()
    cluster.start_worker()
    cluster.start_worker()
    process = cluster.sweeping()
    wait_for(lambda: cluster.done() >= 3, process)
    unplug(homes, 1)
    assert cluster.done() < PARTS
    ends_well(process)
    assert_done_once(cluster, tmp_path)
