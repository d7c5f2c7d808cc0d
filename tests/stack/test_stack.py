# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler under a real toolstack: Xen with its assertions on, Debian's dom0, xl, guests.

One machine runs all scenarios of `scenarios/`, in the order below: each goes on where the one
before it ended. A test looks at what one of them left behind. Several pcpus run at once here, so
nothing is timed, but every decision that was made is made again by the core in this process.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.stack.sessions import CALAMITIES, run_session

from hyperperiod.hosts.replay import Replayed, replay
from hyperperiod.hosts.rings import Ring, read_ring
from hyperperiod.hosts.xen.dom0_machine import Ran

pytestmark = pytest.mark.xdist_group("stack")

ALL = (
    "departures", "pools", "stock", "policies", "refusals", "events", "pcpus", "files", "capacity",
    "leave", "global", "stats", "affinity", "fuzz",
)  # fmt: skip
LONG = ("files", "capacity", "global", "affinity", "fuzz")
"""Scenarios of the long session alone: in the short one they would take longer than all others."""
SCENARIOS = tuple(name for name in ALL if name not in LONG)
ROUNDS = 3
"""So often each loop of a scenario goes round in a session of its own."""
CALLS, MANY_CALLS = 20_000, 100_000
"""So many calls the fuzzer makes here, and in a session of its own."""
KNOWN = "arch/x86/xstate.c"
"""A warning that stock Xen gives at boot about QEMU's processor."""


@pytest.fixture(scope="session", params=[1, pytest.param(ROUNDS, marks=pytest.mark.slow)])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The session with the short scenarios, whose loops go round once, or with all, some times."""
    # Rings that lose nothing however slow the machine is: on a slow one the session is longer.
    return run_session(
        tmp_path_factory,
        f"functional-{request.param}",
        ALL if request.param == ROUNDS else SCENARIOS,
        files={"calls": f"20260101 {CALLS}".encode()},
        boot_line="hyperperiod=ring=32M",
        rounds=request.param,
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(ran: Ran, name: str) -> None:
    """Every step of the scenario did what it must."""
    _check_scenario(ran, name)


@pytest.mark.slow
@pytest.mark.parametrize("ran", [ROUNDS], indirect=True)
@pytest.mark.parametrize("name", LONG)
def test_long_scenario(ran: Ran, name: str) -> None:
    """Every step of the scenario did what it must, in the long session."""
    _check_scenario(ran, name)


def test_the_hypervisor_lives(ran: Ran) -> None:
    """The machine powered itself off, and Xen neither warned nor asserted on the way."""
    _check_alive(ran)


def _check_scenario(ran: Ran, name: str) -> None:
    status = ran.results.get(f"{name}.status", b"none").decode().strip()
    output = ran.results.get(f"{name}.out", b"").decode(errors="replace")
    assert status == "0", f"{output[-3000:]}\n--- console ---\n{ran.log[-6000:]}"


def _check_alive(ran: Ran) -> None:
    told = [line for line in ran.log.splitlines() if CALAMITIES.search(line) and KNOWN not in line]
    assert not told, ran.log[-6000:]
    assert ran.ended, ran.log[-3000:]


def _json(ran: Ran, name: str) -> Any:
    return json.loads(ran.results[name])


def test_servers_are_read_as_they_were_set(ran: Ran) -> None:
    """The servers of two vcpus, set one by one, in the machine-readable form."""
    busy = _json(ran, "busy.json")
    assert busy["name"] == "busy"
    assert busy["vcpus"] == [
        {
            "vcpu": 0, "best_effort": False, "period_ns": 10_000_000, "budget_ns": 1_000_000,
            "priority": 10_000, "extra": True,
        },
        {
            "vcpu": 1, "best_effort": False, "period_ns": 20_000_000, "budget_ns": 5_000_000,
            "priority": 9, "extra": False,
        },
    ]  # fmt: skip
    (sleep,) = _json(ran, "sleep.json")["vcpus"]
    assert (sleep["period_ns"], sleep["budget_ns"]) == (20_000_000, 2_500_000)


def test_a_pool_is_read_as_it_was_made(ran: Ran) -> None:
    """Name, policy, pcpus and capacity of a new pool."""
    (pool,) = _json(ran, "pool.json")["pools"]
    assert pool["name"] == "real-time"
    assert (pool["policy"], pool["scope"], pool["pcpus"]) == ("ptps", "partitioned", [1, 2])
    assert (pool["vcpus"], pool["capacity"], pool["domains"]) == (0, 64, [])


def _ring(ran: Ran, name: str) -> Ring:
    data = ran.results[name]
    return read_ring(lambda at, size: data[at : at + size], 0, name)


def _played(ran: Ran, name: str) -> tuple[Ring, Replayed]:
    ring = _ring(ran, name)
    return ring, replay(ring, int(ring.records["time_ns"][-1]))


@pytest.mark.parametrize(
    "name",
    [
        "ring1",
        "ring2",
        "ring-end1",
        "ring-end2",
        "ring-counted",
    ],
)
def test_decisions_are_the_cores(ran: Ran, name: str) -> None:
    """The events of the whole life of a pool, played again by the core here: the same grants.

    Swaps of policies, pcpus that leave and join, domains that come and die are among them.
    """
    _check_decisions(ran, name)


@pytest.mark.slow
@pytest.mark.parametrize("ran", [ROUNDS], indirect=True)
@pytest.mark.parametrize("name", ["ring-global", "ring-pinned"])
def test_decisions_in_long_scenarios_are_the_cores(ran: Ran, name: str) -> None:
    """The same of a global pool that pcpus leave and join, and of vcpus that are pinned."""
    _check_decisions(ran, name)


def _check_decisions(ran: Ran, name: str) -> None:
    ring, played = _played(ran, name)
    assert len(ring.records) > 500
    assert len(played.records) > 500


def test_timers_that_may_be_late_are_told(ran: Ran) -> None:
    """Xen is booted without `timer_slop=0` here: the scheduler says what that means."""
    assert "hyperperiod: budgets may end 50000 ns late: timer_slop=0 mends it" in ran.log


def test_usage_is_counted(ran: Ran) -> None:
    """Three guests that always run and have budgets: nothing is donated, and late picks cost."""
    counted = _json(ran, "stats.json")["vcpus"]
    assert [one["name"] for one in counted] == ["one", "two", "any"]
    for one in counted:
        assert one["refilled"] > 10
        assert one["depleted"] > 10
        assert 0 < one["overrun_ns_max"] <= one["overrun_ns"] < one["used_ns"], one
        assert one["donated_ns"] <= one["used_ns"]


def test_the_ring_is_the_same_in_every_form(ran: Ran) -> None:
    """As JSON, as a file, and followed while it filled: the same records."""
    ring, followed = _ring(ran, "ring1").records, _ring(ran, "followed").records
    listed = _json(ran, "trace.json")["records"]
    count = len(ring)
    assert min(len(listed), len(followed)) >= count
    assert (followed[:count] == ring).all()
    assert [(one["time_ns"], one["value"]) for one in listed[:count]] == [
        (int(one["time_ns"]), int(one["value"])) for one in ring
    ]


@pytest.mark.slow
@pytest.mark.parametrize("ran", [ROUNDS], indirect=True)
def test_the_fuzzer_reached_everything(ran: Ran) -> None:
    """A good part of its calls Xen did."""
    output = ran.results["fuzz.out"].decode()
    assert int(re.findall(r"fuzz: (\d+) calls", output)[-1]) >= CALLS
    assert int(re.findall(r"fuzz: +(\d+) times: done", output)[-1]) >= CALLS // 5
    for refusal in ("Invalid argument", "Bad address", "No such process"):
        assert f"times: {refusal}" in output, output


@pytest.mark.slow
@pytest.mark.parametrize("words", ["20260101", "1 pools", "2 pools", "3 pools"])
def test_many_calls(tmp_path_factory: pytest.TempPathFactory, words: str) -> None:
    """The fuzzer once more; with `pools` it also makes and ends pools, moves pcpus and domains."""
    seed, *more = words.split()
    calls = " ".join([seed, str(MANY_CALLS), *more]).encode()
    name = words.replace(" ", "-")
    ran = run_session(tmp_path_factory, f"calls-{name}", ["fuzz"], files={"calls": calls})
    _check_scenario(ran, "fuzz")
    _check_alive(ran)
