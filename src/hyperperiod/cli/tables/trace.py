# SPDX-License-Identifier: BSD-2-Clause
"""What `trace check` shows, and the lists of `trace intervals`, `jobs` and `items`."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TextIO, get_type_hints

from hyperperiod.cli.styled import BAD, FAULT, GOOD, OPEN, Styled
from hyperperiod.cli.table import Column, Table, words
from hyperperiod.model.units import format_time

if TYPE_CHECKING:
    from hyperperiod.trace.result import PropertyResult, TraceCheckResult

SHOWN_VIOLATIONS = 3


def check_table(check: TraceCheckResult) -> Table:
    """Every property of a trace: what it says, and where it fails or why it was skipped."""
    title = f"{check.system} · {check.policy} · {check.host}"
    said = Column("what it says, and where it fails", folds=30)
    table = Table(title, [*words("property", "verdict"), said])
    for one in check.properties:
        table.add_row(one.name, Styled(one.status, _STYLES[one.status]), _statement_cell(one))
    return table


_STYLES = {"holds": GOOD, "fails": BAD, "skipped": OPEN}


def _statement_cell(one: PropertyResult) -> tuple[str, ...]:
    lines = [one.statement]
    if one.status == "skipped":
        lines.append(Styled(one.reason, OPEN))
    lines += [
        Styled(f"{violation.time_ns} ns: {violation.text}", FAULT)
        for violation in one.examples[:SHOWN_VIOLATIONS]
    ]
    if one.violations > SHOWN_VIOLATIONS:
        lines.append(Styled(f"… {one.violations} in all", FAULT))
    return tuple(lines)


def write_csv(row: type, rows: Iterable[Any], out: TextIO) -> None:
    """Writes a list of intervals, jobs or items to `out` as CSV with a heading."""
    writer = csv.writer(out, lineterminator="\n")
    columns = get_type_hints(row)
    writer.writerow(columns)
    writer.writerows(map(attrgetter(*columns), rows))


def list_table(row: type, rows: Iterable[Any], *, in_ns: bool) -> Table:
    """A list of intervals, jobs or items, whose fields are the columns; absent ones are empty.

    Times are exact: in the unit that suits each, or with `in_ns` all in nanoseconds.
    """
    columns = tuple(get_type_hints(row))
    are_times = [column.endswith("_ns") and not in_ns for column in columns]
    names = [column if in_ns else column.removesuffix("_ns") for column in columns]
    ranks = [_RANKS.get(column, 0) for column in columns]
    table = Table(
        "",
        [Column(name, right=rank > 0, rank=rank) for name, rank in zip(names, ranks, strict=True)],
    )
    for values in map(attrgetter(*columns), rows):
        cells = zip(values, are_times, strict=True)
        table.add_row(*(_list_cell(cell, is_time=is_time) for cell, is_time in cells))
    return table


def _list_cell(cell: Any, *, is_time: bool) -> str:
    if cell is None:
        return ""
    return format_time(cell) if is_time else str(cell)


_RANKS = {
    "job": 3,
    "item": 3,
    "release_ns": 2,
    "start_ns": 1,
    "end_ns": 1,
    "finish_ns": 1,
    "deadline_ns": 1,
    "ran_ns": 2,
}
