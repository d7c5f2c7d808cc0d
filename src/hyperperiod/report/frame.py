# SPDX-License-Identifier: BSD-2-Clause
"""What charts with a vertical axis from 0 have in common: legend, frame, and the axis' values.

Places are in drawing units, from the upper left corner. Values stay in the units of their maker; a
`Scale` says how they are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import Final, NamedTuple

from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.report.charts import round_up
from hyperperiod.report.palette import color, dash

LEFT: Final = 64.0
RIGHT: Final = 22.0
HEAD: Final = 30.0
ROW: Final = 18.0
BELOW: Final = 46.0
CHARACTER: Final = 6.6
"""About how wide a letter of the labels is: fonts differ, and nothing here can measure them."""


class Scale(NamedTuple):
    """A unit for the values of an axis: `size` of them are one `unit`."""

    label: str
    unit: str = ""
    size: float = 1.0


ACCEPTED: Final = Scale("accepted", "%", 0.01)


def time_scale(label: str, max_ns: float) -> Scale:
    """Nanoseconds in the largest unit that is below the largest time."""
    size, unit = max((ns, unit) for unit, ns in NS_PER_UNIT.items() if ns <= max(max_ns, 1))
    return Scale(label, unit.replace("us", "µs"), size)


class Key(NamedTuple):
    """One entry of a legend: its text, colour and place."""

    name: str
    color: str
    dash: str
    x: float
    y: float


class Frame:
    """The legend from left to right in as many rows as it needs, and the plot below it."""

    def __init__(
        self, names: Sequence[str], width: float, plot_height: float, *, subtitle: bool
    ) -> None:
        self.width = width
        self.right = width - RIGHT
        self.keys = list(self._keys(names, HEAD + (ROW if subtitle else 0) + 14))
        self.top = (self.keys[-1].y if self.keys else HEAD) + 36
        self.bottom = self.top + plot_height
        self.height = self.bottom + BELOW

    def y(self, value: float, y_max: float) -> float:
        """Returns the place in the picture of a value from 0 to `y_max`."""
        return round(self.bottom - value / y_max * (self.bottom - self.top), 2)

    def y_ticks(self, y_max: float, scale: Scale) -> list[tuple[float, str]]:
        """Returns round values of the vertical axis: where they stand, and their labels."""
        return [(self.y(value, y_max), text) for value, text in ticks(0, y_max, scale, 6)]

    def _keys(self, names: Sequence[str], y: float) -> Iterator[Key]:
        x = LEFT
        for index, name in enumerate(names):
            wide = 38 + CHARACTER * len(name) + 14
            if index and x + wide > self.right:
                x, y = LEFT, y + ROW
            yield Key(name, color(index), dash(index), x, y)
            x += wide


def ticks(low: float, high: float, scale: Scale, count: int) -> list[tuple[float, str]]:
    """Round values from `low` to `high` with their labels."""
    step = round_up((high - low) / scale.size / count)
    first = -floor(-low / scale.size / step + 1e-9)
    last = floor(high / scale.size / step + 1e-9)
    return [(at * step * scale.size, _short(at * step)) for at in range(first, last + 1)]


def log_ticks(low: float, high: float, scale: Scale) -> list[tuple[float, str]]:
    """The powers of ten from `low` to `high` with their labels; also 2 and 5 of few of them."""
    first, last = (floor(log10(end / scale.size)) for end in (low, high))
    factors = (1, 2, 5) if last - first < 4 else (1,)
    found = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
    return [(at * scale.size, _short(at)) for at in found if low <= at * scale.size <= high]


def _short(value: float) -> str:
    """A round number in the room that there is beside an axis: 2500, 2.5e9."""
    text = f"{value:.10g}"
    return text if len(text) <= 7 else f"{value:.4g}".replace("e+0", "e").replace("e+", "e")
