# SPDX-License-Identifier: BSD-2-Clause
"""What `trace check` shows, and the lists of `trace intervals`, `jobs` and `items`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hyperperiod.cli.styled import BAD, FAULT, GOOD, OPEN, Styled
from hyperperiod.cli.table import Column, Table, words

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


def list_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Table:
    """A list of intervals, jobs or items; what did not happen is empty."""
    table = Table("", [_LISTED.get(column, Column(column)) for column in columns])
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    return table


_LISTED = {
    column: Column(column, right=True, rank=rank)
    for column, rank in (
        ("job", 3),
        ("item", 3),
        ("release_ns", 2),
        ("start_ns", 1),
        ("end_ns", 1),
        ("finish_ns", 1),
        ("deadline_ns", 1),
    )
}
