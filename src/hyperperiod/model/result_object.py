# SPDX-License-Identifier: BSD-2-Clause
"""Result objects: frozen objects that are printed as JSON, and read from it again.

    class HopResult(ResultObject):
        domain: str
        task: str
        response_bound_ns: int | None

The fields are the keys, in this order. A field without a default is always printed, also when it
is null. One with a default is left out while it has it, which is how a key that says nothing is
spared. `ABSENT` (`absent`) is the default of keys that may be null when they are there.

The JSON Schema of a class, and its reader, come from the same fields (`result_kinds`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, dataclass_transform

from hyperperiod.model.frozen import FrozenFields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass_transform(kw_only_default=True, frozen_default=True)
class ResultObject(FrozenFields):
    """A frozen object whose fields are the keys of a JSON object; see above."""

    def to_dict(self) -> dict[str, Any]:
        """The object as dictionaries and lists, which is what its JSON says."""
        defaults = self.field_defaults
        return {
            name: to_json(value) for name, value in vars(self).items() if value != defaults[name]
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
