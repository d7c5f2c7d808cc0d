# SPDX-License-Identifier: BSD-2-Clause
"""Objects that are what their fields are, and never change.

    class HopBound(FrozenFields):
        task: str
        bound_ns: int | None = None

They do what a frozen data class does. What that has made for each class (`__init__`, equality,
text) is written once here: making it costs forty times as much as all else of a class, at every
start. For classes that no start loads, and where a field needs more than a type and a default, data
classes do.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any, ClassVar, Final, NoReturn, Self, dataclass_transform

REQUIRED: Final = object()
"""Stands for the default of a field that has none."""


class Frozen:
    """An object equal to any of its class with equal attributes; none can be set or deleted."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"


@dataclass_transform(frozen_default=True)
class FrozenFields(Frozen):
    """A frozen object made of the values of its fields, in their order or by name."""

    field_defaults: ClassVar[dict[str, Any]] = {}
    """The fields of the class in their order, with their defaults or REQUIRED."""
    required_fields: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        own = {
            name: vars(cls).get(name, REQUIRED)
            for name, hint in cls.__annotations__.items()
            if "ClassVar" not in str(hint).partition("[")[0]
        }
        cls.field_defaults = {**cls.field_defaults, **own}
        cls.required_fields = frozenset(
            name for name, default in cls.field_defaults.items() if default is REQUIRED
        )

    def __init__(self, *values: Any, **named: Any) -> None:
        # Sweeps make millions: all fields at once, in their order.
        if values:
            given = dict(zip(self.field_defaults, values, strict=False))
            if len(given) < len(values) or not given.keys().isdisjoint(named):
                raise TypeError(f"{type(self).__name__} has fewer fields than values")
            named = given | named
        if not named.keys() >= self.required_fields:
            missing = next(
                one for one in self.field_defaults if one in self.required_fields - named.keys()
            )
            raise TypeError(f"{type(self).__name__} needs {missing}")
        if not named.keys() <= self.field_defaults.keys():
            unknown = [one for one in named if one not in self.field_defaults]
            raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}")
        self.__dict__.update(self.field_defaults, **named)

    def replace(self, **values: Any) -> Self:
        """Returns a copy of the object with other values in these fields."""
        return type(self)(**(self.__dict__ | values))
