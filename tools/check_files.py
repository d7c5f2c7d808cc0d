# SPDX-License-Identifier: BSD-2-Clause
"""Checks what every tracked file owes: a licence line, and no trace of where it was written.

Sources name their licence in their first lines, and the right one for their place. No text
names a folder of the machine it was written on or the office around it. Lines of sources have
at most 100 columns (formatters see to code, this to the rest). A docstring says what it is about:
none begins with "Of ". Data from elsewhere is left as it came.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE_SUFFIXES = {".py", ".pyi", ".c", ".h", ".cpp", ".hpp", ".S", ".sh", ".ld", ".cmake", ".v"}
SOURCE_NAMES = {"Makefile", "CMakeLists.txt", "pyproject.toml"}
NOT_OURS = ("LICENSES/", "tests/data/", "uv.lock", "tools/uv.txt")
MAX_COLUMNS = 100
RIDDLE = re.compile(r'\s*r?"""Of\b')

CORE_LICENCE = "GPL-2.0-only OR BSD-2-Clause"
GPL_LICENCE = "GPL-2.0-only"
SHARED_WITH_XEN = {"record/record.h", "record/ring.h", "hosts/xen/public.h"}
LICENCE = "BSD-2-Clause"

# Brackets keep these patterns from finding themselves.
BANNED = {
    r"(?<![\w.])/[w]ork\b": "a folder of somebody's machine",
    r"(?<![\w.])/[r]oot\b": "a folder of somebody's machine",
    r"/[t]mp/bash_jobs": "a folder of somebody's machine",
    r"(?<![\w.])/[h]ome/\w": "a folder of somebody's machine",
    r"(?i)\b[i]ssues?\b": "a word of the office, not of the project",
    r"(?i)\b[C]laude\b|\b[A]nthropic\b": "a word of the office, not of the project",
    r"\b(?:[T]ODO|[F]IXME|[X]XX)\b": "unfinished work",
}


def tracked() -> list[Path]:
    """Every file that is in the repository or would be."""
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True
    ).stdout
    return [Path(name) for name in listing.splitlines() if Path(name).is_file()]


def is_source(path: Path, text: str) -> bool:
    """Whether a file is source code, and so names its licence."""
    return path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES or text.startswith("#!")


def licence_of(path: Path) -> str:
    """The licence a source file at this place must name."""
    if path.parts[0] in ("core", "words") or path.as_posix() in SHARED_WITH_XEN:
        return CORE_LICENCE
    linked_into_xen = path.parent.as_posix() == "hosts/xen" and path.suffix in {".c", ".h"}
    if linked_into_xen or path.name.endswith((".bpf.c", ".bpf.h")):
        return GPL_LICENCE
    return LICENCE


def wrong_licence(path: Path, text: str) -> Iterator[str]:
    """A source file that names no licence, or not the one of its place."""
    head = "\n".join(text.splitlines()[:5])
    named = re.search(r"SPDX-License-Identifier: ([^\n*]+?)\s*(?:\*[/)])?$", head, re.MULTILINE)
    if not named:
        yield f"{path}:1: no SPDX-License-Identifier in the first lines"
    elif named[1] != licence_of(path):
        yield f"{path}:1: licence {named[1]}; here it is {licence_of(path)}"


def wrong_lines(path: Path, text: str, source: bool) -> Iterator[str]:
    """Lines that are too long or name what no file should name."""
    for number, line in enumerate(text.splitlines(), 1):
        if source and len(line) > MAX_COLUMNS:
            yield f"{path}:{number}: {len(line)} columns, allowed: {MAX_COLUMNS}"
        for pattern, meaning in BANNED.items():
            match = re.search(pattern, line)
            if match:
                yield f"{path}:{number}: {match.group()!r} is {meaning}"


def wrong_docstrings(path: Path, text: str) -> Iterator[str]:
    """Docstrings that begin with "Of ": what they are about stands elsewhere, if anywhere."""
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".py" and RIDDLE.match(line):
            yield f"{path}:{number}: a docstring without a subject; say what it returns or is"


def violations(path: Path) -> Iterator[str]:
    """All that is wrong with one file."""
    if str(path).startswith(NOT_OURS):
        return
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    source = is_source(path, text)
    if source and text:
        yield from wrong_licence(path, text)
    yield from wrong_lines(path, text, source)
    yield from wrong_docstrings(path, text)


def main() -> int:
    """Prints every violation; 1 if there is one."""
    found = [line for path in tracked() for line in violations(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
