# SPDX-License-Identifier: BSD-2-Clause
"""Checks the rules that every host asks of the core's sources.

The core is compiled by gcc and clang, for user space, for hypervisors and for BPF, and what the
strictest of them refuses is kept out from the start: conditional compilation outside the seam
`core/env.h`, floating point, function pointers, loops without a bound (`while`, `do`, `goto`,
plain `for`), recursion, more than five arguments. So is what makes a rule hard to read: a
`default:` that hides a missing decision, functions over 60 lines, lines over 100 columns.
Include guards are no conditionals. The reading is textual and needs no compiler.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEAM = "env.h"
MAX_FUNCTION_LINES = 60
MAX_ARGUMENTS = 5
MAX_COLUMNS = 100

NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
GUARD = re.compile(r"\s*#ifndef (\w+)\n#define \1\n(?P<inside>.*)#endif\s*", re.DOTALL)
HEADER = re.compile(r"(\w+)\s*\(([^(){};]*)\)\s*$")

# What must not stand in the core, by pattern; in the bodies of macros neither.
BANNED = {
    r"\b(?:float|double)\b": "floating point",
    r"\b(?:while|goto|do)\b": "a loop or jump without a stated bound",
    r"\(\s*\*\s*\w*\s*\)\s*\(": "a function pointer",
    r"\bdefault\s*:": "a default, which hides a missing decision",
    r"\b__int128\b": "a 128-bit integer",
}


@dataclass(frozen=True)
class Function:
    """A function definition as the text shows it."""

    name: str
    arguments: int
    first_line: int
    lines: int
    body: str


def blank(match: re.Match[str]) -> str:
    """The same number of lines, with nothing on them."""
    return "\n" * match.group().count("\n") or " "


def code_of(text: str) -> str:
    """The text with comments, strings and directives blanked, line numbers kept."""
    return DIRECTIVE.sub(blank, NOT_CODE.sub(blank, text))


def count_arguments(text: str) -> int:
    """How many parameters a parameter list has."""
    return 0 if text.strip() in {"", "void"} else text.count(",") + 1


def functions(code: str) -> Iterator[Function]:
    """Every function definition: a `{` at the top level that follows a parameter list."""
    depth, opened, before = 0, 0, 0
    header: re.Match[str] | None = None
    for at, character in enumerate(code):
        if character == "{":
            if depth == 0:
                header, opened = HEADER.search(code[before:at]), at
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                before = at + 1
                if header:
                    yield describe(header, code, opened, at)
        elif character == ";" and depth == 0:
            before = at + 1


def describe(header: re.Match[str], code: str, opened: int, closed: int) -> Function:
    """The function whose body lies between two braces."""
    first = code.count("\n", 0, opened) + 1 - header.group().count("\n")
    return Function(
        name=header.group(1),
        arguments=count_arguments(header.group(2)),
        first_line=first,
        lines=code.count("\n", 0, closed) + 2 - first,
        body=code[opened : closed + 1],
    )


def wrong_functions(code: str) -> Iterator[tuple[int, str]]:
    """Functions that are too long, take too much or call themselves."""
    for function in functions(code):
        if function.lines > MAX_FUNCTION_LINES:
            yield function.first_line, f"{function.name} has {function.lines} lines, allowed: 60"
        if function.arguments > MAX_ARGUMENTS:
            yield function.first_line, f"{function.name} takes {function.arguments} arguments"
        if re.search(rf"\b{function.name}\s*\(", function.body):
            yield function.first_line, f"{function.name} calls itself"


def wrong_directives(text: str) -> Iterator[tuple[int, str]]:
    """Conditional compilation, apart from an include guard around the whole file."""
    plain = NOT_CODE.sub(blank, text)
    guard = GUARD.fullmatch(plain)
    start, inside = (guard.start("inside"), guard["inside"]) if guard else (0, plain)
    for match in re.finditer(r"^[ \t]*#\s*(?:el)?if", inside, re.MULTILINE):
        yield plain.count("\n", 0, start + match.start()) + 1, "conditional compilation"


def violations(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and description of all that is wrong in one file."""
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, allowed: {MAX_COLUMNS}"
    code = code_of(text)
    yield from wrong_functions(code)
    if path.name == SEAM:
        return
    yield from wrong_directives(text)
    # A loop is written through a macro that states its bound: `for` stands only in macros.
    for match in re.finditer(r"\bfor\s*\(", code):
        yield code.count("\n", 0, match.start()) + 1, "a plain for loop; a macro states the bound"
    plain = NOT_CODE.sub(blank, text)
    for pattern, meaning in BANNED.items():
        for match in re.finditer(pattern, plain):
            yield plain.count("\n", 0, match.start()) + 1, meaning


def main() -> int:
    """Prints every violation in core/; 1 if there is one."""
    found = [
        f"{path}:{line}: {what}"
        for path in sorted(Path("core").glob("**/*.[ch]"))
        for line, what in sorted(violations(path))
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
