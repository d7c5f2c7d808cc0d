# SPDX-License-Identifier: BSD-2-Clause
"""From a file to a System, or to an InputError that lists everything wrong with it.

TOML is the native form; a name ending in .xml is read as a CARTS system, one in .csv as a table
of tasks; what has another name, as a pipe has, is known by its text. Nothing is believed about the
file: its kind and size are bounded, and whatever it contains, the only exception that leaves
`load_system` is InputError.
"""

from __future__ import annotations

import codecs
import difflib
import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from hyperperiod.model.carts import read_carts
from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.locate import locate
from hyperperiod.model.policy import Policy
from hyperperiod.model.rules import missing_pins
from hyperperiod.model.system import (
    Change,
    Domain,
    Flow,
    Interface,
    Overheads,
    Source,
    Swap,
    System,
    Task,
)
from hyperperiod.model.table import read_table
from hyperperiod.model.values import FROM_FILE, PINNED, show

# A system of 1024 vcpus with tasks is some 200 kB; no system is near this limit.
FILE_LIMIT_BYTES = 1 << 20
# More problems than this help nobody.
PROBLEM_LIMIT = 50
# The name of standard input, and the endings that say what a file is written in.
STDIN = "-"
FORMS = ("toml", "xml", "csv")

# Which class the tables below a key are read as.
_TABLES: dict[str, type[BaseModel]] = {
    "domain": Domain,
    "task": Task,
    "interface": Interface,
    "spare": Interface,
    "overheads": Overheads,
    "swap": Swap,
    "change": Change,
    "flow": Flow,
    "source": Source,
    "policy": Policy,
}

KeyPath = tuple[str | int, ...]


def load_system(
    path: str | os.PathLike[str], *, pinned: bool = False, pcpus: int | None = None
) -> System:
    """The system in the file `path`; InputError when there is none or it is wrong.

    "-" is standard input. `pcpus` counts instead of the number in the file.

    With `pinned` a domain without the pcpu that its policy wants is wrong as well. Without, it is
    read as it stands: `fit` chooses pcpus, everything else refuses it (`require_pins`).
    """
    name, text = shown_name(os.fspath(path)), read_text(os.fspath(path))
    form = form_of(name, text)
    if form == "xml":
        document, line_of = read_carts(name, text)
    elif form == "csv":
        document, line_of = read_table(name, text)
    else:
        document, line_of = _read_toml(name, text)
    if pcpus is not None:
        document = {**document, "pcpus": pcpus}
    try:
        context = FROM_FILE | PINNED if pinned else FROM_FILE
        return System.model_validate(document, context=context, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InputError.of(_problems(name, error, line_of)) from None


def require_pins(system: System) -> None:
    """InputError naming every domain that has no pcpu, though its policy wants one."""
    problems = [
        Problem(system.name, None, show_path(path), found, allowed)
        for path, found, allowed in missing_pins(system)
    ]
    if problems:
        raise InputError.of(problems[:PROBLEM_LIMIT])


def shown_name(name: str) -> str:
    """What messages call the system file `name`."""
    return "<stdin>" if name == STDIN else name


def form_of(name: str, text: str) -> str:
    """What a system is written in, toml, xml or csv: by the ending of its name, or else its text.

    XML begins with <. The first line of a table names its columns: it has a separator and, unlike
    every first line of TOML, no = and no [ at its beginning.
    """
    ending = name.lower().rpartition(".")[2]
    if ending in FORMS:
        return ending
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith("<"):
        return "xml"
    is_table = ("," in first or ";" in first) and "=" not in first and not first.startswith("[")
    return "csv" if is_table else "toml"


def require_file(name: str, allowed: str) -> Path:
    """The path of a regular file that may be read; InputError for anything else.

    It is to be mapped or read twice, which a pipe cannot be.
    """
    path, mode = _require_readable(name, allowed)
    if not stat.S_ISREG(mode):
        raise InputError(name, None, "", "a device or pipe", allowed)
    return path


def _require_readable(name: str, allowed: str) -> tuple[Path, int]:
    """The path and mode of what is no folder and may be read; InputError for anything else."""
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(name, None, "", "no such file", allowed) from None
    except OSError as error:
        reason = (error.strerror or "an unreadable file").lower()
        raise InputError(name, None, "", reason, allowed) from None
    except ValueError:
        raise InputError(repr(name), None, "", "a null in the name", allowed) from None
    if stat.S_ISDIR(mode):
        found = "a directory" if name else "an empty name"
        raise InputError(name, None, "", found, allowed)
    if not os.access(path, os.R_OK):
        raise InputError(name, None, "", "permission denied", allowed)
    return path, mode


def read_text(name: str) -> str:
    """The text of a file, a pipe or (-) standard input, in UTF-8 and of bounded size.

    InputError for anything else.
    """
    allowed = f"a system file (.toml, .xml or .csv) of at most {FILE_LIMIT_BYTES >> 20} MiB"
    data = _read_start(name, allowed)
    name = shown_name(name)
    if len(data) > FILE_LIMIT_BYTES:
        raise InputError(name, None, "", "a larger file", allowed)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}, which is not UTF-8"
        raise InputError(name, line, "", found, "text in UTF-8") from None


def _read_start(name: str, allowed: str) -> bytes:
    """As much of the file as a system may have, and one byte more of one that is too long."""
    try:
        if name == STDIN:
            if sys.stdin is None:
                raise InputError(shown_name(name), None, "", "a closed standard input", allowed)
            return sys.stdin.buffer.read(FILE_LIMIT_BYTES + 1)
        path, _ = _require_readable(name, allowed)
        with path.open("rb") as file:
            return file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "an unreadable file").lower()
        raise InputError(shown_name(name), None, "", reason, allowed) from None


def _read_toml(name: str, text: str) -> tuple[dict[str, Any], Callable[[KeyPath], int]]:
    try:
        # Decimal keeps 0.1 exact.
        document = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(name, text, str(error)) from None
    except RecursionError:
        raise InputError(name, 1, "", "lists or tables nested too deeply", "TOML 1.0") from None
    except (ValueError, ArithmeticError):
        # Python refuses to read whole numbers of thousands of digits.
        raise InputError(name, 1, "", "a number with too many digits", "TOML 1.0") from None
    lines = locate(text)
    return document, lines.of


def _syntax_error(name: str, text: str, message: str) -> InputError:
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return InputError(name, 1, "", message, "TOML 1.0")
    line = int(place.group(1)) if place.group(1) else text.count("\n") + 1
    return InputError(name, line, "", message[: place.start()], "TOML 1.0")


def _problems(
    name: str, error: ValidationError, line_of: Callable[[KeyPath], int]
) -> list[Problem]:
    found = [
        Problem(name, line_of(path), show_path(path), what, allowed)
        for detail in error.errors(include_url=False)
        for path, what, allowed in _translate(detail)
    ]
    found.sort(key=lambda problem: problem.line or 0)
    return found[:PROBLEM_LIMIT]


def explain(error: ValidationError) -> list[tuple[str, str, str]]:
    """What a validation error says in our words, as (key, found, allowed)."""
    return [
        (show_path(path), found, allowed)
        for detail in error.errors(include_url=False)
        for path, found, allowed in _translate(detail)
    ]


def show_path(path: KeyPath) -> str:
    """A key path as people write it: domain[1].task[0].period."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


# What each complaint of pydantic means in our words; the context gives the numbers.
_ALLOWED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "int_type": lambda _: "a whole number",
    "int_parsing_size": lambda _: "a smaller whole number",
    "bool_type": lambda _: "true or false",
    "string_type": lambda _: "a text in quotes",
    "tuple_type": lambda _: "a list of tables or values",
    "model_type": lambda _: "a table { ... }",
    "greater_than_equal": lambda context: f"at least {context['ge']}",
    "greater_than": lambda context: f"above {context['gt']}",
    "less_than_equal": lambda context: f"at most {context['le']}",
    "less_than": lambda context: f"below {context['lt']}",
    "too_short": lambda context: f"at least {context['min_length']} of them",
    "string_too_long": lambda context: f"at most {context['max_length']} characters",
    "enum": lambda context: f"{context['expected']}",
}


def _translate(detail: Mapping[str, Any]) -> list[tuple[KeyPath, str, str]]:
    """One complaint of pydantic as (path, found, allowed), or several for findings."""
    path: KeyPath = detail["loc"]
    kind = detail["type"]
    context = detail.get("ctx", {})
    if kind == "findings":
        return [((*path, *below), found, allowed) for below, found, allowed in context["findings"]]
    if kind == "finding":
        return [(path, context["found"], context["allowed"])]
    if kind == "missing":
        return [(path, "nothing", f"this key is required; {_keys_text(path[:-1])}")]
    if kind == "extra_forbidden":
        return [(path, f"the unknown key {path[-1]}", _suggest(path))]
    say = _ALLOWED.get(kind)
    allowed = say(context) if say is not None else str(detail["msg"])
    return [(path, show(detail.get("input")), allowed)]


def _keys_of(path: KeyPath) -> list[str]:
    """The keys that a table at this path may have."""
    names = [part for part in path if isinstance(part, str)]
    model = _TABLES.get(names[-1], System) if names else System
    return [
        str(field.validation_alias or name)
        for name, field in model.model_fields.items()
        if (model, name) != (Policy, "name")
    ]


def _keys_text(path: KeyPath) -> str:
    return "the keys here are " + ", ".join(_keys_of(path))


def _suggest(path: KeyPath) -> str:
    keys = _keys_of(path[:-1])
    nearest = difflib.get_close_matches(str(path[-1]), keys, n=1, cutoff=0.6)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return hint + _keys_text(path[:-1])
