# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps on Dask, in processes of the test's own on loopback: whoever dies, the files are the same.

The cluster is a scheduler and two workers. What is waited for is what the sweep has written, so
that nothing depends on how fast it is.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.sweep.sweeps import MANY, SMALL, command, files_of, swept, written

from hyperperiod import libraries
from hyperperiod.cli import main

PATIENCE_S = 120
PARTS = 100
SCHEDULER = (
    *("distributed.cli.dask_scheduler", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
    *("--host", "127.0.0.1", "--port"),
)
WORKER = ("distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1")


class Cluster:
    """A scheduler at a port that stays, and its workers; all end with the test."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = str(one.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start(*SCHEDULER, self.port)

    def start_worker(self) -> subprocess.Popen[bytes]:
        place = self._folder / f"worker-{len(self._started)}"
        return self._start(*WORKER, "--local-directory", str(place), self.address)

    def stop(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._started.append(process)
        return process


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
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


def wait_for(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until it is true, or for so long that something must be wrong."""
    give_up = time.monotonic() + PATIENCE_S
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.005)


def sweeping(folder: Path, address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(written(folder, MANY), folder / "out", "--scheduler", address),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(folder: Path) -> int:
    return len(list((folder / "out/systems").glob("part-*")))


def ends_well(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert said == ""


def test_two_processes_write_what_one_writes(tmp_path: Path, reference: dict[str, bytes]) -> None:
    ran = swept(written(tmp_path, MANY), tmp_path / "out", "--workers", "2")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert files_of(tmp_path / "out") == reference


def test_a_worker_dies_under_way(
    tmp_path: Path, cluster: Cluster, reference: dict[str, bytes]
) -> None:
    """A worker that is killed while it holds parts: the other one does them."""
    cluster.start_scheduler()
    first, _ = cluster.start_worker(), cluster.start_worker()
    process = sweeping(tmp_path, cluster.address)
    wait_for(lambda: done(tmp_path) >= 3, process)
    first.kill()
    assert done(tmp_path) < PARTS
    ends_well(process)
    assert files_of(tmp_path / "out") == reference


def test_the_scheduler_is_started_again(
    tmp_path: Path, cluster: Cluster, reference: dict[str, bytes]
) -> None:
    """All that was on its way is lost with it; what is kept is not done again."""
    scheduler = cluster.start_scheduler()
    workers = [cluster.start_worker() for _ in range(2)]
    process = sweeping(tmp_path, cluster.address)
    wait_for(lambda: done(tmp_path) >= 3, process)
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
    wait_for(lambda: done(tmp_path) >= 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (130, "")
    assert swept(tmp_path / "sweep.toml", tmp_path / "out").returncode == 0
    assert files_of(tmp_path / "out") == reference


def test_no_scheduler_is_said(tmp_path: Path, cluster: Cluster) -> None:
    ran = swept(written(tmp_path, SMALL), tmp_path / "out", "--scheduler", cluster.address)
    assert ran.returncode == 3
    assert f"no Dask scheduler answers at {cluster.address}" in ran.stderr
    assert "dask scheduler" in ran.stderr


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
