# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod-xen stats` and `record`: each vcpu once, in either scope; and what is refused."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from tests.support.control_machines import GLOBAL_EDF, OURS, PTPS, Machine

COUNTS = "5000000 1000000 300000 70000 20000 11 12 2"


def machine_with(folder: Path, rules: str) -> Machine:
    machine = Machine(folder)
    machine.add(f"pool 1 {OURS} {rules} 0 0 0", "store /local/pool/1/name rt")
    machine.add("pcpu 1 1", "pcpu 2 1")
    machine.guest(5, "a", vcpus=2, pool=1)
    machine.guest(6, "b", pool=1)
    machine.add("vcpu 5 1 2 0 0 16777216", f"usage 5 1 {COUNTS}")
    return machine


@pytest.mark.parametrize("rules", [PTPS, GLOBAL_EDF])
def test_each_vcpu_is_shown_once(tmp_path: Path, rules: str) -> None:
    machine = machine_with(tmp_path, rules)
    found = json.loads(machine.does("stats", "rt", "--json"))["vcpus"]
    assert sorted((one["name"], one["vcpu"], one["pcpu"]) for one in found) == [
        ("a", 0, 1), ("a", 1, 2), ("b", 0, 1),
    ]  # fmt: skip
    (second,) = (one for one in found if (one["domain"], one["vcpu"]) == (5, 1))
    assert [
        second[key]
        for key in (
            "used_ns", "donated_ns", "extra_ns", "overrun_ns", "overrun_ns_max", "depleted",
            "refilled", "missed",
        )
    ] == [int(word) for word in COUNTS.split()]  # fmt: skip
    lines = machine.does("stats", "rt").splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:4] == ["domain", "vcpu", "pcpu", "used_ns"]
    assert len({len(line) for line in lines}) == 1


def test_the_rings_are_switched(tmp_path: Path) -> None:
    machine = machine_with(tmp_path, PTPS)
    machine.does("record", "rt", "off")
    machine.does("record", "rt", "on")
    assert machine.calls == ["record 1 0", "record 1 1"]
    assert "found 'maybe'; allowed: on, off" in machine.refuses(2, "record", "rt", "maybe")
    assert "no pool 'none'" in machine.refuses(2, "stats", "none")
    machine.add(f"refuse record {errno.EPERM}")
    assert "not allowed" in machine.refuses(1, "record", "rt", "on")
