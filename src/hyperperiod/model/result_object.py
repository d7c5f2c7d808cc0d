# SPDX-License-Identifier: BSD-2-Clause
"""Result objects: frozen data classes that are printed as JSON, and read from it again.

    class HopResult(ResultObject):
        domain: str
        task: str
        response_bound_ns: int | None

The fields are the keys, in this order. A field without a default is always printed, also when it
is null. One with a default is left out while it has it, which is how a key that says nothing is
spared. `ABSENT` (`absent`) is the default of keys that may be null when they are there.

The JSON Schema of a class, and its reader, come from the same fields (`result_kinds`). What data
classes usually have made for each class (`__init__`, equality, being frozen) is written once here:
making it costs ten times as much as all else of a class, at every start.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_NO_DEFAULT = object()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class ResultObject:
    """A frozen data class whose fields are the keys of a JSON object; see above."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, init=False, eq=False, repr=False)(cls)

    def __init__(self, **values: Any) -> None:
        own = vars(self)
        for name, field in self.__dataclass_fields__.items():
            own[name] = values.pop(name, field.default)
            if own[name] is MISSING:
                raise TypeError(f"{type(self).__name__} needs {name}")
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    def replace(self, **values: Any) -> Self:
        """Returns a copy of the object with other values in these fields."""
        return type(self)(**(vars(self) | values))

    def to_dict(self) -> dict[str, Any]:
        """The object as dictionaries and lists, which is what its JSON says."""
        kind = type(self)
        return {
            name: to_json(value)
            for name, value in vars(self).items()
            if value != getattr(kind, name, _NO_DEFAULT)
        }

    def to_json(self) -> str:
        """The JSON text, in one line, as `--json` prints it."""
        import json

        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The object that JSON says, as `json.loads` gives it; InputError if it is another one."""
        from hyperperiod.model.result_kinds import read_result

        return read_result(cls, values, "")

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """The object in a file of JSON; InputError, with the name of the file, if it is not one."""
        from hyperperiod.model.result_kinds import load_result

        return load_result(cls, path)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


def to_json(value: Any) -> Any:
    """A value with result objects in it as dictionaries and lists."""
    if isinstance(value, ResultObject):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: to_json(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    return value
