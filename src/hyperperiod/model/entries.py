# SPDX-License-Identifier: BSD-2-Clause
"""JSON objects as typed dictionaries say them: the kinds of value that trace headers have.

Unlike a record, an object stays the dictionary that it is, and keys that its type does not name
are nobody's business.
"""

from __future__ import annotations

from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from hyperperiod.model.part import kind_of
from hyperperiod.model.values import Kind, Path, Reading, show

_OBJECT = "an object"


class Entries(Kind):
    """An object with the keys of a typed dictionary."""

    def __init__(self, typed: Any) -> None:
        self.required = typed.__required_keys__
        self.kinds = {
            name: kind_of(get_args(hint)[0] if get_origin(hint) is NotRequired else hint)
            for name, hint in get_type_hints(typed, include_extras=True).items()
        }

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
        for name, one in value.items():
            self.kind.read(one, (*path, name), reading)
        return value


def entries_of(hint: Any) -> Kind:
    """The kind of a typed dictionary, or of `dict[str, X]`."""
    return Entries(hint) if is_typeddict(hint) else Mapped(kind_of(get_args(hint)[1]))
