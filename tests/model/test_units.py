# SPDX-License-Identifier: BSD-2-Clause
"""Times are read exactly, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperperiod.model.units import TIME_LIMIT_NS, TimeFormatError, format_time, parse_time


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("0ns", 0),
        ("1ns", 1),
        ("1.5us", 1_500),
        ("10ms", 10_000_000),
        # The micro sign and the Greek letter, as pages print them.
        ("7\N{MICRO SIGN}s", 7_000),
        ("0.5 \N{GREEK SMALL LETTER MU}s", 500),
        ("10 ms", 10_000_000),
        ("0.000000001s", 1),
        ("1.000000s", 1_000_000_000),
        ("007ms", 7_000_000),
        ("4611686018427387903ns", TIME_LIMIT_NS - 1),
        # Binary floating point would give 299999.99999999994 here.
        ("0.3ms", 300_000),
    ],
)
def test_times(text: str, time_ns: int) -> None:
    assert parse_time(text) == time_ns


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "ms", "1 m", "1min", "1h", "1.ms", ".5ms", "1,5ms", "+1ms", "-1ms", "1e3ns",
        "1ms ", " 1ms", "1  ms", "1ms\n", "1_000ns", "0x1ns", "0.5ns", "1.0001us", "inf s",
        "4611686018427387904ns", "4611686019s", "1" * 61 + "ns", "١ms", "1µ", "1µm",
    ],
)  # fmt: skip
def test_no_times(text: str) -> None:
    with pytest.raises(TimeFormatError, match="allowed: "):
        parse_time(text)


@given(st.integers(0, TIME_LIMIT_NS - 1))
def test_every_time_survives_being_written(time_ns: int) -> None:
    assert parse_time(format_time(time_ns)) == time_ns


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [(0, "0ns"), (999, "999ns"), (1_500, "1.5us"), (1_000_000, "1ms"), (-2_500_000, "-2.5ms")],
)
def test_times_are_written_short(time_ns: int, text: str) -> None:
    assert format_time(time_ns) == text
