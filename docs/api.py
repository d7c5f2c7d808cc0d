# SPDX-License-Identifier: BSD-2-Clause
"""Writes the reference of what programs call (api.md) from the package itself.

    python -m docs.api --write

Every name that `import hyperperiod` offers is there, with its signature and what its docstring
says; classes of a system with their keys, results with their fields and the classes of these. A
test compares, so that the page cannot say something else than the code.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_overloads, get_type_hints

from tools.signatures import spellings, type_of

import hyperperiod as hp
from hyperperiod.model.part import Field, Part, fields_of
from hyperperiod.model.result_object import ResultObject
from hyperperiod.tabular import Tabular

TOP = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("api.md")

HEAD = """# Python reference

All that `import hyperperiod as hp` offers. [From Python](python.md) says how it is used. Times are
whole nanoseconds (`int`), or texts with a unit (`str`) where a function or constructor takes them.
This page is made of the package by `python -m docs.api --write`.
"""

FUNCTIONS = {
    "Functions": ("load", "analyze", "resolve", "fit", "simulate", "compare", "sweep"),
    "Systems and policies": ("to_toml", "with_policy", "parse_policy"),
}
SYSTEM = (
    *("System", "Domain", "Task", "OwnVcpu", "Interface", "PeriodRange", "Overheads"),
    *("Device", "Flow", "Source", "Swap", "Change", "Overrun", "Stolen", "TimeWindow", "Policy"),
)
RESULTS = ("AnalysisResult", "RunResult", "ComparisonResult", "Fitted", "SweepResult")
ERRORS = ("InputError", "MissingError", "FailedError")


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for title, names in FUNCTIONS.items():
        parts += [f"## {title}", *(_function(f"hp.{name}", getattr(hp, name)) for name in names)]
    parts += ["## Classes of a system", SYSTEM_TEXT, *map(_part, SYSTEM)]
    parts += ["## A rule in Python", f"### hp.Rule\n\n{_text(hp.Rule)}"]
    parts += [_method(hp.Rule, name) for name in RULE]
    parts += ["## Results", RESULT_TEXT, *(_method(Tabular, name) for name in TABULAR)]
    seen: list[type] = []
    parts += [text for name in RESULTS for text in _result(name, seen)]
    parts += ["## Errors", *map(_error, ERRORS)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


SYSTEM_TEXT = """Arguments are given by name. One with a unit may be given by either of its names:
`period="10ms"` is `period_ns=10_000_000`. Objects are frozen; their fields are the names with a
unit. `Class.of(values)` makes one of a dictionary, `object.replace(...)` a copy whose new values
are not checked."""
RULE = ("start", "pick", "replenish", "charge", "arrive", "depart")
TABULAR = ("rows", "to_frame", "plot")
RESULT_TEXT = """Fields mean what [the keys of the JSON](formats.md#analyze---json) mean.
`to_dict()` and `to_json()` give that JSON, `Class.of(values)` and `Class.from_file(path)` read it;
only `Fitted`, which holds systems, has none. Each has `headline`, one sentence, and `TABLES`, the
names of its tables, and:"""


def _function(name: str, function: Callable[..., Any]) -> str:
    """The heading, the signatures and the text of a function."""
    return f"### {name}\n\n{_signatures(function)}\n\n{_text(function)}"


def _method(owner: type, name: str) -> str:
    """The signature and the text of a method."""
    return f"{_signatures(getattr(owner, name))}\n\n{_text(getattr(owner, name))}"


def _signatures(function: Callable[..., Any]) -> str:
    each = get_overloads(function) or [function]
    text = "\n".join(f"def {one.__name__}{_bare(inspect.signature(one))}: ..." for one in each)
    return f"```python\n{_formatted(text)}```"


class _Name:
    """An annotation that is shown as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _bare(signature: inspect.Signature) -> inspect.Signature:
    """The signature with annotations that are shown without quotes."""

    def bare(annotation: Any) -> Any:
        if isinstance(annotation, type) and annotation is not inspect.Parameter.empty:
            return _Name(annotation.__name__)
        return _Name(annotation) if isinstance(annotation, str) else annotation

    parameters = [
        one.replace(annotation=bare(one.annotation)) for one in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=bare(signature.return_annotation)
    )


def _formatted(source: str) -> str:
    """The source as the project's formatter has it, which looks into pages as well."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", "api.py", "-"]
    done = subprocess.run(
        command, cwd=TOP, input=source, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _text(one: Any) -> str:
    """What a docstring says, as a page has it."""
    return inspect.cleandoc(one.__doc__ or "")


def _part(name: str) -> str:
    """A class of a system, with what its constructor takes."""
    part: type[Part] = getattr(hp, name)
    rows = [
        "| argument | type | default | meaning |",
        "| --- | --- | --- | --- |",
        *(_argument(part, field) for field in fields_of(part).values() if field.key),
    ]
    return f"### hp.{name}\n\n{_text(part)}\n\n" + "\n".join(rows)


def _argument(part: type[Part], field: Field) -> str:
    names = ", ".join(f"`{one}`" for one in spellings(field))
    default = "required" if field.required else field.unset or _default(field)
    kind = type_of(field.kind, part).replace('"', "").replace("|", "\\|")
    text = field.text.replace("](#", "](formats.md#")
    return f"| {names} | `{kind}` | {default} | {text} |"


def _default(field: Field) -> str:
    value = field.kind.write(field.default)
    if isinstance(value, list | dict):
        return "none" if not value else "all 0"
    return "`0`" if value == "0ns" else f"`{value!r}`".replace("'", '"')


def _result(name: str, seen: list[type]) -> Iterator[str]:
    """A result, and those classes of its fields that were not seen yet."""
    before = len(seen)
    _collect(getattr(hp, name), seen)
    for one in seen[before:]:
        heading = f"### hp.{name}" if one.__name__ == name else f"#### {one.__name__}"
        rows = ["| field | type |", "| --- | --- |", *_fields(one)]
        yield f"{heading}\n\n{_text(one)}\n\n" + "\n".join(rows)


def _collect(one: type, seen: list[type]) -> None:
    """Adds a class, and those of its fields that are result objects, each once."""
    if one in seen:
        return
    seen.append(one)
    if issubclass(one, ResultObject):
        for hint in get_type_hints(one).values():
            for inner in _classes_in(hint):
                _collect(inner, seen)


def _classes_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and issubclass(hint, ResultObject):
        yield hint
    for argument in get_args(hint):
        yield from _classes_in(argument)


def _fields(one: Any) -> Iterator[str]:
    """A row for each field, then for each property."""
    hints = {
        name: hint
        for kind in one.__mro__[::-1]
        for name, hint in inspect.get_annotations(kind).items()
    }
    for name, hint in hints.items():
        if not hint.startswith("ClassVar"):
            kind = hint.replace(" | Absent", "").replace("|", "\\|")
            yield f"| `{name}` | `{kind}` |"
    for name, value in vars(one).items():
        if isinstance(value, property) and not name.startswith("_") and value.__doc__:
            kind = str(inspect.signature(value.fget).return_annotation)  # type: ignore[arg-type]
            text = inspect.cleandoc(value.__doc__).replace("|", "\\|")
            yield f"| `{name}` | `{kind.replace('|', chr(92) + '|')}`: {text} |"


def _error(name: str) -> str:
    error: type[Exception] = getattr(hp, name)
    return f"### hp.{name}\n\n{_text(error)}\n\nAttributes: {_attributes(error)}."


def _attributes(error: type[Exception]) -> str:
    made = inspect.signature(error.__init__).parameters
    return ", ".join(f"`{name}`" for name in made if name != "self")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(page(), encoding="utf-8")
