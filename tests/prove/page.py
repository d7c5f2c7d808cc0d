# SPDX-License-Identifier: BSD-2-Clause
"""The tables of docs/proved.md, made of the list of proofs and the list of seeded faults."""

from __future__ import annotations

from tests.prove.mutants import MUTANTS
from tests.prove.proofs import PROOFS, ROOT

PAGE = ROOT / "docs" / "proved.md"


def proofs_table() -> str:
    """A row for each proof: the verb, what is shown, and whether CI asks for it."""
    rows = [
        f"| `{one.verb}` | {one.shows} | {'on demand' if one.on_demand else 'CI'} |"
        for one in PROOFS
    ]
    return "\n".join(
        ["| verb | what is shown of it, beside the above | asked |", "| - | - | - |", *rows]
    )


def mutants_table() -> str:
    """A row for each seeded fault, and the proof that sees it."""
    rows = [f"| {one.says} | `core/{one.file}` | `{one.proof}` |" for one in MUTANTS]
    return "\n".join(["| fault | put into | seen by |", "| - | - | - |", *rows])


def with_tables(text: str) -> str:
    """The page's text with its tables as they should be."""
    for name, table in (("proofs", proofs_table()), ("mutants", mutants_table())):
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(first)
        text = before + first + table + "\n" + last + rest.partition(last)[2]
    return text


def write_page() -> None:
    """Makes the tables of the page anew."""
    PAGE.write_text(with_tables(PAGE.read_text()))
