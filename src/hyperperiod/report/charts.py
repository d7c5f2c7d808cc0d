# SPDX-License-Identifier: BSD-2-Clause
"""The geometry of the charts that are drawn without JavaScript: templates turn it into SVG.

Both kinds have response time / deadline on the x axis: left of 1 is in time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Final

from hyperperiod.report.distribution import BoxNumbers, Distribution

LEFT: Final = 40.0
RIGHT: Final = 14.0
SMALL: Final = (340.0, 190.0)
LARGE: Final = (760.0, 300.0)
"""Width and height; below the plot there is room for two lines of text."""
BELOW: Final = 32.0
POINTS: Final = 20_000
"""What all lines of the small charts of a page share."""


@dataclass(frozen=True)
class Axis:
    """The x axis: from 0 to `largest`, in drawing units from LEFT to width - RIGHT."""

    largest: float
    width: float

    def x(self, ratio: float) -> float:
        return round(LEFT + ratio / self.largest * (self.width - LEFT - RIGHT), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round places at most a quarter of the axis apart, with their labels."""
        step = round_up(self.largest / 6)
        count = floor(self.largest / step + 1e-9)
        return [(self.x(at * step), f"{at * step:g}") for at in range(count + 1)]


@dataclass(frozen=True)
class Line:
    """One distribution as an SVG path, with what the legend says about it."""

    name: str
    path: str
    color: str
    dash: str
    largest: float


@dataclass(frozen=True)
class CdfChart:
    """Share of jobs finished within x deadlines; `bound` is the bound of the analysis."""

    title: str
    axis: Axis
    lines: tuple[Line, ...]
    jobs: int
    height: float
    bound: float | None = None
    top: float = 14.0

    @property
    def bottom(self) -> float:
        return self.height - BELOW

    def y(self, share: float) -> float:
        return round(self.bottom - share * (self.bottom - self.top), 2)


@dataclass(frozen=True)
class BoxRow:
    """One row of a box plot: a name, and the numbers that its box is drawn from."""

    name: str
    color: str
    spread: BoxNumbers
    y: float


@dataclass(frozen=True)
class BoxChart:
    """A box plot: boxes below one another on one axis."""

    title: str
    axis: Axis
    boxes: tuple[BoxRow, ...]
    height: float


@dataclass(frozen=True)
class Series:
    """A distribution of response times, and the colour and dash of its line."""

    name: str
    found: Distribution
    color: str
    dash: str = ""


def cdf_chart(
    title: str,
    series: Sequence[Series],
    bound: float | None = None,
    size: tuple[float, float] = SMALL,
    points: int = 160,
) -> CdfChart:
    """The chart of one or more distributions, each drawn with at most so many points."""
    width, height = size
    largest = max([1.0, bound or 0.0, *(one.found.largest for one in series)])
    axis = Axis(largest * 1.05, width)
    chart = CdfChart(title, axis, (), sum(one.found.jobs for one in series), height, bound)
    lines = tuple(
        Line(one.name, _path(chart, one.found, points), one.color, one.dash, one.found.largest)
        for one in series
    )
    return replace(chart, lines=lines)


def box_chart(title: str, series: Sequence[Series]) -> BoxChart:
    """A chart of the boxes of several distributions, one above the other."""
    row, top = 26.0, 22.0
    largest = max([1.0, *(one.found.largest for one in series)])
    boxes = tuple(
        BoxRow(one.name, one.color, one.found.spread(), top + row * (index + 0.5))
        for index, one in enumerate(series)
    )
    return BoxChart(title, Axis(largest * 1.05, SMALL[0]), boxes, top + row * len(boxes) + 30)


def points_each(lines: int) -> int:
    """Returns how many points each of `lines` may have, so that a page of many stays small."""
    return min(160, max(24, POINTS // max(1, lines)))


def _path(chart: CdfChart, found: Distribution, points: int) -> str:
    """A staircase: up at each response time, level to the next."""
    parts = [f"M{chart.axis.x(0)} {chart.y(0)}"]
    for ratio, share in found.steps(points):
        parts.append(f"H{chart.axis.x(ratio)}V{chart.y(share)}")
    parts.append(f"H{chart.axis.x(chart.axis.largest)}")
    return "".join(parts)


def round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** floor(log10(value))
    for factor in (1, 2, 2.5, 5):
        if value <= factor * power * (1 + 1e-9):
            return factor * power
    return ceil(value / power / 10) * power * 10
