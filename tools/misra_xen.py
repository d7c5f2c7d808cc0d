# SPDX-License-Identifier: BSD-2-Clause
"""The glue for Xen (hosts/xen) as cppcheck can read it: preprocessed as Xen's build does it.

Compiler and options are those with which Xen's build made the object, which its command file tells.
Xen's headers are preprocessed as a system's, so that the compiler marks what Xen's macros expand
to. Of Xen's and the core's functions the bodies are left out: cppcheck neither reads Xen's
assembler, nor has it to judge them here.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

FOLDER = "hosts/xen"
MACROS = "xen-macros"
"""The folder to which the text that Xen's macros expand to is said to belong."""

_MARKER = re.compile(r'^# (?P<line>\d+) "(?P<file>[^"]*)"(?P<flags>[ \d]*)$')
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|\s+|.')
_FROM_SYSTEM = "3"


def units(root: Path) -> list[str]:
    """The names of the units, without their ending."""
    return sorted(one.stem for one in (root / FOLDER).glob("*.c"))


def command_file(objects: Path, unit: str) -> Path:
    """Where Xen's build has written how it compiled a unit."""
    return objects / "common" / "sched" / "hyperperiod" / f".{unit}.o.cmd"


def preprocessor(command: str) -> list[str]:
    """What preprocesses as the command of a command file does, with Xen's headers as a system's."""
    words = shlex.split(command.splitlines()[0].partition(":=")[2])
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if word in {"-MF", "-MQ", "-o", "-c"}:
            words.pop(0)
        elif word not in {"-MMD", "-MP"} and not word.startswith("-Wa,"):
            kept.append(re.sub(r"^-I(?=.)", "-isystem", word))
    return [*kept, "-E"]


def preprocessed(root: Path, objects: Path) -> str:
    """All units as one, so that Xen's headers are read once, after the preprocessor.

    RuntimeError: they do not compile with that Xen.
    """
    names = units(root)
    command = preprocessor(command_file(objects, names[0]).read_text())
    done = subprocess.run(
        [*command, f"-I{root}", "-x", "c", "-"],
        cwd=objects,
        input="".join(f'#include "{root / FOLDER / name}.c"\n' for name in names),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def readable(text: str, root: Path) -> str:
    """Preprocessed text without the bodies of functions that are not in the folder."""
    parts: list[str] = []
    bodies = Bodies()
    ours = False
    for line in text.splitlines(keepends=True):
        marker = _MARKER.match(line)
        if marker is None:
            parts.append(line if ours else bodies.without(line))
            continue
        file = Path(marker["file"])
        ours = file.is_relative_to(root / FOLDER)
        name = file.relative_to(root) if ours else file
        if ours and _FROM_SYSTEM in marker["flags"].split():
            name = Path(MACROS) / file.name
        parts.append(f'# {marker["line"]} "{name}"\n')
    return "".join(parts)


class Bodies:
    """Leaves the bodies of functions out of text that comes line by line."""

    def __init__(self) -> None:
        self._depth = 0
        self._inside = False
        self._last = ""

    def without(self, line: str) -> str:
        """What is left of the next line: of a body a semicolon, and the ends of its lines."""
        return "".join(self._left(token) for token in _TOKEN.findall(line)) + "\n"

    def _left(self, token: str) -> str:
        left = "" if self._inside or token.endswith("\n") else token
        if token == "{":
            if self._depth == 0 and self._last == ")":
                self._inside = True
                left = ";"
            self._depth += 1
        elif token == "}":
            self._depth -= 1
            self._inside = self._inside and self._depth > 0
        if not token.isspace():
            self._last = token
        return left
