# SPDX-License-Identifier: BSD-2-Clause
"""Standard output for people: lines and tables that fit the terminal, or plain text.

On a terminal text has colour and nothing is wider than the screen: sentences are wrapped at words,
and tables follow the rules of `table`. With `--wide` nothing is wrapped or left out. In a pipe or
a file everything is plain and as wide as it is, so that what is written never depends on the
terminal that it was started from. NO_COLOR and TERM=dumb turn colours off.

A word that alone is wider than the screen (the path of a file) is left whole, so that it can be
copied.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

import click

from hyperperiod.cli.options import WIDE
from hyperperiod.cli.styled import paint, wrapped

if TYPE_CHECKING:
    from hyperperiod.cli.table import Table

USUAL_WIDTH: Final = 80


def _terminal_width(stream: TextIO) -> int:
    """The columns of a terminal, or what COLUMNS says; 80 where neither knows."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_WIDTH
    except OSError:
        return USUAL_WIDTH


class Screen:
    """Standard output: its width (None: no limit) and whether it shows colours."""

    def __init__(self) -> None:
        self._stream = sys.stdout
        looks = self._stream.isatty()
        asked = click.get_current_context(silent=True)
        wide = asked is not None and asked.meta.get(WIDE, False)
        self.width = _terminal_width(self._stream) if looks and not wide else None
        self.colour = looks and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def line(self, *parts: str, indent: int = 0) -> None:
        """One line, or several separated by newlines; parts of it may be Styled.

        Where a line is wrapped, what follows stands below its first word, or `indent` to the right
        of the screen's edge if that is more.
        """
        text = "".join(paint(part, colour=self.colour) for part in parts)
        for one in text.split("\n"):
            self._write(self._fitted(one, indent))

    def table(self, table: Table) -> None:
        """Prints a table, made to fit, and a blank line."""
        self._write(table.lines(self.width, colour=self.colour, ascii_only=self._ascii_only()))

    def all(self, lines: Iterable[str | Sequence[str] | Table]) -> None:
        """Prints lines, each whole or in parts, and tables, in their order."""
        from hyperperiod.cli.table import Table

        for line in lines:
            if isinstance(line, Table):
                self.table(line)
            else:
                self.line(*([line] if isinstance(line, str) else line))

    def _fitted(self, line: str, indent: int) -> Iterable[str]:
        if self.width is None:
            return [line]
        own = len(line) - len(line.lstrip(" -"))
        return wrapped(line, self.width, " " * max(own, indent))

    def _ascii_only(self) -> bool:
        """Returns whether the stream cannot show more than ASCII."""
        try:
            "─…".encode(self._stream.encoding or "ascii")
        except UnicodeEncodeError:
            return True
        return False

    def _write(self, lines: Iterable[str]) -> None:
        self._stream.write("".join(f"{line}\n" for line in lines))
