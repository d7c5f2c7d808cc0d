# SPDX-License-Identifier: BSD-2-Clause
"""The latency lab on the real hypervisor: every claim holds there too, and it agrees with the
simulator up to what the hypervisor itself takes.

A few rows always, all scenarios under all policies in the long run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import xen_images
from tests.support.lab import POLICIES, agree, only, require_answers, require_repeats, rows

from hyperperiod.hosts.xen.images import DTC, QEMU, tool
from hyperperiod.model import GuestKind, MissingError
from hyperperiod.papers.latency import SCENARIOS, Plan, load_scenarios, measure
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.page import write_latency_page

HYPERVISOR_NS = 50_000
"""More than the hypervisor takes of a loop for its own work (a few microseconds)."""
LINUX_NS = 100_000
"""More than Linux takes to wake a thread, with a timer of its own in the way."""


@pytest.fixture(scope="module", autouse=True)
def machine() -> None:
    try:
        tool(QEMU), tool(DTC)
    except MissingError as missing:
        pytest.skip(str(missing))
    xen_images.image("arm64")
    xen_images.guest()


@pytest.mark.parametrize(
    ("scenario", "setting", "policies", "runs"),
    [
        ("affinity", "half a pcpu, every 1 s", "ds crps", 30),
        ("affinity", "budget = period, every 1 s", "ds ptps", 10),
        ("contention-1", "equal level, neighbour idle", "ptps wcps", 1),
        ("contention-2", "both neighbours running", "crps", 1),
    ],
)
def test_xen_shows_what_the_simulator_shows(
    scenario: str, setting: str, policies: str, runs: int
) -> None:
    agree("xen", only(scenario, setting), policies, runs, HYPERVISOR_NS)


def test_an_idle_vm_answers_within_microseconds() -> None:
    (row,) = rows("xen", only("interrupt", "higher level, neighbour running"), "crps")
    require_answers(row, HYPERVISOR_NS)


def test_a_device_is_answered_within_microseconds() -> None:
    """Under budgets that wait for work, beside a hostile VM too; else as the simulator says."""
    device, alarm = (
        only(name, "higher level, neighbour running") for name in ("device", "interrupt")
    )
    for neighbour in (device, only("device", "higher level, neighbour wakes")):
        (row,) = rows("xen", neighbour, "crps")
        require_answers(row, HYPERVISOR_NS)
    (waits,), (expected,) = rows("xen", device, "polling"), rows("sim", alarm, "polling")
    assert waits.response is not None
    assert expected.response is not None
    assert waits.response.unanswered == 0
    assert waits.response.max_ns is not None
    assert expected.response.max_ns is not None
    assert abs(waits.response.max_ns - expected.response.max_ns) < 1_000_000


def test_linux_answers_a_device_by_its_handler_and_then_a_thread() -> None:
    """The handler as soon as any guest's, which ends before the thread begins; each frame."""
    (row,) = on_linux("higher level, neighbour wakes", GuestKind.LINUX)
    require_answers(row, LINUX_NS)
    assert row.handler is not None
    assert row.handler.unanswered == 0
    assert row.response is not None
    assert row.handler.max_ns is not None
    assert row.response.min_ns is not None
    assert row.handler.max_ns < min(HYPERVISOR_NS, row.response.min_ns)


@pytest.mark.slow
def test_a_real_time_kernel_answers_also_where_another_is_busy() -> None:
    """Beside processes that fork, under which a kernel that is not preempted keeps the thread."""
    longest = {}
    for kind in (GuestKind.LINUX, GuestKind.LINUX_RT):
        first, again = (on_linux("alone, its Linux forks", kind) for _ in range(2))
        assert first == again
        (row,) = first
        assert row.response is not None
        assert row.response.unanswered == 0
        longest[kind] = row.response.max_ns or 0
    assert 0 < longest[GuestKind.LINUX_RT] < LINUX_NS < longest[GuestKind.LINUX]


def on_linux(setting: str, guest: GuestKind) -> list[LabRow]:
    xen_images.linux_guest(guest)
    return rows("xen", only("device", setting), "crps", guest=guest)


def test_two_machines_measure_the_same() -> None:
    require_repeats("xen", only("affinity", "half a pcpu, every 1 s"), "ptps", 5)
    require_repeats("xen", only("device", "higher level, neighbour running"), "crps", 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_claim_holds_under_every_policy(name: str, tmp_path: Path) -> None:
    outcomes = measure(Plan("xen", load_scenarios((name,)), POLICIES)).outcomes
    assert [claim.ours for claim in outcomes[0].claims if not claim.holds] == []
    write_latency_page(tmp_path / "latency.html", "xen", 1, outcomes)
