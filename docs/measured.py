# SPDX-License-Identifier: BSD-2-Clause
"""Puts measured numbers into the pages that show them.

    python docs/measured.py            shows where a page has another number than measured.toml
    python docs/measured.py --write    puts in the numbers of measured.toml

Behind a measured number a page names it in a comment, which no reader sees: the section of
`src/hyperperiod/measured.toml`, a colon, and the number's name there, as in
`2,688<!-- xen: gap still -->`. Marks of emphasis may stand between the two.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from docs.console import pages

from hyperperiod.measured import Section, read

SHOWN: Final = re.compile(r"([\d.,]*\d)(\**)<!-- (\w+): ([^>]+?) -->")


def shown(text: str) -> Iterator[tuple[str, str, str]]:
    """What a page shows as measured: the text of each number, its section and its name."""
    for match in SHOWN.finditer(text):
        yield match[1], match[3], match[4]


def filled(text: str, sections: Mapping[str, Section]) -> str:
    """A page with the numbers of these sections. KeyError for one that is not there."""

    def number(match: re.Match[str]) -> str:
        value = sections[match[3]].numbers[match[4]]
        return f"{value}{match[2]}<!-- {match[3]}: {match[4]} -->"

    return SHOWN.sub(number, text)


def wrong(text: str, sections: Mapping[str, Section]) -> Iterator[str]:
    """What a page shows otherwise than it was measured, or what was not measured."""
    for number, section, name in shown(text):
        known = sections[section].numbers.get(name) if section in sections else None
        if known is None:
            yield f"{section}: {name}: not in measured.toml"
        elif number != str(known):
            yield f"{section}: {name}: {number}, measured {known}"


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
