# SPDX-License-Identifier: BSD-2-Clause
"""The page of the lab: claims, tables, and what each test saw, loop by loop.

The charts of a setting show for every policy how many tests lost at most so much time, or how many
interrupts waited at most so long; one that was never answered is in the whole only.

The pictures are the paper's Figures 1, 3 and 5 for every policy: time on the x axis, the length
of the busy loop on a logarithmic y axis. Of thousands of loops, the shortest and the longest of
each column of pixels are drawn, and a loop that lasts for several columns is a line as long as it.
Shown is the start of the worst test, twelve times as long as its policy's longest loop.
Tests that suffered from nothing but ticks are drawn only beside one of the same policy that did
from more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np

from hyperperiod.model import GuestKind
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.lab import MeasuredSetting, ScenarioOutcome
from hyperperiod.papers.latency.samples import Samples
from hyperperiod.report.distribution import Distribution
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import LineChart, LineSeries, line_svg
from hyperperiod.report.page import render
from hyperperiod.report.palette import color

WIDTH, HEIGHT = 340.0, 132.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 8.0, 8.0, 22.0
COLUMNS = 280
LOOPS = 12
DECADES = 100.0
"""Times of which the longest is more than so many of the shortest are drawn logarithmically."""
SHORTEST_NS, LONGEST_NS = 5e4, 2e8
MARKS = ((1e5, "100 µs"), (1e6, "1 ms"), (1e7, "10 ms"), (1e8, "100 ms"))


@dataclass(frozen=True)
class Strip:
    """The loops of one run, drawn: an SVG path in a box of WIDTH by HEIGHT."""

    label: str
    source: str
    color: str
    path: str
    span_ns: int


def write_latency_page(
    path: Path,
    host: str,
    seed: int,
    outcomes: Sequence[ScenarioOutcome],
    guest: GuestKind = GuestKind.EXECUTIVE,
) -> None:
    """Writes the page of what was measured on a host, on Xen with such a guest, to `path`."""
    render(
        path,
        "latency.html.j2",
        title="Latency",
        host=host,
        guest=guest,
        seed=seed,
        outcomes=outcomes,
        charts={
            (outcome.scenario.name, one.setting.name): line_svg(
                chart_of(outcome, one), switched=True
            )
            for outcome in outcomes
            for one in outcome.settings
        },
        strips=_strips,
        box={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT},
        marks=[(height(length_ns), label) for length_ns, label in MARKS],
    )


def chart_of(outcome: ScenarioOutcome, one: MeasuredSetting) -> LineChart:
    """Returns the distribution of what was measured in a setting.

    There is a curve for each policy; those that are the same are one, with all their names. The
    axis of times is logarithmic where the longest is many times the shortest.
    """
    loops = outcome.scenario.test == "clocktick"
    rows = [row for row in one.rows if row.source != "paper" and row.runs]
    seen_ns = [time_ns for row in rows for time_ns in row.seen_ns]
    x_max = max(seen_ns, default=0) * 1.05 or 1.0
    x_min = min(filter(None, seen_ns), default=x_max) / 1.05
    is_log = x_max > DECADES * x_min
    curves: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for row in rows:
        name = row.label if row.source == "ours" else f"{row.label} ({row.source})"
        curves.setdefault(_staircase(row, x_max), []).append(name)
    return LineChart(
        "Tests by their longest loop" if loops else "Interrupts by how long they waited",
        time_scale(
            "longest loop" if loops else "until answered", sqrt(x_min * x_max) if is_log else x_max
        ),
        Scale("tests" if loops else "interrupts", "%", 0.01),
        [LineSeries(", ".join(names), points, steps=True) for points, names in curves.items()],
        subtitle="times of 0 stand at the left end" if is_log and 0 in seen_ns else "",
        x_min=x_min if is_log else 0.0,
        x_max=x_max,
        x_log=is_log,
        y_max=1.0,
    )


def _staircase(row: LabRow, x_max: float) -> tuple[tuple[float, float], ...]:
    """Returns the share of all tests or interrupts up to each time that was seen, and the end."""
    seen = len(row.seen_ns) / row.runs
    if not seen:
        return ((0.0, 0.0), (x_max, 0.0))
    found = Distribution(*np.unique(np.array(row.seen_ns, float), return_counts=True))
    steps = ((at, share * seen) for at, share in found.steps())
    return ((0.0, 0.0), *steps, (x_max, seen))


def _strips(one: MeasuredSetting) -> list[Strip]:
    """Returns the worst run of every row worth a picture, drawn."""
    measured = [row for row in one.rows if row.series is not None]
    hit = {row.policy for row in measured if row.gap_ns}
    strips = []
    for index, row in enumerate(row for row in measured if row.policy in hit):
        assert row.series is not None
        longest_ns = max(other.longest_ns or 0 for other in measured if other.policy == row.policy)
        strips.append(strip(row, _first(row.series, LOOPS * longest_ns), color(index)))
    return strips


def _first(series: Samples, span_ns: int) -> Samples:
    """The loops that began within a span of the test's start."""
    shown = series.start_ns < series.start_ns[0] + span_ns
    return Samples(series.start_ns[shown], series.length_ns[shown])


def strip(row: LabRow, series: Samples, hue: str) -> Strip:
    """One run: a stroke per column, from its shortest loop to its longest, and the long loops."""
    span_ns = max(1, series.executed_ns)
    scale = (WIDTH - LEFT - RIGHT) / span_ns
    since = series.start_ns - series.start_ns[0]
    columns = np.minimum(since * COLUMNS // span_ns, COLUMNS - 1)
    first = np.flatnonzero(np.concatenate(([True], columns[1:] != columns[:-1])))
    lows = np.minimum.reduceat(series.length_ns, first).tolist()
    highs = np.maximum.reduceat(series.length_ns, first).tolist()
    strokes = [
        f"M{LEFT + start * scale:.1f} {height(low):.1f}V{height(high) - 0.6:.1f}"
        for start, low, high in zip(since[first].tolist(), lows, highs, strict=True)
    ]
    long = series.length_ns > 2 * span_ns // COLUMNS
    lines = [
        f"M{LEFT + start * scale:.1f} {height(length):.1f}h{length * scale:.1f}"
        for start, length in zip(since[long].tolist(), series.length_ns[long].tolist(), strict=True)
    ]
    return Strip(row.label, row.source, hue, "".join(strokes + lines), span_ns)


def height(length_ns: float) -> float:
    """The place of a loop's length (ns) on the y axis, in pixels."""
    low, high = np.log10(SHORTEST_NS), np.log10(LONGEST_NS)
    at = (np.log10(min(max(length_ns, SHORTEST_NS), LONGEST_NS)) - low) / (high - low)
    return round(float(HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM)), 1)
