# SPDX-License-Identifier: BSD-2-Clause
"""hyperperiod-xen promises no more of a pcpu than there is, unless it is forced to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.control_machines import GLOBAL_EDF, OURS, PTPS, Machine


def partitioned(folder: Path) -> Machine:
    """A pool of pcpus 1 and 2; `a` has a vcpu on each, `b` one on pcpu 1."""
    machine = Machine(folder)
    machine.add(f"pool 1 {OURS} {PTPS} 0 0 0", "store /local/pool/1/name rt")
    machine.add("pcpu 1 1", "pcpu 2 1")
    machine.guest(5, "a", vcpus=2, pool=1)
    machine.guest(6, "b", pool=1)
    machine.add("vcpu 5 1 2 0 0 16777216")
    return machine


def one_global(folder: Path) -> Machine:
    machine = partitioned(folder)
    machine.add(f"pool 1 {OURS} {GLOBAL_EDF} 0 0 0")
    return machine


def load(machine: Machine) -> Any:
    (pool,) = json.loads(machine.does("pool-info", "rt", "--json"))["pools"]
    return pool["load"]


def test_a_pcpu_is_not_overbooked(tmp_path: Path) -> None:
    """Budgets that add up to the whole pcpu are taken, one microsecond more is not."""
    machine = partitioned(tmp_path)
    machine.does("set", "a", "--vcpu", "0", "--period", "10ms", "--budget", "7ms")
    said = machine.refuses(2, "set", "b", "--period", "30ms", "--budget", "9001us")
    assert "found just over 100.0 % of pcpu 1 promised" in said
    assert "allowed: at most 100 %" in said
    machine.does("set", "b", "--period", "30ms", "--budget", "9ms")
    assert load(machine) == [
        {"pcpus": [1], "servers": 2, "load_ppm": 1_000_000, "overbooked": False},
        {"pcpus": [2], "servers": 0, "load_ppm": 0, "overbooked": False},
    ]
    text = machine.does("pool-info", "rt")
    assert "load      100.0 % of pcpu 1\n  load      0.0 % of pcpu 2\n" in text


def test_all_vcpus_of_a_domain_are_looked_at(tmp_path: Path) -> None:
    """One server for both vcpus of `a`: each counts on its own pcpu, and one is too much."""
    machine = partitioned(tmp_path)
    machine.does("set", "b", "--period", "10ms", "--budget", "5ms")
    said = machine.refuses(2, "set", "a", "--period", "10ms", "--budget", "6ms")
    assert "110.0 % of pcpu 1" in said
    machine.does("set", "a", "--vcpu", "1", "--period", "10ms", "--budget", "6ms")
    machine.does("set", "a", "--period", "10ms", "--budget", "5ms")


def test_a_global_pool_is_one(tmp_path: Path) -> None:
    """Two pcpus have 200 %, whichever vcpu uses it."""
    machine = one_global(tmp_path)
    machine.does("set", "a", "--period", "10ms", "--budget", "9ms")
    said = machine.refuses(2, "set", "b", "--period", "10ms", "--budget", "2001us")
    assert "found just over 200.0 % of 200 %, pcpus 1-2 promised" in said
    machine.does("set", "b", "--period", "10ms", "--budget", "2ms")
    assert load(machine) == [
        {"pcpus": [1, 2], "servers": 3, "load_ppm": 2_000_000, "overbooked": False}
    ]


def test_force_overbooks_and_less_is_never_refused(tmp_path: Path) -> None:
    """What is overbooked gets better in steps."""
    machine = partitioned(tmp_path)
    machine.does("set", "a", "--period", "10ms", "--budget", "9ms")
    machine.does("set", "b", "--period", "10ms", "--budget", "9ms", "--force")
    assert [one["overbooked"] for one in load(machine)] == [True, False]
    assert "180.0 % of pcpu 1, overbooked" in machine.does("pool-info", "rt")
    machine.does("set", "b", "--period", "10ms", "--budget", "8ms")
    machine.does("set", "b", "--period", "20ms", "--budget", "16ms")
    machine.refuses(2, "set", "b", "--period", "20ms", "--budget", "16001us")
    machine.does("set", "a", "--best-effort")
    assert [one["load_ppm"] for one in load(machine)] == [800_000, 0]


@pytest.mark.parametrize("make", [partitioned, one_global])
def test_best_effort_is_promised_nothing(tmp_path: Path, make: Any) -> None:
    machine = make(tmp_path)
    machine.does("set", "a", "--best-effort", "--weight", "300")
    assert all(one["load_ppm"] == 0 and one["servers"] == 0 for one in load(machine))
