# SPDX-License-Identifier: BSD-2-Clause
"""The result of a sweep: what `sweep --json` prints. The rows themselves are in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hyperperiod.experiments.confidence import Interval, ends
from hyperperiod.model.result_object import ResultObject
from hyperperiod.tabular import Row, Tabular

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOSTS = ("analysis", "sim", "xen", "linux")
"""The judges that look at the policy; the others are tests of tasks."""


class Acceptance(ResultObject):
    """How many of the systems at a point a judge accepts, with an interval of 95 %.

    `values` are those of the grid; `unknown` are the systems that a test could not decide.
    """

    point: int
    values: Mapping[str, float | str]
    judge: str
    systems: int
    accepted: int
    unknown: int
    ratio: float
    ratio_interval: Interval | None


Curves = dict[tuple[str, str], list[tuple[float, Acceptance]]]
"""Points over the x axis by series, which is what the grid varies beside it, and judge."""


def without_repeats(curves: Curves) -> Curves:
    """The curves, with one of a judge alone (no series) where all of its series are the same.

    Tests of tasks do not look at the policy: they say the same under each.
    """
    alike: dict[str, set[object]] = {}
    for (_, judge), points in curves.items():
        said = tuple((at, row.accepted, row.unknown, row.systems) for at, row in points)
        alike.setdefault(judge, set()).add(said)
    tests = {judge for judge, said in alike.items() if len(said) == 1 and judge not in HOSTS}
    return {
        ("" if judge in tests else series, judge): points
        for (series, judge), points in curves.items()
    }


def _text(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class WeightedAcceptance(ResultObject):
    """The mean verdict of a judge over the x axis, each weighted by its system's utilization."""

    series: str
    judge: str
    schedulability: float


class SweepResult(ResultObject, Tabular):
    """What a sweep comes to; `contradictions` are systems accepted by the analysis that missed."""

    sweep: str
    folder: str
    seed: int
    parts: int
    done: int
    interrupted: bool
    contradictions: int
    points: tuple[Acceptance, ...]
    weighted: tuple[WeightedAcceptance, ...]

    TABLES = ("points", "weighted")

    @property
    def headline(self) -> str:
        judged = sum(one.systems for one in self.points)
        points = len({one.point for one in self.points})
        broken = f", {self.contradictions} contradictions" if self.contradictions else ""
        return f"{self.sweep}: {judged:,} verdicts at {points:,} points, seed {self.seed}{broken}"

    def _rows(self, table: str) -> Iterator[Row]:
        if table == "weighted":
            yield from (dict(vars(one)) for one in self.weighted)
            return
        for one in self.points:
            low, high = ends(one.ratio, one.ratio_interval)
            counts = {"systems": one.systems, "accepted": one.accepted, "unknown": one.unknown}
            verdict = {"judge": one.judge, **counts, "ratio": one.ratio, "low": low, "high": high}
            yield {"point": one.point, **one.values, **verdict}

    def _draw(self, ax: Axes) -> None:
        """Acceptance ratios with their intervals, over the first key of the grid with numbers."""
        from hyperperiod.plots import Curve, draw_curves

        x = self.x
        curves = {}
        for (series, judge), found in self.curves().items():
            rows = [(at, one.ratio, *ends(one.ratio, one.ratio_interval)) for at, one in found]
            name = ", ".join(filter(None, (series, judge)))
            curves[name] = Curve(*zip(*sorted(rows), strict=True))
        label = "point" if x is None else x.rpartition(".")[2].replace("_", " ")
        draw_curves(ax, curves, label, "accepted systems")

    def curves(self) -> Curves:
        """The points of each curve over `x`; without an x axis over the numbers of points."""
        x = self.x
        curves: Curves = {}
        for one in self.points:
            others = [_text(value) for key, value in one.values.items() if key != x]
            at = float(one.values[x]) if x is not None else float(one.point)
            series = ", ".join(others) if x is not None else ""
            curves.setdefault((series, one.judge), []).append((at, one))
        return without_repeats(curves)

    @property
    def x(self) -> str | None:
        """The first key of the grid that takes several numbers."""
        for key in self.points[0].values if self.points else ():
            values = {one.values[key] for one in self.points}
            if len(values) > 1 and not any(isinstance(value, str) for value in values):
                return key
        return None
