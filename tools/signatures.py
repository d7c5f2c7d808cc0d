# SPDX-License-Identifier: BSD-2-Clause
"""Writes what the constructors of a system's classes take into the classes, for type checkers.

    python tools/signatures.py --write

A constructor reads its values as a file's are read: `period="10ms"` and `period_ns=10_000_000` are
the same. Type checkers and editors only believe signatures, so each class has one behind
`if TYPE_CHECKING`, made of its fields here; a test compares. A field with a unit may be given by
its key (`period`) or its name (`period_ns`). Where one of these is required there are two
signatures, by keys and by names; lists go by their names (`tasks`).
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path

from hyperperiod.model import (
    Change,
    Device,
    Domain,
    Flow,
    Interface,
    Overheads,
    Overrun,
    OwnVcpu,
    PeriodRange,
    Policy,
    Source,
    Stolen,
    Swap,
    System,
    Task,
    TimeWindow,
)
from hyperperiod.model.part import Field, Part, PartKind, fields_of, kind_of
from hyperperiod.model.policy import PolicyChoice
from hyperperiod.model.values import Choice, Duration, Factor, Kind, Many, Maybe, Truth, Whole

CLASSES: tuple[type[Part], ...] = (
    *(Change, Device, Domain, Flow, Interface, Overheads, Overrun, OwnVcpu, PeriodRange),
    *(Source, Stolen, Swap, System, Task, TimeWindow),
)
BLOCK = re.compile(r"    if TYPE_CHECKING:  # tools/signatures\.py\n(?:\n* {8}.*\n)+")
"""What this program writes into a class."""


def type_of(kind: Kind, within: type[Part]) -> str:
    """The Python type of what the constructor of a class takes for a value of this kind."""
    match kind:
        case Maybe():
            return f"{type_of(kind.kind, within)} | None"
        case Many():
            return f"Sequence[{type_of(kind.kind, within)}]"
        case PartKind():
            text = f"{kind.part.__name__} | dict[str, Any]"
            return f'"{text}"' if kind.part is within else text
        case Duration():
            return "int | str"
        case Factor():
            return "float | Fraction"
        case Truth():
            return "bool"
        case Whole():
            return "int"
        case Choice():
            return "str"
    if type(kind) is type(kind_of(PolicyChoice)):
        return f"{Policy.__name__} | str | dict[str, Any]"
    return "str"


def spellings(field: Field) -> tuple[str, ...]:
    """What a value may be given as: its key, and its name where that says the unit."""
    if field.name.endswith("_ns") and not iskeyword(field.key):
        return field.key, field.name
    return (field.name,)


def signature(part: type[Part], fields: list[tuple[str, Field]]) -> Iterator[str]:
    """The lines of one signature of a class, with these names."""
    yield "        def __init__("
    yield "            self,"
    yield "            *,"
    for name, field in fields:
        rest = "" if field.required else " = ..."
        yield f"            {name}: {type_of(field.kind, part)}{rest},"
    yield "        ) -> None: ..."


def block(part: type[Part]) -> str:
    """The text of the class's block."""
    fields = [field for field in fields_of(part).values() if field.key]
    lines = ["    if TYPE_CHECKING:  # tools/signatures.py", ""]
    if any(field.required and len(spellings(field)) > 1 for field in fields):
        for which in (0, -1):
            lines += ["        @overload"]
            lines += signature(part, [(spellings(field)[which], field) for field in fields])
        lines += ["        def __init__(self, **values: Any) -> None: ..."]
    else:
        lines += signature(part, [(name, field) for field in fields for name in spellings(field)])
    return "\n".join(lines) + "\n"


def file_of(part: type[Part]) -> Path:
    """The source of a class."""
    return Path(inspect.getfile(part))


def renewed(text: str, part: type[Part]) -> str:
    """The source of a class with its block as it should be; ValueError if it has none."""
    start = re.search(rf"^class {part.__name__}\(Part\):$", text, re.MULTILINE)
    found = BLOCK.search(text, start.start()) if start else None
    if found is None:
        raise ValueError(f"{part.__name__} has no signature")
    return text[: found.start()] + block(part) + text[found.end() :]


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    for one in CLASSES:
        file_of(one).write_text(renewed(file_of(one).read_text("utf-8"), one), "utf-8")
