# SPDX-License-Identifier: BSD-2-Clause
"""Kept results side by side, and the limits that a build fails on."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support import worlds

from hyperperiod import runs
from hyperperiod.cli import main
from hyperperiod.hosts import Stock
from hyperperiod.hosts.guard import parse_guard, tripped
from hyperperiod.hosts.linux import here
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import InputError, System
from hyperperiod.runs import simulate

SYSTEMS = Path(__file__).parents[2] / "systems"
OVERLOAD = str(SYSTEMS / "overload.toml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two results of one system, the second with responses that are a quarter longer."""
    folder = tmp_path_factory.mktemp("kept")
    done = run("simulate", OVERLOAD, "--horizon", "1s", "--json")
    (folder / "before.json").write_text(done.stdout)
    result = json.loads(done.stdout)
    for task in tasks_of(result):
        if task["response_ns"] is not None:
            task["response_ns"]["max"] += task["response_ns"]["max"] // 4
    (folder / "after.json").write_text(json.dumps(result))
    return [str(folder / name) for name in ("before.json", "after.json")]


def tasks_of(result: Any) -> list[Any]:
    return [task for domain in result["domains"] for task in domain["tasks"]]


def test_a_column_for_each_file(kept: list[str]) -> None:
    done = run("compare", *kept)
    assert "before.json" in done.stdout
    assert "after.json" in done.stdout
    assert "longest response" in done.stdout


def test_without_a_limit_a_miss_is_one(kept: list[str]) -> None:
    assert any(task["misses"] for task in tasks_of(json.loads(Path(kept[0]).read_text())))
    assert run("compare", *kept).exit_code == 1


@pytest.mark.parametrize(
    ("limit", "exit_code"),
    [
        ("max>+20%", 1),
        ("max>+25%", 0),  # it is a quarter, rounded down
        ("mean>+0%", 0),
        ("misses>+0", 0),
        ("misses>0", 1),
        ("misses>1000000", 0),
        ("dmr>100%", 0),
        ("max>1ns", 1),
        ("max<1ns", 0),
    ],
)
def test_the_exit_code_is_that_of_the_limits(kept: list[str], limit: str, exit_code: int) -> None:
    done = run("compare", *kept, "--fail-on", limit)
    assert done.exit_code == exit_code
    assert done.stderr.startswith(f"{limit}: ") == bool(exit_code)


def test_limits_of_runs_that_are_made_now() -> None:
    asked = ("compare", OVERLOAD, "--policies", "ptps", "--horizon", "200ms")
    assert run(*asked, "--fail-on", "max>10s").exit_code == 0
    assert run(*asked, "--fail-on", "max>10s", "--fail-on", "min>0ns").exit_code == 1


def test_results_of_other_tasks_are_refused(kept: list[str], tmp_path: Path) -> None:
    result = json.loads(Path(kept[0]).read_text())
    tasks_of(result)[0]["name"] = "another"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(result))
    done = run("compare", kept[0], str(other))
    assert done.exit_code == 2
    assert "another" in done.stderr
    assert "allowed: the tasks" in done.stderr


@pytest.mark.parametrize(
    "more", [("--seed", "3"), ("--hosts", "sim"), ("--horizon", "1s"), ("--report", "x.html")]
)
def test_options_of_runs_are_refused_with_results(kept: list[str], more: tuple[str, str]) -> None:
    done = run("compare", *kept, *more)
    assert done.exit_code == 2
    assert f"found {more[0]} with results" in done.stderr


@pytest.mark.parametrize("seed", [0, 3])
def test_a_system_after_a_result_is_run_as_that_was(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "kept.json"
    arguments = ("--horizon", "700ms", "--seed", str(seed))
    file.write_text(run("simulate", OVERLOAD, *arguments, "--json").stdout)
    done = run("compare", str(file), OVERLOAD, "--json", "--fail-on", "max>+0ns")
    assert done.exit_code == 0
    first, second = json.loads(done.stdout)["results"]
    assert first == second
    longer = tmp_path / "longer.toml"
    longer.write_text(Path(OVERLOAD).read_text() + '[overheads]\ncontext_switch = "100us"\n')
    done = run("compare", str(file), str(longer), "--fail-on", "max>+0ns")
    assert done.exit_code == 1
    assert "in longer.toml" in done.stderr


def test_of_several_seeds_there_is_a_run_with_each(tmp_path: Path) -> None:
    arguments = (OVERLOAD, "--horizon", "700ms")
    done = run("compare", *arguments, "--seed", "3,1", "--json")
    alone = [run("simulate", *arguments, "--seed", seed, "--json").stdout for seed in "31"]
    assert json.loads(done.stdout)["results"] == [json.loads(text) for text in alone]
    page = tmp_path / "page.html"
    several = ("--policies", "ptps,crps", "--seed", "3,1", "--report", str(page))
    text = run("compare", *arguments, *several).stdout
    assert "with ptps, seed 3 and ptps, seed 1, " in page.read_text()
    names = ("ptps, seed 3", "ptps, seed 1", "crps, seed 3", "crps, seed 1")
    assert all(name in text for name in names)
    done = run("compare", *arguments, "--seed", "3,3")
    assert done.exit_code == 2
    assert "found 3 a second time" in done.stderr


@pytest.mark.parametrize(("host", "scheduler"), [("linux", None), ("linux-quota", Stock.QUOTA)])
def test_a_system_after_a_result_of_linux_is_run_under_its_scheduler(
    kept: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    scheduler: Stock | None,
) -> None:
    """On a machine that is not booted: it simulates, and writes down what it was asked for."""
    asked: list[Any] = []

    def simulated(system: System, horizon_ns: int, seed: int, *_: Any, **more: Any) -> RunResult:
        asked.append(more["options"].scheduler)
        return simulate(system, horizon_ns, seed)

    monkeypatch.setattr(here, "lacks", lambda: "no sched_ext")
    monkeypatch.setattr(runs, "run_on_linux", simulated)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "kept.json"
    file.write_text(json.dumps(json.loads(Path(kept[0]).read_text()) | {"host": host}))
    done = run("compare", str(file), OVERLOAD, "--fail-on", "max>+0ns")
    assert (done.exit_code, asked) == (0, [scheduler])


@pytest.mark.parametrize("host", ["linux-foo", "xen-quota", "sim-foo"])
def test_a_result_of_a_host_that_there_is_not_says_so(
    kept: list[str], tmp_path: Path, host: str
) -> None:
    file = tmp_path / "kept.json"
    file.write_text(json.dumps(json.loads(Path(kept[0]).read_text()) | {"host": host}))
    done = run("compare", str(file), OVERLOAD)
    assert done.exit_code == 2
    assert f"{file}: host: found {host}; allowed: sim, xen, linux" in done.stderr


def test_one_system_is_compared_at_most(kept: list[str]) -> None:
    done = run("compare", kept[0], OVERLOAD, OVERLOAD)
    assert done.exit_code == 2
    assert "found 2 systems; allowed: one, and before it results that end in .json" in done.stderr


def test_a_system_of_other_tasks_is_refused(kept: list[str]) -> None:
    done = run("compare", kept[0], str(SYSTEMS / "flight-control.toml"))
    assert done.exit_code == 2
    assert "flight-control.toml: domains: found the tasks" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["analyze", OVERLOAD], "analyze"),
        (["compare", OVERLOAD, "--policies", "ptps", "--horizon", "10ms"], "compare"),
    ],
)
def test_a_result_of_another_command_is_called_so(
    kept: list[str], tmp_path: Path, arguments: list[str], command: str
) -> None:
    other = tmp_path / "other.json"
    other.write_text(run(*arguments, "--json").stdout)
    done = run("compare", kept[0], str(other), "--fail-on", "dmr>0")
    assert done.exit_code == 2
    allowed = "a result of simulate or run, printed with --json"
    assert done.stderr == f"error: {other}: found a result of {command}; allowed: {allowed}\n"


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    done = run("compare", str(tmp_path / "x.json"))
    assert done.exit_code == 2
    assert "x.json" in done.stderr


@pytest.mark.parametrize(
    "text",
    ["", "dmr", "dmr>", "slow>1", "max>8", "max>5%", "dmr>x", "dmr=0", "misses>-1", "max>+1e3us"],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="allowed: dmr, misses"):
        parse_guard(text)


def test_what_a_limit_says() -> None:
    assert parse_guard("dmr > 1%").value == Fraction(1, 100)
    assert parse_guard("dmr>0.25").value == Fraction(1, 4)
    assert parse_guard("p99<=+5%") == ("p99<=+5%", "p99", "<=", Fraction(1, 20), True, True)
    assert parse_guard("max>+20us") == ("max>+20us", "max", ">", Fraction(20_000), True, False)


def test_what_has_no_value_fires_nothing() -> None:
    """No job was due: there is no ratio, and nothing that it could be above or below."""
    one = worlds.system("ptps", worlds.domain("d", (1, 2), worlds.task("t", 10, 1, offset=50)))
    assert tripped([parse_guard("dmr<1")], [worlds.run(one, 20).result]) == []
    assert not parse_guard("max>+0us").fires(Fraction(5), None)
    assert parse_guard("max>+0us").fires(Fraction(5), Fraction(4))
