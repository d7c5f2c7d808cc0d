# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps on Dask, in processes of the test's own on loopback: whoever dies, the files are the same.

The cluster is a scheduler and two workers.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.sweep.clusters import PARTS, PATIENCE_S, Cluster, ends_well, wait_for
from tests.sweep.sweeps import MANY, SMALL, command, files_of, swept, written

from hyperperiod import libraries
from hyperperiod.cli import main
from hyperperiod.experiments.sweep import on_dask


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    made = Cluster(tmp_path, "127.0.0.1", port)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files that one process writes."""
    folder = tmp_path_factory.mktemp("reference")
    assert swept(written(folder, MANY), folder / "out").returncode == 0
    return files_of(folder / "out")


def test_two_processes_write_what_one_writes(tmp_path: Path, reference: dict[str, bytes]) -> None:
    ran = swept(written(tmp_path, MANY), tmp_path / "out", "--workers", "2")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert files_of(tmp_path / "out") == reference


@pytest.mark.slow
def test_a_worker_dies_under_way(
    tmp_path: Path, cluster: Cluster, reference: dict[str, bytes]
) -> None:
    """A worker that is killed while it holds parts: the other one does them."""
    cluster.start_scheduler()
    first, _ = cluster.start_worker(), cluster.start_worker()
    process = cluster.sweeping()
    wait_for(lambda: cluster.done() >= 3, process)
    first.kill()
    assert cluster.done() < PARTS
    ends_well(process)
    assert files_of(tmp_path / "out") == reference


@pytest.mark.slow
def test_the_scheduler_is_started_again(
    tmp_path: Path, cluster: Cluster, reference: dict[str, bytes]
) -> None:
    """All that was on its way is lost with it; what is kept is not done again."""
    scheduler = cluster.start_scheduler()
    workers = [cluster.start_worker() for _ in range(2)]
    process = cluster.sweeping()
    wait_for(lambda: cluster.done() >= 3, process)
    scheduler.kill()
    scheduler.wait()
    for worker in workers:
        worker.kill()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/systems").glob("part-*")}
    assert len(kept) < PARTS
    cluster.start_scheduler()
    for _ in range(2):
        cluster.start_worker()
    ends_well(process)
    assert files_of(tmp_path / "out") == reference
    sealed = list(kept)
    assert [path.stat().st_mtime_ns for path in sealed] == [kept[path] for path in sealed]


def test_ctrl_c_ends_all_processes(tmp_path: Path, reference: dict[str, bytes]) -> None:
    """As a terminal does it: every process of the group has the signal, and only one speaks."""
    process = subprocess.Popen(
        command(written(tmp_path, MANY), tmp_path / "out", "--workers", "2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    parts = tmp_path / "out/systems"
    wait_for(lambda: len(list(parts.glob("part-*"))) >= 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (130, "")
    assert swept(tmp_path / "sweep.toml", tmp_path / "out").returncode == 0
    assert files_of(tmp_path / "out") == reference


def test_no_scheduler_is_said(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it has been waited for; a second is enough for one that is not there."""
    monkeypatch.setattr(on_dask, "CONNECT_S", 1)
    arguments = ["sweep", str(written(tmp_path, SMALL)), "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(main, [*arguments, "--scheduler", cluster.address])
    assert ran.exit_code == 3
    assert f"no Dask scheduler answers at {cluster.address}" in ran.output
    assert "dask scheduler" in ran.output


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (("--scheduler", "ftp://here"), "'ftp://here'"),
        (("--scheduler", "tcp://127.0.0.1:1", "--workers", "2"), "one of them"),
        (("--workers", "0"), "'0'"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, more: tuple[str, ...], found: str) -> None:
    ran = swept(written(tmp_path, SMALL), tmp_path / "out", *more)
    assert ran.returncode == 2
    assert found in ran.stderr


def test_what_is_wrong_with_a_system_comes_back(tmp_path: Path, cluster: Cluster) -> None:
    """Only the second system of this draw cannot be drawn: a worker finds out, we say it."""
    text = MANY.replace("utilization = 0.6", DISCARDED)
    cluster.start_scheduler()
    cluster.start_worker()
    path = written(tmp_path, text)
    alone = swept(path, tmp_path / "alone")
    ran = swept(path, tmp_path / "out", "--scheduler", cluster.address)
    assert alone.returncode == ran.returncode == 2
    assert alone.stderr == ran.stderr
    assert "in 10,000 draws" in ran.stderr


# A bound that about one of 20,000 draws keeps.
DISCARDED = 'utilization = 0.6\ngenerator = "uunifast-discard"\nmax_share = 0.112'


@pytest.mark.parametrize(("module", "more"), [("pyarrow", ()), ("distributed", ("--workers", "2"))])
def test_what_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, more: tuple[str, ...]
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda name: None if name == module else name)
    arguments = ["sweep", str(written(tmp_path, SMALL)), "--out", str(tmp_path / "out"), *more]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 3
    assert f"needs the Python package {module}" in ran.output
    assert "pip install 'hyperperiod[sweep]'" in ran.output
