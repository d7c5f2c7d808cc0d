# SPDX-License-Identifier: BSD-2-Clause
"""Charts of named lines over one axis, each a picture of its own: SVG that needs nothing else.

For whatever grows or falls with something: demand and supply over the length of a window, the
accepted fraction over the load. A curve is straight between its points, or a staircase that
jumps at them. Beside the curves there may be dots, vertical rulers, gaps between two heights and
shaded bands, each with a few words. Lines differ by colour and dash, so no line is told by its
colour alone. Around points there may be whiskers, intervals in which they lie. Values stay in the
units of their maker; a `Scale` says how they are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Literal, NamedTuple

from hyperperiod.report.frame import CHARACTER, LEFT, Frame, Scale, log_ticks, ticks
from hyperperiod.report.page import fill
from hyperperiod.report.palette import color, dash

Tone = Literal["good", "bad", "soft"]


@dataclass(frozen=True)
class LineSeries:
    """A named line; with `steps` it stays level from each point to the next and then jumps."""

    name: str
    points: Sequence[tuple[float, float]]
    steps: bool = False
    dots: bool = False
    whiskers: Sequence[tuple[float, float, float]] = ()
    """Intervals around points: where on the axis, from and to."""


@dataclass(frozen=True)
class Dot:
    """A circle where something happens, with what it is."""

    x: float
    y: float
    text: str
    tone: Tone = "soft"


@dataclass(frozen=True)
class Ruler:
    """A vertical line through the whole chart, such as a deadline; its words above or `low`."""

    x: float
    text: str
    low: bool = False


@dataclass(frozen=True)
class Gap:
    """From one height to another at one place: what is missing there, or left."""

    x: float
    low: float
    high: float
    text: str
    tone: Tone = "bad"
    left: bool = False  # on which side the text stands, if there is room


@dataclass(frozen=True)
class Band:
    """A shaded part of the x axis, from one value to another."""

    start: float
    end: float
    text: str
    tone: Tone = "soft"


@dataclass(frozen=True)
class LineChart:
    """What is to be drawn; an axis reaches as far as the values, or to `x_max`, `y_max`.

    A logarithmic axis, `x_log`, begins at `x_min`, above 0, and what is less stands there.
    Where heights are no values but places, `y_names` are what stands beside the vertical axis.
    """

    title: str
    x_scale: Scale
    y_scale: Scale
    curves: Sequence[LineSeries]
    subtitle: str = ""
    dots: Sequence[Dot] = ()
    rulers: Sequence[Ruler] = ()
    gaps: Sequence[Gap] = ()
    bands: Sequence[Band] = ()
    x_min: float = 0.0
    x_max: float | None = None
    x_log: bool = False
    y_max: float | None = None
    y_names: Sequence[tuple[float, str]] = ()
    width: float = 820.0
    plot_height: float = 320.0


class LineLabel(NamedTuple):
    """Words beside a point of the picture, and on which side they stand."""

    x: float
    y: float
    anchor: str
    text: str
    tone: str


class Drawing:
    """The places of everything, in drawing units; the template turns them into SVG."""

    def __init__(self, chart: LineChart) -> None:
        self.chart = chart
        names = [curve.name for curve in chart.curves]
        self.frame = Frame(names, chart.width, chart.plot_height, subtitle=bool(chart.subtitle))
        points = [point for curve in chart.curves for point in curve.points]
        self.x_max = chart.x_max or max((x for x, _ in points), default=1.0) or 1.0
        heights = [y for _, y in points]
        heights += [high for curve in chart.curves for _, _, high in curve.whiskers]
        self.y_max = chart.y_max or max(heights, default=1.0) * 1.06 or 1.0

    def x(self, value: float) -> float:
        low = self.chart.x_min
        if self.chart.x_log:
            share = log(max(value, low) / low) / log(self.x_max / low)
        else:
            share = (value - low) / (self.x_max - low)
        return round(LEFT + share * (self.frame.right - LEFT), 2)

    def y(self, value: float) -> float:
        return self.frame.y(value, self.y_max)

    @property
    def x_ticks(self) -> list[tuple[float, str]]:
        low, scale = self.chart.x_min, self.chart.x_scale
        found = (
            log_ticks(low, self.x_max, scale)
            if self.chart.x_log
            else ticks(low, self.x_max, scale, 9)
        )
        return [(self.x(value), text) for value, text in found]

    @property
    def y_ticks(self) -> list[tuple[float, str]]:
        if self.chart.y_names:
            return [(self.y(value), text) for value, text in self.chart.y_names]
        return self.frame.y_ticks(self.y_max, self.chart.y_scale)

    @property
    def paths(self) -> list[tuple[str, str, str]]:
        """Returns for each curve its SVG path, its colour and its dashes."""
        return [
            (self._path(curve), color(index), dash(index))
            for index, curve in enumerate(self.chart.curves)
        ]

    @property
    def points(self) -> list[tuple[float, float, str, int]]:
        """Returns the small dots of those curves that have some, and the number of the curve."""
        return [
            (self.x(x), self.y(y), color(index), index)
            for index, curve in enumerate(self.chart.curves)
            if curve.dots
            for x, y in curve.points
        ]

    @property
    def whiskers(self) -> list[tuple[float, float, float, str, int]]:
        """Returns the intervals around points, as far as they are in the plot, with the colour and
        the number of their curve."""
        return [
            (self.x(x), self.y(max(low, 0.0)), self.y(min(high, self.y_max)), color(index), index)
            for index, curve in enumerate(self.chart.curves)
            for x, low, high in curve.whiskers
        ]

    @property
    def labels(self) -> list[LineLabel]:
        """The words of rulers over the plot, of gaps and dots beside them, none on another."""
        labels: list[LineLabel] = []
        for ruler in self.chart.rulers:
            y = self.frame.bottom - 8 if ruler.low else self.frame.top + 13
            self._put(labels, self.x(ruler.x), y, ruler.text, "soft")
        for gap in self.chart.gaps:
            y = self.y((gap.low + gap.high) / 2) + 4
            self._put(labels, self.x(gap.x), y, gap.text, gap.tone, left=gap.left)
        for dot in self.chart.dots:
            self._put(labels, self.x(dot.x), self.y(dot.y) - 9, dot.text, dot.tone)
        return labels

    def _put(
        self,
        labels: list[LineLabel],
        at: float,
        y: float,
        text: str,
        tone: str,
        *,
        left: bool = False,
    ) -> None:
        """Adds a label beside a place, on the side that has room, where no other stands."""
        wide = CHARACTER * len(text)
        fits_left, fits_right = at - 10 - wide > LEFT, at + 10 + wide < self.frame.right
        left = fits_left and (left or not fits_right)
        start = at - 8 - wide if left else at + 8
        spans = [(self._start(label), label) for label in labels]
        rows = [
            label.y
            for other, label in spans
            if other < start + wide and start < other + CHARACTER * len(label.text)
        ]
        y = min(max(y, self.frame.top + 13), self.frame.bottom - 8)
        step = 15 if y < (self.frame.top + self.frame.bottom) / 2 else -15
        while any(abs(row - y) < 15 for row in rows):
            y += step
        labels.append(
            LineLabel(at - 8 if left else at + 8, y, "end" if left else "start", text, tone)
        )

    @staticmethod
    def _start(label: LineLabel) -> float:
        return label.x - CHARACTER * len(label.text) if label.anchor == "end" else label.x

    def _path(self, curve: LineSeries) -> str:
        if not curve.points:
            return ""
        parts = [f"M{self.x(curve.points[0][0])} {self.y(curve.points[0][1])}"]
        for x, y in curve.points[1:]:
            at, height = self.x(x), self.y(y)
            parts.append(f"H{at}V{height}" if curve.steps else f"L{at} {height}")
        return "".join(parts)


def line_svg(chart: LineChart, *, switched: bool = False) -> str:
    """The chart as one SVG element, which is a file of its own or stands inside a page.

    On a page whose legends switch curves off (curves.js), `switched` says which marks are whose.
    """
    return fill("lines.svg.j2", drawing=Drawing(chart), chart=chart, left=LEFT, switched=switched)
