# SPDX-License-Identifier: BSD-2-Clause
"""What experiments share whose rows are measured one by one: measure, then judge, then draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse
from hyperperiod.experiments.reproduce.result import (
    ArincRow,
    AwayRow,
    BareLoopRow,
    DomainMissRow,
    HotSwapRow,
    InterfaceSearchRow,
    InterruptRow,
    RequestRow,
    ResponseRow,
    ServerEventsRow,
    SpareGainRow,
)
from hyperperiod.model.part import Part
from hyperperiod.report.panels import Chart, Panels

Row = TypeVar(
    "Row",
    SpareGainRow,
    RequestRow,
    ServerEventsRow,
    ResponseRow,
    ArincRow,
    DomainMissRow,
    InterfaceSearchRow,
    HotSwapRow,
    BareLoopRow,
    AwayRow,
    InterruptRow,
)
Judged = tuple[list[Claim], Chart | Panels]


class MeasuredFigure(Part, Generic[Row]):
    """An experiment by its file; what is measured, claimed and drawn is said by the class."""

    name: str
    title: str
    source: str

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        """The figure; Ctrl-C ends the measuring, and what is there by then is judged and drawn.

        InputError for options that the experiment has no use for.
        """
        refuse(asked, self.name, "packets", "plays")
        rows: list[Row] = []
        interrupted = False
        try:
            rows.extend(self._measured(asked, progress))
        except KeyboardInterrupt:
            interrupted = True
        columns, keys = self._columns()
        claims, chart = self._judged(rows, asked)
        return Figure(
            self.name,
            self._title(asked),
            self.source,
            rows,
            claims,
            chart,
            columns,
            interrupted,
            keys=keys,
        )

    def _title(self, asked: Asked) -> str:  # noqa: ARG002 - of those that differ between hosts
        """What the figure is called where it is measured like this."""
        return self.title

    def _columns(self) -> tuple[Sequence[str], int]:
        """What people see of a row, and how many of these columns say what the row is about."""
        raise NotImplementedError

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[Row]:
        """The rows, each as soon as it is measured."""
        raise NotImplementedError

    def _judged(self, rows: Sequence[Row], asked: Asked) -> Judged:
        """The claims that these rows can show, perhaps none if some are missing; their picture."""
        raise NotImplementedError
