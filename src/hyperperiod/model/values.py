# SPDX-License-Identifier: BSD-2-Clause
"""The types of single values in a system: times, names, execution-time factors.

A file must write a time as text with a unit; Python code may also give whole nanoseconds.
Which of the two is reading is told by the validation context (`FROM_FILE`), and so is whether
every domain of a partitioned system must have its pcpu (`PINNED`).
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from hyperperiod.model.units import (
    TIME_ALLOWED,
    TIME_LIMIT_NS,
    TIME_PATTERN,
    TimeFormatError,
    format_time,
    parse_time,
)

FROM_FILE = {"from_file": True}
PINNED = {"pinned": True}

# Names appear in CSV cells, in "a;b" lists and in file names. Hence no separators or quotes.
_NOT_IN_NAMES = r"""\x00-\x1f\x7f-\x9f\u2028\u2029,;"'\\<>|/"""
NAME_PATTERN = rf"^[^\s{_NOT_IN_NAMES}]([^{_NOT_IN_NAMES}]*[^\s{_NOT_IN_NAMES}])?$"
NAME_LIMIT = 64
NAME_ALLOWED = (
    f"1 to {NAME_LIMIT} characters, none of them , ; \" ' \\ / < > | or a control character,"
    " no space at either end"
)
_NAME = re.compile(NAME_PATTERN[1:-1])

ETF_DECIMALS = 9
ETF_ALLOWED = f"a number above 0 and at most 1 with at most {ETF_DECIMALS} decimals"


def finding(found: str, allowed: str) -> PydanticCustomError:
    """A value that its type refuses, in the two halves that every message has."""
    return PydanticCustomError(
        "finding", "found {found}; allowed: {allowed}", {"found": found, "allowed": allowed}
    )


def show(value: Any) -> str:
    """A value as the file would write it, cut short when it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value) if len(value) <= 80 else repr(value[:80]) + "..."
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a very large number"
    text = str(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _read_time(value: Any, info: ValidationInfo) -> int:
    if isinstance(value, str):
        try:
            return parse_time(value)
        except TimeFormatError as error:
            raise finding(show(value), error.allowed) from None
    from_file = bool(info.context and info.context.get("from_file"))
    if isinstance(value, int) and not isinstance(value, bool) and not from_file:
        if not 0 <= value < TIME_LIMIT_NS:
            raise finding(show(value), "whole nanoseconds from 0 up to below 2^62")
        return value
    raise finding(show(value), TIME_ALLOWED)


def _above_zero(time_ns: int) -> int:
    if time_ns == 0:
        raise finding("0", "a time above 0")
    return time_ns


def _read_name(value: Any) -> str:
    if isinstance(value, str) and len(value) <= NAME_LIMIT and _NAME.fullmatch(value):
        return value
    raise finding(show(value), NAME_ALLOWED)


def _read_etf(value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        raise finding(show(value), ETF_ALLOWED)
    # NaN compares with nothing, and the range comes before the fraction: that of 1e-999999
    # would fill the memory.
    if value != value or not 0 < value <= 1 or value < Fraction(1, 10**ETF_DECIMALS):
        raise finding(show(value), ETF_ALLOWED)
    exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    if not isinstance(value, Fraction) and (exact * 10**ETF_DECIMALS).denominator != 1:
        raise finding(show(value), ETF_ALLOWED)
    return exact


_TIME_SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": TIME_PATTERN,
    "examples": ["10ms", "1.5us"],
}

Time = Annotated[
    int,
    BeforeValidator(_read_time),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema(_TIME_SCHEMA),
]
PositiveTime = Annotated[
    int,
    BeforeValidator(_read_time),
    AfterValidator(_above_zero),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema(_TIME_SCHEMA),
]
Name = Annotated[
    str,
    BeforeValidator(_read_name),
    WithJsonSchema(
        {"type": "string", "minLength": 1, "maxLength": NAME_LIMIT, "pattern": NAME_PATTERN}
    ),
]
Etf = Annotated[
    Fraction,
    BeforeValidator(_read_etf),
    PlainSerializer(float, return_type=float),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
]
