# SPDX-License-Identifier: BSD-2-Clause
"""Standard output for people: lines and tables that fit the terminal, or plain text.

On a terminal text has colour and nothing is wider than the screen: sentences are wrapped at words,
and tables follow the rules of `table`. With `--wide` nothing is wrapped or left out. In a pipe or
a file everything is plain and as wide as it is, so that what is written never depends on the
terminal that it was started from. NO_COLOR and TERM=dumb turn colours off.

Text with a colour is a `Styled`, a str like any other until it is painted. A word that alone is
wider than the screen (the path of a file) is left whole, so that it can be copied.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

import click

from hyperperiod.cli.options import WIDE

if TYPE_CHECKING:
    from hyperperiod.cli.table import Table

Style = Mapping[str, Any]

GOOD: Final[Style] = {"fg": "green"}
BAD: Final[Style] = {"fg": "red", "bold": True}
OPEN: Final[Style] = {"fg": "yellow"}
FAULT: Final[Style] = {"fg": "red"}
BOLD: Final[Style] = {"bold": True}
ITALIC: Final[Style] = {"italic": True}
FAINT: Final[Style] = {"dim": True}


USUAL_WIDTH: Final = 80


class Styled(str):
    """A text with the colour that it has on a terminal."""

    style: Style

    def __new__(cls, text: str, style: Style) -> Self:
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


def paint(text: str, *, colour: bool = True) -> str:
    """A Styled with the terminal's codes for its colour; any other text as it is."""
    return click.style(text, **text.style) if colour and isinstance(text, Styled) else text


def visible(text: str) -> int:
    """How many columns of a terminal a text takes, codes for colours not counted."""
    if "\x1b" in text:
        text = click.unstyle(text)
    if text.isascii():
        return len(text)
    return sum(_columns(sign) for sign in text)


def _columns(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A line as several that are no wider; all but the first begin with `indent`.

    A word that is too long even for a line of its own stays where it is.
    """
    first, *others = text.split(" ")
    lines, line = [], first
    for word in others:
        start = visible(line) + 1
        if line.strip() and start > len(indent) and start + visible(word) > width:
            lines.append(line.rstrip())
            line = indent + word
        else:
            line = f"{line} {word}"
    return [*lines, line.rstrip()]


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
        """A table and a blank line."""
        self._write(table.lines(self.width, colour=self.colour, ascii_only=self._ascii_only()))

    def _fitted(self, line: str, indent: int) -> Iterable[str]:
        if self.width is None:
            return [line]
        own = len(line) - len(line.lstrip(" -"))
        return wrapped(line, self.width, " " * max(own, indent))

    def _ascii_only(self) -> bool:
        """Whether the stream cannot show more than ASCII."""
        try:
            "─…".encode(self._stream.encoding or "ascii")
        except UnicodeEncodeError:
            return True
        return False

    def _write(self, lines: Iterable[str]) -> None:
        self._stream.write("".join(f"{line}\n" for line in lines))
