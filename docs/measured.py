# SPDX-License-Identifier: BSD-2-Clause
"""Puts measured numbers into the pages that show them.

    python docs/measured.py            shows where a page has another number than measured.toml
    python docs/measured.py --write    puts in the numbers of measured.toml

A page names its measured numbers in comments, which no reader sees. Above a table stands the
section of `src/hyperperiod/measured.toml` and, column by column, the numbers' name there, `-` for a
column that is not measured. `{}` is the first cell of each row, or what `rows` says in its place:

    <!-- measured pick: - | pick, {}, 8 servers | - -->

    | policy | instructions | aim |
    | --- | --- | --- |
    | ptps | **423** | 300 |

    <!-- measured xen_text: - | xen text, arm64, {}
    rows: all; ptps alone -->

A number in a sentence has the comment behind it: `2,688<!-- xen: gap still -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from docs.console import pages

from hyperperiod.measured import Section, read

IN_SENTENCE: Final = re.compile(r"([\d.,]*\d)\**<!-- ([\w-]+): ([^>]+?) -->")
TABLE: Final = re.compile(
    r"<!-- measured (?P<section>[\w-]+): (?P<columns>[^>]*?)(\nrows: (?P<rows>[^>]*?))?\s-->\n\n"
    r"(?:\|.*\n){2}(?P<body>(?:\|.*\n)+)"
)
CELL: Final = re.compile(r"(?<=\|)\s*\**([\d.,]*\d)?[^|\n]*(?=\|)")
"""A cell of a table, with the number that it begins with, if it does."""


class Shown(NamedTuple):
    """A measured number on a page: where its text is, its section, and its name there."""

    start: int
    end: int
    section: str
    name: str


def shown(text: str) -> list[Shown]:
    """Returns what a page shows as measured. ValueError for a comment that is not as above."""
    found = [Shown(*match.span(1), match[2], match[3]) for match in IN_SENTENCE.finditer(text)]
    tables = list(TABLE.finditer(text))
    if len(tables) < text.count("<!-- measured "):
        raise ValueError("the table of a comment is not found")
    for table in tables:
        found += _in_table(text, table)
    return sorted(found)


def _in_table(text: str, table: re.Match[str]) -> Iterator[Shown]:
    names = [" ".join(name.split()) for name in table["columns"].split("|")]
    rows = [" ".join(row.split()) for row in (table["rows"] or "").split(";")]
    start = table.start("body")
    for number, line in enumerate(table["body"].splitlines(keepends=True)):
        cells = list(CELL.finditer(text, start, start + len(line)))
        start += len(line)
        row = rows[number] if table["rows"] else re.sub(r"[*`]", "", cells[0][0]).strip()
        for name, cell in zip(names, cells, strict=True):
            if name != "-" and cell[1] is not None:
                yield Shown(*cell.span(1), table["section"], name.format(row))


def filled(text: str, sections: Mapping[str, Section]) -> str:
    """Returns a page with the numbers of these sections. KeyError for one that is not there."""
    for one in reversed(shown(text)):
        value = sections[one.section].numbers[one.name]
        text = f"{text[: one.start]}{value}{text[one.end :]}"
    return text


def wrong(text: str, sections: Mapping[str, Section]) -> Iterator[str]:
    """Says what a page shows otherwise than it was measured, or what was not measured."""
    for start, end, section, name in shown(text):
        known = sections[section].numbers.get(name) if section in sections else None
        if known is None:
            yield f"{section}: {name}: not in measured.toml"
        elif text[start:end] != str(known):
            yield f"{section}: {name}: {text[start:end]}, measured {known}"


def main() -> int:
    """Says what is wrong, or writes the pages anew; 1 if something is wrong and stays so."""
    sections = read()
    found = 0
    for page in pages():
        text = page.read_text()
        if "--write" in sys.argv:
            page.write_text(filled(text, sections))
            continue
        for line in wrong(text, sections):
            print(f"{page}: {line}")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
