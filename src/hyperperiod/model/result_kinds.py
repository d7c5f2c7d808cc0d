# SPDX-License-Identifier: BSD-2-Clause
"""Result objects from JSON, and their JSON Schema: both made of the fields of their classes.

A reader refuses what a printed object would not have: a key that is missing or unknown, and a value
of another type. It says so of everything that is wrong, with the path of the key.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hyperperiod.model.absent import Absent
from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.frozen import FrozenFields
from hyperperiod.model.part import show_path
from hyperperiod.model.values import (
    Choice,
    Definitions,
    JsonSchema,
    Kind,
    Many,
    Mapped,
    Maybe,
    Path,
    Reading,
    Text,
    Truth,
    Whole,
    show,
)

if TYPE_CHECKING:
    from pathlib import Path as FilePath

SomeResult = TypeVar("SomeResult", bound=FrozenFields)


class FiniteNumber(Kind):
    """A finite number, whole or not."""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return reading.refuse(path, show(value), "a number")
        return value if math.isfinite(value) else reading.refuse(path, show(value), "a number")

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "number"}


class Nullable(Maybe):
    """A value of the kind, or null."""

    def schema(self, definitions: Definitions) -> JsonSchema:
        return {"anyOf": [self.kind.schema(definitions), {"type": "null"}]}


class FixedList(Kind):
    """A list of as many values as there are kinds."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(self.kinds):
            return reading.refuse(path, show(value), f"a list of {len(self.kinds)}")
        pairs = enumerate(zip(self.kinds, value, strict=True))
        return tuple([kind.read(one, (*path, at), reading) for at, (kind, one) in pairs])

    def schema(self, definitions: Definitions) -> JsonSchema:
        each = [kind.schema(definitions) for kind in self.kinds]
        return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}


class Alternatives(Kind):
    """A value of one of several kinds, the first that it fits."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        tries = [Reading(from_file=reading.from_file) for _ in self.kinds]
        for kind, one in zip(self.kinds, tries, strict=True):
            read = kind.read(value, path, one)
            if not one.findings:
                return read
        # What is wrong is said of the kind that it fits best.
        reading.findings += min(tries, key=lambda one: len(one.findings)).findings
        return None

    def schema(self, definitions: Definitions) -> JsonSchema:
        return {"anyOf": [kind.schema(definitions) for kind in self.kinds]}


class Object(Kind):
    """An object with the keys of a class of result objects, and no others."""

    def __init__(self, of: type[FrozenFields]) -> None:
        self.of = of
        hints = get_type_hints(of)
        self.hints = {name: hints[name] for name in of.field_defaults}
        self.required = [name for name in self.hints if name in of.required_fields]

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if not isinstance(value, Mapping):
            return reading.refuse(path, show(value), "an object")
        before = len(reading.findings)
        for name in self.required:
            if name not in value:
                reading.refuse((*path, name), "nothing", "this key is required")
        for name in value:
            if name not in self.hints:
                allowed = "the keys here are " + ", ".join(self.hints)
                reading.refuse((*path, name), f"the unknown key {name}", allowed)
        read = {
            name: kind_of(self.hints[name]).read(one, (*path, name), reading)
            for name, one in value.items()
            if name in self.hints
        }
        return self.of(**read) if len(reading.findings) == before else None

    def schema(self, definitions: Definitions) -> JsonSchema:
        name = self.of.__name__
        if name not in definitions:
            definitions[name] = {}  # so that an object may hold objects of its own kind
            definitions[name] = {
                "type": "object",
                "description": (self.of.__doc__ or "").partition("\n")[0],
                "additionalProperties": False,
                "properties": {
                    key: kind_of(hint).schema(definitions) for key, hint in self.hints.items()
                },
                "required": self.required,
            }
        return {"$ref": f"#/$defs/{name}"}


def kind_of(hint: Any) -> Kind:
    """The kind of value that the type of a field means."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [kind_of(part) for part in arguments if part not in (types.NoneType, Absent)]
        one = kinds[0] if len(kinds) == 1 else Alternatives(kinds)
        return Nullable(one) if types.NoneType in arguments else one
    if origin is Literal:
        return Choice(arguments)
    if origin is tuple:
        if arguments[1] is ...:
            return Many(kind_of(arguments[0]))
        return FixedList([kind_of(one) for one in arguments])
    if isinstance(hint, type) and issubclass(hint, FrozenFields):
        return Object(hint)
    return Mapped(kind_of(arguments[1])) if origin is Mapping else _PLAIN[hint]


_PLAIN: dict[Any, Kind] = {
    str: Text(),
    int: Whole(),
    float: FiniteNumber(),
    bool: Truth(),
}


def read_result(of: type[SomeResult], values: Any, file: str) -> SomeResult:
    """The object that JSON says; InputError, about `file`, with everything that is wrong."""
    reading = Reading(from_file=True)
    found: SomeResult | None = Object(of).read(values, (), reading)
    if found is None or reading.findings:
        raise InputError.of(
            [
                Problem(file, None, show_path(one.path) or "the whole", one.found, one.allowed)
                for one in reading.findings
            ]
        )
    return found


def load_result(of: type[SomeResult], path: FilePath | str) -> SomeResult:
    """The object in a file of JSON; InputError if it cannot be read or is another one."""
    return read_result(of, load_json(path), str(path))


def load_json(path: FilePath | str) -> Any:
    """Returns the value in a file of JSON; InputError if it cannot be read."""
    import json
    from pathlib import Path as FilePath

    file, allowed = str(path), "a file of JSON"
    try:
        return json.loads(FilePath(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(file, None, "", (error.strerror or "").lower(), allowed) from None
    except UnicodeDecodeError:
        raise InputError(file, None, "", "bytes that are not UTF-8", allowed) from None
    except json.JSONDecodeError as error:
        raise InputError(file, error.lineno, "", error.msg.lower(), allowed) from None
    except RecursionError:
        raise InputError(file, None, "", "objects nested too deeply", allowed) from None
