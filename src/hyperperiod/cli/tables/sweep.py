# SPDX-License-Identifier: BSD-2-Clause
"""What a sweep comes to: acceptance ratios point by point, and one number for each curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperperiod.cli.table import Column, Table, numbers, words
from hyperperiod.cli.tables.cells import NO_VALUE, count_text, share_text

if TYPE_CHECKING:
    from hyperperiod.experiments.confidence import Interval
    from hyperperiod.experiments.sweep.result import SweepResult


def acceptance_table(result: SweepResult) -> Table:
    """One row for each point and judge, with the interval that holds the ratio at 95 %."""
    keys = list(result.points[0].values) if result.points else []
    columns = [
        *(Column(key.rpartition(".")[2].replace("_", " ")) for key in keys),
        *words("judge"),
        *numbers("systems", "accepted", rank=0),
        *numbers("95 % interval", "unknown"),
    ]
    table = Table(f"Accepted systems of {result.sweep} (seed {result.seed})", columns)
    for row in result.points:
        table.add_row(
            *(f"{value:g}" if isinstance(value, float) else value for value in row.values.values()),
            row.judge,
            count_text(row.systems),
            share_text(row.ratio),
            _interval_text(row.ratio_interval),
            count_text(row.unknown),
        )
    return table


def weighted_table(result: SweepResult) -> Table:
    """One row for each curve."""
    columns = [*words("series", "judge"), *numbers("schedulability")]
    table = Table("Weighted schedulability", columns)
    for row in result.weighted:
        table.add_row(row.series or "all", row.judge, f"{row.schedulability:.4f}")
    return table


def _interval_text(interval: Interval | None) -> str:
    if interval is None:
        return NO_VALUE
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"
