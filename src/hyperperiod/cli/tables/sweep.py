# SPDX-License-Identifier: BSD-2-Clause
"""What a sweep comes to: acceptance ratios point by point, and one number for each curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperperiod.cli.table import Table, numbers, words
from hyperperiod.cli.tables.cells import NO_VALUE, count_text

if TYPE_CHECKING:
    from hyperperiod.experiments.sweep.result import Acceptance, SweepResult


def acceptance_table(result: SweepResult) -> Table:
    """One row for each value on the x axis and a column for each curve, with intervals of 95 %."""
    curves = result.curves()
    key = (result.x or "point").rpartition(".")[2].replace("_", " ")
    names = [", ".join(filter(None, curve)) for curve in curves]
    systems = count_text(max((row.systems for row in result.points), default=0))
    title = f"Accepted systems of {result.sweep} in %, of {systems} at a point (seed {result.seed})"
    table = Table(title, [*words(key), *numbers(*names)], in_blocks=True)
    cells = [{at: _ratio_text(row) for at, row in points} for points in curves.values()]
    for at in dict.fromkeys(at for points in curves.values() for at, _ in points):
        table.add_row(f"{at:g}", *(column.get(at, NO_VALUE) for column in cells))
    return table


def weighted_table(result: SweepResult) -> Table:
    """Returns the table of weighted schedulability, with a row for each curve."""
    columns = [*words("series", "judge"), *numbers("schedulability")]
    table = Table("Weighted schedulability", columns)
    for row in result.weighted:
        table.add_row(row.series or "all", row.judge, f"{row.schedulability:.4f}")
    return table


def _ratio_text(row: Acceptance) -> str:
    """The accepted systems in %, with the interval that holds the ratio at 95 %."""
    interval = row.ratio_interval
    if interval is None:
        return f"{100 * row.ratio:.1f}"
    return f"{100 * row.ratio:.1f} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"
