# SPDX-License-Identifier: BSD-2-Clause
"""The SQL of docs/howto/perfetto.md, asked of the trace that the commands of the page write.

    python -m docs.queries            shows whether the answers are those on the page
    python -m docs.queries --write    puts the answers into the page

A query is a block of SQL with a title; its answer is the block of text behind it. A block that only
makes tables has none.
"""

from __future__ import annotations

import re
import sys
from typing import Final

from tools.trace_processor import Answer, Value

from docs import console
from tools import trace_processor

PAGE: Final = console.TOP / "docs/howto/perfetto.md"
QUERY: Final = re.compile(
    r'(^```sql title="([\w.]+)"\n(.*?)^```\n)(?:\n```text\n(.*?)^```\n)?', re.MULTILINE | re.DOTALL
)


def queries(text: str) -> dict[str, str]:
    """The queries of a page by their titles, in order."""
    return {match[2]: match[3] for match in QUERY.finditer(text)}


def rewritten(text: str) -> str:
    """The page with the answers to its queries."""
    with console.folder() as folder:
        for block in console.blocks(text):
            console.run_block(block, folder)
        asked = list(queries(text).values())
        (answers,) = trace_processor.ask([(folder / "run.pftrace", asked)])
    tables = iter(answers)

    def block(match: re.Match[str]) -> str:
        answer = next(tables)
        return match[1] + (f"\n```text\n{table(answer)}```\n" if answer.rows else "")

    return QUERY.sub(block, text)


def table(answer: Answer) -> str:
    """The rows of an answer in columns, numbers to the right."""
    rows = [answer.columns, *([cell(value) for value in row] for row in answer.rows)]
    columns = list(zip(*rows, strict=True))
    right = [all(not isinstance(row[i], str) for row in answer.rows) for i in range(len(columns))]
    widths = [max(map(len, column)) for column in columns]
    lines = (
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def cell(value: Value) -> str:
    """A value as it is shown; numbers that are not whole to the microsecond."""
    if isinstance(value, float):
        return f"{value:.3f}"
    return "NULL" if value is None else str(value)


def main(arguments: list[str]) -> int:
    """Checks or rewrites the page."""
    text = PAGE.read_text()
    new = rewritten(text)
    if new == text:
        return 0
    if "--write" in arguments:
        PAGE.write_text(new)
        return 0
    print(f"{PAGE}: not the answers to its queries")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
