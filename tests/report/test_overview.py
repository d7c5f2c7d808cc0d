# SPDX-License-Identifier: BSD-2-Clause
"""The columns of a whole run hold what its intervals and jobs say, however the trace is read."""

from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support import sample_report as sample

from hyperperiod.model import load_system, parse_policy, with_policy
from hyperperiod.report import overview as overview_module
from hyperperiod.report import windows as windows_module
from hyperperiod.report.overview import OCTAVE, OTHERS, TAKEN, LongestData, OverviewData, SeriesData
from hyperperiod.report.timeline import domain_names, overview_of
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Header, Records, read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.jobs import jobs

SYSTEMS = Path(__file__).parents[2] / "systems"


def numbers(series: SeriesData) -> NDArray[np.float64]:
    """The numbers of a series as the page has them, rounded to a part of 255."""
    found = np.frombuffer(b64decode(series["bytes"]), np.uint8).astype(np.float64)
    return found * series["scale"] / 255 if len(found) else np.zeros(1)


def columns(header: Header, records: Records, pieces: int) -> OverviewData:
    found = overview_of(header, records)
    assert found is not None
    for at in range(0, len(records), pieces):
        found.add(records[at : at + pieces])
    return found.found()


@pytest.fixture(autouse=True)
def _short_runs_have_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows_module, "START", 100)
    monkeypatch.setattr(windows_module, "RECORDS", 100)
    monkeypatch.setattr(overview_module, "NUMBERS", 1)


def split(start_ns: int, end_ns: int, column_ns: int) -> Iterator[tuple[int, int]]:
    """The columns that a stretch of time lies in, and how much of it is in each."""
    while start_ns < end_ns:
        column = start_ns // column_ns
        until_ns = min(end_ns, (column + 1) * column_ns)
        yield column, until_ns - start_ns
        start_ns = until_ns


def is_rounded(series: SeriesData, expected: Counter[int]) -> bool:
    """Whether a series has these numbers: up to 255 exactly, others to the nearest part of 255."""
    assert series["scale"] == max([255, *expected.values()])
    step = series["scale"] / 255
    found = dict(enumerate(numbers(series)))
    return all(
        (found.get(column, 0) > 0) == (expected[column] > 0)
        and abs(found.get(column, 0) - expected[column]) <= error_of(expected[column], step)
        for column in {*found, *expected}
    )


def error_of(number: int, step: float) -> float:
    """How far a number of a series may be from the true one."""
    return 0 if step == 1 else step if number < step else 0.51 * step


def are_bounds(series: LongestData, longest: Counter[int], deadline_ns: int) -> bool:
    """Whether each column has a bound on its longest response, 9.1 % above it at most."""
    data = np.frombuffer(b64decode(series["bytes"]), np.uint8)
    most = np.where(data > 0, series["scale"] * 2 ** ((data - float(series["base"])) / OCTAVE), 0)
    found = dict(enumerate(most.tolist()))
    assert {column for column in found if found[column]} == longest.keys()
    return all(
        response <= found[column] < response * 1.091
        and (response <= deadline_ns) == (found[column] <= deadline_ns)
        for column, response in longest.items()
    )


@pytest.mark.parametrize("pieces", [997, 1 << 20])
@pytest.mark.parametrize("policy", ["ds", "wcps", "crps"])
def test_columns_hold_what_intervals_say(policy: str, pieces: int, tmp_path: Path) -> None:
    system = with_policy(load_system(SYSTEMS / "linux-four-vcpus.toml"), parse_policy(policy))
    trace = tmp_path / "run.hpt"
    simulate(system, 1_000_000_000, trace_path=trace)
    header, records = read(trace)
    found = columns(header, records, pieces)
    names = domain_names(header)
    domain_of = {entry["name"]: names.index(entry["domain"]) for entry in header["vcpus"]}
    ran: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    paid: defaultdict[str, Counter[int]] = defaultdict(Counter)
    switches: defaultdict[int, Counter[int]] = defaultdict(Counter)
    before = ["idle"] * header["pcpus"]
    for row in intervals(header, records):
        switches[row.pcpu][row.start_ns // found["column"]] += row.run != before[row.pcpu]
        before[row.pcpu] = row.run
        for column, length_ns in split(row.start_ns, row.end_ns, found["column"]):
            if row.run in domain_of:
                ran[row.pcpu, domain_of[row.run]][column] += length_ns
            for name in row.pay.split(";"):
                paid[name][column] += length_ns
    shares = {
        (pcpu, share["domain"]): share["time"]
        for pcpu, all_shares in enumerate(found["pcpus"])
        for share in all_shares
    }
    assert shares.keys() == ran.keys()
    assert all(is_rounded(shares[key], ran[key]) for key in ran)
    assert all(is_rounded(found["switches"][pcpu], switches[pcpu]) for pcpu in switches)
    servers = [entry["name"] for entry in header["vcpus"] if entry["budget_ns"]]
    assert len(servers) > 2
    for name, series in zip(servers, found["paid"], strict=True):
        assert is_rounded(series, paid[name])


@pytest.mark.parametrize("pieces", [997, 1 << 20])
def test_columns_hold_what_jobs_say(pieces: int, tmp_path: Path) -> None:
    trace = tmp_path / "run.hpt"
    simulate(load_system(SYSTEMS / "overload.toml"), 1_000_000_000, trace_path=trace)
    header, records = read(trace)
    found = columns(header, records, pieces)
    for task, entry in enumerate(header["tasks"]):
        misses: Counter[int] = Counter()
        longest: Counter[int] = Counter()
        for job in jobs(header, records):
            if (job.domain, job.task) != (entry["domain"], entry["name"]):
                continue
            after_ns = job.finish_ns or header["horizon_ns"] + 1
            if job.deadline_ns and job.deadline_ns < min(after_ns, header["horizon_ns"] + 1):
                misses[job.deadline_ns // found["column"]] += 1
            if job.finish_ns is not None:
                column = job.finish_ns // found["column"]
                longest[column] = max(longest[column], job.finish_ns - job.release_ns)
        assert is_rounded(found["misses"][task], misses)
        assert entry["deadline_ns"]
        assert are_bounds(found["longest"][task], longest, entry["deadline_ns"])
    assert any(series["bytes"] for series in found["misses"])


def test_stolen_time_has_a_share_and_domains_beyond_the_limit_have_one_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "robbed.hpt"
    simulate(sample.robbed(tmp_path), 1_000_000_000, trace_path=trace)
    monkeypatch.setattr(overview_module, "DOMAINS", 0)
    ((others, stolen),) = columns(*read(trace), 97)["pcpus"]
    assert (others["domain"], stolen["domain"]) == (OTHERS, TAKEN)
    assert numbers(others["time"]).sum() == pytest.approx(300_000_000, rel=0.01)
    assert numbers(stolen["time"]).sum() == pytest.approx(200_000_000, rel=0.01)
