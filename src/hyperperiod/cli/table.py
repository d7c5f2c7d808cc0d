# SPDX-License-Identifier: BSD-2-Clause
"""One table: its columns are measured, aligned and, where a width is given, made to fit.

A table that is too wide for its screen is made narrower in this order, until it fits:

1. less space between columns; headings, sentences and the paths of flows go over several lines,
   and names longer than 20 characters are shortened in the middle;
2. columns are left out, the least important first (`Column.rank`). A table of series (`in_blocks`)
   leaves none out: its columns stand below each other in blocks, with the names repeated;
3. names are shortened further.

What was left out or shortened is said in a line below the table. No line ends in spaces. Without a
width a table is as wide as it needs to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from hyperperiod.cli.styled import BOLD, FAINT, ITALIC, Styled, paint, visible, wrapped

Cell = str | tuple[str, ...]
"""What stands in a row and a column; a tuple stands on several lines."""

GAP: Final = 3
NARROW_GAP: Final = 2
EDGE: Final = " "
LONG_NAME: Final = 20
LONG_NAME_IN_BLOCKS: Final = 30
SHORT_NAME: Final = 8


class Column(NamedTuple):
    """A column of a table; rank 0 is always shown, the highest rank is left out first.

    Cells that fold (sentences, the paths of flows) may go over several lines, in at least `folds`
    columns of the screen.
    """

    name: str
    right: bool = False
    rank: int = 0
    folds: int = 0


def words(*names: str, rank: int = 0) -> list[Column]:
    """Returns columns of names and other words, which stand on the left."""
    return [Column(name, rank=rank) for name in names]


def numbers(*names: str, rank: int = 1) -> list[Column]:
    """Columns of numbers; among equal ranks the last one is left out first."""
    return [Column(name, right=True, rank=rank) for name in names]


@dataclass
class Table:
    """A table for the terminal: rows of cells under a title; a list has no title."""

    title: str
    columns: Sequence[Column]
    in_blocks: bool = False
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    _sections: set[int] = field(default_factory=set)

    def add_row(self, *cells: Cell) -> None:
        """Adds a row, one cell for each column."""
        assert len(cells) == len(self.columns), "one cell for each column"
        self.rows.append(cells)

    def add_section(self) -> None:
        """Lets a blank line stand before the next row."""
        self._sections.add(len(self.rows))

    def lines(
        self, width: int | None = None, *, colour: bool = False, ascii_only: bool = False
    ) -> Iterator[str]:
        """The table as text, no line wider than `width`; with a title, a blank line behind it.

        With `colour`, headings and Styled cells have the codes of a terminal.
        """
        rule, cut = ("-", "...") if ascii_only else ("─", "…")
        blocks, note = _plan(self, width)
        if self.title:
            for line in [self.title] if width is None else wrapped(self.title, width):
                yield paint(Styled(line, ITALIC), colour=colour)
            yield ""
        for block in blocks:
            yield from _row(self, block, _heading(self, block), colour=colour)
            yield EDGE + rule * (block.width - len(EDGE))
            for number, row in enumerate(self.rows):
                if number in self._sections and number:
                    yield ""
                cells = [
                    _fitted(row[index], wide, self.columns[index], cut)
                    for index, wide in zip(block.shown, block.widths, strict=True)
                ]
                yield from _row(self, block, cells, colour=colour)
            if block is not blocks[-1]:
                yield ""
        if note and width is not None:
            for line in wrapped(EDGE + note, width, EDGE):
                yield paint(Styled(line, FAINT), colour=colour)
        if self.title:
            yield ""


class _Block(NamedTuple):
    """Columns that stand beside each other: which, how wide, and how far apart."""

    shown: list[int]
    widths: list[int]
    gap: int

    @property
    def width(self) -> int:
        return len(EDGE) + sum(self.widths) + self.gap * (len(self.widths) - 1)


def _plan(table: Table, width: int | None) -> tuple[list[_Block], str]:
    """The blocks of columns that fit a width, and a note on what they leave out."""
    every = list(range(len(table.columns)))
    cells = [_widest(row[index] for row in table.rows) for index in every]
    whole = [
        max(visible(column.name), cell) for column, cell in zip(table.columns, cells, strict=True)
    ]
    block = _Block(every, whole, GAP)
    if width is None or block.width <= width:
        return [block], ""
    longest = LONG_NAME_IN_BLOCKS if table.in_blocks else LONG_NAME
    min_widths = [
        _least(column, cell, longest) for column, cell in zip(table.columns, cells, strict=True)
    ]
    groups = (
        _groups(table, min_widths, width) if table.in_blocks else [_kept(table, min_widths, width)]
    )
    blocks = [_spread(table, group, (min_widths, whole), width) for group in groups]
    return blocks, _note(table, blocks, cells)


def _widest(cells: Iterable[Cell]) -> int:
    lines = (line for cell in cells for line in ((cell,) if isinstance(cell, str) else cell))
    return max(map(visible, lines), default=0)


def _least(column: Column, cells: int, longest: int) -> int:
    """The width that a column gets before others are left out for it."""
    if column.folds:
        cells = min(cells, column.folds)
    elif _may_shrink(column):
        cells = min(cells, longest)
    return max(cells, *map(visible, column.name.split(" ")))


def _may_shrink(column: Column) -> bool:
    """Numbers are never cut, nor are words that can be left out."""
    return column.rank == 0 and not column.right


def _kept(table: Table, min_widths: list[int], width: int) -> list[int]:
    """The columns that remain when the least important ones are left out, until they fit."""
    kept = list(range(len(table.columns)))
    while _Block(kept, [min_widths[index] for index in kept], NARROW_GAP).width > width:
        weakest = max(kept, key=lambda index: (table.columns[index].rank, index))
        if table.columns[weakest].rank == 0:
            break
        kept.remove(weakest)
    return kept


def _groups(table: Table, min_widths: list[int], width: int) -> list[list[int]]:
    """The columns of each block: the names and, evenly spread, others, at least one of them."""
    fixed = [index for index, column in enumerate(table.columns) if column.rank == 0]
    others = [index for index, column in enumerate(table.columns) if column.rank]
    for size in range(len(others), 0, -1):
        count = -(-len(others) // size)
        ends = [len(others) * number // count for number in range(count + 1)]
        groups = [[*fixed, *others[low:high]] for low, high in pairwise(ends)]
        widths = (_Block(one, [min_widths[at] for at in one], NARROW_GAP).width for one in groups)
        if size == 1 or max(widths) <= width:
            return groups
    return [fixed]


def _spread(
    table: Table, shown: list[int], bounds: tuple[list[int], list[int]], width: int
) -> _Block:
    """A block in which the columns have got what is left of the width, or names given up some."""
    min_widths, whole = bounds
    widths = {index: min_widths[index] for index in shown}
    left = width - _Block(shown, list(widths.values()), NARROW_GAP).width
    soft = [index for index in shown if _may_shrink(table.columns[index])]
    while left < 0 and any(widths[index] > SHORT_NAME for index in soft):
        widths[max(soft, key=lambda index: widths[index])] -= 1
        left += 1
    for index in shown:
        more = max(0, min(left, whole[index] - widths[index]))
        widths[index] += more
        left -= more
    return _Block(shown, list(widths.values()), NARROW_GAP)


def _note(table: Table, blocks: list[_Block], cells: list[int]) -> str:
    """A sentence on the columns that are left out or shortened; empty if none is."""
    shown = {
        index: width
        for block in blocks
        for index, width in zip(block.shown, block.widths, strict=True)
    }
    out = [column.name for at, column in enumerate(table.columns) if at not in shown]
    short = [
        column.name
        for at, column in enumerate(table.columns)
        if at in shown and not column.folds and shown[at] < cells[at]
    ]
    found = [
        f"{what}: {', '.join(columns)}"
        for what, columns in (("left out", out), ("shortened", short))
        if columns
    ]
    return f"for lack of width {'; '.join(found)} (--wide shows all)" if found else ""


def _heading(table: Table, block: _Block) -> list[list[str]]:
    """The names of the columns, on as many lines as the narrowest needs, the last line full."""
    cells = [
        wrapped(table.columns[index].name, width)
        for index, width in zip(block.shown, block.widths, strict=True)
    ]
    tallest = max(map(len, cells))
    return [
        [*[""] * (tallest - len(cell)), *(Styled(line, BOLD) for line in cell)] for cell in cells
    ]


def _fitted(cell: Cell, width: int, column: Column, cut: str) -> Sequence[str]:
    """The lines of a cell in the width of its column."""
    lines = (cell,) if isinstance(cell, str) else cell
    if all(visible(line) <= width for line in lines):
        return lines
    if not column.folds:
        return [_like(line, shortened(line, width, cut)) for line in lines]
    return [
        _like(line, shortened(part.replace("\0", " "), width, cut))
        for line in lines
        for part in wrapped(line.replace(" > ", " >\0"), width)
    ]


def _like(model: str, text: str) -> str:
    return Styled(text, model.style) if isinstance(model, Styled) else text


def shortened(text: str, width: int, cut: str = "…") -> str:
    """A text with its middle cut out, marked by `cut`, if it is wider than that."""
    kept = width - len(cut)
    short = text
    while visible(short) > width and kept >= 0:
        short = text[: (kept + 1) // 2] + cut + text[len(text) - kept // 2 :]
        kept -= 1
    return short


def _row(
    table: Table, block: _Block, cells: Sequence[Sequence[str]], *, colour: bool
) -> Iterator[str]:
    """The lines of one row, its cells aligned in the widths of their columns."""
    gap = " " * block.gap
    for at in range(max(map(len, cells))):
        parts = []
        for index, width, lines in zip(block.shown, block.widths, cells, strict=True):
            text = lines[at] if at < len(lines) else ""
            space = " " * (width - visible(text))
            shown = paint(text, colour=colour)
            parts.append(space + shown if table.columns[index].right else shown + space)
        yield (EDGE + gap.join(parts)).rstrip()
