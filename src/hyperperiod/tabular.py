# SPDX-License-Identifier: BSD-2-Clause
"""What results are to notebooks: tables of plain values, data frames, HTML, plots.

A result says what its tables are called (`TABLES`, the most wanted first), gives the rows of each
as dictionaries with the same keys, and one sentence about itself. Frames, HTML and plots are all
made of these: what a notebook shows has the columns that the frame has. Times are whole nanoseconds
in columns that end in `_ns`; only HTML and plots show them with units.

pandas and matplotlib are loaded when a frame or a plot is asked for; without them that is a
MissingError with the command that installs them. HTML needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from matplotlib.axes import Axes

Row = dict[str, Any]

SHOWN_ROWS = 40
"""How many rows a notebook shows of a table."""


class Tabular:
    """A result with tables; see above."""

    TABLES: ClassVar[tuple[str, ...]]

    @property
    def headline(self) -> str:
        """The result in one sentence, the title of its plot."""
        raise NotImplementedError

    def rows(self, table: str | None = None) -> list[Row]:
        """The rows of a table (the first of `TABLES` if not said), as dictionaries.

        InputError for a table that the result does not have.
        """
        from hyperperiod.model.errors import InputError

        name = self.TABLES[0] if table is None else table
        if name not in self.TABLES:
            allowed = ", ".join(self.TABLES)
            raise InputError(type(self).__name__, None, "table", repr(table), allowed)
        return list(self._rows(name))

    def _rows(self, table: str) -> Iterable[Row]:
        raise NotImplementedError

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """The rows of a table as a pandas data frame; MissingError without pandas.

        Flags that may be unknown and numbers that may be missing have pandas' types for that.
        """
        from hyperperiod.libraries import require

        rows = self.rows(table)
        require("pandas", "notebook", "a data frame")
        import pandas as pd

        return pd.DataFrame(rows).convert_dtypes()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the result on `ax`, or on axes of its own, and returns them.

        MissingError without matplotlib.
        """
        from hyperperiod.libraries import require

        require("matplotlib", "notebook", "a plot")
        from hyperperiod.plots import axes

        drawn = axes() if ax is None else ax
        self._draw(drawn)
        drawn.set_title(self.headline, fontsize="medium")
        return drawn

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """The headline and the first table, as notebooks show them."""
        from html import escape

        rows = self.rows()
        parts = [f"<p>{escape(self.headline)}</p>"]
        if rows:
            parts.append(_html_table(rows[:SHOWN_ROWS]))
        if len(rows) > SHOWN_ROWS:
            parts.append(f"<p>{len(rows) - SHOWN_ROWS:,} more rows: to_frame() has them all</p>")
        return "\n".join(parts)


def _html_table(rows: list[Row]) -> str:
    from html import escape

    head = "".join(f"<th>{escape(key.removesuffix('_ns'))}</th>" for key in rows[0])
    lines = [
        "<tr>" + "".join(_html_cell(key, value) for key, value in row.items()) + "</tr>"
        for row in rows
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _html_cell(key: str, value: Any) -> str:
    from html import escape

    side = "left" if isinstance(value, str) else "right"
    return f'<td style="text-align: {side}">{escape(value_text(key, value))}</td>'


def value_text(key: str, value: Any) -> str:
    """A value of a column as people read it: times with units, flags as words."""
    from hyperperiod.model.units import format_time

    if value is None:
        return "unknown" if key == "schedulable" else "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_ns") and isinstance(value, int):
        return format_time(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
