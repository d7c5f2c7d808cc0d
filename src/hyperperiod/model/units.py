# SPDX-License-Identifier: BSD-2-Clause
"""Times: text with a unit in files, whole nanoseconds everywhere else.

`parse_time("1.5us")` is 1500. The arithmetic is decimal and exact; what is not a whole number
of nanoseconds is refused, not rounded. Every time is below 2^62 ns (146 years), so that the
sum of any two still fits a signed 64-bit integer on every host.
"""

from __future__ import annotations

import re
from fractions import Fraction

NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
TIME_LIMIT_NS = 2**62
TIME_PATTERN = r"^[0-9]+(\.[0-9]+)? ?(ns|us|µs|μs|ms|s)$"
TIME_ALLOWED = 'a time with a unit (ns, us, ms, s), such as "10ms" or "1.5us"'

# Longer texts cannot be a time below 2^62 ns in any sensible spelling.
_TEXT_LIMIT = 64
# Pages print µs; there are two such letters, the micro sign and the Greek one.
_TIME = re.compile(r"([0-9]+)(?:\.([0-9]+))? ?(ns|[uµμ]s|ms|s)")


class TimeFormatError(ValueError):
    """A text that is no time; `allowed` says what one looks like."""

    def __init__(self, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(f"allowed: {allowed}")


def parse_time(text: str) -> int:
    """The time that `text` says, in nanoseconds; TimeFormatError if it says none."""
    match = _TIME.fullmatch(text) if len(text) <= _TEXT_LIMIT else None
    if match is None:
        raise TimeFormatError(TIME_ALLOWED)
    whole, decimals, unit = match.group(1), match.group(2) or "", match.group(3)
    ns_per_unit = NS_PER_UNIT.get(unit, NS_PER_UNIT["us"])
    time_ns = Fraction(int(whole + decimals), 10 ** len(decimals)) * ns_per_unit
    if time_ns.denominator != 1:
        raise TimeFormatError("a whole number of nanoseconds")
    if time_ns >= TIME_LIMIT_NS:
        raise TimeFormatError("a time below 2^62 ns (about 146 years)")
    return int(time_ns)


def format_time(time_ns: int) -> str:
    """The shortest exact text of a time in the largest unit below it: 1500 is "1.5us"."""
    size, unit = abs(time_ns), "ns"
    for name, ns in NS_PER_UNIT.items():
        if size >= ns:
            unit = name
    whole, rest = divmod(size, NS_PER_UNIT[unit])
    digits = len(str(NS_PER_UNIT[unit])) - 1
    decimals = f"{rest:0{digits}d}".rstrip("0") if rest else ""
    sign = "-" if time_ns < 0 else ""
    return f"{sign}{whole}{'.' + decimals if decimals else ''}{unit}"
