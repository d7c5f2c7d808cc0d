# SPDX-License-Identifier: BSD-2-Clause
"""Results as tables: frames, HTML and plots show the numbers of the result, and all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import hyperperiod as hp
from hyperperiod import libraries
from hyperperiod.tabular import SHOWN_ROWS, Tabular, value_text

TOP = Path(__file__).parents[2]
SYSTEMS = TOP / "systems"


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    """Draws into memory, and forgets what was drawn."""
    mpl.use("agg")
    yield
    plt.close("all")


def run_of(name: str) -> hp.RunResult:
    return hp.simulate(hp.load(SYSTEMS / f"{name}.toml"), "300ms", responses=True)


def sweep() -> hp.SweepResult:
    draw = {"domains": 2, "tasks": 4, "utilization": 0.5, "max_period": "100ms"}
    grid = {"system.policy": ["ptps", "crps"], "draw.utilization": [0.6, 0.9]}
    return hp.sweep({"name": "loads", "systems": 5, "draw": draw, "grid": grid})


def fitted() -> hp.Fitted:
    unfitted = hp.load(SYSTEMS / "exsched-table2-unfitted.toml")
    return hp.fit(unfitted, time_limit="1s", solver=False)


RESULTS: dict[str, Callable[[], Tabular]] = {
    "analysis": lambda: hp.analyze(hp.load(SYSTEMS / "flight-control.toml")),
    "run": lambda: run_of("flight-control"),
    "run with flows": lambda: run_of("packet-path"),
    "comparison": lambda: hp.simulate(
        hp.load(SYSTEMS / "flight-control.toml"), "100ms", seeds=[1, 2], responses=True
    ),
    "fitted": fitted,
    "sweep": sweep,
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_table_is_a_frame_and_a_page_and_a_plot(name: str) -> None:
    result = RESULTS[name]()
    for table in result.TABLES:
        rows = result.rows(table)
        frame = result.to_frame(table)
        assert len(frame) == len(rows)
        assert all(list(frame.columns) == list(row) for row in rows)
        for key in frame.columns:
            known = [(row[key], value) for row, value in zip(rows, frame[key], strict=True)]
            assert all(found == asked for asked, found in known if asked is not None)
    html = result._repr_html_()
    assert html.count("<tr>") == 1 + min(SHOWN_ROWS, len(result.rows()))
    ax = result.plot()
    assert ax.get_title() == result.headline
    assert result.plot(ax) is ax


def test_a_frame_has_the_numbers_of_the_result() -> None:
    run = run_of("flight-control")
    frame = run.to_frame()
    assert frame["jobs"].sum() == sum(task.jobs for task in run.tasks)
    assert frame["misses"].sum() == run.misses
    longest = {task.name: task.response_ns.max for task in run.tasks if task.response_ns}
    assert dict(zip(frame["task"], frame["max_ns"], strict=True)).items() >= longest.items()
    pcpus = run.to_frame("pcpus")
    assert (pcpus["busy_ns"] + pcpus["idle_ns"] == run.horizon_ns).all()
    domains = run.to_frame("domains")
    assert domains["supply_ns"].sum() == pcpus["busy_ns"].sum()


def test_runs_side_by_side_say_which_is_which() -> None:
    system = hp.load(SYSTEMS / "flight-control.toml")
    found = hp.compare(system, "100ms", ["ptps", "crps"], seeds=[4, 7])
    frame = found.to_frame()
    for run in found.results:
        mine = frame[(frame["policy"] == run.policy) & (frame["seed"] == run.seed)]
        assert mine["jobs"].tolist() == [task.jobs for task in run.tasks]


def test_a_table_that_is_not_there_is_refused() -> None:
    message = r"RunResult: table: found 'jobs'; allowed: tasks, domains, pcpus, flows, responses"
    with pytest.raises(hp.InputError, match=message):
        run_of("flight-control").to_frame("jobs")


@pytest.mark.parametrize(
    ("package", "call"), [("pandas", Tabular.to_frame), ("matplotlib", Tabular.plot)]
)
def test_what_is_missing_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, package: str, call: Callable[[Tabular], object]
) -> None:
    run = run_of("flight-control")
    monkeypatch.setattr(libraries, "find_spec", {package: None}.get)
    with pytest.raises(hp.MissingError, match=package) as caught:
        call(run)
    assert caught.value.install == "pip install 'hyperperiod[notebook]'"
    assert "<table>" in run._repr_html_(), "a page needs no package"


# -- what is shown --------------------------------------------------------------------------------


def test_values_as_people_read_them() -> None:
    assert value_text("max_ns", 1_500_000) == "1.5ms"
    assert value_text("jobs", 1_500_000) == "1500000"
    assert value_text("schedulable", None) == "unknown"
    assert value_text("max_ns", None) == "–"
    assert value_text("schedulable", False) == "no"
    assert value_text("ratio", 0.123456) == "0.1235"


def test_names_cannot_be_mistaken_for_html() -> None:
    task = hp.Task(name="a&b", period="10ms", wcet="1ms")
    domain = hp.Domain(name="d", interface_period="5ms", tasks=[task])
    system = hp.System(name="s&s", policy="ptps", domains=[domain])
    html = hp.analyze(system)._repr_html_()
    assert "a&amp;b" in html
    assert not re.search(r"&(?!amp;)", html)


def test_a_plot_of_runs_shows_the_extremes() -> None:
    found = hp.simulate(hp.load(SYSTEMS / "flight-control.toml"), "300ms", seeds=range(3))
    lines = found.plot().get_lines()
    drawn = {tuple(map(int, line.get_xdata())) for line in lines}  # type: ignore[arg-type]
    for entries in zip(*(run.entries for run in found.results), strict=True):
        responses = [one.response_ns for _, one in entries if one.response_ns is not None]
        if responses:
            assert (min(r.min for r in responses), max(r.max for r in responses)) in drawn
            assert tuple(r.mean for r in responses) in drawn
            assert tuple(r.max for r in responses) in drawn


def test_a_plot_of_an_analysis_shows_bounds_as_shares() -> None:
    result = hp.analyze(hp.load(SYSTEMS / "flight-control.toml"))
    bars = [bar.get_width() for bar in result.plot().patches]  # type: ignore[attr-defined]
    asked = [
        row["response_bound_ns"] / row["deadline_ns"]
        for row in result.rows()
        if row["deadline_ns"] is not None
    ]
    assert bars == pytest.approx(asked)


def test_a_plot_of_a_sweep_has_a_curve_for_each_series() -> None:
    result = sweep()
    curves = {line.get_label(): line for line in result.plot().get_lines()}
    for policy in ("ptps", "crps"):
        rows = [row for row in result.rows() if row["system.policy"] == policy]
        curve = curves[f"{policy}, analysis"]
        points = [(row["draw.utilization"], row["ratio"]) for row in rows]
        assert np.array_equal(curve.get_xydata(), points)


def test_a_plot_of_a_fit_has_every_server_on_its_pcpu() -> None:
    found = fitted()
    bars = found.plot().patches
    assert sum(bar.get_width() for bar in bars) == pytest.approx(  # type: ignore[attr-defined]
        sum(row["bandwidth"] for row in found.rows())
    )
    assert len(bars) == len(found.rows())


def test_every_curve_can_be_told_without_its_hue() -> None:
    from matplotlib import pyplot as plt

    from hyperperiod.plots import Curve, axes, draw_curves

    ax = axes()
    draw_curves(ax, {str(k): Curve([0, 1], [0, 1], [0, 1], [0, 1]) for k in range(55)}, "x", "y")
    styles = {(str(vars(one)["_dash_pattern"]), str(one.get_marker())) for one in ax.lines}
    assert len(styles) == 55
    assert ax.get_legend() is None
    assert len(ax.get_figure().legends) == 1  # type: ignore[union-attr]
    plt.close()
