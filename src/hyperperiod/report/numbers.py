# SPDX-License-Identifier: BSD-2-Clause
"""Numbers as people read them. Exact values stay in the result objects."""

from typing import Final

NOTHING: Final = "–"
_UNITS: Final = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def duration(time_ns: float | None) -> str:
    """A time with at most four significant digits: 1234567 is `1.235 ms`."""
    if time_ns is None:
        return NOTHING
    if time_ns == 0:
        return "0"
    size, unit = next(((size, unit) for size, unit in _UNITS if time_ns >= size), _UNITS[-1])
    return f"{time_ns / size:.4g} {unit}"


def percent(value: float | None) -> str:
    """A share: 0.12345 is `12.3 %`; a small one keeps a digit that is not zero, down to 0.001 %."""
    if value is None:
        return NOTHING
    if 0 < value < 0.00001:
        return "< 0.001 %"
    if value != 0 and abs(value) < 0.0005:
        return f"{value * 100:.1g} %"
    return f"{value * 100:.1f} %"


def whole(value: int | None) -> str:
    """Returns a count as text, with thin spaces between thousands."""
    return NOTHING if value is None else f"{value:,}".replace(",", "\u202f")


def times(count: int, one: str, many: str | None = None) -> str:
    """Returns a count with its word: `1 job`, `3 jobs`."""
    return f"{whole(count)} {one if count == 1 else many or one + 's'}"
