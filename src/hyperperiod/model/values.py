# SPDX-License-Identifier: BSD-2-Clause
"""What single values in a file may be: numbers, texts, times, names, choices, lists of them.

Each kind of value reads one (`read`) and describes itself in JSON Schema (`schema`). What it
refuses it notes in the `Reading`, with the place, what was found and what is allowed, and goes on:
one reading of a file finds everything that is wrong with it. The types at the end of this file
(`Time`, `Name`, ...) are what fields of records are declared with; see `part`.

A file must write a time as text with a unit; Python code may also give whole nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from hyperperiod.model.units import (
    TIME_ALLOWED,
    TIME_LIMIT_NS,
    TIME_PATTERN,
    TimeFormatError,
    format_time,
    parse_time,
)

Path = tuple[str | int, ...]
"""A key in a file: `("domain", 1, "task", 0, "period")`."""

# Names appear in CSV cells, in "a;b" lists and in file names. Hence no separators or quotes.
_NOT_IN_NAMES = r"""\x00-\x1f\x7f-\x9f\u2028\u2029,;"'\\<>|/"""
NAME_PATTERN = rf"^[^\s{_NOT_IN_NAMES}]([^{_NOT_IN_NAMES}]*[^\s{_NOT_IN_NAMES}])?$"
"""For the JSON Schema. `Label` reads by the sets below: the pattern is slow to compile."""
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029}
_REFUSED = {*",;\"'\\<>|/", *map(chr, _CONTROLS)}
NAME_LIMIT = 64
NAME_ALLOWED = (
    f"1 to {NAME_LIMIT} characters, none of them , ; \" ' \\ / < > | or a control character,"
    " no space at either end"
)


JsonSchema = dict[str, Any]
"""A JSON Schema, or a part of one, as `json` writes it."""

Definitions = dict[str, JsonSchema]
"""What the parts of a JSON Schema may refer to, by name."""

TomlTable = dict[str, Any]
"""A table of a system file, as a reader of TOML gives it."""


class Finding(NamedTuple):
    """One thing that is wrong: where, what was found, what is allowed."""

    path: Path
    found: str
    allowed: str


class Reading:
    """One reading of a document: whether it is a file's, and what was found wrong so far."""

    def __init__(self, *, from_file: bool) -> None:
        self.from_file = from_file
        self.findings: list[Finding] = []

    def refuse(self, path: Path, found: str, allowed: str) -> Any:
        """Notes what is wrong; None, which then stands for the value."""
        self.findings.append(Finding(path, found, allowed))


class Kind:
    """A kind of value. `read` gives the value, or notes why not; `None` then stands for it."""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        raise NotImplementedError

    def schema(self, definitions: Definitions) -> JsonSchema:
        """The JSON Schema of this kind of value; `definitions` takes what others may refer to."""
        raise NotImplementedError

    def write(self, value: Any) -> Any:
        """A value of this kind as a file says it."""
        return value


class Anything(Kind):
    """A value of any kind that JSON or TOML has."""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:  # noqa: ARG002
        return value

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {}


class Text(Kind):
    def __init__(self, max_length: int | None = None) -> None:
        self.max_length = max_length

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, str):
            return reading.refuse(path, show(value), "a text in quotes")
        if self.max_length is not None and len(value) > self.max_length:
            return reading.refuse(path, show(value), f"at most {self.max_length} characters")
        return value

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        bound = {} if self.max_length is None else {"maxLength": self.max_length}
        return {"type": "string", **bound}


class ArgumentWord(Kind):
    """A word of a command line: any text that a program can be given."""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, str):
            return reading.refuse(path, show(value), "a text in quotes")
        if "\0" in value:
            return reading.refuse(path, show(value), "a text without the character U+0000")
        return value

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "string", "pattern": "^[^\\x00]*$"}


class Truth(Kind):
    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        return value if isinstance(value, bool) else reading.refuse(path, show(value), _TRUTH)

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "boolean"}


_TRUTH = "true or false"
_OBJECT = "an object"


class Whole(Kind):
    """Whole numbers from `minimum` to `maximum`, where there are such."""

    def __init__(self, minimum: int | None = None, maximum: int | None = None) -> None:
        self.minimum, self.maximum = minimum, maximum

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            return reading.refuse(path, show(value), "a whole number")
        if self.minimum is not None and value < self.minimum:
            return reading.refuse(path, show(value), f"at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            return reading.refuse(path, show(value), f"at most {self.maximum}")
        return value

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        return {"type": "integer"} | {key: at for key, at in bounds.items() if at is not None}


class Choice(Kind):
    """One of a few words, written as such; of an enumeration, its member."""

    def __init__(self, words: type[StrEnum] | Sequence[str]) -> None:
        self.members: dict[str, str] = {str(word): word for word in words}

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        member = self.members.get(value) if isinstance(value, str) else None
        if member is None:
            *others, last = (repr(word) for word in self.members)
            allowed = f"{', '.join(others)} or {last}" if others else last
            return reading.refuse(path, show(value), allowed)
        return member

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "string", "enum": list(self.members)}

    def write(self, value: Any) -> Any:
        return str(value)


class Many(Kind):
    """A list of values of one kind, at least `min_items` of them; here a tuple."""

    def __init__(self, kind: Kind, min_items: int = 0) -> None:
        self.kind, self.min_items = kind, min_items

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, (list, tuple)):
            return reading.refuse(path, show(value), "a list of tables or values")
        if len(value) < self.min_items:
            return reading.refuse(path, show(value), f"at least {self.min_items} of them")
        read = self.kind.read
        return tuple([read(one, (*path, index), reading) for index, one in enumerate(value)])

    def schema(self, definitions: Definitions) -> JsonSchema:
        bound = {"minItems": self.min_items} if self.min_items else {}
        return {"type": "array", "items": self.kind.schema(definitions), **bound}

    def write(self, value: Any) -> Any:
        return [self.kind.write(one) for one in value]


class Maybe(Kind):
    """A value of the kind, or null, which only JSON and Python have."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        return None if value is None else self.kind.read(value, path, reading)

    def schema(self, definitions: Definitions) -> JsonSchema:
        return self.kind.schema(definitions)

    def write(self, value: Any) -> Any:
        return None if value is None else self.kind.write(value)


class Duration(Kind):
    """A time, whole nanoseconds here; above 0 if `positive`."""

    def __init__(self, *, positive: bool) -> None:
        self.positive = positive

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if isinstance(value, str):
            try:
                time_ns = parse_time(value)
            except TimeFormatError as error:
                return reading.refuse(path, show(value), error.allowed)
        elif isinstance(value, int) and not isinstance(value, bool) and not reading.from_file:
            if not 0 <= value < TIME_LIMIT_NS:
                allowed = "whole nanoseconds from 0 up to below 2^62"
                return reading.refuse(path, show(value), allowed)
            time_ns = value
        else:
            return reading.refuse(path, show(value), TIME_ALLOWED)
        if self.positive and time_ns == 0:
            return reading.refuse(path, "0", "a time above 0")
        return time_ns

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "string", "pattern": TIME_PATTERN, "examples": ["10ms", "1.5us"]}

    def write(self, value: Any) -> Any:
        return format_time(value)


class Label(Kind):
    """The name of a system, domain, task or flow: see `NAME_ALLOWED`."""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, str) or not 0 < len(value) <= NAME_LIMIT:
            return reading.refuse(path, show(value), NAME_ALLOWED)
        if value != value.strip() or not _REFUSED.isdisjoint(value):
            return reading.refuse(path, show(value), NAME_ALLOWED)
        return value

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        length = {"minLength": 1, "maxLength": NAME_LIMIT}
        return {"type": "string", **length, "pattern": NAME_PATTERN}


class Entries(Kind):
    """A JSON object with the keys of a typed dictionary; it stays the dictionary that it is.

    Keys that the type does not name are nobody's business.
    """

    def __init__(self, kinds: dict[str, Kind], required: frozenset[str]) -> None:
        self.kinds, self.required = kinds, required

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, dict):
            return reading.refuse(path, show(value), _OBJECT)
        for name, kind in self.kinds.items():
            if name in value:
                kind.read(value[name], (*path, name), reading)
            elif name in self.required:
                reading.refuse((*path, name), "nothing", "this key is required")
        return value


class Mapped(Kind):
    """An object whose keys are any names and whose values are of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, dict):
            return reading.refuse(path, show(value), _OBJECT)
        read = self.kind.read
        return {name: read(one, (*path, name), reading) for name, one in value.items()}

    def schema(self, definitions: Definitions) -> JsonSchema:
        return {"type": "object", "additionalProperties": self.kind.schema(definitions)}


class Factor(Kind):
    """An exact factor; binary fractions are taken as the decimals that they print.

    It is above `above`, at most `most`, and has at most so many decimals.
    """

    def __init__(self, above: int, most: int, decimals: int) -> None:
        self.above, self.most, self.decimals = above, most, decimals

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        exact = self._exact(value)
        if exact is not None:
            return exact
        allowed = (
            f"a number above {self.above} and at most {self.most} with at most {self.decimals}"
            " decimals"
        )
        return reading.refuse(path, show(value), allowed)

    def _exact(self, value: Any) -> Fraction | None:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
            return None
        # NaN compares with nothing, and the range comes before the fraction: that of 1e-999999
        # would fill the memory.
        if value != value or not self.above < value <= self.most:
            return None
        if value < Fraction(1, 10**self.decimals):
            return None
        exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
        if not isinstance(value, Fraction) and (exact * 10**self.decimals).denominator != 1:
            return None
        return exact

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "number", "exclusiveMinimum": self.above, "maximum": self.most}

    def write(self, value: Any) -> Any:
        return float(value)


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


def plain_name(text: str, unnamed: str) -> str:
    """A name of another tool's without what names here may not have; `unnamed` if none is left."""
    plain = re.sub(rf"[{_NOT_IN_NAMES}]+", "-", text).strip()
    return plain[:NAME_LIMIT].strip() or unnamed


def unused_name(plain: str, names: Container[str]) -> str:
    """A name that none of these is: it, or with #2, #3 and so on behind it."""
    name, count = plain, 1
    while name in names:
        count += 1
        name = f"{plain[:56]}#{count}"
    return name


def duplicates(path: Path, names: list[str]) -> Iterator[Finding]:
    """The findings on the names that a list of objects (at `path`) has a second time."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield Finding((*path, index, "name"), f"{name!r} a second time", "each name once")
        seen.add(name)


def up_to(count: int, what: str) -> str:
    """The numbers that `count` things have, as a message allows them: "0 to 3"."""
    return f"0 (there is 1 of the {what})" if count == 1 else f"0 to {count - 1}"


Time = Annotated[int, Duration(positive=False)]
PositiveTime = Annotated[int, Duration(positive=True)]
Name = Annotated[str, Label()]
Word = Annotated[str, ArgumentWord()]
Etf = Annotated[Fraction, Factor(above=0, most=1, decimals=9)]
OverrunFactor = Annotated[Fraction, Factor(above=1, most=1000, decimals=3)]
Count = Annotated[int, Whole(0)]
Positive = Annotated[int, Whole(1)]
