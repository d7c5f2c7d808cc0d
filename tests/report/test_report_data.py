# SPDX-License-Identifier: BSD-2-Clause
"""What reports are drawn from: numbers for people, distributions, the data of the timeline."""

from pathlib import Path

import numpy as np
import pytest
from tests.support import example_traces as examples
from tests.support import sample_report as sample
from tests.support.trace_writer import Script, make_header, vcpu

from hyperperiod.model import load_system, parse_policy, with_policy
from hyperperiod.report import windows as windows_module
from hyperperiod.report.charts import Series, box_chart, cdf_chart
from hyperperiod.report.distribution import Distribution, pooled
from hyperperiod.report.meter import Meter, silent
from hyperperiod.report.moments import read_through
from hyperperiod.report.numbers import duration, percent, times
from hyperperiod.report.stacked import stacked
from hyperperiod.report.timeline import TimelineData, first_view_ns, overview_of
from hyperperiod.report.timeline import timeline as draw_timeline
from hyperperiod.report.windows import choose, choose_each
from hyperperiod.runs import simulate
from hyperperiod.trace.format import STOLEN, Header, Kind, Records, read

MS = 1_000_000
SYSTEMS = Path(__file__).parents[2] / "systems"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0, "0"), (1, "1 ns"), (999, "999 ns"), (1500, "1.5 µs"),
        (1_234_567, "1.235 ms"), (10_000_000_000, "10 s"), (3_600_000_000_000, "3600 s"),
    ],
)  # fmt: skip
def test_durations(value: int | None, text: str) -> None:
    assert duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0.0 %"), (0.12345, "12.3 %"), (0.00012, "0.01 %"), (1.5, "150.0 %")],
)
def test_shares(value: float | None, text: str) -> None:
    assert percent(value) == text


def test_counts() -> None:
    assert times(1, "job") == "1 job"
    assert times(12345, "job") == "12\u202f345 jobs"


def made(*ratios: float) -> Distribution:
    values, counts = np.unique(np.array(ratios), return_counts=True)
    return Distribution(values, counts.astype(np.int64))


def test_a_trace_gives_the_exact_distribution(tmp_path: Path) -> None:
    header, records = read(sample.trace(tmp_path))
    found, _ = read_through(header, records, Meter(silent, len(records)), {})
    assert found["high", "t"].steps() == [(0.15, 1.0)]
    assert found["high", "t"].jobs == 2
    assert found["low", "u"].largest == 0.4


def test_the_box_of_a_distribution() -> None:
    spread = made(1, 2, 3, 4, 5, 6, 7, 8).spread()
    assert (spread.smallest, spread.lower, spread.median, spread.upper, spread.largest) == (
        1,
        2,
        4,
        6,
        8,
    )
    assert spread.mean == 4.5


def test_steps_are_thinned_and_keep_both_ends() -> None:
    steps = made(*range(1, 10_001)).steps(100)
    assert len(steps) <= 100
    assert steps[0][0] == 1
    assert steps[-1] == (10_000, 1.0)


def test_pooled_distributions_are_sorted() -> None:
    assert pooled([made(3, 1), made(2)]).steps() == [
        (1, pytest.approx(1 / 3)),
        (2, pytest.approx(2 / 3)),
        (3, 1.0),
    ]


def test_charts_always_show_the_deadline() -> None:
    series = [Series("a", made(0.1, 0.2), "#000000")]
    chart = cdf_chart("a", series, bound=1.5)
    assert chart.axis.largest == pytest.approx(1.575)
    assert chart.axis.x(0) < chart.axis.x(1) < chart.axis.x(chart.axis.largest) == 326
    assert box_chart("a", series).axis.largest == pytest.approx(1.05)
    assert [label for _, label in chart.axis.ticks] == ["0", "0.5", "1", "1.5"]


def timeline(header: Header, records: Records) -> TimelineData:
    """The data of a timeline without any moments."""
    chosen = choose(records, [], first_view_ns(header))
    return draw_timeline(header, records, chosen, Meter(silent, len(records)))


def test_timeline_spans_and_jobs(tmp_path: Path) -> None:
    data = timeline(*read(sample.trace(tmp_path)))
    (window,) = data["windows"]
    assert window["pcpus"][0][:16] == [0, 3, 0, 0, 0, 0, 0, 0, 3, 4, -1, 0, 0, -1, 0, 0]
    assert window["jobs"] == [[0, 20, 3, 0, 0, 20, 40, 23, 1, 0], [0, 40, 16, 0, 0]]
    assert data["domains"][0]["name"] == "high"
    assert (window["records"], window["end"], window["view"]) == (37, 40, [0, 40])


def test_timeline_tells_stolen_time_from_idle_time(tmp_path: Path) -> None:
    """The pcpu is stolen for 2 of each 10 ms; the task runs for 3 and takes nothing of that."""
    trace = tmp_path / "robbed.hpt"
    simulate(sample.robbed(tmp_path), 20 * MS, trace_path=trace)
    (flat,) = timeline(*read(trace))["windows"][0]["pcpus"]
    spans = [flat[at : at + 8] for at in range(0, len(flat), 8)]
    found = [(start // MS, end // MS, run, flags) for start, end, run, _, flags, *_ in spans]
    each = [(0, 2, -1, STOLEN), (2, 5, 0, 0), (5, 10, -1, 0)]
    assert found == [*each, *((start + 10, end + 10, *rest) for start, end, *rest in each)]


def test_timeline_budgets_fall_while_paying_and_jump_at_refills(tmp_path: Path) -> None:
    script = Script(make_header("ds", [vcpu("high", 10, 4)]))
    script.add(0, Kind.REPLENISH, vcpu=0, value=4).run(0, 0).idle(3)
    script.add(10, Kind.REPLENISH, vcpu=0, value=4).end(12)
    (points,) = timeline(*script.trace(tmp_path))["windows"][0]["points"]
    assert list(zip(points[::2], points[1::2], strict=True)) == [
        (0, 4), (0, 4), (3, 1), (10, 1), (10, 4), (12, 4),
    ]  # fmt: skip


def test_timeline_shows_the_spare_and_both_payers(tmp_path: Path) -> None:
    data = timeline(*examples.spare().trace(tmp_path))
    assert [server["vcpu"] for server in data["servers"]] == [0, 1, -2]
    assert data["windows"][0]["pcpus"][0][2 * 8 + 3] == -2


def test_the_start_is_cut_at_a_whole_instant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_module, "START", 10)
    monkeypatch.setattr(windows_module, "RECORDS", 10)
    data = timeline(*read(sample.trace(tmp_path)))
    (window,) = data["windows"]
    assert (window["records"], data["allRecords"]) == (9, 37)
    assert (window["end"], data["wholeEnd"]) == (3, 40)


def test_runs_on_one_page_keep_their_rows_and_end_at_one_instant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run's rows are those of its own page; a long one has as many columns as the others."""
    system, traces = load_system(SYSTEMS / "overload.toml"), []
    for policy in ("ptps", "crps", "sporadic"):
        simulate(with_policy(system, parse_policy(policy)), 10**9, trace_path=tmp_path / "a.hpt")
        header, records = read(tmp_path / "a.hpt")
        traces.append((header, np.array(records)))
    meter, names = Meter(silent, 1), ["a", "b", "c"]
    all_records = [records for _, records in traces]
    whole = stacked(names, traces, [None] * 3, choose_each(all_records, [[]] * 3, 1), meter)
    for run, (header, records) in enumerate(traces):
        own = draw_timeline(header, records, choose(records, [], 1), meter)["windows"][0]
        assert whole["windows"][0]["jobs"][run::3] == own["jobs"]
        for spans, others in zip(whole["windows"][0]["pcpus"][run::3], own["pcpus"], strict=True):
            assert [one // 3 for one in spans[2::8]] == others[2::8]
            assert {one % 3 for one in spans[5::8] if one >= 0} == {run}
            assert spans[::8] == others[::8]
    assert [one["run"] for one in whole["servers"]] == [0, 1, 0, 1]
    monkeypatch.setattr(windows_module, "START", 300)
    monkeypatch.setattr(windows_module, "RECORDS", 300)
    overviews = [
        overview_of(*one, [other[1] for other in traces if other is not one]) for one in traces
    ]
    for one, (_, records) in zip(overviews, traces, strict=True):
        assert one is not None
        one.add(records)
    cut = stacked(names, traces, overviews, choose_each(all_records, [[]] * 3, 1), meter)
    assert cut["overview"] is not None
    assert [len(one) for one in (cut["overview"]["misses"], cut["overview"]["paid"])] == [6, 4]
    window = cut["windows"][0]
    shown = [int((records["time_ns"] <= window["end"]).sum()) for _, records in traces]
    assert window["records"] == sum(shown)
    assert 90 < max(shown) <= 100
