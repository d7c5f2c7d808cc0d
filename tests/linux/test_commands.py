# SPDX-License-Identifier: BSD-2-Clause
"""The commands that run systems on Linux."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.linux.on_linux import need_linux, require_properties

from hyperperiod.hosts.linux import script
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
"""
BOOT_S = 300.0


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "hyperperiod", *words]


def test_two_hosts_are_compared(tmp_path: Path) -> None:
    need_linux()
    (tmp_path / "two.toml").write_text(SYSTEM)
    words = ("compare", "two.toml", "--hosts", "sim,linux", "--horizon", "200ms", "--json")
    done = subprocess.run(
        command(*words, "--report", "both.html"), cwd=tmp_path, capture_output=True, check=True
    )
    runs = json.loads(done.stdout)["results"]
    assert [run["host"] for run in runs] == ["sim", "linux"]
    assert all(domain["tasks"] for run in runs for domain in run["domains"])
    assert "linux" in (tmp_path / "both.html").read_text()
    require_properties(tmp_path / "out" / "two-linux" / "run.hpt")


def test_a_run_can_be_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends it with valid results up to that instant."""
    need_linux()
    (tmp_path / "two.toml").write_text(SYSTEM)
    words = ("run", "two.toml", "--on", "linux", "--horizon", "60s", "--json")
    log = tmp_path / "out" / "two-linux" / "console.log"
    with subprocess.Popen(
        command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        until = time.monotonic() + BOOT_S
        while not (log.exists() and script.BEGUN in log.read_text()):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, said = process.communicate()
    assert process.returncode == 130, said
    result = json.loads(output)
    assert result["interrupted"]
    assert 0 < result["horizon_ns"] < 60_000_000_000
    for one, finding in check_file(tmp_path / "out" / "two-linux" / "run.hpt").findings:
        assert finding.status is not Status.FAILS, (one.name, finding.violations[:3])
