# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that were recorded run again: the same jobs in the same system are the same schedule."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.printed import checked
from tests.support.worlds import alone, domain, event, run, system, task

from hyperperiod.cli import main
from hyperperiod.hosts.recorded_jobs import read_jobs
from hyperperiod.model import InputError, Overheads, Overrun, System, load_system, to_toml
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import Records, read

EXAMPLES = ("ertds-experiment-c", "hot-swap", "flight-control", "zone-controller", "overload")
"""Donated budget, swaps and changes, busy tasks, flows and event tasks, backlogs."""


def commanded(*words: str | Path) -> str:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code in (0, 1), result.output
    return result.stdout


def before(records: Records, end_ns: int) -> Records:
    return records[records["time_ns"] < end_ns]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_jobs_of_a_run_make_the_same_run(name: str, tmp_path: Path) -> None:
    """Each record is the same up to the first job that is left out as it was not seen to end.

    There are no overheads, which would be in the times of the jobs and be paid once more.
    """
    known = tmp_path / "system.toml"
    known.write_text(to_toml(load_system(f"systems/{name}.toml").replace(overheads=Overheads())))
    recorded, again, file = (tmp_path / one for one in ("one.hpt", "two.hpt", "jobs.csv"))
    words = ("simulate", known, "--horizon", "500ms", "--seed", "7", "--trace")
    commanded(*words, recorded)
    file.write_text(commanded("trace", "jobs", recorded, "--csv", "--ran"))
    with file.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["finish_ns"] == ""]
    end_ns = min((int(row["release_ns"]) for row in rows if row["deadline_ns"]), default=2**62)
    commanded(*words, again, "--jobs", file)
    (header, one), (header_again, two) = read(recorded), read(again)
    assert len(before(one, end_ns)) > 400
    assert np.array_equal(before(one, end_ns), before(two, end_ns))
    assert "recorded" in {entry["kind"] for entry in header_again["tasks"]}
    assert "recorded" not in {entry["kind"] for entry in header["tasks"]}
    assert check_file(again).ok


def write(file: Path, *rows: str) -> Path:
    file.write_text("\n".join(["domain,task,release_ns,ran_ns", *rows, ""]))
    return file


def replayed(one: System, file: Path, horizon: int) -> str:
    return run(one, horizon, jobs=read_jobs(str(file), one)).drawn()


def test_jobs_of_a_list_and_of_a_model_side_by_side(tmp_path: Path) -> None:
    """An event task, too, has releases by the list, also while a job of its own is unfinished."""
    one = system(
        "ds",
        domain("a", (3, 10), task("one", 100, 50), event("two", 1), scheduler="fifo"),
        domain("b", (7, 10), task("own", 10, 2)),
    )
    file = write(tmp_path / "jobs.csv", "a,one,2,4", "a,one,3,1", "a,two,3,1")
    assert replayed(one, file, 25) == "0 own 2 one 5 - 10 one 12 two 13 own 15 - 20 own 22 - 25"


@pytest.mark.parametrize(
    ("more", "releases", "found"),
    [
        ({}, (5, 15, 25, 25, 35), 1),
        ({}, (0, 9, 18, 27, 36, 45, 54, 63, 72, 81, 90), 5),
        ({"jitter": 3}, (3, 10, 20, 30), 0),
        ({"jitter": 3}, (3, 9, 20, 30), 1),
        ({"jitter": 3}, (3, 10, 19, 30), 1),
        ({"kind": "event", "jitter": 3}, (3, 10, 20), 1),
    ],
)
def test_jobs_that_a_model_does_not_allow_are_counted(
    more: dict[str, object], releases: Sequence[int], found: int, tmp_path: Path
) -> None:
    one = alone("rm", task("one", 10, 4, **more))
    rows = [f"d,one,{release},{4 + number % 2}" for number, release in enumerate(releases)]
    (counted,) = read_jobs(str(write(tmp_path / "jobs.csv", *rows)), one).values()
    result = counted.result(1000)
    assert (result.jobs, result.more, result.longer) == (len(rows), found, len(rows) // 2)


def test_what_is_not_as_the_model_says_is_said(tmp_path: Path) -> None:
    file = write(tmp_path / "jobs.csv", "control,loop,0,2000000", "control,loop,10,900000000")
    words = ("simulate", "systems/overload.toml", "--jobs", file, "--horizon", "100ms")
    said = commanded(*words)
    assert "recorded jobs: of control.loop\n" in said
    assert "control.loop, 2 jobs: 1 longer than its wcet, 1 more than its period" in said
    short = commanded(*words[:-1], "10ns", "--json")
    assert checked(short)["recorded"][0]["jobs"] == 1
    assert checked(commanded(*words, "--json"))["recorded"] == [
        {"name": "control.loop", "jobs": 2, "left_out": 0, "longer": 1, "more": 1}
    ]


def test_a_trace_of_recorded_jobs_is_checked_by_their_own_times(tmp_path: Path) -> None:
    """Not by offset and period of the model, which they do not have."""
    one = alone("rm", task("one", 10, 4))
    file = write(tmp_path / "jobs.csv", "d,one,3,2", "d,one,4,3", "d,one,20,2")
    found = run(one, 50, jobs=read_jobs(str(file), one))
    assert found.drawn() == "0 - 3 one 8 - 20 one 22 - 50"
    (tmp_path / "run.hpt").write_bytes(found.trace)
    assert check_file(tmp_path / "run.hpt").ok
    (tmp_path / "run.hpt").write_bytes(found.trace.replace(b'"recorded"', b'"periodic"'))
    assert not check_file(tmp_path / "run.hpt").ok


def test_a_task_whose_rows_are_all_left_out_has_no_jobs(tmp_path: Path) -> None:
    one = alone("rm", task("one", 10, 4))
    file = tmp_path / "jobs.csv"
    file.write_text("\ufeffdomain,task,release_ns,ran_ns,finish_ns\nd,one,0,4,\n")
    result = run(one, 50, jobs=read_jobs(str(file), one)).result
    assert [(each.jobs, each.left_out) for each in result.recorded] == [(0, 1)]
    assert [each.jobs for each in result.tasks] == [0]


def test_a_system_with_overruns_is_refused(tmp_path: Path) -> None:
    one = alone("rm", task("one", 10, 4))
    file = write(tmp_path / "jobs.csv", "d,one,3,2")
    overrun = Overrun(task="d.one", factor=Fraction(2))
    with pytest.raises(InputError, match="overruns of a system that is given recorded jobs"):
        read_jobs(str(file), one.replace(overruns=(overrun,)))


@pytest.mark.parametrize(("ran", "applies"), [("2000000", True), ("900000000", False)])
def test_the_report_guarantees_nothing_beyond_the_limits(
    ran: str, applies: bool, tmp_path: Path
) -> None:
    file = write(tmp_path / "jobs.csv", f"control,loop,0,{ran}")
    page = tmp_path / "page.html"
    words = ("simulate", "systems/overload.toml", "--jobs", file, "--horizon", "100ms")
    commanded(*words, "--report", page)
    text = page.read_text()
    assert ("Recorded jobs: within their limits" in text) == applies
    assert ("the analysis does not apply" in text) == (not applies)


@pytest.mark.parametrize(
    ("text", "line", "found", "allowed"),
    [
        ("", 1, "no column domain", "columns domain, task, release_ns, ran_ns"),
        ("domain,task,release_ns,ran_ns\n", 1, "no job", "a table of jobs"),
        ("domain,task,ran_ns,release_ns\nd,one,1\n", 2, "3 fields", "4, one per column"),
        ("domain,task,release_ns,ran_ns\nd,won,1,1\n", 2, "'d.won'", "did you mean d.one"),
        ("domain,task,release_ns,ran_ns\nd,one,1,0\n", 2, "'0'", "1 to 2^62 - 1"),
        ("domain,task,release_ns,ran_ns\nd,one,-1,1\n", 2, "'-1'", "0 to 2^62 - 1"),
        ("domain,task,release_ns,ran_ns\nd,one,1,4611686018427387904\n", 2, "'461", "2^62 - 1"),
        ("domain,task,release_ns,ran_ns\nd,one,2,1\n\nd,one,1,1\n", 3, "0 fields", "4, one"),
        ("domain,task,release_ns,ran_ns\nd,one,2,1\nd,one,1,1\n", 3, "1", "2 or later"),
        ('domain,task,release_ns,ran_ns\nd,"one,2,1\n', 2, "unexpected end of data", "RFC 4180"),
        ("domain,task,release_ns,ran_ns\nd,\0ne,2,1\n", 2, "", ""),
    ],
)
def test_a_wrong_row_is_named_by_its_line(
    text: str, line: int, found: str, allowed: str, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_jobs(str(file), alone("rm", task("one", 10, 4)))
    assert error.value.line == line
    assert found in error.value.found
    assert allowed in error.value.allowed


def test_a_file_that_is_no_table_is_named(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    one = alone("rm", task("one", 10, 4))
    file.write_bytes(b"\xff\xfe")
    wrong = {file: "no UTF-8", tmp_path: "a directory", tmp_path / "x": "no such"}
    for name, found in {**wrong, Path("/dev/zero"): "field limit"}.items():
        with pytest.raises(InputError, match=found):
            read_jobs(str(name), one)
