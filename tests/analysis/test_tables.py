# SPDX-License-Identifier: BSD-2-Clause
"""What is said of partitions: verdicts, what explains them, and what is written of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from hyperperiod import InputError, System, analyze
from hyperperiod.analysis.domains.domain_level import IN_STEP, MORE_THAN_WINDOWS
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.servers.host_tests import WINDOWS
from hyperperiod.cli import main
from hyperperiod.runs import simulate, simulate_many

PARTITIONS = str(Path(__file__).parents[2] / "docs" / "examples" / "partitions.toml")


def table(*tasks: tuple[int, int, int], scheduler: str = "rm") -> System:
    """A partition with the first 5 of 10 ns, and tasks (period, wcet, deadline)."""
    each = [
        {"name": f"t{number}", "period_ns": period, "wcet_ns": wcet, "deadline_ns": deadline}
        for number, (period, wcet, deadline) in enumerate(tasks)
    ]
    windows = [{"start_ns": 0, "duration_ns": 5}]
    one = {"name": "a", "scheduler": scheduler, "windows": windows, "task": each}
    return System(name="s", policy="table", major_frame_ns=10, domains=[one])


@pytest.mark.parametrize("scheduler", ["rm", "edf", "fifo"])
def test_more_than_windows_come_to_is_no_of_the_whole_only(scheduler: str) -> None:
    """The first task, in step with its window, never misses its deadline; the second does."""
    system = table((10, 1, 1), (20, 15, 20), scheduler=scheduler)
    (found,) = analyze(system).domains
    assert (found.schedulable, found.reason) == (False, MORE_THAN_WINDOWS)
    assert [one.schedulable for one in found.tasks] == [None, None]
    (ran,) = simulate(system, 1000).domains
    assert sum(one.misses for one in ran.tasks) > 0
    if scheduler == "rm":
        assert ran.tasks[0].misses == 0


def test_what_depends_on_the_step_is_unknown_and_says_so() -> None:
    (found,) = analyze(table((10, 1, 1))).domains
    assert (found.schedulable, found.reason) == (None, IN_STEP)
    assert found.tasks[0].reason == IN_STEP


def test_work_above_its_deadline_is_no() -> None:
    (found,) = analyze(table((10, 3, 2))).domains
    assert (found.schedulable, found.tasks[0].schedulable) == (False, False)


@pytest.mark.parametrize("name", ["flight", "flight.guidance", "radio.link", "maintenance"])
def test_explanations_speak_of_windows(name: str) -> None:
    """Nobody takes anything of a partition: no other server, and no budget that is spent early."""
    found = CliRunner().invoke(main, ["analyze", PARTITIONS, "--explain", name])
    text = " ".join(found.output.partition(f"{name} surely")[2].split())
    assert "blackout" in text
    assert not any(word in text for word in ("beside", "would get", "has spent", "No budget"))
    assert ("at the end of one of its windows" in text) is ("." in name)


def test_pcpus_of_a_run_are_those_of_the_file() -> None:
    """Two partitions on pcpu 0 and none on pcpu 1, as many partitions as pcpus."""
    domains = [
        {"name": name, "pcpu": 0, "windows": [{"start_ns": at, "duration_ns": 5}]}
        for name, at in (("a", 0), ("b", 5))
    ]
    system = System(name="s", policy="table", pcpus=2, major_frame_ns=10, domains=domains)
    pcpus = simulate(system, 1000).pcpus
    assert [(one.id, one.busy_ns, one.idle_ns) for one in pcpus] == [(0, 1000, 0), (1, 0, 1000)]


def test_a_report_and_a_certificate_of_partitions(tmp_path: Path) -> None:
    page, proof = tmp_path / "r.html", tmp_path / "c.json"
    run = ["simulate", PARTITIONS, "--horizon", "200ms", "--report", str(page)]
    found = CliRunner().invoke(main, run)
    assert (found.exit_code, page.exists()) == (0, True), found.output
    found = CliRunner().invoke(main, ["analyze", PARTITIONS, "--certificate", str(proof)])
    assert (found.exit_code, "nothing is certified" in found.output) == (0, True)
    written = json.loads(proof.read_text())
    assert (written["servers"], written["domains"]) == ([], [])
    assert len(written["not_certified"]) == 3


def test_pins_that_are_missing_are_asked_for_by_all() -> None:
    """Many runs at once ask for no less than one."""
    domains = [{"name": "a", "windows": [{"start_ns": 0, "duration_ns": 5}]}]
    with pytest.raises(InputError, match="on which pcpu"):
        simulate_many(
            [(System(name="s", policy="table", pcpus=2, major_frame_ns=10, domains=domains), 1)],
            100,
        )


def test_a_group_with_more_than_a_pcpu_is_not_confirmed() -> None:
    """The model refuses windows that overlap; the test does not rest on that."""
    (group,) = groups_of(table((10, 1, 10)))
    assert [one.holds for one in WINDOWS.judge(group)] == [True]
    own = group.servers[0]
    twice = replace(group, servers=(own, own._replace(name="b", budget_ns=6)))
    assert [one.holds for one in WINDOWS.judge(twice)] == [None, None]
