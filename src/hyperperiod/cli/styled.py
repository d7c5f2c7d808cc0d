# SPDX-License-Identifier: BSD-2-Clause
"""Text with a colour, and how much room text takes on a terminal.

Text with a colour is a `Styled`, a str like any other until it is painted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final, Self

import click

Style = Mapping[str, Any]

GOOD: Final[Style] = {"fg": "green"}
BAD: Final[Style] = {"fg": "red", "bold": True}
OPEN: Final[Style] = {"fg": "yellow"}
FAULT: Final[Style] = {"fg": "red"}
BOLD: Final[Style] = {"bold": True}
ITALIC: Final[Style] = {"italic": True}
FAINT: Final[Style] = {"dim": True}


class Styled(str):
    """A text that knows the colour that it has on a terminal."""

    style: Style

    def __new__(cls, text: str, style: Style) -> Self:
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


def paint(text: str, *, colour: bool = True) -> str:
    """A Styled with the terminal's codes for its colour; any other text as it is."""
    return click.style(text, **text.style) if colour and isinstance(text, Styled) else text


def visible(text: str) -> int:
    """Returns how many columns of a terminal a text takes, codes for colours not counted."""
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
