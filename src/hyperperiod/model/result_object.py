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

    __defaults: ClassVar[dict[str, Any]]
    __required: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, init=False, eq=False, repr=False)(cls)
        cls.__defaults = {name: field.default for name, field in cls.__dataclass_fields__.items()}
        cls.__required = frozenset(
            name for name, default in cls.__defaults.items() if default is MISSING
        )

    def __init__(self, **values: Any) -> None:
        # Sweeps make millions: all fields at once, in their order.
        if not values.keys() >= self.__required:
            missing = next(one for one in self.__defaults if one in self.__required - values.keys())
            raise TypeError(f"{type(self).__name__} needs {missing}")
        if not values.keys() <= self.__defaults.keys():
            unknown = [one for one in values if one not in self.__defaults]
            raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}")
        vars(self).update(self.__defaults, **values)

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
        return json_text(self)

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


def json_text(value: Any) -> str:
    """A value with result objects in it as JSON, in one line."""
    import json

    return json.dumps(to_json(value), ensure_ascii=False)
