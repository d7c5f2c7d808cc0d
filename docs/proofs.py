# SPDX-License-Identifier: BSD-2-Clause
"""Writes the tables of analysis/proofs.md from the tables of proofs of the analysis.

    python docs/proofs.py --write

A test compares them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from hyperperiod._analysis import Shape
from hyperperiod.analysis.proofs import (
    PROOFS,
    REFINEMENT_THEOREMS,
    REFINEMENTS,
    SERVER_THEOREMS,
    THEOREMS,
    Cover,
    Proof,
    SupplyRefinement,
)
from hyperperiod.analysis.servers.host_tests import ENOUGH, TESTS
from hyperperiod.model import Scope

PAGE = Path(__file__).parent / "analysis" / "proofs.md"

HEAD = (
    "| budget | order | slack | the server gets its budget by | supply | met | hops together |"
    " jobs that move | supply from | hunts |"
)
KNOWN = "| what is known | budget | scope | order | slack | hops together | proof | hunts |"
SUPPLY = {Shape.GENERAL: "general", Shape.POLLING: "polling"}


def tables() -> list[str]:
    """All tables, in the order of the page."""
    known = _table(KNOWN, map(_known, REFINEMENTS))
    by_scope = ([_row(proof) for proof in PROOFS if proof.scope is scope] for scope in Scope)
    return [*(_table(HEAD, rows) for rows in by_scope), known]


def _table(head: str, rows: Iterable[str]) -> str:
    return "\n".join([head, "|" + " --- |" * (head.count("|") - 1), *rows]) + "\n"


def _row(proof: Proof) -> str:
    tests = [TESTS[name].name for name in proof.tests if TESTS[name] is not ENOUGH]
    cited = [f"*{name}*" for name in tests] or ["a pcpu for every server"]
    theorems = SERVER_THEOREMS.get((proof.budget, proof.order, proof.scope), ())
    for place, theorem in enumerate(theorems):
        cited[place] += f" (by machine: `{theorem}`)"
    cells = [
        proof.budget.value,
        proof.order.value,
        ", ".join(proof.slacks),
        ", ".join(cited),
        SUPPLY[proof.supply],
        "no" if proof.loose else "yes",
        "yes" if Cover.HOPS in proof.covers else "no",
        "yes" if Cover.GAPS in proof.covers else "no",
        _source(proof.source, THEOREMS.get(proof.budget, ())),
        _hunts(proof.hunts),
    ]
    return f"| {' | '.join(cells)} |"


def _known(row: SupplyRefinement) -> str:
    cells = [
        f"*{row.claim}*",
        row.budget.value,
        row.scope.value,
        ", ".join(row.orders),
        ", ".join(row.slacks),
        "yes" if Cover.HOPS in row.covers else "no",
        _source(row.source, REFINEMENT_THEOREMS.get((row.claim, row.budget, row.scope), ())),
        _hunts(row.hunts),
    ]
    return f"| {' | '.join(cells)} |"


def _source(source: str, theorems: tuple[str, ...]) -> str:
    cited = f"`{source}`" if source.endswith(".py") else source
    named = ", ".join(f"`{theorem}`" for theorem in theorems)
    return f"{cited}; by machine: {named}" if theorems else cited


def _hunts(files: Iterable[str]) -> str:
    return ", ".join(file.removeprefix("test_").removesuffix(".py") for file in files)


def renewed(text: str) -> str:
    """The page with its tables as they should be; ValueError if it has not all."""
    heads = f"{re.escape(HEAD)}|{re.escape(KNOWN)}"
    pieces = re.split(rf"^(?:{heads})\n\| ---.*\n(?:\|.*\n)*", text, flags=re.MULTILINE)
    written = tables()
    if len(pieces) != 1 + len(written):
        raise ValueError(f"{len(pieces) - 1} tables of proofs, not {len(written)}")
    return pieces[0] + "".join(map("".join, zip(written, pieces[1:], strict=True)))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
