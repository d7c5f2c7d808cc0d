# SPDX-License-Identifier: BSD-2-Clause
"""Results as JSON: their schema, and objects read from them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from tests.support.printed import checked, validator

import hyperperiod
from hyperperiod import InputError
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.cli import main
from hyperperiod.hosts.result import ComparisonResult, RunResult
from hyperperiod.model import load_system
from hyperperiod.model.absent import ABSENT
from hyperperiod.model.result_object import ResultObject
from hyperperiod.results import RESULTS, printed_by, results_schema

SYSTEMS = sorted((Path(__file__).parents[2] / "systems").glob("*.toml"))
PINNED = [path for path in SYSTEMS if load_system(str(path), pinned=False).pinned]
FLIGHT = next(path for path in SYSTEMS if path.stem == "flight-control")
RUN_KEYS = ["system", "host", "policy", "horizon_ns", "seed", "interrupted"]


def printed(*arguments: str) -> str:
    return CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False).stdout


def test_the_schema_is_a_schema_and_is_printed() -> None:
    jsonschema.Draft202012Validator.check_schema(results_schema())
    done = CliRunner().invoke(main, ["schema", "results"])
    assert json.loads(done.stdout) == results_schema()


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.stem)
def test_what_is_printed_is_allowed_and_read_again(path: Path) -> None:
    checked(printed("analyze", str(path), "--sensitivity", "--isolation"))
    checked(printed("simulate", str(path), "--horizon", "5ms"))


def test_what_is_wrong_with_an_object_of_another_kind_is_not_said_at_length() -> None:
    analysis = json.loads(printed("analyze", str(FLIGHT)))
    with pytest.raises(InputError) as caught:
        RunResult.of(analysis)
    assert len(caught.value.problems) == 50
    assert caught.value.problems[0].key == "host"


def test_a_result_is_known_by_its_keys() -> None:
    keys = {command: list(kind.field_defaults) for kind, command in RESULTS.items()}
    for command, names in keys.items():
        assert printed_by(dict.fromkeys(names)) == command
        assert printed_by(dict.fromkeys([*names, "else"])) == ""
    other: list[Any] = [{}, [], None, {"system": "a"}]
    assert [printed_by(one) for one in other] == [""] * 4
    for command in ("analyze", "simulate"):
        assert command in printed_by(json.loads(printed(command, str(FLIGHT))))


@pytest.mark.parametrize("name", ["flight-control", "stability-control"])
def test_explanations_and_comparisons_too(name: str) -> None:
    path = next(path for path in SYSTEMS if path.stem == name)
    domain = load_system(str(path)).domains[0].name
    found = checked(printed("analyze", str(path), "--explain", domain))
    read = AnalysisResult.of(found).explain
    assert read is not None
    assert read.to_dict() == found["explain"]
    assert read.windows
    both = checked(printed("compare", str(path), "--policies", "ptps,ds", "--horizon", "5ms"))
    assert [run.policy for run in ComparisonResult.of(both).results] == ["ptps", "ds"]


@pytest.mark.parametrize(
    "arguments",
    [
        "latency --scenario affinity --runs 1 --longest 10ms --policies ds",
        "latency --scenario interrupt --runs 1 --longest 10ms --policies ds",
        "reproduce ertds-fig6 --sets 1 --horizon 500ms",
        "reproduce ertds-fig9 --sets 1 --horizon 3s",
        "reproduce psedf-fig7 --packets 20",
        "reproduce psedf-worst --plays 5",
    ],
)
def test_experiments_too(arguments: str) -> None:
    assert checked(printed(*arguments.split()))["claims" if "reproduce" in arguments else "seed"]


def test_checks_and_differences_of_traces_too(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{seed}.hpt") for seed in (1, 2)]
    for seed, path in enumerate(paths):
        run = ["simulate", str(FLIGHT), "--horizon", "50ms", "--seed", str(seed)]
        CliRunner().invoke(main, [*run, "--trace", path], catch_exceptions=False)
    assert checked(printed("trace", "check", paths[0]))["ok"]
    assert not checked(printed("trace", "diff", *paths))["agrees"]


def test_histograms_are_read_again() -> None:
    run = hyperperiod.simulate(load_system(str(FLIGHT)), "50ms", histograms=True)
    assert run.tasks[0].histogram
    assert RunResult.of(json.loads(run.to_json())) == run
    validator().validate(run.to_dict())


@pytest.mark.parametrize(
    "change",
    [
        {"horizon_ns": "50ms"},
        {"horizon_ns": 1.5},
        {"interrupted": 0},
        {"response_error": None},
        {"domains": {}},
        {"host": None},
        {"colour": "blue"},
        {"timing": 1},
    ],
    ids=str,
)
def test_schema_and_reader_refuse_the_same(change: dict[str, Any]) -> None:
    good = json.loads(printed("simulate", str(FLIGHT), "--horizon", "5ms"))
    assert validator().is_valid(good)
    assert not validator().is_valid(good | change)
    (key,) = change
    with pytest.raises(InputError) as refused:
        RunResult.of(good | change)
    assert [problem.key for problem in refused.value.problems] == [key]
    without = {name: value for name, value in good.items() if name != "pcpus"}
    assert not validator().is_valid(without)
    with pytest.raises(InputError, match="pcpus: found nothing; allowed: this key is required"):
        RunResult.of(without)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: found expecting value; allowed: a file of JSON"),
        ('{"system":\n1 2}', ":2: found expecting ',' delimiter; allowed: a file of JSON"),
        ("[" * 100_000, "found objects nested too deeply"),
        ("[1]", "the whole: found a list; allowed: an object"),
        ("{}", "system: found nothing; allowed: this key is required"),
        ("\x80", ": found bytes that are not UTF-8; allowed: a file of JSON"),
    ],
)
def test_wrong_files_are_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as refused:
        RunResult.from_file(path)
    assert str(refused.value).startswith(str(path))
    assert said in str(refused.value)
    with pytest.raises(InputError, match=r"none\.json: found no such file or directory"):
        RunResult.from_file(tmp_path / "none.json")


def test_a_file_of_another_result_is_refused_at_every_key(tmp_path: Path) -> None:
    path = tmp_path / "analysis.json"
    path.write_text(printed("analyze", str(FLIGHT)))
    assert AnalysisResult.from_file(path).system == "flight-control"
    with pytest.raises(InputError) as refused:
        RunResult.from_file(path)
    keys = {problem.key for problem in refused.value.problems}
    assert {"host", "horizon_ns", "schedulable", "domains[0].supply_ns"} <= keys


def test_objects_are_frozen_equal_by_value_and_leave_out_defaults() -> None:
    class Two(ResultObject):
        """Two keys, one of which may be left out."""

        one: int | None
        two: int | None = None

    found = Two(one=None)
    assert found.to_dict() == {"one": None}
    assert found.replace(two=2).to_dict() == {"one": None, "two": 2}
    assert found == Two(one=None, two=None) != Two(one=0)
    assert len({found, Two(one=None)}) == 1
    assert repr(found) == "Two(one=None, two=None)"
    assert not ABSENT
    with pytest.raises(AttributeError):
        found.one = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        Two(two=1)  # type: ignore[call-arg]
