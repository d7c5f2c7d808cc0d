# SPDX-License-Identifier: BSD-2-Clause
"""The commands that run systems on Linux."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.on_linux import need_linux
from tests.support.promises import require_properties

from hyperperiod.cli import main
from hyperperiod.trace.check import check_file
from hyperperiod.trace.properties import Status

SYSTEM = """
name = "two"
policy = "ds"
[[domain]]
name = "a"
scheduler = "rm"
interface = { period = "10ms", budget = "3ms" }
[[domain.task]]
name = "t"
period = "20ms"
wcet = "2ms"
[[domain]]
name = "b"
scheduler = "edf"
interface = { period = "10ms", budget = "2ms" }
[[domain.task]]
name = "hog"
kind = "busy"
[[domain]]
name = "c"
interface = { period = "10ms", budget = "1ms" }
[[domain.task]]
name = "command"
kind = "busy"
command = ["sh", "-c", "echo begun; while :; do :; done"]
"""
REACHED_NS = 2 * 10**9


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "hyperperiod", *words]


def test_two_hosts_are_compared(tmp_path: Path) -> None:
    need_linux()
    (tmp_path / "two.toml").write_text(SYSTEM)
    words = (
        "compare",
        "two.toml",
        "--hosts",
        "sim,linux",
        "--in",
        "vm",
        "--horizon",
        "200ms",
        "--json",
    )
    done = subprocess.run(
        command(*words, "--report", "both.html"), cwd=tmp_path, capture_output=True, check=True
    )
    runs = json.loads(done.stdout)["results"]
    assert [run["host"] for run in runs] == ["sim", "linux"]
    assert all(domain["tasks"] for run in runs for domain in run["domains"])
    assert ["command" in run["domains"][2]["tasks"][0] for run in runs] == [False, True]
    assert "linux" in (tmp_path / "both.html").read_text()
    require_properties(tmp_path / "out" / "two-linux" / "run.hpt")


def test_a_run_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C gives what was reached; it comes when the run has shown that it is under way."""
    need_linux()

    @contextlib.contextmanager
    def impatient(_title: str, _total_ns: int) -> Iterator[Callable[[int], None]]:
        sent: list[int] = []

        def progress(now_ns: int) -> None:
            if now_ns >= REACHED_NS and not sent:
                sent.append(now_ns)
                signal.raise_signal(signal.SIGINT)

        yield progress

    (tmp_path / "two.toml").write_text(SYSTEM)
    monkeypatch.setattr("hyperperiod.cli.execute.bar", impatient)
    monkeypatch.chdir(tmp_path)
    words = ["run", "two.toml", "--on", "linux", "--in", "vm", "--horizon", "60s", "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 130, done.stderr
    result = json.loads(done.stdout)
    assert result["interrupted"]
    # The clock that shows the progress is up to a second ahead of the kernel's.
    assert REACHED_NS - 10**9 < result["horizon_ns"] < 60 * 10**9
    (task,) = result["domains"][2]["tasks"]
    assert task["command"]["ran_ns"] == result["domains"][2]["supply_ns"] > 0
    assert task["command"]["exit_code"] is None
    assert Path("out/two-linux/commands/c.command.log").read_text() == "begun\n"
    for one, finding in check_file(tmp_path / "out" / "two-linux" / "run.hpt").findings:
        assert finding.status is not Status.FAILS, (one.name, finding.violations[:3])
