# SPDX-License-Identifier: BSD-2-Clause
"""Windows of a report: what happens late in a run is in the page, drawn as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.sample_report import late_page, late_system
from tests.support.trace_writer import Script, make_header, task, vcpu

from hyperperiod.analysis import analyze
from hyperperiod.cli import main, progress
from hyperperiod.hosts.result import Responses
from hyperperiod.model import load_system, parse_policy, with_policy
from hyperperiod.report import windows as windows_module
from hyperperiod.report import write_report
from hyperperiod.report.meter import Meter, silent
from hyperperiod.report.moments import (
    FIRST_DIFFERENCE,
    FIRST_MISS,
    LONGEST,
    WORST_MISS,
    ReportMoment,
    Survey,
    first_difference,
)
from hyperperiod.report.stacked import stacked
from hyperperiod.report.timeline import OLDER, timeline
from hyperperiod.report.windows import Chosen, ReportWindow, choose, choose_each, view_of
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Header, Kind, Records, end_ns, read
from hyperperiod.trace.jobs import jobs

SYSTEMS = Path(__file__).parents[2] / "systems"


def data_of(page: Path) -> Any:
    found = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def miss_link(page: Path) -> str:
    """Where the number of misses of the table leads."""
    found = re.findall(r'<a href="(#zoom=\w+,\w+)" title="show the first miss', page.read_text())
    assert len(found) == 1
    return str(found[0])


def test_a_late_miss_is_in_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = late_page(tmp_path, monkeypatch)
    data = data_of(page)
    start, *others = data["windows"]
    assert start["end"] < 1_000_000_000
    (window,) = [one for one in others if one["start"] <= 3_050_000_000 <= one["end"]]
    release, deadline, finish, job, missed = window["jobs"][1]
    assert (release, deadline, job, missed) == (3_000_000_000, 3_050_000_000, 0, 1)
    assert finish > deadline
    first, last = re.findall(r"\d+", miss_link(page))
    assert window["start"] <= int(first) < release < finish < int(last) <= window["end"]
    (headline,) = re.findall(r'class="tab"[^>]*>([^<]*miss[^<]*)<', page.read_text())
    assert headline == "first and worst miss of video.rescale, at 3.05 s"


def test_without_a_miss_the_closest_call_is_shown(tmp_path: Path) -> None:
    system = load_system(SYSTEMS / "flight-control.toml")
    trace, page = tmp_path / "run.hpt", tmp_path / "page.html"
    result = simulate(system, 2_000_000_000, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    assert re.search(r'class="tab"[^>]*>closest to its deadline: ', page.read_text())
    # Every task with a finished job links to its longest response.
    assert page.read_text().count('title="show the longest response') == 9


def test_numbers_of_flows_lead_to_their_items(tmp_path: Path) -> None:
    system = load_system(SYSTEMS / "packet-path.toml")
    trace, page = tmp_path / "run.hpt", tmp_path / "page.html"
    result = simulate(system, 200_000_000, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    assert result.flows[0].response_ns is not None
    longest_ns = result.flows[0].response_ns.max
    moments = [one for window in data_of(page)["windows"] for one in window["moments"]]
    items = [one for one in moments if one["task"] == -1]
    assert longest_ns in [one["finish"] - one["release"] for one in items]
    first, last = items[0]["view"]
    assert f'href="#zoom={first}ns,{last}ns"' in page.read_text()


def test_a_job_is_late_in_a_window_that_ends_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "run.hpt"
    simulate(load_system(SYSTEMS / "overload.toml"), 2_000_000_000, trace_path=trace)
    header, records = read(trace)
    (whole,) = drawn(header, records, choose(records, [], 0))
    monkeypatch.setattr(windows_module, "START", 1000)
    monkeypatch.setattr(windows_module, "RECORDS", 0)
    (start,) = drawn(header, records, choose(records, [], 0))
    rows = [
        {row[at + 3]: row[at : at + 5] for at in range(0, len(row), 5)}
        for row in (start["jobs"][1], whole["jobs"][1])
    ]
    ended = [job for job, (_, deadline, *_) in rows[0].items() if deadline < start["end"]]
    assert len(ended) > 5
    assert [rows[0][job][4] for job in ended] == [rows[1][job][4] for job in ended]
    assert any(rows[0][job][2] < 0 for job in ended)


def test_a_window_of_one_instant_is_seen_with_what_was_before() -> None:
    moment = ReportMoment(LONGEST, ("video", "frame"), 0, 0, 500, 520, 6400)
    instant = ReportWindow("busy", 0, 9, 6400, 6400, (6400, 6400), [moment])
    assert view_of(moment, instant, 6400) == (6300, 6400)


def level(points: list[int], start_ns: int, time_ns: int) -> float:
    """The height of a line of points just before the instant."""
    if len(points) == 1:
        return points[0]
    pairs = list(zip(points[::2], points[1::2], strict=True))
    assert pairs[0][0] <= max(time_ns, start_ns)
    for (left, low), (right, high) in pairwise(pairs):
        if left < time_ns <= right:
            return low + (high - low) * (time_ns - left) / (right - left)
    return pairs[0][1]


def drawn(header: Header, records: Records, chosen: Chosen) -> list[Any]:
    return list(timeline(header, records, chosen, Meter(silent, 1))["windows"])


@pytest.mark.parametrize("policy", ["ds", "ptps", "wcps", "crps", "polling", "sporadic", "rtds"])
def test_a_late_window_shows_what_the_whole_run_shows(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Budgets, running vcpus and open jobs at the start of a window are those of the whole run."""
    system = with_policy(late_system(tmp_path), parse_policy(policy))
    trace = tmp_path / "run.hpt"
    simulate(system, 4_000_000_000, trace_path=trace)
    header, records = read(trace)
    (whole,) = drawn(header, records, choose(records, [], 0))
    monkeypatch.setattr(windows_module, "START", 500)
    for name in ("MIN_RECORDS", "MAX_RECORDS", "MAX_HEADLINE_RECORDS", "RECORDS"):
        monkeypatch.setattr(windows_module, name, 100)
    middle = ReportMoment(LONGEST, ("video", "rescale"), 1, 0, 3_021_000_000, 0, 3_027_000_000)
    chosen = choose(records, [middle], 0)
    _, window = drawn(header, records, chosen)
    start, end = window["start"], window["end"]
    assert 0 < start < 3_021_000_000 < 3_027_000_000 < end < 4_000_000_000
    assert bool(window["points"]) == (policy != "sporadic")
    for line, points in zip(whole["points"], window["points"], strict=True):
        for time_ns in range(start + 1, end, (end - start) // 97):
            assert level(points, start, time_ns) == pytest.approx(level(line, 0, time_ns), abs=2)
    for ours, theirs in zip(window["pcpus"], whole["pcpus"], strict=True):
        spans = [theirs[at : at + 8] for at in range(0, len(theirs), 8)]
        inside = [span for span in spans if span[1] > start and span[0] < end]
        inside[-1][1] = min(inside[-1][1], end)
        assert [ours[at : at + 8] for at in range(0, len(ours), 8)] == inside
    for ours, theirs in zip(window["jobs"], whole["jobs"], strict=True):
        jobs = [theirs[at : at + 5] for at in range(0, len(theirs), 5)]
        inside = [job for job in jobs if job[0] <= end and (job[2] >= start or job[2] < 0)]
        seen = [ours[at : at + 5] for at in range(0, len(ours), 5)]
        assert [job[:2] + job[3:4] for job in seen] == [job[:2] + job[3:4] for job in inside]
        assert all(ours[2] in (theirs[2], -1) for ours, theirs in zip(seen, inside, strict=True))


def survey(
    header: Header, records: Records, seen: Responses | None = None, *, pieces: int = 7
) -> list[ReportMoment]:
    """What is found in a trace that is read in small pieces, with the responses of task v.t."""
    found = Survey(header, {("v", "t"): seen})
    for at in range(0, len(records), pieces):
        found.add(records[at : at + pieces])
    return found.found()


def overloaded(folder: Path) -> tuple[Header, Records]:
    """Job 0 is done at 25, late; job 1 never; jobs 2 to 9 wait behind it."""
    header = make_header("ds", [vcpu("v", 10, 10)], [task("v", "t", 20, 15)], horizon_ns=200)
    script = Script(header)
    for job in range(10):
        script.add(job * 20, Kind.RELEASE, task=0, job=job, value=job * 20 + 20)
        if job == 1:
            script.add(20, Kind.MISS, task=0, job=0, value=20)
            script.add(25, Kind.COMPLETE, task=0, job=0, vcpu=0, value=25)
        if job == 2:
            script.add(40, Kind.MISS, task=0, job=1, value=40)
    return script.end(200).trace(folder)


@pytest.mark.parametrize("pieces", [1, 2, 100])
def test_what_is_found_does_not_depend_on_how_it_is_read(tmp_path: Path, pieces: int) -> None:
    header, records = overloaded(tmp_path)
    found = {one.reason: one for one in survey(header, records, pieces=pieces)}
    assert found[FIRST_MISS] == ReportMoment(FIRST_MISS, ("v", "t"), 0, 0, 0, 20, 25)
    assert found[LONGEST] == ReportMoment(LONGEST, ("v", "t"), 0, 0, 0, 20, 25)
    assert found[WORST_MISS] == ReportMoment(WORST_MISS, ("v", "t"), 0, 1, 20, 40, None)


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_typical_responses_lead_to_the_first_job_that_is_closest(
    tmp_path: Path, pieces: int
) -> None:
    script = Script(make_header("ds", [vcpu("v", 10, 10)], [task("v", "t", 20, 15)]))
    for job, response in enumerate([9, 7, 5, 7, 5, 12, 9]):
        script.add(job * 20, Kind.RELEASE, task=0, job=job, value=job * 20 + 20)
        script.add(job * 20 + response, Kind.COMPLETE, task=0, job=job, vcpu=0, value=response)
    header, records = script.end(200).trace(tmp_path)
    seen = Responses(min=5, mean=7, p50=8, p99=11, max=12)
    moments = survey(header, records, seen, pieces=pieces)
    found = {one.reason: one.number for one in moments}
    assert found == {LONGEST: 5, "shortest response": 2, "median response": 0, "p99 response": 5}
    # Job 2 is there from 40 to its deadline at 60, with 50 around it.
    view, _ = choose(records, moments, 0).links[("v", "t"), "shortest response"]
    assert view == (0, 110)


def test_a_job_that_is_never_done_is_the_worst_miss(tmp_path: Path) -> None:
    header, records = overloaded(tmp_path)
    chosen = choose(records, survey(header, records), 0)
    titles = [title for _, _, title in chosen.headline]
    assert titles[1:] == ["first miss of v.t, at 20 ns", "worst miss of v.t, never done"]
    # The table's longest response is the longest that came to an end.
    longest, missed = (chosen.links[("v", "t"), reason][0] for reason in (LONGEST, FIRST_MISS))
    assert longest == missed


def test_a_crowd_of_waiting_jobs_is_counted_and_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_module, "START", 5)
    for name in ("MIN_RECORDS", "MAX_RECORDS", "MAX_HEADLINE_RECORDS"):
        monkeypatch.setattr(windows_module, name, 4)
    monkeypatch.setattr(windows_module, "RECORDS", 8)
    header = make_header("ds", [vcpu("v", 10, 10)], [task("v", "t", 20, 15)], horizon_ns=5000)
    script = Script(header)
    for job in range(100):
        script.add(job * 20, Kind.RELEASE, task=0, job=job, value=job * 20 + 20)
    script.add(4000, Kind.COMPLETE, task=0, job=90, vcpu=0, value=2200)
    header, records = script.end(5000).trace(tmp_path)
    chosen = choose(records, survey(header, records), 0)
    last = drawn(header, records, chosen)[-1]
    jobs = last["jobs"][0][3::5]
    before = [job for job in jobs if job < 97]
    assert 90 in jobs, "one that finishes in the window is drawn"
    assert before[:OLDER] == list(range(OLDER))
    assert len(before) + last["waiting"][0] == chosen.windows[-1].first


def test_a_page_is_bounded_however_long_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_module, "START", 500)
    system = load_system(SYSTEMS / "flight-control.toml")
    trace = tmp_path / "run.hpt"
    simulate(system, 60_000_000_000, trace_path=trace)
    header, records = read(trace)
    chosen = choose(records, survey(header, records, pieces=1 << 16), 0)
    held = sum(window.last - window.first for window in chosen.windows)
    assert len(records) > 200_000
    assert len(chosen.windows) > 5
    limit = windows_module.START + windows_module.RECORDS + windows_module.MAX_HEADLINE_RECORDS
    assert held <= limit
    assert all(one.last < other.first for one, other in pairwise(chosen.windows)), "no overlap"
    assert all(window.end_ns <= end_ns(records) for window in chosen.windows)


def test_windows_that_meet_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START", "MIN_RECORDS", "MAX_RECORDS", "MAX_HEADLINE_RECORDS"):
        monkeypatch.setattr(windows_module, name, 12)
    monkeypatch.setattr(windows_module, "RECORDS", 30)
    header = make_header("ds", [vcpu("v", 10, 10)], [task("v", "t", 20, 15)], horizon_ns=5000)
    script = Script(header)
    for job in range(100):
        script.add(job * 20, Kind.RELEASE, task=0, job=job, value=job * 20 + 20)
    _, records = script.end(5000).trace(tmp_path)
    near, nearer, far = (
        ReportMoment(LONGEST, ("v", name), 0, job, job * 20, 0, job * 20 + 10)
        for name, job in (("a", 40), ("b", 47), ("c", 90))
    )
    chosen = choose(records, [near, nearer, far], 0)
    assert [window.moments for window in chosen.windows] == [[], [near, nearer], [far]]
    window = chosen.windows[1]
    assert window.start_ns < near.release_ns
    assert nearer.release_ns < window.end_ns
    (_, until_ns), _ = chosen.links[("v", "b"), LONGEST]
    assert until_ns > 940


def test_runs_that_differ_late_have_a_window_there_and_one_that_ends_before_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run asks for less at 3 s, the third is the first one up to its second second."""
    monkeypatch.setattr(windows_module, "START", 1000)
    monkeypatch.setattr(windows_module, "RECORDS", 1000)
    system = late_system(tmp_path)
    video, other = system.domains
    frame, rescale = video.tasks
    shorter = video.replace(tasks=(frame, rescale.replace(wcet_ns=20_000_000)))
    traces = []
    for number, one in enumerate((system, system.replace(domains=(shorter, other)))):
        trace = tmp_path / f"{number}.hpt"
        simulate(one, 4_000_000_000, trace_path=trace)
        traces.append(read(trace))
    header, first = traces[0]
    traces.append((header, first[first["time_ns"] < 2_000_000_000]))
    runs = [records for _, records in traces]
    pairs = zip(*(jobs(*trace) for trace in traces[:2]), strict=True)
    ends = [{one.finish_ns, another.finish_ns} for one, another in pairs]
    differs_ns = min(filter(None, (min(both) for both in ends if len(both) > 1)))

    meter = Meter(silent, 1)
    moment = first_difference(header, runs[1], first, meter)
    assert moment is not None
    assert (moment.who[0], moment.finish_ns) == ("video", differs_ns)
    assert first_difference(header, first, first, meter) is None
    assert first_difference(header, runs[2], first, meter) is None
    moments = [survey(header, records) for records in runs]
    chosen = choose_each(runs, [moments[0], [moment, *moments[1]], moments[2]], 0)
    held = [window for window in chosen[1].windows if moment in window.moments]
    assert len(held) == 1
    assert held[0].start_ns > max(chosen[2].windows[0].end_ns, 2_000_000_000)
    for here, there in zip(chosen[0].windows, chosen[1].windows, strict=True):
        assert (here.start_ns, here.end_ns) == (there.start_ns, there.end_ns)
    for own, records in zip(chosen, runs, strict=True):
        for window in own.windows:
            times = records["time_ns"]
            inside = (times >= window.start_ns) & (times <= window.end_ns)
            is_over = window.first == len(records)
            assert window.last - window.first == (0 if is_over else int(inside.sum()))
            assert records is runs[2] or not is_over
    data = stacked(["a", "b", "c"], traces, [None] * 3, chosen, Meter(silent, 1))
    last = data["windows"][-1]
    assert "b: first difference of video" in str([one["title"] for one in last["moments"]])
    assert [len(spans) > 8 for spans in last["pcpus"]] == [True, True, False]
    assert {spans[-7] for spans in last["pcpus"][:2]} == {last["end"]}


def test_jobs_that_end_at_one_instant_in_another_order_are_no_difference(tmp_path: Path) -> None:
    """In the third run the second one of them is done a little later."""
    header = make_header("ds", [vcpu("v", 10, 10)], [task("v", "t", 20, 15), task("v", "u", 20, 5)])
    runs = []
    for number, ends in enumerate([[(0, 9), (1, 9)], [(1, 9), (0, 9)], [(0, 9), (1, 10)]]):
        script, folder = Script(header), tmp_path / str(number)
        folder.mkdir()
        for one in (0, 1):
            script.add(0, Kind.RELEASE, task=one, job=0, value=20)
        for one, at in ends:
            script.add(at, Kind.COMPLETE, task=one, job=0, vcpu=0, value=at)
        runs.append(script.end(200).trace(folder)[1])
    assert first_difference(header, runs[1], runs[0], Meter(silent, 1)) is None
    moment = first_difference(header, runs[2], runs[0], Meter(silent, 1))
    assert moment == ReportMoment(FIRST_DIFFERENCE, ("v", "u"), 1, 0, 0, 0, 10)


def test_progress_goes_up_to_the_end(tmp_path: Path) -> None:
    system = load_system(SYSTEMS / "packet-path.toml")
    trace = tmp_path / "run.hpt"
    result = simulate(system, 100_000_000, trace_path=trace)
    told: list[tuple[int, int]] = []
    report = tmp_path / "page.html"
    write_report(
        report, system, analyze(system), result, trace, lambda done, all_: told.append((done, all_))
    )
    assert told == sorted(told)
    assert len({total for _, total in told}) == 1
    assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize(
    "command", [["simulate"], ["compare", "--policies", "ptps,crps"]], ids=["run", "comparison"]
)
def test_commands_show_how_far_the_page_is(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int]] = []

    @contextmanager
    def bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
        yield lambda done: told.append((title, done * 100 // total))

    monkeypatch.setattr(progress, "bar", bar)
    name, *options = command
    page = str(tmp_path / "page.html")
    system = str(SYSTEMS / "flight-control.toml")
    done = CliRunner().invoke(main, [name, system, *options, "--horizon", "1s", "--report", page])
    assert done.exit_code == 0, done.output
    about = {"simulate": "report of flight-control", "compare": "comparison of flight-control"}
    percents = [percent for title, percent in told if title == about[name]]
    assert percents == sorted(percents)
    assert percents[-1] == 100
