# SPDX-License-Identifier: BSD-2-Clause
"""Charts of values in groups, each a picture of its own: bars, and boxes of distributions.

For what has no axis to grow along: events under several policies in each of some tests, responses
in each of some settings. A group has a mark for each series, always in the same order and colour. A
bar reaches from 0 to its value, and has a whisker where there is an interval. A box reaches from
the first quartile to the third with a line at the median; its whiskers reach to the last values
within 1.5 times its height, and dots beyond them are the least and the greatest value of all. A
ruler across is a limit, such as a deadline. Values stay in the units of their maker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hyperperiod.report.frame import LEFT, Frame, Scale
from hyperperiod.report.page import fill
from hyperperiod.report.palette import color

WIDE: Final = 22.0
"""How wide a mark is at most."""


@dataclass(frozen=True)
class Mark:
    """A value of a series in a group, or the quartiles around it; None where nothing was seen.

    A bar has `low` and `high` where it has an interval. A box has `box` (quartiles), with `low` and
    `high` for its whiskers and `ends` for the least and the greatest value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    box: tuple[float, float] | None = None
    ends: tuple[float, float] | None = None


class MarkGroup(NamedTuple):
    """A name on the axis and a mark for each series."""

    name: str
    marks: Sequence[Mark]


@dataclass(frozen=True)
class GroupChart:
    """A chart of groups from left to right, whose series have colours."""

    title: str
    y_scale: Scale
    series: Sequence[str]
    groups: Sequence[MarkGroup]
    subtitle: str = ""
    ruler: float | None = None
    y_max: float | None = None
    width: float = 820.0
    plot_height: float = 320.0


class PlacedMark(NamedTuple):
    """A mark in drawing units: its middle, its half width, its colour, and itself."""

    x: float
    half: float
    color: str
    mark: Mark


class GroupDrawing:
    """The places of everything, in drawing units; the template turns them into SVG."""

    def __init__(self, chart: GroupChart) -> None:
        self.chart = chart
        self.frame = Frame(
            chart.series, chart.width, chart.plot_height, subtitle=bool(chart.subtitle)
        )
        self.y_max = chart.y_max or 1.06 * max(self._values(), default=1.0) or 1.0
        self.step = (self.frame.right - LEFT) / max(len(chart.groups), 1)

    def y(self, value: float) -> float:
        return self.frame.y(min(value, self.y_max), self.y_max)

    @property
    def y_ticks(self) -> list[tuple[float, str]]:
        return self.frame.y_ticks(self.y_max, self.chart.y_scale)

    @property
    def names(self) -> list[tuple[float, str]]:
        """Returns the groups' names and where their middles are."""
        return [
            (round(LEFT + (at + 0.5) * self.step, 2), group.name)
            for at, group in enumerate(self.chart.groups)
        ]

    @property
    def marks(self) -> list[PlacedMark]:
        """Returns all marks that have a value."""
        return [
            self._drawn(at, number, mark)
            for at, group in enumerate(self.chart.groups)
            for number, mark in enumerate(group.marks)
            if mark.value is not None
        ]

    def _drawn(self, group: int, number: int, mark: Mark) -> PlacedMark:
        count = max(len(self.chart.series), 1)
        wide = min(WIDE, 0.8 * self.step / count)
        middle = LEFT + (group + 0.5) * self.step + (number - (count - 1) / 2) * wide
        return PlacedMark(round(middle, 2), round(0.4 * wide, 2), color(number), mark)

    def _values(self) -> list[float]:
        found = [
            value
            for group in self.chart.groups
            for mark in group.marks
            for value in (mark.value, mark.high, *(mark.ends or ()))
            if value is not None
        ]
        return found if self.chart.ruler is None else [*found, self.chart.ruler]


def group_svg(chart: GroupChart) -> str:
    """The chart as one SVG element, which is a file of its own or stands inside a page."""
    return fill("groups.svg.j2", drawing=GroupDrawing(chart), chart=chart, left=LEFT)
