# SPDX-License-Identifier: BSD-2-Clause
"""The result of a sweep: what `sweep --json` prints. The rows themselves are in Parquet files."""

from __future__ import annotations

from collections.abc import Mapping

from hyperperiod.experiments.confidence import Interval
from hyperperiod.model.result_object import ResultObject


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


class WeightedAcceptance(ResultObject):
    """The mean verdict of a judge over the x axis, each weighted by its system's utilization."""

    series: str
    judge: str
    schedulability: float


class SweepResult(ResultObject):
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
