# SPDX-License-Identifier: BSD-2-Clause
"""Dask clusters of a test's own, and sweeps on them.

What is waited for is what the sweep has written, so that nothing depends on how fast it is.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.sweep.sweeps import MANY, command, written

PATIENCE_S = 120
PARTS = 100
"""How many parts the sweep has, which is `MANY`."""
SCHEDULER = (
    *("distributed.cli.dask_scheduler", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
    *("--host", "{host}", "--port", "{port}"),
)
WORKER = ("distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1")


class Cluster:
    """A scheduler at an address that stays, and its workers; all end with the test.

    `homes` are what commands begin with that run where the scheduler is, and where each of the
    workers is in turn: nothing on this machine's own network.
    """

    def __init__(
        self, folder: Path, host: str, port: int, homes: Sequence[Sequence[str]] = ((),)
    ) -> None:
        self.address = f"tcp://{host}:{port}"
        self._home, *self._worker_homes = homes
        self._scheduler = [part.format(host=host, port=port) for part in SCHEDULER]
        self._folder = folder
        self._workers = 0
        self._started: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start(self._home, *self._scheduler)

    def start_worker(self) -> subprocess.Popen[bytes]:
        homes = self._worker_homes or [self._home]
        home = homes[self._workers % len(homes)]
        place = self._folder / f"worker-{self._workers}"
        self._workers += 1
        return self._start(home, *WORKER, "--local-directory", str(place), self.address)

    def sweeping(self) -> subprocess.Popen[str]:
        """The sweep `MANY` on this cluster, begun where the scheduler is."""
        ask = command(written(self._folder, MANY), self.out, "--scheduler", self.address)
        return subprocess.Popen(
            [*self._home, *ask], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @property
    def out(self) -> Path:
        return self._folder / "out"

    def done(self) -> int:
        """How many parts are there."""
        return len(list((self.out / "systems").glob("part-*")))

    def stop(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    def _start(self, home: Sequence[str], *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*home, sys.executable, "-m", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._started.append(process)
        return process


def wait_for(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until it is true, or for so long that something must be wrong."""
    give_up = time.monotonic() + PATIENCE_S
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.005)


def ends_well(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert said == ""
