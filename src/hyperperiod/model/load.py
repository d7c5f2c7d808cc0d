# SPDX-License-Identifier: BSD-2-Clause
"""From a file to a System, or to an InputError that lists everything wrong with it.

TOML is the native form. A name ending in .xml is read as a system of CARTS, Cheddar or SimSo, as
domains of libvirt or as a module schedule of ARINC 653, by its first element, one in .amxmi as a
model of AMALTHEA, one in .arxml as an ECU of AUTOSAR, one in .csv as a table of tasks, one in .json
as a workload of rt-app; what has another name, as a pipe has, is known by its text, and so are
models of MAST and what xl prints.
Nothing is believed about the file: its kind and size are bounded, and whatever it contains, the
only exception that leaves `load_system` is InputError.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.part import SomePart, read_part, show_path
from hyperperiod.model.system import System
from hyperperiod.model.values import Finding, Reading, TomlTable
from hyperperiod.model.values import Path as KeyPath

if TYPE_CHECKING:
    from pathlib import Path

    from hyperperiod.model.locate import Lines

# A system of 1024 vcpus with tasks is some 200 kB; no system is near this limit.
FILE_LIMIT_BYTES = 1 << 20
# What only systems are called: results end in .json as well.
SYSTEM_ENDINGS = (".toml", ".xml", ".amxmi", ".arxml", ".csv")
# The name of standard input, and the endings that say what a file is written in.
STDIN = "-"
FORMS = ("toml", "xml", "amxmi", "arxml", "csv", "json")
SYSTEM_FILE = "a system file (.toml, .xml, .amxmi, .arxml, .csv or .json)"
EXPERIMENT = "an experiment (.toml)"
"""What is allowed, in messages about a file that is none of these."""

XL = re.compile(r"Cpupool \S+: |Name +(CPUs|ID) ")
"""How lists of xl's begin."""
MAST = re.compile(
    r"(?:\s|--[^\n]*+)*+(?:model|processing_resource|scheduler|scheduling_server|operation)\s*\(",
    re.IGNORECASE,
)
"""How models of MAST begin, behind comments."""
XML_ROOT = re.compile(r"(?:\s|<\?[^>]*>|<!--(?:(?!-->).)*-->)*<(?:[\w.-]+:)?([\w.-]+)", re.DOTALL)
"""The first element of XML, behind comments, without its namespace."""
READERS = {
    "amxmi": "amalthea",
    "arxml": "autosar",
    "autosar": "autosar",
    "csv": "table",
    "json": "rt_app",
    "mast": "mast",
    "xl": "xl_lists",
    "xml": "carts",
    "domain": "libvirt",
    "cheddar": "cheddar",
    "simulation": "simso",
    "arinc_653_module": "module_schedule",
    "module": "module_schedule",
    "module_schedule": "module_schedule",
}
"""The module that reads a form, or XML with this first element; `read_` is before its function."""

LineOf = Callable[[KeyPath], int]
Document = tuple[TomlTable, LineOf]


def load_system(
    path: str | os.PathLike[str], *, pinned: bool = False, pcpus: int | None = None
) -> System:
    """The system in the file `path`; InputError when there is none or it is wrong.

    "-" is standard input. `pcpus` counts instead of the number in the file.

    With `pinned` a domain without the pcpu that its policy wants is wrong as well. Without, it is
    read as it stands: `fit` chooses pcpus, everything else refuses it (`require_pins`).
    """
    name, text = shown_name(os.fspath(path)), read_text(os.fspath(path))
    document, line_of = _read_document(name, text)
    if pcpus is not None:
        document = {**document, "pcpus": pcpus}
    reading = Reading(from_file=True)
    system = read_part(System, document, (), reading)
    if pinned and system is not None:
        reading.findings.extend(system.missing_pins())
    if system is None or reading.findings:
        raise _refusal(name, reading.findings, line_of)
    return system


def read_document(name: str) -> Document:
    """Returns a file as tables and lists, and the line of each key; InputError if unreadable.

    For who makes a document of several, and then a system of it.
    """
    return _read_document(shown_name(name), read_text(name))


def read_experiment_document(name: str) -> Document:
    """The same of a file that says what is to be done with systems, always in TOML."""
    return _read_toml(shown_name(name), read_text(name, EXPERIMENT))


def read_toml(name: str, kind: type[SomePart], shared: Mapping[str, Any] | None = None) -> SomePart:
    """The record of this kind in the TOML file of an experiment; InputError if it is wrong.

    Keys of `shared` hold where the file has none.
    """
    document, line_of = read_experiment_document(name)
    reading = Reading(from_file=True)
    part = read_part(kind, {**(shared or {}), **document}, (), reading)
    if part is None or reading.findings:
        raise _refusal(name, reading.findings, line_of)
    return part


def _refusal(name: str, findings: list[Finding], line_of: LineOf) -> InputError:
    """All findings with their lines, in the order of the file."""
    problems = [
        Problem(name, line_of(one.path), show_path(one.path), one.found, one.allowed)
        for one in findings
    ]
    problems.sort(key=lambda problem: problem.line or 0)
    return InputError.of(problems)


def require_system(given: object) -> None:
    """InputError for what is no system, such as the name of its file, where one is wanted."""
    if not isinstance(given, System):
        allowed = "a System: hp.load(FILE) reads one, hp.System(...) makes one"
        raise InputError("", None, "system", repr(given), allowed)


def require_pins(system: System) -> None:
    """InputError naming every domain that has no pcpu, though its policy wants one."""
    problems = [
        Problem(system.name, None, show_path(path), found, allowed)
        for path, found, allowed in system.missing_pins()
    ]
    if problems:
        raise InputError.of(problems)


def shown_name(name: str) -> str:
    """Returns the name of a system file as messages give it: `<stdin>` for `-`, else itself."""
    return "<stdin>" if name == STDIN else name


def form_of(name: str, text: str) -> str:
    """Returns the form of a system, one of FORMS or xl: by the name's ending, or its text.

    XML begins with <, JSON with { or a comment of its own. The first line of a table names its
    columns: it has a separator and, unlike every first line of TOML, no = and no [ at its
    beginning.
    """
    ending = name.lower().rpartition(".")[2]
    if ending in FORMS:
        return ending
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith("<"):
        root = XML_ROOT.match(text)
        return "amxmi" if root and root[1] == "Amalthea" else "xml"
    if first.startswith(("{", "/*", "//")):
        return "json"
    if XL.match(first):
        return "xl"
    if MAST.match(text):
        return "mast"
    is_table = ("," in first or ";" in first) and "=" not in first and not first.startswith("[")
    return "csv" if is_table else "toml"


def require_file(name: str, allowed: str) -> Path:
    """The path of a regular file that may be read; InputError for anything else.

    It is to be mapped or read twice, which a pipe cannot be.
    """
    from pathlib import Path

    if not stat.S_ISREG(require_readable(name, allowed)):
        raise InputError(name, None, "", "a device or pipe", allowed)
    return Path(name)


def require_readable(name: str, allowed: str) -> int:
    """The mode of what is no folder and may be read; InputError for anything else."""
    try:
        mode = os.stat(name or ".").st_mode  # noqa: PTH116 - no start waits for pathlib
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
    if not os.access(name, os.R_OK):
        raise InputError(name, None, "", "permission denied", allowed)
    return mode


def read_text(name: str, wanted: str = SYSTEM_FILE) -> str:
    """The text of a file, a pipe or (-) standard input, in UTF-8 and of bounded size.

    InputError for anything else, which says what file is wanted.
    """
    allowed = f"{wanted} of at most {FILE_LIMIT_BYTES >> 20} MiB"
    data = _read_start(name, allowed)
    name = shown_name(name)
    if data.startswith(b"HPTRACE1"):
        raise InputError(name, None, "", "a trace", f"{allowed}; `hyperperiod trace` reads traces")
    if len(data) > FILE_LIMIT_BYTES:
        raise InputError(name, None, "", "a larger file", allowed)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}, which is not UTF-8"
        raise InputError(name, line, "", found, "text in UTF-8") from None


def _read_document(name: str, text: str) -> Document:
    """Returns a file as tables and lists, and the line of each key in it."""
    form = form_of(name, text)
    if form == "toml":
        return _read_toml(name, text)
    root = XML_ROOT.match(text) if form == "xml" else None
    module = READERS.get(root[1].lower() if root else form, READERS[form])
    reader = getattr(import_module(f"hyperperiod.model.readers.{module}"), f"read_{module}")
    document: Document = reader(name, text)
    return document


def _read_start(name: str, allowed: str) -> bytes:
    """Reads as much of the file as a system may have, and one byte more of one that is too long."""
    try:
        if name == STDIN:
            if sys.stdin is None:
                raise InputError(shown_name(name), None, "", "a closed standard input", allowed)
            return sys.stdin.buffer.read(FILE_LIMIT_BYTES + 1)
        require_readable(name, allowed)
        with open(name, "rb") as file:  # noqa: PTH123
            return file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "an unreadable file").lower()
        raise InputError(shown_name(name), None, "", reason, allowed) from None


def _read_toml(name: str, text: str) -> Document:
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
    return document, lambda path: _lines_of(text).of(path)


@cache
def _lines_of(text: str) -> Lines:
    """The lines of the keys: finding them takes as long as reading a file, so only messages ask."""
    from hyperperiod.model.locate import locate

    return locate(text)


def _syntax_error(name: str, text: str, message: str) -> InputError:
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return InputError(name, 1, "", message, "TOML 1.0")
    line = int(place.group(1)) if place.group(1) else text.count("\n") + 1
    reason = message[: place.start()]
    twice = _twice(reason, text.split("\n")[line - 1])
    if twice:
        return InputError(name, line, twice, f"{twice} a second time", "each key and table once")
    return InputError(name, line, "", reason, "TOML 1.0")


def _twice(reason: str, line: str) -> str:
    """The key or table that stands there a second time, where that is what is wrong."""
    table = re.fullmatch(r"Cannot declare \((.*?),?\) twice", reason)
    if table is not None:
        return ".".join(part.strip(" '\"") for part in table.group(1).split(","))
    key, equals, _ = line.partition("=")
    return key.strip() if equals and reason == "Cannot overwrite a value" else ""
