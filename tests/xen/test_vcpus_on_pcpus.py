# SPDX-License-Identifier: BSD-2-Clause
"""A guest with a vcpu on each of four pcpus, beside others, while rules and budgets change."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.on_xen import run_on_xen

from hyperperiod.model import System, load_system
from hyperperiod.trace.format import NONE, Kind

MS = 1_000_000
SYSTEM = Path(__file__).parents[2] / "systems" / "linux-four-vcpus.toml"
NEW = {"period": "20ms", "budget": "9ms"}
LINUX = 3
"""The number of the domain, which is the last one."""


def four_vcpus(**more: object) -> System:
    """The example, its Linux an executive that runs the same tasks."""
    system = load_system(SYSTEM)
    (linux,) = (one for one in system.domains if one.vcpus == 4)
    plain = linux.replace(guest=type(linux.guest).EXECUTIVE)
    domains = (*(one for one in system.domains if one is not linux), plain)
    return System.of({**vars(system), "domains": domains, **more})


def test_every_vcpu_is_on_its_own_pcpu_with_its_own_budget(tmp_path: Path) -> None:
    seen = run_on_xen(four_vcpus(), 200 * MS, 1, tmp_path)
    assert seen.result.misses == 0
    header, records = seen.trace
    assert [vcpu["pcpu"] for vcpu in header["vcpus"][LINUX:]] == [0, 1, 2, 3]
    own = [(vcpu["budget_ns"], vcpu["period_ns"]) for vcpu in header["vcpus"][LINUX:]]
    assert len(set(own)) == 4
    runs = records[records["kind"] == Kind.RUN]
    for number in range(4):
        assert set(runs["pcpu"][runs["vcpu"] == LINUX + number].tolist()) == {number}


@pytest.mark.parametrize("policy", ["ptps", "sporadic", "polling", "cbs", "crps"])
def test_one_vcpu_of_the_guest_goes_to_another_pcpu_and_back(policy: str, tmp_path: Path) -> None:
    """With its server, under load: every decision is that of the core here, the trace holds."""
    moves = [("43ms", 2), ("91ms", 0), ("137ms", 1)]
    changes = [{"at": at, "domain": "linux.1", "pcpu": pcpu} for at, pcpu in moves]
    changes[1]["interface"] = NEW
    seen = run_on_xen(four_vcpus(policy=policy, changes=changes), 200 * MS, 1, tmp_path)
    records = seen.trace[1]
    moved = records[(records["kind"] == Kind.MOVE) & (records["vcpu"] == LINUX + 1)]
    assert moved["pcpu"].tolist() == [NONE, 2, NONE, 0, NONE, 1]
    runs = records[(records["kind"] == Kind.RUN) & (records["vcpu"] == LINUX + 1)]
    assert set(runs["pcpu"].tolist()) == {0, 1, 2}


@pytest.mark.parametrize(("first", "then"), [("crps", "wcps"), ("ds", "cbs")])
def test_rules_and_one_budget_change_under_load(first: str, then: str, tmp_path: Path) -> None:
    """Every decision is that of the core here, the trace holds, and nobody is late."""
    system = four_vcpus(
        policy=first,
        swaps=[{"at": "60ms", "policy": then}, {"at": "130ms", "policy": first}],
        changes=[{"at": "90ms", "domain": "linux.1", "interface": NEW}],
    )
    seen = run_on_xen(system, 200 * MS, 1, tmp_path)
    (change,) = seen.trace[0]["changes"]
    assert change["vcpus"] == [LINUX + 1]
    assert seen.result.misses == 0
