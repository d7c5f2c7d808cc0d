# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod-xen doctor`: each check passes on a machine that is well and trips on another."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.control_machines import OURS, PTPS, Machine

WELL = "placeholder timer_slop=0 max_cstate=1 cpufreq=xen:performance console=com1"
POOL = (f"pool 1 {OURS} {PTPS} 0 0 0", "pcpu 1 1")
NAME = "store /local/pool/1/name rt"
ARM = "about capabilities xen-3.0-aarch64 xen-3.0-armv7l"


def checks(folder: Path, *lines: str, code: int, store: bool = True) -> dict[str, Any]:
    machine = Machine(folder, lines=[f"about command_line {WELL}", *POOL, NAME, *lines])
    done = machine.run("doctor", "--json", store=store)
    assert done.returncode == code, done.stdout
    found = json.loads(done.stdout)["checks"]
    assert all((one["advice"] is None) is one["ok"] for one in found)
    return {one["name"]: one for one in found}


def test_a_machine_that_is_well(tmp_path: Path) -> None:
    found = checks(tmp_path, code=0)
    assert list(found) == [
        "version", "scheduler", "pool", "xenstore", "timer_slop", "idle states", "cpufreq",
        "console", "sched-gran",
    ]  # fmt: skip
    assert found["version"]["found"] == "Xen 4.20.0"
    assert found["pool"]["found"] == "1, rt: 0 domains, not overbooked"
    assert found["timer_slop"]["found"] == "0 ns"


def test_a_board_that_is_well(tmp_path: Path) -> None:
    found = checks(tmp_path, ARM, "about command_line timer_slop=0", code=0)
    assert found["vwfi"]["found"] == "trap, Xen's default"
    assert "cpufreq" not in found


def words(line: str) -> str:
    return f"about command_line {line}"


@pytest.mark.parametrize(
    ("name", "lines", "found"),
    [
        ("version", ["version 4 19"], "Xen 4.19.0"),
        ("pool", ["domain 5 1 2 0 0 0 0", "vcpu 5 0 1 10000 9000 1", "vcpu 5 1 1 10000 2000 1"],
         "1, rt: 110.0 % of pcpu 1 promised"),
        ("pool", [f"pool 2 {OURS} {PTPS} 0 0 0"], "2, no name: 0 domains, not overbooked"),
        ("timer_slop", [words(WELL.replace("timer_slop=0", ""))], "50000 ns, Xen's default"),
        ("timer_slop", [words(WELL + " timer_slop=5000")], "5000 ns"),
        ("timer_slop", [words(WELL.replace("timer_slop=0", "xtimer_slop=0"))], "50000 ns, Xen's"),
        ("idle states", ["idle 4", words(WELL.replace("max_cstate=1", "max_cstate=3"))], "3"),
        ("cpufreq", [words(WELL.replace("cpufreq=xen:performance", ""))], "Xen's default"),
        ("console", [words(WELL + " sync_console")], "sync_console"),
        ("console", [words(WELL + " guest_loglvl=all")], "guest_loglvl=all"),
        ("sched-gran", [words(WELL + " sched-gran=core")], "core"),
        ("vwfi", [ARM, words(WELL + " vwfi=native")], "native"),
    ],
)  # fmt: skip
def test_each_check_trips(tmp_path: Path, name: str, lines: list[str], found: str) -> None:
    """One thing is wrong, one line says so, what was found and what to do; exit code 1."""
    seen = checks(tmp_path, *lines, code=1)
    assert [one for one in seen if not seen[one]["ok"]] == [name]
    assert seen[name]["found"].startswith(found)
    assert len(seen[name]["advice"]) > 20


@pytest.mark.parametrize(
    "lines",
    [
        ["idle 4", words(WELL.replace("max_cstate=1", "cpuidle=0"))],
        ["idle 2", words(WELL.replace("max_cstate=1", ""))],
        [words(WELL.replace("max_cstate=1", ""))],
        [words(WELL.replace("cpufreq=xen:performance", "cpufreq=none"))],
        [words("timer_slop=50000 " + WELL)],
        [words(WELL + " sync_console=no sched-gran=cpu")],
    ],
)
def test_other_ways_to_be_well(tmp_path: Path, lines: list[str]) -> None:
    checks(tmp_path, *lines, code=0)


def test_no_xenstore(tmp_path: Path) -> None:
    found = checks(tmp_path, code=1, store=False)
    assert not found["xenstore"]["ok"]


def test_without_a_pool_the_scheduler_is_tried(tmp_path: Path) -> None:
    """A pool without pcpus is made and ended: nothing is left of it."""
    machine = Machine(tmp_path, lines=[f"about command_line {WELL}"])
    before = machine.path.read_text()
    said = machine.run("doctor")
    assert said.returncode == 1
    assert "ok       scheduler    the hypervisor has it\n" in said.stdout
    assert "to do    pool         none has the scheduler\n" in said.stdout
    assert machine.calls == [f"create {OURS} 0", "destroy 1 0"]
    assert sorted(machine.path.read_text().split("\n")) == sorted(before.split("\n"))
    machine.add(f"refuse create {errno.ENOENT}")
    said = machine.run("doctor")
    assert said.returncode == 1
    assert "to do    scheduler    the hypervisor does not have it\n" in said.stdout
    assert "pool  " not in said.stdout
