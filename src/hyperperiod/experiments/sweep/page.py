# SPDX-License-Identifier: BSD-2-Clause
"""The page of a sweep: acceptance ratios with their intervals, one number a curve, responses.

A curve is what the grid varies beside the x axis, and a judge. Up to MAX_CURVES of them share a
chart; more are drawn in a chart for each judge, or for each value of the grid if these are fewer.
Curves of a chart that have all points in common are drawn as one, which has the names of all.
Responses are those of tasks in the simulator, relative to their deadlines: for each share of the
deadline, how many tasks stayed within it in their longest response, and in the mean of all their
jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hyperperiod.experiments.sweep.experiment import Host, LoadedSweep
from hyperperiod.experiments.sweep.folder import SweepFolder
from hyperperiod.experiments.sweep.result import Acceptance, Curves, SweepResult, without_repeats
from hyperperiod.experiments.sweep.summary import series_of, x_key
from hyperperiod.experiments.sweep.tables import value_text
from hyperperiod.report.frame import ACCEPTED, Scale
from hyperperiod.report.lines import LineChart, LineSeries, Ruler, line_svg
from hyperperiod.report.page import render

MAX_CURVES = 7
"""There are as many hues."""
WIDTH = 1260.0
"""The charts are as wide as the cards of the page."""
CLASSES = 400
LARGEST = 2.0
"""Responses are counted in so many classes up to so many deadlines; later ones in the last."""
SHARE = Scale("tasks", "%", 0.01)
RESPONSES = {"max_ns": "longest response", "mean_ns": "mean response"}
RAN = {
    Host.SIM: ("", "in the simulator"),
    Host.XEN: ("xen_", "on Xen"),
    Host.LINUX: ("linux_", "on Linux"),
}
"""By host: what its columns begin with, and where that is."""

Key = tuple[str, str]
"""A curve: its series, which is what the grid varies beside the x axis, and its judge."""


@dataclass(frozen=True)
class Row:
    """A line of the table of points."""

    values: tuple[str, ...]
    found: Acceptance


def write_sweep_page(experiment: LoadedSweep, folder: SweepFolder, result: SweepResult) -> Path:
    """Writes the page into the sweep's folder; where it is."""
    path = folder.path / "report.html"
    draft = path.with_name(f".{path.name}")
    points = {point.number: point for point in experiment.points}
    acceptance, responses = charts_of(experiment, folder, result)
    render(
        draft,
        "sweep.html.j2",
        title=experiment.sweep.title or experiment.sweep.name,
        sweep=experiment.sweep,
        result=result,
        systems=sum(part.systems for part in experiment.parts()),
        acceptance=[line_svg(chart, switched=True) for chart in acceptance],
        responses=[line_svg(chart, switched=True) for chart in responses],
        keys=[path.rpartition(".")[2].replace("_", " ") for path in experiment.sweep.grid],
        rows=[
            Row(tuple(value_text(one) for one in points[row.point].values.values()), row)
            for row in result.points
        ],
    )
    draft.replace(path)
    return path


def charts_of(
    experiment: LoadedSweep, folder: SweepFolder, result: SweepResult
) -> tuple[list[LineChart], list[LineChart]]:
    """What is drawn: acceptance ratios, and responses."""
    return list(_acceptance(experiment, result)), list(_responses(experiment, folder))


def _acceptance(experiment: LoadedSweep, result: SweepResult) -> Iterator[LineChart]:
    """Charts of the ratios over the x axis; none without one."""
    x = x_key(experiment)
    if x is None:
        return
    curves: Curves = {}
    for row in result.points:
        point = experiment.points[row.point]
        name = ", ".join(series_of(point, x))
        curves.setdefault((name, row.judge), []).append((float(point.values[x]), row))
    curves = without_repeats(curves)
    for about, group in _charts(list(curves)):
        yield LineChart(
            f"Accepted systems: {about}" if about else "Accepted systems",
            Scale(x.rpartition(".")[2].replace("_", " ")),
            ACCEPTED,
            [
                _curve(_name(alike, about), curves[alike[0]])
                for alike in _alike(group, curves).values()
            ],
            subtitle="with intervals of 95 %",
            x_min=min(at for points in curves.values() for at, _ in points),
            y_max=1.0,
            width=WIDTH,
        )


def _charts(curves: Sequence[Key]) -> Iterator[tuple[str, list[Key]]]:
    """The curves of each chart, and what they have in common: a judge or a series."""
    if len(curves) <= MAX_CURVES:
        yield "", list(curves)
        return
    kinds = [list(dict.fromkeys(curve[at] for curve in curves)) for at in (0, 1)]
    at = int(len(kinds[1]) < len(kinds[0]))
    for kind in kinds[at]:
        yield kind, [curve for curve in curves if curve[at] == kind]


def _alike(
    group: Sequence[Key], curves: Mapping[Key, Sequence[tuple[float, Acceptance]]]
) -> dict[Any, list[Key]]:
    """The curves that have all points in common: one would lie upon the other."""
    found: dict[Any, list[Key]] = {}
    for curve in group:
        points = tuple((at, row.accepted, row.systems) for at, row in curves[curve])
        found.setdefault(points, []).append(curve)
    return found


def _name(alike: Sequence[Key], about: str) -> str:
    """What curves are called in a chart about something that their names need not repeat."""
    if about:
        return ", ".join(judge if series == about else series for series, judge in alike)
    by_judge: dict[str, list[str]] = {}
    for series, judge in alike:
        by_judge.setdefault(judge, []).extend([series] if series else [])
    return ", ".join(
        f"{', '.join(series)} ({judge})" if series else judge for judge, series in by_judge.items()
    )


def _curve(name: str, points: Sequence[tuple[float, Acceptance]]) -> LineSeries:
    ordered = sorted(points, key=lambda point: point[0])
    return LineSeries(
        name,
        [(at, row.ratio) for at, row in ordered],
        dots=True,
        whiskers=[
            (at, row.ratio_interval.low, row.ratio_interval.high)
            for at, row in ordered
            if row.ratio_interval is not None
        ],
    )


def _responses(experiment: LoadedSweep, folder: SweepFolder) -> Iterator[LineChart]:
    """Charts of how response times are distributed over tasks, for each host where any ran."""
    asked = {host for point in experiment.points for host in point.sweep.hosts}
    for host, (before, where) in RAN.items():
        if host in asked:
            yield from _responses_on(before, where, _counted(experiment, folder, before))


def _responses_on(
    before: str, where: str, counts: Mapping[str, dict[str, NDArray[np.int64]]]
) -> Iterator[LineChart]:
    """Those of one host, whose columns begin with this."""
    if not counts["max_ns"]:
        return
    edges = np.linspace(0, LARGEST, CLASSES + 1)[1:]
    for column, title in RESPONSES.items():
        curves = [
            LineSeries(name or "all", _staircase(edges, found), steps=True)
            for name, found in list(counts[column].items())[:MAX_CURVES]
        ]
        yield LineChart(
            f"Tasks by their {title}{' ' + where if before else ''}",
            Scale("response / deadline"),
            SHARE,
            curves,
            subtitle=f"of all points, {where}",
            rulers=[Ruler(1.0, "deadline", low=True)],
            x_max=LARGEST,
            y_max=1.0,
            width=WIDTH,
        )


def _counted(
    experiment: LoadedSweep, folder: SweepFolder, before: str
) -> Mapping[str, dict[str, NDArray[np.int64]]]:
    """Tasks by series and by their response in parts of the deadline, file after file."""
    x = x_key(experiment)
    names = {point.number: ", ".join(series_of(point, x)) for point in experiment.points}
    counts: dict[str, dict[str, NDArray[np.int64]]] = {column: {} for column in RESPONSES}
    wanted = ["point", "deadline_ns", *(before + column for column in RESPONSES)]
    for file in folder.files("tasks"):
        if not set(wanted) <= set(pq.read_schema(file).names):
            continue
        columns = pq.read_table(file, columns=wanted).drop_null()
        if not len(columns):
            continue
        series = names[columns.column("point")[0].as_py()]
        deadlines = columns.column("deadline_ns").to_numpy()
        for column in RESPONSES:
            ratios = columns.column(before + column).to_numpy() / deadlines
            classes = np.minimum(np.ceil(ratios * (CLASSES / LARGEST)), CLASSES + 1) - 1
            found = np.bincount(np.maximum(classes, 0).astype(np.int64), minlength=CLASSES + 1)
            known: Any = counts[column].get(series, 0)
            counts[column][series] = known + found
    return counts


def _staircase(edges: NDArray[Any], found: NDArray[np.int64]) -> list[tuple[float, float]]:
    """The share of tasks up to each edge; what lies beyond the last is in the whole only."""
    shares = np.cumsum(found)[:-1] / found.sum()
    return [(0.0, 0.0), *zip(edges.tolist(), shares.tolist(), strict=True)]
