# SPDX-License-Identifier: BSD-2-Clause
"""Long tables folded to the rows that matter most; the others are one click away.

All rows are in the page, in their order. Folding hides some of them by CSS alone, so that it needs
no script; the filter box in addition needs one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

ROWS: Final = 10
"""Rows that a folded table shows."""
LONG: Final = 20
"""A table with more rows than this is folded."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Folded(Generic[Row]):
    """The rows of a table with whether each is hidden while the table is folded."""

    rows: Sequence[Row]
    hidden: Sequence[bool]

    @property
    def is_long(self) -> bool:
        return any(self.hidden)

    @property
    def pairs(self) -> list[tuple[Row, bool]]:
        return list(zip(self.rows, self.hidden, strict=True))

    @property
    def shown(self) -> int:
        return len(self.rows) - sum(self.hidden)

    def __len__(self) -> int:
        return len(self.rows)


def fold(rows: Sequence[Row], trouble: Sequence[float] | None = None) -> Folded[Row]:
    """The rows, of which a long table shows those with the most trouble, else the first."""
    if len(rows) <= LONG:
        return Folded(rows, [False] * len(rows))
    weights = [0.0] * len(rows) if trouble is None else trouble
    ranked = sorted(range(len(rows)), key=lambda at: -weights[at])
    seen = set(ranked[:ROWS])
    return Folded(rows, [at not in seen for at in range(len(rows))])
