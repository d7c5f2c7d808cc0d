# SPDX-License-Identifier: BSD-2-Clause
"""Records that are read from files: frozen, typed, checked, described in one place.

A record is a class whose fields say everything that is known of a key: its name, the kind of its
value, what it is when the file does not give it, and what it means.

    class Interface(Part):
        period_ns: PositiveTime = key("how often the budget comes")
        budget_ns: PositiveTime = key("how much of a pcpu in every period")

The constructor, the reader of files, the messages and the JSON Schema all come from these. A key
is called like its field without the unit of the value (`period`), unless the field says otherwise.
Whatever makes a record, it is checked, and everything that is wrong is told at once: values by
their kinds, then, if all of them are right, `_settle` fills in what follows from other fields and
`_findings` says what does not go together. Only `replace` checks nothing.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hyperperiod.model.errors import InputError, Problem, did_you_mean
from hyperperiod.model.frozen import Frozen
from hyperperiod.model.values import (
    Anything,
    Choice,
    Definitions,
    Entries,
    Finding,
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

# Tables in tables are read by recursion. Nothing here is nested half as deep.
_DEEPEST = 64


class _Required:
    """The mark in place of a default where there is none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


class AtLeast(NamedTuple):
    """The least number of records of a list; stands beside the type of a field."""

    min_items: int


class _Key(NamedTuple):
    """A field beside its type: its key, default and meaning."""

    text: str
    default: Any
    name: str | None
    unset: str


def key(
    text: str = "", *, default: Any = REQUIRED, name: str | None = None, unset: str = ""
) -> Any:
    """A field: what it means, its default, and its key in files where that is not the rule's.

    `unset` says what holds without it where the default does not.
    """
    return _Key(text, default, name, unset)


class Field(NamedTuple):
    """A field of a record: `key` is its name in files, `text` what it means.

    `unset` says what holds in its absence, where the default does not say it.
    """

    name: str
    key: str
    kind: Kind
    default: Any
    text: str
    unset: str

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


_FIELDS: dict[Any, dict[str, Field]] = {}


def fields_of(part: type[Part]) -> dict[str, Field]:
    """The fields of a record by name, in the order in which the class gives them."""
    fields = _FIELDS.get(part)
    if fields is None:
        fields = _FIELDS[part] = _fields(part)
    return fields


_KEYS: dict[Any, dict[str, Field]] = {}


def _by_key(part: type[Part]) -> dict[str, Field]:
    fields = _KEYS.get(part)
    if fields is None:
        fields = _KEYS[part] = {field.key: field for field in fields_of(part).values()}
    return fields


def _fields(part: type[Part]) -> dict[str, Field]:
    fields = {}
    for name, hint in get_type_hints(part, include_extras=True).items():
        given = getattr(part, name, REQUIRED)
        said = given if isinstance(given, _Key) else _Key("", given, None, "")
        in_files = name.removesuffix("_ns") if said.name is None else said.name
        fields[name] = Field(name, in_files, kind_of(hint), said.default, said.text, said.unset)
    return fields


@dataclass_transform(
    eq_default=True, kw_only_default=True, frozen_default=True, field_specifiers=(key,)
)
class Part(Frozen):
    """A record: see above. Equal when all fields are, and usable as a key of dictionaries."""

    def __init__(self, **values: Any) -> None:
        reading = Reading(from_file=False)
        if _fill(self, values, (), reading):
            _check(self, (), reading)
        if reading.findings:
            raise _as_error(_called(type(self), values), reading.findings)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """A record from values by field name or by key, as Python code has them."""
        reading = Reading(from_file=False)
        part = read_part(cls, dict(values), (), reading)
        if part is None or reading.findings:
            raise _as_error(_called(cls, values), reading.findings)
        return part

    def replace(self, **values: Any) -> Self:
        """A copy with other values, which are not checked: whoever makes them knows."""
        assert values.keys() <= self.__dict__.keys(), "only fields are replaced"
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(values)
        return copy

    def varied(self, **values: Any) -> Self | None:
        """A copy with other values by key, read and checked as any are; None if one is refused.

        Quicker than to read the whole again, where many records differ in a few keys. What was
        filled in for lack of a key stays, so nothing of it may follow from these values.
        """
        reading = Reading(from_file=False)
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        fields = _by_key(type(self))
        for name, value in values.items():
            field = fields[name]
            copy.__dict__[field.name] = field.kind.read(value, (name,), reading)
        if not reading.findings:
            _check(copy, (), reading)
        return None if reading.findings else copy

    def _settle(self) -> None:
        """Fills in, by `_set`, what was not given and follows from other fields."""

    def _findings(self) -> Iterable[Finding]:
        """Yields what does not go together, with keys below this record."""
        return ()

    def _set(self, **values: Any) -> None:
        self.__dict__.update(values)


SomePart = TypeVar("SomePart", bound=Part)


def _called(part: type[Part], values: Mapping[str, Any]) -> str:
    """Returns a record as messages call it: its kind, and its name if it has one."""
    name = values.get("name")
    return f"{part.__name__} {name}" if isinstance(name, str) and name else part.__name__


def _as_error(about: str, findings: Iterable[Finding]) -> InputError:
    return InputError.of(
        [Problem(about, None, show_path(one.path), one.found, one.allowed) for one in findings]
    )


def read_part(part: type[SomePart], value: Any, path: Path, reading: Reading) -> SomePart | None:
    """The record in a table, or None where a value in it was refused.

    Where only its values do not go together, the record is there all the same: others may have
    more to say about it.
    """
    if isinstance(value, part):
        return value
    if not isinstance(value, dict):
        reading.refuse(path, show(value), "a table { ... }")
        return None
    if len(path) > _DEEPEST:
        reading.refuse(path[:-1], "tables nested too deeply", "fewer levels")
        return None
    made = object.__new__(part)
    if not _fill(made, value, path, reading):
        return None
    _check(made, path, reading)
    return made


def _fill(part: Part, table: Mapping[str, Any], path: Path, reading: Reading) -> bool:
    """Reads the fields of a new record from a table; False if something was refused."""
    before = len(reading.findings)
    fields = fields_of(type(part))
    values = part.__dict__
    known = set()
    for field in fields.values():
        name = field.key if reading.from_file or field.key in table else field.name
        known.add(name)
        value = table.get(name) if name else None
        if value is not None:
            values[field.name] = field.kind.read(value, (*path, name), reading)
        elif field.required:
            allowed = f"this key is required; {_keys_text(fields.values())}"
            reading.refuse((*path, name), "nothing", allowed)
        else:
            values[field.name] = field.default
    for name in table:
        if name not in known:
            _refuse_unknown(name, fields.values(), table, path, reading)
    return len(reading.findings) == before


def _check(part: Part, path: Path, reading: Reading) -> None:
    part._settle()
    for one in part._findings():
        reading.refuse((*path, *one.path), one.found, one.allowed)


def _refuse_unknown(
    name: str, fields: Iterable[Field], table: Mapping[str, Any], path: Path, reading: Reading
) -> None:
    """Notes an unknown key; what is lacking since it stands in place of the known one is dropped.

    `[[domian.task]]` is one mistake, not that one and a domain without tasks.
    """
    meant = did_you_mean(str(name), [field.key for field in fields])
    inside = table[name] if isinstance(table[name], dict) else {}

    def follows(one: Finding) -> bool:
        above, rest = one.path[: len(path)], one.path[len(path) :]
        same = above == path and rest and meant == f"; did you mean {rest[0]}?"
        return bool(same) and (len(rest) == 1 or rest[-1] in inside) and _lacks(table, rest)

    reading.findings[:] = [one for one in reading.findings if not follows(one)]
    reading.refuse((*path, name), f"the unknown key {name}", _keys_text(fields) + meant)


def _lacks(value: Any, path: Path) -> bool:
    """Whether nothing stands at the path below a value of a document."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return True
    return False


def _keys_text(fields: Iterable[Field]) -> str:
    return "the keys here are " + ", ".join(field.key for field in fields if field.key)


def show_path(path: Path) -> str:
    """A key path as people write it: domain[1].task[0].period."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class PartKind(Kind):
    """A record inside another one, in a file a table."""

    def __init__(self, part: type[Part]) -> None:
        self.part = part

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        return read_part(self.part, value, path, reading)

    def schema(self, definitions: Definitions) -> JsonSchema:
        name = self.part.__name__
        if name not in definitions:
            definitions[name] = {}  # so that a record may hold records of its own kind
            definitions[name] = schema_of(self.part, definitions)
        return {"$ref": f"#/$defs/{name}"}

    def write(self, value: Any) -> Any:
        return {
            field.key: field.kind.write(getattr(value, field.name))
            for field in fields_of(self.part).values()
        }


def schema_of(part: type[Part], definitions: Definitions) -> JsonSchema:
    """The JSON Schema of a table of this record; `definitions` takes those of the records in it."""
    properties: JsonSchema = {}
    required: list[str] = []
    for field in fields_of(part).values():
        if not field.key:
            continue
        text = f"{field.text}; default: {field.unset}" if field.unset else field.text
        said: JsonSchema = {"description": _plain(text)} if text else {}
        said |= field.kind.schema(definitions)
        if field.required:
            required.append(field.key)
        elif field.default is not None:
            said["default"] = field.kind.write(field.default)
        properties[field.key] = said
    return {
        "type": "object",
        "description": (part.__doc__ or "").partition("\n")[0],
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _plain(text: str) -> str:
    """Without the addresses of links, which only pages can follow."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


def kind_of(hint: Any) -> Kind:
    """The kind of value that a type means."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1])
    if origin in (Union, types.UnionType):
        return Maybe(kind_of(next(one for one in arguments if one is not types.NoneType)))
    if origin in (tuple, list):
        return Many(kind_of(arguments[0]))
    if origin is Literal:
        return Choice(arguments)
    if isinstance(hint, type) and issubclass(hint, Part):
        return PartKind(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Choice(hint)
    if is_typeddict(hint) or origin is dict:
        return entries_of(hint)
    return _PLAIN[hint]


def entries_of(hint: Any) -> Kind:
    """The kind of a typed dictionary, or of `dict[str, X]`."""
    if not is_typeddict(hint):
        return Mapped(kind_of(get_args(hint)[1]))
    kinds = {
        name: kind_of(get_args(one)[0] if get_origin(one) is NotRequired else one)
        for name, one in get_type_hints(hint, include_extras=True).items()
    }
    return Entries(kinds, hint.__required_keys__)


def _annotated(hint: Any, said: Kind | AtLeast) -> Kind:
    return said if isinstance(said, Kind) else Many(kind_of(get_args(hint)[0]), said.min_items)


_PLAIN: dict[Any, Kind] = {Any: Anything(), str: Text(), int: Whole(), bool: Truth()}
