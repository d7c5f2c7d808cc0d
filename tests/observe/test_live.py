# SPDX-License-Identifier: BSD-2-Clause
"""Recording this machine: threads of this process that wait for timers are found as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.printed import checked

from hyperperiod.cli import main
from hyperperiod.observe import live

# A thread of real time, called pump, that is woken every 31.3 ms by the clock of timers.
PUMP = """
import ctypes, os, time
libc = ctypes.CDLL(None)
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
open("/proc/thread-self/comm", "w").write("pump")
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
now = time.monotonic_ns()
while True:
    now += 31_300_000
    libc.clock_nanosleep(1, 1, ctypes.byref(Time(now // 10**9, now % 10**9)), None)
"""


def test_a_thread_of_this_machine_is_found_live() -> None:
    """In a mount namespace of its own, so that tracefs is there and stays nowhere."""
    if os.geteuid() != 0:
        pytest.skip("only root may trace")
    words = ["-m", "hyperperiod", "observe", "--live", "1s", "--only", "^pump$", "--json"]
    mount = "[ -d /sys/kernel/tracing/instances ] || mount -t tracefs nodev /sys/kernel/tracing"
    script = f'{mount} || exit 77; exec "$0" "$@"'
    pump = subprocess.Popen([sys.executable, "-c", PUMP])
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        pump.kill()
        pump.wait()
    if done.returncode == 77:
        pytest.skip(f"no tracefs: {done.stderr}")
    assert done.returncode == 0, done.stderr
    result = checked(done.stdout)
    (found,) = result["threads"]
    # How punctual it was is up to who else is on this machine.
    assert found["name"] == "pump"
    assert 2 <= found["activations"] <= result["span_ns"] / 31_300_000 + 1
    assert found["woken_by"][0]["name"] == "interrupt"
    assert result["span_ns"] > 900_000_000


def test_what_the_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer() -> str:
        result = CliRunner().invoke(main, ["observe", "--live", "1s"])
        assert result.exit_code == 3
        return result.stderr

    monkeypatch.setattr(live, "TRACING", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root may record" in answer()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert f"install it with: mount -t tracefs nodev {tmp_path}" in answer()
    (tmp_path / "instances").write_text("no folder")
    assert "there is no tracefs" in answer()


def test_one_of_trace_and_live() -> None:
    for words in (["observe"], ["observe", "x", "--live", "1s"]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2
        assert "allowed: one of the two" in result.stderr
