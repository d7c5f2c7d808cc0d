# SPDX-License-Identifier: BSD-2-Clause
"""The latency lab on Linux: it agrees with the simulator up to what the kernel takes, tests suffer
where the rules say that they must, and every claim holds.

A few rows always, all scenarios under all policies in the long run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.lab import MS, POLICIES, agree, only, require_answers, require_repeats, rows
from tests.support.on_linux import need_linux

from hyperperiod.cli import main
from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.recorded_run import RunRecording, RunRequest
from hyperperiod.hosts.rings import silent_ring
from hyperperiod.model import PRESETS
from hyperperiod.papers.latency import SCENARIOS, Plan, load_scenarios, measure, on_linux
from hyperperiod.papers.latency.guest_test import drift_of
from hyperperiod.papers.latency.page import write_latency_page
from hyperperiod.papers.latency.simulated import begin_of

KERNEL_NS = 50_000
"""More than the kernel takes of a loop: a tick and two switches."""
HALF = "half a pcpu, every 1 s"
WHOLE = "budget = period, every 1 s"
RUNNING = "both neighbours running"
BESIDE = "higher level, neighbour running"


def test_a_server_of_half_a_cpu_is_away_where_and_as_long_as_its_rule_says() -> None:
    """A periodic server has the first 25 ms of 50: a test of 7 ms that begins there and does not
    end there has to wait for the other 25; one that begins later has not begun until the refill."""
    need_linux()
    scenario = only("affinity", HALF)
    (setting,) = scenario.settings
    server, tests = setting.under_test, 20
    begins = [begin_of(setting, 1) + number * drift_of(setting) for number in range(tests)]
    last_ns = server.budget_ns - setting.test_time_ns
    cut = sum(last_ns < begin % server.period_ns < server.budget_ns for begin in begins)
    (row,) = rows("linux", scenario, "ptps", tests)
    assert 0 < cut < tests
    assert row.tick_only == pytest.approx(1 - cut / tests)
    assert row.gap_ns == pytest.approx(server.period_ns - server.budget_ns, abs=KERNEL_NS)


def test_nothing_but_ticks_comes_to_who_is_alone_on_a_cpu() -> None:
    need_linux()
    (row,) = rows("linux", only("affinity", WHOLE), "ds", 10)
    assert (row.runs, row.tick_only, row.gap_ns) == (10, 1, 0)
    assert row.longest_ns is not None
    assert 68_000 < row.longest_ns < 68_000 + KERNEL_NS


def test_three_that_run_have_a_quantum_each_in_turn() -> None:
    need_linux()
    agree("linux", only("contention-2", RUNNING), "crps", 1, KERNEL_NS)


def test_an_idle_server_answers_within_microseconds() -> None:
    need_linux()
    (row,) = rows("linux", only("interrupt", BESIDE), "crps")
    require_answers(row, KERNEL_NS)


@pytest.mark.parametrize(
    ("scenario", "setting", "runs", "machines"),
    [
        ("contention-1", "equal level, neighbour running", 2, 1),
        ("contention-1", "equal level, neighbour running", 5, 3),
        ("contention-1", "equal level, neighbour idle", 5, 1),
        ("interrupt", BESIDE, 20, 1),
    ],
)
def test_nobody_waits_so_long_that_the_kernel_ends_the_scheduler(
    scenario: str, setting: str, runs: int, machines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests of 4 s beside one that never sleeps: so many machines, each of less than 30 s."""
    spans = []

    def record(requests: list[RunRequest], _options: LinuxOptions) -> list[RunRecording]:
        spans.append(requests[0].horizon_ns)
        return [RunRecording([], [silent_ring()], 0, interrupted=False, icount=True)]

    monkeypatch.setattr(on_linux, "record", record)
    chosen = only(scenario, setting)
    on_linux.measure_on_linux(chosen, chosen.settings[0], PRESETS["ds"], runs, 1)
    assert len(spans) == machines
    assert max(spans) < 30_000 * MS or not any(
        neighbour.running for neighbour in chosen.settings[0].neighbours
    )


def test_ctrl_c_leaves_the_rows_up_to_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that it ended early is no row."""
    interrupted = iter((False, True))

    def record(_requests: object, _options: object) -> list[RunRecording]:
        return [RunRecording([], [silent_ring()], 0, interrupted=next(interrupted), icount=True)]

    monkeypatch.setattr(on_linux, "record", record)
    found = measure(Plan("linux", [only("affinity", HALF)], [PRESETS["ds"], PRESETS["cbs"]]))
    assert found.interrupted
    assert [row.policy for row in found.outcomes[0].settings[0].rows if row.source == "ours"] == [
        "ds"
    ]


def test_what_is_not_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperperiod.hosts.linux.build.build_folder", lambda: tmp_path)
    done = CliRunner().invoke(main, ["latency", "--on", "linux", "--policies", "ds"])
    assert done.exit_code == 3
    assert "hyperperiod linux build" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "setting", "policies", "runs"),
    [
        ("affinity", HALF, "ds crps", 30),
        ("affinity", WHOLE, "ds ptps", 10),
        ("contention-1", "equal level, neighbour idle", "ptps wcps", 1),
        ("contention-1", "equal level, neighbour running", "ds sporadic", 1),
    ],
)
def test_linux_shows_what_the_simulator_shows(
    scenario: str, setting: str, policies: str, runs: int
) -> None:
    need_linux()
    agree("linux", only(scenario, setting), policies, runs, KERNEL_NS)


@pytest.mark.slow
def test_two_machines_measure_the_same() -> None:
    need_linux()
    require_repeats("linux", only("affinity", HALF), "ptps", 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_claim_holds_under_every_policy(name: str, tmp_path: Path) -> None:
    need_linux()
    outcomes = measure(Plan("linux", load_scenarios((name,)), POLICIES)).outcomes
    assert [claim.ours for claim in outcomes[0].claims if not claim.holds] == []
    write_latency_page(tmp_path / "latency.html", "linux", 1, outcomes)
