# SPDX-License-Identifier: BSD-2-Clause
"""What an experiment's file says of its picture: curves over an axis, or bars in groups.

Values that are means over draws have their intervals as whiskers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from hyperperiod.model.part import Part, key
from hyperperiod.papers.expressions import (
    Estimate,
    Expression,
    ForClause,
    Formula,
    Scope,
    Template,
    rounds,
)
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.groups import GroupChart, Mark, MarkGroup
from hyperperiod.report.lines import LineChart, LineSeries, Ruler

Each = Annotated[Expression, ForClause()]
Text = Annotated[Expression, Template()]
Value = Annotated[Expression, Formula()]


class AxisText(Part):
    """An axis: its label and unit, or the longest time if it is one of time; its ends."""

    label: Text
    unit: str = ""
    size: Any = 1
    longest: Value | None = None
    low: Value | None = None
    high: Value | None = None

    def scale(self, scope: Scope) -> Scale:
        """How values are shown."""
        label = self.label(scope)
        longest = self.longest and self.longest(scope)
        return time_scale(label, longest) if longest else Scale(label, self.unit, float(self.size))


class CurveText(Part):
    """A line through points: those of rows, of which `x` and `y` are said, or given ones.

    Those of rows have dots, others if they are told to.
    """

    name: Text
    each: Each | None = None
    rows: Value | None = None
    x: Value | None = None
    y: Value | None = None
    points: Value | None = None
    dots: bool = False

    def curves(self, scope: Scope) -> Iterator[LineSeries]:
        """The curves, one for each round."""
        for here in rounds(self.each, scope):
            name = self.name(here)
            if self.points is not None:
                yield LineSeries(
                    name, [(float(x), float(y)) for x, y in self.points(here)], dots=self.dots
                )
                continue
            assert self.rows is not None
            assert self.x is not None
            assert self.y is not None
            points, whiskers = [], []
            for row in self.rows(here):
                at = {**here, "row": row}
                x, y = float(self.x(at)), self.y(at)
                points.append((x, float(y)))
                if isinstance(y, Estimate):
                    whiskers.append((x, y.low, y.high))
            yield LineSeries(name, points, dots=True, whiskers=whiskers)


class GroupText(Part):
    """Bars beside one another, one for each series."""

    name: Text
    each: Each
    marks: Value


class RulerText(Part):
    """A line across, with its words."""

    text: Text
    each: Each | None = None
    x: Value
    low: bool = False


class ChartText(Part):
    """A picture: curves, or groups of bars with the names of their `series`."""

    subtitle: Text = Expression.of("source")
    x: AxisText | None = None
    y: AxisText
    series: Value | None = None
    curves: tuple[CurveText, ...] = key(name="curve", default=())
    groups: tuple[GroupText, ...] = key(name="group", default=())
    rulers: tuple[RulerText, ...] = key(name="ruler", default=())

    def drawn(self, title: str, scope: Scope) -> LineChart | GroupChart:
        """The picture of what a scope has."""
        if self.x is None:
            return self._bars(title, scope)
        limits: dict[str, Any] = {
            name: None if said is None else float(said(scope))
            for name, said in (("x_max", self.x.high), ("y_max", self.y.high))
        }
        return LineChart(
            title,
            self.x.scale(scope),
            self.y.scale(scope),
            [curve for one in self.curves for curve in one.curves(scope)],
            subtitle=self.subtitle(scope),
            rulers=[
                Ruler(float(one.x(here)), one.text(here), low=one.low)
                for one in self.rulers
                for here in rounds(one.each, scope)
            ],
            x_min=0.0 if self.x.low is None else float(self.x.low(scope)),
            **limits,
        )

    def _bars(self, title: str, scope: Scope) -> GroupChart:
        assert self.series is not None, "bars have the names of their series"
        return GroupChart(
            title,
            self.y.scale(scope),
            self.series(scope),
            [
                MarkGroup(one.name(here), [_mark(value) for value in one.marks(here)])
                for one in self.groups
                for here in rounds(one.each, scope)
            ],
            subtitle=self.subtitle(scope),
        )


def _mark(value: float) -> Mark:
    ends = (value.low, value.high) if isinstance(value, Estimate) else ()
    return Mark(float(value), *ends)
