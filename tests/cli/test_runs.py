# SPDX-License-Identifier: BSD-2-Clause
"""Runs through the commands: results, traces, reports, and a run that is interrupted."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.printed import checked

from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.cli import main
from hyperperiod.model import load_system

pytest.importorskip("hyperperiod._sim")

SYSTEMS = Path(__file__).parents[2] / "systems"
EXAMPLE3 = str(SYSTEMS / "ertds-example3.toml")
FLIGHT = str(SYSTEMS / "flight-control.toml")
OVERLOAD = str(SYSTEMS / "overload.toml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def result_of(*arguments: str) -> tuple[int, Any]:
    """The exit code and the one JSON object on standard output."""
    done = run(*arguments, "--json")
    assert done.stdout.count("\n") == 1, done.stderr
    return done.exit_code, checked(done.stdout)


def tasks_of(result: Any) -> dict[str, Any]:
    return {
        f"{domain['name']}.{task['name']}": task
        for domain in result["domains"]
        for task in domain["tasks"]
    }


def counting(called: Counter[str], original: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which now also counts under its name how often it is called."""

    def counted(*arguments: Any, **named: Any) -> Any:
        called[original.__name__] += 1
        return original(*arguments, **named)

    return counted


@pytest.mark.parametrize("name", ["flight-control", "packet-path", "request-response"])
@pytest.mark.parametrize("wanted", [["--trace"], ["--report"], ["--trace", "--report"]])
def test_a_run_is_analysed_once(
    name: str, wanted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interfaces, the claim in the trace and the page come from one analysis of the system."""
    called: Counter[str] = Counter()
    for module, function in (
        ("analyze", "resolve_what_can_be"),
        ("resolve", "resolve_what_can_be"),
        ("analyze", "contracts_of"),
        ("analyze", "host_level"),
        ("flows.end_to_end", "analyze_flows"),
    ):
        home = import_module(f"hyperperiod.analysis.{module}")
        monkeypatch.setattr(home, function, counting(called, getattr(home, function)))
    system = load_system(str(SYSTEMS / f"{name}.toml"))
    files = {"--trace": str(tmp_path / "run.hpt"), "--report": str(tmp_path / "run.html")}
    options = [word for option in wanted for word in (option, files[option])]
    done = run("simulate", str(SYSTEMS / f"{name}.toml"), "--horizon", "20ms", *options)
    assert done.exit_code == 0
    reported = "--report" in wanted
    assert called == {
        "resolve_what_can_be": 1,
        "host_level": len(groups_of(system)),
        **({"contracts_of": 1} if reported else {}),
        **({"analyze_flows": 1} if reported and system.flows else {}),
    }


def test_the_papers_timeline(tmp_path: Path) -> None:
    """Example 3 of the ERTDS paper, instant for instant."""
    trace = tmp_path / "run.hpt"
    code, result = result_of("simulate", EXAMPLE3, "--horizon", "24us", "--trace", str(trace))
    assert code == 0
    assert result["horizon_ns"] == 24_000
    rows = run("trace", "intervals", str(trace), "--csv").stdout.splitlines()[1:]
    assert rows == [
        "0,0,2000,vm1,vm1",
        "0,2000,4000,vm2,vm2",
        "0,4000,5000,vm1,spare",
        "0,5000,9000,vm2,vm2",
        "0,9000,11000,vm1,vm1",
        "0,11000,12000,vm1,spare",
        "0,12000,18000,vm2,vm2",
        "0,18000,20000,vm1,vm1",
        "0,20000,22000,vm1,spare",
        "0,22000,24000,idle,spare",
    ]
    assert run("trace", "check", str(trace)).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run.hpt"]


@pytest.mark.parametrize(
    ("name", "late", "horizon"),
    [
        ("brake-by-wire", set(), "2s"),
        ("deferrable-edf-counterexample", {"steady.work"}, "20ms"),
        ("deferrable-gedf-counterexample", {"short.work"}, "25ms"),
        ("ertds-example3", set(), "48us"),
        ("ertds-experiment-c", set(), "3s"),
        ("exsched-table2", set(), "4s"),
        ("exsched-table2-mixed", set(), "4s"),
        ("flight-control", set(), "2s"),
        ("hot-swap", set(), "5s"),
        ("overload", {"video.frame"}, "2s"),
    ],
)
def test_who_is_late_is_what_the_story_says(name: str, late: set[str], horizon: str) -> None:
    code, result = result_of("simulate", str(SYSTEMS / f"{name}.toml"), "--horizon", horizon)
    missed = {task for task, counts in tasks_of(result).items() if counts["misses"]}
    assert missed == late
    assert code == (1 if late else 0)


def test_mixing_periods_costs_switches() -> None:
    """The ExSched paper's last experiment: allocation by period needs less of the scheduler."""
    grouped = result_of("simulate", str(SYSTEMS / "exsched-table2.toml"), "--horizon", "4s")[1]
    mixed = result_of("simulate", str(SYSTEMS / "exsched-table2-mixed.toml"), "--horizon", "4s")[1]
    assert grouped["preemptions"] < mixed["preemptions"]


def test_the_seed_is_the_run() -> None:
    first = result_of("simulate", FLIGHT, "--horizon", "1s", "--seed", "7")
    assert result_of("run", FLIGHT, "--on", "sim", "--horizon", "1s", "--seed", "7") == first
    assert result_of("simulate", FLIGHT, "--horizon", "1s", "--seed", "8") != first


def test_another_policy() -> None:
    assert (
        result_of("simulate", FLIGHT, "--horizon", "1s", "--policy", "wcps")[1]["policy"] == "wcps"
    )
    text = "periodic+edf+reclaim"
    assert result_of("simulate", FLIGHT, "--horizon", "1s", "--policy", text)[1]["policy"] == text


def test_a_report_needs_no_trace_file(tmp_path: Path) -> None:
    report = tmp_path / "run.html"
    assert run("simulate", FLIGHT, "--horizon", "100ms", "--report", str(report)).exit_code == 0
    assert report.read_text(encoding="utf-8").startswith("<!")
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]


def test_for_people() -> None:
    done = run("simulate", OVERLOAD, "--horizon", "1s")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0].startswith("overload under ptps on sim, 1s: ")
    assert done.stdout.splitlines()[0].endswith("deadlines missed")
    assert done.stderr == ""


def test_compare(tmp_path: Path) -> None:
    report = tmp_path / "compare.html"
    code, result = result_of(
        "compare", FLIGHT, "--policies", "ptps,wcps,crps", "--horizon", "1s",
        "--report", str(report),
    )  # fmt: skip
    assert code == 0
    assert [one["policy"] for one in result["results"]] == ["ptps", "wcps", "crps"]
    released = [
        {name: task["jobs"] for name, task in tasks_of(one).items()} for one in result["results"]
    ]
    assert released[0] == released[1] == released[2]
    worst = [
        tasks_of(one)["navigation.satellite"]["response_ns"]["max"] for one in result["results"]
    ]
    assert worst[2] <= worst[0]
    assert report.stat().st_size > 0


def test_reclaiming_helps_where_lending_does_not() -> None:
    """The CSA paper's result on its synthetic systems: PTPS misses most, CRPS least."""
    system = str(SYSTEMS / "csa-synthetic.toml")
    result = result_of("compare", system, "--policies", "ptps,wcps,crps", "--horizon", "60s")[1]
    ptps, wcps, crps = (
        sum(task["misses"] for task in tasks_of(one).values()) for one in result["results"]
    )
    assert ptps > wcps > crps


def test_what_cannot_be_resolved_names_the_file() -> None:
    done = run("simulate", FLIGHT, "--policy", "polling")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {FLIGHT}: domain flight-laws: interface: found nothing")
    seen = run("analyze", FLIGHT, "--policy", "polling")
    assert seen.exit_code == 1
    assert "flight-laws" in seen.stdout
    assert "not for polling" in seen.stdout


def test_compare_takes_all_that_fit() -> None:
    done = run("compare", str(SYSTEMS / "ertds-experiment-c.toml"), "--horizon", "300ms")
    assert done.exit_code == 0
    assert "under rtds: no deadline missed" in done.stdout
    assert "under ertds: no deadline missed" in done.stdout


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The user presses Ctrl-C when the run shows its progress for the second time."""
    looks = itertools.count(1)

    def press(_now_ns: int) -> None:
        if next(looks) == 2:
            signal.raise_signal(signal.SIGINT)

    @contextlib.contextmanager
    def bar(_title: str, _total_ns: int) -> Iterator[Callable[[int], None]]:
        yield press

    monkeypatch.setattr("hyperperiod.cli.execute.bar", bar)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_leaves_a_valid_result(tmp_path: Path) -> None:
    trace, report = tmp_path / "run.hpt", tmp_path / "run.html"
    code, result = result_of(
        "simulate", FLIGHT, "--horizon", "1000000s", "--trace", str(trace), "--report", str(report)
    )
    assert code == 130
    assert result["interrupted"] is True
    assert 0 < result["horizon_ns"] < 10**15
    assert {path.name for path in tmp_path.iterdir()} == {"run.hpt", "run.html"}
    assert run("trace", "intervals", str(trace), "--csv").exit_code == 0


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_being_terminated_is_as_ctrl_c(command: str, tmp_path: Path) -> None:
    """What was reached is written, and no temporary folder is left."""
    temporary, report = tmp_path / "temporary", tmp_path / "run.html"
    temporary.mkdir()
    words = [command, FLIGHT, "--horizon", "1000000s", "--report", str(report), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperperiod", *words],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
    )
    # With more than its header in the trace the run is under way, and does not end for long.
    traces = "hyperperiod-*/*.hpt"
    while not any(trace.stat().st_size > 2**20 for trace in temporary.glob(traces)):
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert checked(printed.decode())["interrupted"] is True
    assert report.exists()
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_comparison_with_what_there_is() -> None:
    code, result = result_of("compare", FLIGHT, "--horizon", "1000000s")
    assert code == 130
    assert result["interrupted"] is True
    assert len(result["results"]) == 1
