# SPDX-License-Identifier: BSD-2-Clause
"""The page of a sweep shows its ratios, intervals and responses, and needs nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.sweep.sweeps import SMALL, rows_of, swept, written

from hyperperiod.experiments.sweep.experiment import load_sweep
from hyperperiod.experiments.sweep.folder import SweepFolder
from hyperperiod.experiments.sweep.page import CLASSES, LARGEST, charts_of
from hyperperiod.experiments.sweep.result import SweepResult

FIVE = '"system.policy" = ["ptps", "crps", "wcps", "ds", "polling"]'


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SweepResult]:
    folder = tmp_path_factory.mktemp("small")
    done = swept(written(folder, SMALL), folder / "out", "--json")
    return folder, SweepResult.of(json.loads(done.stdout))


def test_the_page_is_complete_in_itself(small: tuple[Path, SweepResult]) -> None:
    page = (small[0] / "out/report.html").read_text()
    assert not re.search(r'(src|href)="(?!#)', page)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) >= 3
    for picture in pictures:
        ET.fromstring(picture)
    for row in small[1].weighted:
        assert f"{row.schedulability:.4f}" in page


def test_curves_are_the_ratios(small: tuple[Path, SweepResult]) -> None:
    """Every point of every curve, with its whiskers, is a row of the result."""
    folder, result = small
    experiment = load_sweep(str(folder / "sweep.toml"))
    acceptance, _ = charts_of(experiment, SweepFolder(folder / "out"), result)
    # The tests of tasks say the same under both policies: each is one curve, not one per policy.
    assert [chart.title for chart in acceptance] == ["Accepted systems"]
    assert set(result.curves()) == {
        *(("ptps", "analysis"), ("crps", "analysis"), ("ptps", "sim"), ("crps", "sim")),
        *(("", "qpa"), ("", "gfb")),
    }
    for row in result.points:
        interval = row.ratio_interval
        assert interval is not None
        policy, x = str(row.values["system.policy"]), row.values["draw.utilization"]
        assert any(
            (x, row.ratio) in curve.points and (x, interval.low, interval.high) in curve.whiskers
            for curve in acceptance[0].curves
            if row.judge in curve.name and (policy in curve.name or row.judge in ("qpa", "gfb"))
        )


def test_responses_are_the_rows(small: tuple[Path, SweepResult]) -> None:
    folder, result = small
    experiment = load_sweep(str(folder / "sweep.toml"))
    _, responses = charts_of(experiment, SweepFolder(folder / "out"), result)
    rows = [row for row in rows_of(folder / "out", "tasks") if row["max_ns"] is not None]
    assert rows
    for chart, column in zip(responses, ("max_ns", "mean_ns"), strict=True):
        for curve in chart.curves:
            ratios = [
                row[column] / row["deadline_ns"]
                for row in rows
                if row["system.policy"] == curve.name
            ]
            assert len(curve.points) == CLASSES + 1
            for edge, share in curve.points[:: CLASSES // 8]:
                assert edge <= LARGEST
                assert share == pytest.approx(sum(one <= edge for one in ratios) / len(ratios))


def test_more_series_than_judges_have_a_chart_for_each_judge(tmp_path: Path) -> None:
    text = SMALL.replace('"system.policy" = ["ptps", "crps"]', FIVE)
    path = written(tmp_path, text.replace('tests = ["qpa", "gfb"]', ""))
    done = swept(path, tmp_path / "out", "--json")
    result = SweepResult.of(json.loads(done.stdout))
    acceptance, _ = charts_of(load_sweep(str(path)), SweepFolder(tmp_path / "out"), result)
    assert [chart.title.rpartition(" ")[2] for chart in acceptance] == ["analysis", "sim"]
    for chart in acceptance:
        names = [name for curve in chart.curves for name in curve.name.split(", ")]
        assert sorted(names) == sorted(["ptps", "crps", "wcps", "ds", "polling"])
        drawn = [tuple(curve.points) for curve in chart.curves]
        assert len(set(drawn)) == len(drawn)


def test_without_numbers_on_an_axis_there_are_tables(tmp_path: Path) -> None:
    text = re.sub(r'"draw.utilization" = .*', "", SMALL)
    done = swept(written(tmp_path, text), tmp_path / "out")
    assert done.returncode == 0
    page = (tmp_path / "out/report.html").read_text()
    assert "Accepted systems" not in page
    assert "Every point" in page
