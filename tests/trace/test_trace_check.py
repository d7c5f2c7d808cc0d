# SPDX-License-Identifier: BSD-2-Clause
"""`trace check` as a whole: its result, and that falsified traces do not pass."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.support import example_traces as examples
from tests.support.example_traces import H
from tests.support.random_systems import random_system, step_of
from tests.support.trace_writer import Script, make_header

from hyperperiod.cli.tables.trace import check_table
from hyperperiod.model.errors import InputError
from hyperperiod.runs import simulate
from hyperperiod.trace.check import CheckResult, check_file
from hyperperiod.trace.format import NONE, Header, Kind, Records, read
from hyperperiod.trace.properties import PROPERTIES, Status, check_all


def printed(result: CheckResult) -> str:
    return "\n".join(check_table(result.result).lines())


def test_a_good_trace(tmp_path: Path) -> None:
    path = examples.crps().write(tmp_path / "good.hpt")
    result = check_file(path)
    assert result.ok
    assert result.exit_code == 0
    assert "holds" in printed(result)
    said = json.loads(result.result.to_json())
    assert (said["ok"], said["interrupted"], said["end_ns"]) == (True, False, 20)
    assert [one["name"] for one in said["properties"]] == [one.name for one in PROPERTIES]
    assert {one["status"] for one in said["properties"]} == {"holds", "skipped"}


def test_a_bad_trace(tmp_path: Path) -> None:
    script = Script(make_header("ds", examples.PAIR)).arrive(0, H).run(0, H).idle(6).end(20)
    result = check_file(script.write(tmp_path / "bad.hpt"))
    assert result.exit_code == 1
    assert "high runs depleted" in printed(result)
    failed = {one.name: one for one in result.result.properties if one.violations}
    (example,) = failed["budget"].examples
    assert (example.time_ns, example.text) == (6, "high is 2 ns over its budgets")


def test_many_violations_are_counted_and_some_are_told(tmp_path: Path) -> None:
    script = Script(make_header("ds", examples.PAIR))
    for start_ns in range(0, 400, 10):
        script.arrive(start_ns, H).run(start_ns, H).depart(start_ns + 5, H).idle(start_ns + 5)
    result = check_file(script.end(400).write(tmp_path / "bad.hpt"))
    budget = next(one for one in result.result.properties if one.name == "budget")
    assert budget.violations == 40
    assert len(budget.examples) == 10
    assert "40 in all" in printed(result)


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_a_file_is_checked_in_windows(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found is the same, and a file that was cut is refused when its end is reached."""
    script = Script(make_header("ds", examples.PAIR)).arrive(0, H).run(0, H).idle(6).end(20)
    whole = script.write(tmp_path / "whole.hpt")
    header, records = read(whole)
    monkeypatch.setattr("hyperperiod.trace.check.AT_ONCE", at_once)
    found = check_file(whole)
    assert [verdict for _, verdict in found.findings] == check_all(header, records)
    assert (found.records, found.end_ns, found.interrupted) == (len(records), 20, True)
    cut = tmp_path / "cut.hpt"
    cut.write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(InputError, match="cut short"):
        check_file(cut)


Falsify = Callable[[Records, int], Records]


def another_payer(records: Records, at: int) -> Records:
    records["payer"][at] = NONE if records["payer"][at] == 0 else 0
    return records


def another_start(records: Records, at: int) -> Records:
    """The decision comes halfway to the next record's time, if there is room."""
    records["time_ns"][at] = (records["time_ns"][at] + records["time_ns"][at + 1] + 1) // 2
    return records


def left_out(records: Records, at: int) -> Records:
    return np.delete(records, at)


def decisions(records: Records) -> list[int]:
    """Records of the kinds that make a schedule, with time after them until the next record."""
    made = np.isin(records["kind"], (Kind.RUN, Kind.IDLE, Kind.CHARGE))
    gap_ns = np.diff(records["time_ns"], append=records["time_ns"][-1:]).astype(np.int64)
    return [int(at) for at in np.flatnonzero(made & (gap_ns > 1))]


def trips(header: Header, records: Records) -> bool:
    return any(finding.status is Status.FAILS for finding in check_all(header, records))


@pytest.mark.parametrize("falsify", [another_payer, another_start, left_out])
def test_falsified_traces_do_not_pass(falsify: Falsify, tmp_path: Path) -> None:
    """Each property is one view; together they leave no room for a decision to be wrong."""
    random = Random(1)
    tried = 0
    for seed in range(40):
        system = random_system(seed, extras=False)
        path = tmp_path / "run.hpt"
        simulate(system, 200 * step_of(system), seed, path)
        header, records = read(path)
        places = decisions(records)
        if not places:
            continue
        bad = falsify(records.copy(), random.choice(places))
        assert trips(header, bad), seed
        tried += 1
    assert tried > 15
