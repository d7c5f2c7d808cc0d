# SPDX-License-Identifier: BSD-2-Clause
"""Intervals and jobs: the schedule and its jobs as tables, row by row."""

from io import StringIO
from pathlib import Path

from tests.support import example_traces as examples
from tests.support.example_traces import H, L
from tests.support.sample_report import robbed
from tests.support.trace_writer import Script, make_header, task, vcpu

from hyperperiod.cli.tables.trace import write_csv
from hyperperiod.runs import simulate
from hyperperiod.trace.format import NONE, SECOND_PAYER, STOLEN, read
from hyperperiod.trace.intervals import IntervalRow, intervals
from hyperperiod.trace.jobs import Job, jobs


def test_intervals_are_the_schedule(tmp_path: Path) -> None:
    out = StringIO()
    write_csv(IntervalRow, intervals(*examples.ptps().trace(tmp_path)), out)
    assert out.getvalue() == (
        "pcpu,start_ns,end_ns,run,pay\n"
        "0,0,3,high,high\n"
        "0,3,4,idle,high\n"
        "0,4,10,low,low\n"
        "0,10,14,idle,high\n"
        "0,14,16,low,low\n"
        "0,16,18,idle,low\n"
        "0,18,20,idle,\n"
        "0,20,23,high,high\n"
        "0,23,24,idle,high\n"
        "0,24,30,idle,low\n"
        "0,30,34,idle,high\n"
        "0,34,38,idle,low\n"
        "0,38,40,idle,\n"
    )


def test_both_payers_are_named_and_sorted(tmp_path: Path) -> None:
    vcpus = [vcpu("zeta", 10, 4), vcpu("beta", 20, 10)]
    script = Script(make_header("wcps", vcpus)).run(0, L, H, flags=SECOND_PAYER).end(4)
    assert [row.pay for row in intervals(*script.trace(tmp_path))] == ["beta;zeta"]


def test_spare_and_nobody_are_named(tmp_path: Path) -> None:
    rows = list(intervals(*examples.spare().trace(tmp_path)))
    assert [(row.run, row.pay) for row in rows[2:]] == [
        ("low", "spare"), ("high", "high"), ("low", "spare"), ("idle", ""),
    ]  # fmt: skip


def test_stolen_time_is_no_idle_time(tmp_path: Path) -> None:
    """Whether somebody pays for it or not; the flag says nothing of a pcpu that runs somebody."""
    script = Script(make_header("ptps", examples.PAIR)).idle(0, H).idle(1, H, flags=STOLEN)
    script.idle(2, flags=STOLEN).idle(3, flags=STOLEN).idle(5).run(6, L, flags=STOLEN).run(8, L)
    assert [row[1:] for row in intervals(*script.end(9).trace(tmp_path))] == [
        (0, 1, "idle", "high"),
        (1, 2, "stolen", "high"),
        (2, 5, "stolen", ""),
        (5, 6, "idle", ""),
        (6, 9, "low", "low"),
    ]


def test_stolen_intervals_last_as_long_as_the_run_says(tmp_path: Path) -> None:
    """Two ms of each ten, in a simulated run."""
    trace = tmp_path / "robbed.hpt"
    result = simulate(robbed(tmp_path), 35_000_000, trace_path=trace)
    stolen = [row for row in intervals(*read(trace)) if row.run == "stolen"]
    ms = [(row.start_ns // 1_000_000, row.end_ns // 1_000_000) for row in stolen]
    assert ms == [(0, 2), (10, 12), (20, 22), (30, 32)]
    assert sum(row.end_ns - row.start_ns for row in stolen) == result.pcpus[0].stolen_ns


def test_equal_rows_are_merged_and_instants_left_out(tmp_path: Path) -> None:
    tasks = [task("high", "t", 10, 2), task("high", "u", 10, 2)]
    header = make_header("ds", examples.PAIR, tasks)
    script = Script(header).run(0, H, task=0).run(2, H, task=1).run(4, L).idle(4).end(9)
    assert [(row.start_ns, row.end_ns, row.run) for row in intervals(*script.trace(tmp_path))] == [
        (0, 4, "high"),
        (4, 9, "idle"),
    ]


def test_jobs_are_listed_by_task_and_number(tmp_path: Path) -> None:
    out = StringIO()
    write_csv(Job, jobs(*examples.ptps().trace(tmp_path)), out)
    assert out.getvalue() == (
        "domain,task,job,release_ns,start_ns,finish_ns,deadline_ns\n"
        "high,t,0,0,0,3,20\n"
        "high,t,1,20,20,23,40\n"
        "low,u,0,0,4,16,40\n"
    )


def test_what_did_not_happen_is_empty(tmp_path: Path) -> None:
    tasks = [task("high", "t", 10, 2), task("high", "u", 10, 2)]
    script = Script(make_header("ds", examples.PAIR, tasks))
    script.release(0, 0, 0, 10).release(0, 1, 0).run(0, H, task=0).run(2, H, NONE, task=1).end(2)
    first, second = jobs(*script.trace(tmp_path))
    assert (first.start_ns, first.finish_ns, first.deadline_ns) == (0, None, 10)
    assert (second.start_ns, second.finish_ns, second.deadline_ns) == (None, None, None)


def test_an_empty_trace_has_no_rows(tmp_path: Path) -> None:
    header, records = Script(make_header("ds", examples.PAIR)).end(0).trace(tmp_path)
    assert list(intervals(header, records)) == []
    assert jobs(header, records) == []
