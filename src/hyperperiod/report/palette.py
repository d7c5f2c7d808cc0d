# SPDX-License-Identifier: BSD-2-Clause
"""Colours that stay apart for colour-blind eyes, on white and on black.

The seven hues are those of Okabe and Ito, which were chosen for this, with yellow darkened so
that it shows on white. Beyond seven the hues repeat with a pattern on top; and nothing on a page
is told by colour alone: blocks carry names, a missed deadline has a shape of its own.
"""

from typing import Final

COLORS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800")
DASHES: Final = ("", "6 3", "2 3", "8 3 2 3")


def color(index: int) -> str:
    """Returns the colour of the index-th domain or policy."""
    return COLORS[index % len(COLORS)]


def dash(index: int) -> str:
    """The dash pattern of the index-th line, so that lines differ without their colour."""
    return DASHES[index % len(DASHES)]


def pattern(index: int) -> int:
    """0 for the first seven, then 1, 2, ...: which pattern lies over the hue."""
    return index // len(COLORS)
