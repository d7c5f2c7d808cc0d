# SPDX-License-Identifier: BSD-2-Clause
"""Draws what a neighbour does to a cyclic task on Linux, from the measured numbers.

    python docs/price.py            writes docs/pictures/linux-price.svg

A row is a scheduler: from the least response of the task to the longest, with a mark at the median.
Output is plain SVG, the same for the same numbers, so that a test can say whether it is still true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from hyperperiod.measured import Number, read
from hyperperiod.report.schedule import COLORS, WIDTH, framed

SECTION: Final = "linux_host"
FILE: Final = Path(__file__).parent / "pictures" / "linux-price.svg"
ROWS: Final = {
    "alone": "nobody beside",
    "EEVDF": "EEVDF",
    "cpu.max": "cpu.max",
    "SCHED_DEADLINE": "SCHED_DEADLINE",
    "cbs": "servers, EDF",
    "ds": "servers, fixed priority",
}
LEFT, RIGHT = 170, 24
HEAD, ROW, FOOT, BAR = 14, 34, 42, 14
LAST_MS: Final = 9
LEGEND: Final = "response of a task of 2 ms (ms): least, median, longest of 100 jobs"


def svg(numbers: Mapping[str, Number]) -> str:
    """The picture of these numbers."""
    bottom = HEAD + ROW * len(ROWS)
    height = bottom + FOOT
    parts = [
        *axis(bottom),
        *(part for row, key in enumerate(ROWS) for part in spread(numbers, row, key)),
        f'<text class="faint" x="{LEFT}" y="{bottom + 34}">{LEGEND}</text>',
    ]
    return framed(height, "Responses of a task of 2 ms beside one that never sleeps", parts)


def x(ms: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * ms / LAST_MS


def axis(bottom: int) -> Iterator[str]:
    for ms in range(LAST_MS + 1):
        yield f'<path class="line" d="M{x(ms):.1f} {HEAD - 6}V{bottom}"/>'
        place = f'x="{x(ms):.1f}" y="{bottom + 16}" text-anchor="middle"'
        yield f'<text class="faint" {place}>{ms}</text>'


def spread(numbers: Mapping[str, Number], row: int, key: str) -> Iterator[str]:
    """A row: its name, the bar, the mark at the median."""
    least, median, longest = (
        numbers[f"cyclic, {key}: response, {which}"].value / 1e6
        for which in ("least", "median", "longest")
    )
    y, ours = HEAD + ROW * row + 8, ROWS[key].startswith("servers")
    yield f'<text class="ink" x="10" y="{y + 12}">{ROWS[key]}</text>'
    wide = max(x(longest) - x(least), 2)
    yield (
        f'<rect x="{x(least):.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" '
        f'fill="{COLORS[0 if ours else 1]}"/>'
    )
    yield f'<path class="mark" stroke-width="2" d="M{x(median):.1f} {y - 3}v{BAR + 6}"/>'


def main() -> int:
    """Writes the picture."""
    FILE.write_text(svg(read()[SECTION].numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
