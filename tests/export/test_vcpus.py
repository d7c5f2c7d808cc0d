# SPDX-License-Identifier: BSD-2-Clause
"""Vcpus that differ, for Xen: what its command line and the toolstack's files say of each."""

from __future__ import annotations

from typing import Any

from hyperperiod.export.xl import CONF, export_xl
from hyperperiod.hosts.xen.command_line import events, items
from hyperperiod.model import System

TASK = {"name": "t", "period": "10ms", "wcet": "1ms"}
LINUX = {
    "name": "linux",
    "vcpu": [
        {"pcpu": 0, "interface": {"period": "10ms", "budget": "2ms"}},
        {"pcpu": 1, "interface": {"period": "20ms", "budget": "5ms"}},
        {"pcpu": 1, "best_effort": True},
    ],
    "task": [{**TASK, "vcpu": 0}],
}
BESIDE = {"name": "rt", "pcpu": 1, "interface": {"period": "10ms", "budget": "2ms"}, "task": [TASK]}
ALONE = {**BESIDE, "name": "alone", "pcpu": 2}


def system(**more: Any) -> System:
    domains = [LINUX, BESIDE, ALONE]
    return System.of({"name": "s", "policy": "ptps", "pcpus": 3, "domain": domains, **more})


def test_xen_is_told_of_each_vcpu() -> None:
    said = items(system())
    assert "d1.0=10ms:2ms:p0:cpu0" in said
    assert "d1.1=20ms:5ms:p1:cpu1" in said
    assert "d1.2=best-effort:cpu1" in said
    assert "d2=10ms:2ms:p0:cpu1" in said


def test_a_change_of_one_vcpu_is_one_of_that() -> None:
    new = {"period": "20ms", "budget": "6ms"}
    changes = [
        {"at": "1s", "domain": "linux.1", "interface": new},
        {"at": "2s", "domain": "rt", "interface": new},
    ]
    assert events(system(change=changes)) == [
        "change=1s:d1.1:20ms:6ms:p1", "change=2s:d2:20ms:6ms:p1",
    ]  # fmt: skip


def test_pcpus_that_a_domain_joins_are_one_pool_in_which_all_are_bound() -> None:
    files = export_xl(system())
    conf = str(files[CONF])
    assert "[pool s-0]\npolicy = ptps\nscope = partitioned\ncpus = 1,2\n" in conf
    assert "[pool s-2]\npolicy = ptps\nscope = partitioned\ncpus = 3\n" in conf
    assert "vcpu 1 = 5ms in 20ms, priority 1\nvcpu 2 = best effort\n" in conf
    assert 'cpus = ["1", "2", "2"]\n' in str(files["linux.cfg"])
    assert 'cpus = ["2"]\n' in str(files["rt.cfg"])
    assert "\ncpus =" not in str(files["alone.cfg"])
