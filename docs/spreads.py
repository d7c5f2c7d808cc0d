# SPDX-License-Identifier: BSD-2-Clause
"""Draws measured times as bars: from a least to a longest, with a mark between them.

    python -m docs.spreads          writes the pictures of PICTURES

One says what a neighbour does to a cyclic task on Linux, one how soon pages come by the server of
dom0. Output is plain SVG, the same for the same numbers, so that a test can say whether it is still
true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bench.dom0 import SETTINGS

from hyperperiod.measured import Number, read
from hyperperiod.report.schedule import COLORS, WIDTH, framed

FOLDER: Final = Path(__file__).parent / "pictures"
RIGHT: Final = 24
HEAD, FOOT = 14, 42
PER_MS: Final = {"ms": 1, "ns": 1e6, "instructions": 1e6}
"""An instruction takes a nanosecond there."""


class Bar(NamedTuple):
    """A row: what stands before it, its color, and the names of its three numbers."""

    text: str
    color: str
    least: str
    middle: str
    longest: str


class Picture(NamedTuple):
    """Bars over an axis of whole ms; the numbers are those of a section of measured.toml."""

    section: str
    title: str
    legend: str
    bars: tuple[Bar, ...]
    last_ms: int
    step_ms: int = 1
    left: int = 170
    row: int = 34
    bar: int = 14

    def svg(self, numbers: Mapping[str, Number]) -> str:
        """The picture of these numbers."""
        bottom = HEAD + self.row * len(self.bars)
        parts = [
            *self._axis(bottom),
            *(part for row in range(len(self.bars)) for part in self._spread(numbers, row)),
            f'<text class="faint" x="{self.left}" y="{bottom + 34}">{self.legend}</text>',
        ]
        return framed(bottom + FOOT, self.title, parts)

    def _x(self, ms: float) -> float:
        return self.left + (WIDTH - self.left - RIGHT) * ms / self.last_ms

    def _axis(self, bottom: int) -> Iterator[str]:
        for ms in range(0, self.last_ms + 1, self.step_ms):
            yield f'<path class="line" d="M{self._x(ms):.1f} {HEAD - 6}V{bottom}"/>'
            place = f'x="{self._x(ms):.1f}" y="{bottom + 16}" text-anchor="middle"'
            yield f'<text class="faint" {place}>{ms}</text>'

    def _spread(self, numbers: Mapping[str, Number], row: int) -> Iterator[str]:
        """A row: its text, the bar, the mark."""
        bar = self.bars[row]
        y = HEAD + self.row * row + (self.row - self.bar) // 2 - 2
        if bar.text:
            yield f'<text class="ink" x="10" y="{y + 12}">{bar.text}</text>'
        ms = (numbers[name] for name in (bar.least, bar.middle, bar.longest))
        least, middle, longest = (self._x(one.value / PER_MS[one.unit]) for one in ms)
        wide = max(longest - least, 2)
        yield (
            f'<rect x="{least:.1f}" y="{y}" width="{wide:.1f}" height="{self.bar}" '
            f'fill="{bar.color}"/>'
        )
        yield f'<path class="mark" stroke-width="2" d="M{middle:.1f} {y - 3}v{self.bar + 6}"/>'


def on_linux(key: str, text: str) -> Bar:
    """The least, the median and the longest response under a scheduler; ours have their color."""
    least, median, longest = (
        f"cyclic, {key}: response, {which}" for which in ("least", "median", "longest")
    )
    return Bar(text, COLORS[0 if text.startswith("servers") else 1], least, median, longest)


def with_dom0() -> Iterator[Bar]:
    """Two bars for each setting of dom0: where the median lies, and where the slow pages."""
    for setting in (name for group in SETTINGS for name in group):
        for text, color, what in zip((setting, ""), COLORS, ("median", "late"), strict=False):
            name = f"{setting}: {what}"
            yield Bar(text, color, f"{name} from", name, f"{name} to")


PICTURES: Final = {
    "linux-price": Picture(
        "linux_host",
        "Responses of a task of 2 ms beside one that never sleeps",
        "response of a task of 2 ms (ms): least, median, longest of 100 jobs",
        (
            on_linux("alone", "nobody beside"),
            on_linux("EEVDF", "EEVDF"),
            on_linux("cpu.max", "cpu.max"),
            on_linux("SCHED_DEADLINE", "SCHED_DEADLINE"),
            on_linux("cbs", "servers, EDF"),
            on_linux("ds", "servers, fixed priority"),
        ),
        last_ms=9,
    ),
    "dom0": Picture(
        "dom0",
        "How soon pages come by the server of dom0",
        "until a page is there (ms): the median, below it 95 of 100; means, intervals of 95 %",
        tuple(with_dom0()),
        last_ms=250,
        step_ms=50,
        left=250,
        row=20,
        bar=10,
    ),
}


def main() -> int:
    """Writes the pictures."""
    sections = read()
    for name, picture in PICTURES.items():
        text = picture.svg(sections[picture.section].numbers)
        (FOLDER / f"{name}.svg").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
