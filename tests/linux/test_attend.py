# SPDX-License-Identifier: BSD-2-Clause
"""Ctrl-C while runs on Linux are attended: a run that is alone is asked to end, several are broken
off at once, for nobody there reads what asks for the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.attend import LinuxOptions, RunFiles, run_until_done
from hyperperiod.hosts.linux.here import LocalRun


class Begun(LocalRun):
    """A run that has begun, and ends when it is asked to; it counts how often it was."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, console: Path) -> None:
        super().__init__(process, folder, console)
        self.asked = 0

    def order_end(self) -> None:
        """Ends it."""
        self.asked += 1
        self._process.kill()
        self.wait_for_end()

    def files(self) -> dict[str, bytes]:
        """A file that it leaves."""
        return {"left": b"something"}


def interrupted(folder: Path, *, alone: bool) -> tuple[RunFiles | None, int]:
    """What attending gives (None: KeyboardInterrupt) with Ctrl-C after the beginning, and how often
    the run was asked to end."""
    runs: list[Begun] = []

    @contextlib.contextmanager
    def begin(_start_s: int, console: Path) -> Iterator[Begun]:
        console.write_text(f"{script.BEGUN} 1000000000\n")
        with subprocess.Popen(["sleep", "600"]) as process:
            runs.append(Begun(process, folder, console))
            try:
                yield runs[0]
            finally:
                process.kill()

    def watch(_console: str, _now_s: int) -> None:
        signal.raise_signal(signal.SIGINT)

    try:
        left = run_until_done(begin, watch, LinuxOptions(folder=folder), alone=alone)
    except KeyboardInterrupt:
        left = None
    return left, runs[0].asked


@pytest.mark.parametrize("alone", [True, False])
def test_ctrl_c_asks_only_a_run_that_is_alone_to_end(tmp_path: Path, alone: bool) -> None:
    left, asked = interrupted(tmp_path, alone=alone)
    assert asked == int(alone)
    assert left == (RunFiles({"left": b"something"}, interrupted=True) if alone else None)
