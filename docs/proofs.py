# SPDX-License-Identifier: BSD-2-Clause
"""Writes the table of analysis/proofs.md from the table of proofs of the analysis.

    python docs/proofs.py --write

A test compares them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hyperperiod._analysis import Shape
from hyperperiod.analysis.proofs import PROOFS, SERVER_THEOREMS, THEOREMS, Cover, Proof
from hyperperiod.analysis.servers.host_tests import ENOUGH, TESTS
from hyperperiod.model import Scope

PAGE = Path(__file__).parent / "analysis" / "proofs.md"

HEAD = (
    "| budget | order | slack | the server gets its budget by | supply | met | hops together |"
    " jobs that move | supply from | hunts |"
)
SUPPLY = {Shape.GENERAL: "general", Shape.POLLING: "polling"}


def table_of(scope: Scope) -> str:
    """All rows of one scope."""
    rows = [HEAD, "|" + " --- |" * (HEAD.count("|") - 1)]
    rows += [_row(proof) for proof in PROOFS if proof.scope is scope]
    return "\n".join(rows) + "\n"


def _row(proof: Proof) -> str:
    tests = [TESTS[name].name for name in proof.tests if TESTS[name] is not ENOUGH]
    cited = [f"*{name}*" for name in tests] or ["a pcpu for every server"]
    theorems = SERVER_THEOREMS.get((proof.budget, proof.order, proof.scope), ())
    for place, theorem in enumerate(theorems):
        cited[place] += f" (by machine: `{theorem}`)"
    source = f"`{proof.source}`" if proof.source.endswith(".py") else proof.source
    if proof.budget in THEOREMS:
        source += f"; by machine: `{THEOREMS[proof.budget]}`"
    cells = [
        proof.budget.value,
        proof.order.value,
        ", ".join(proof.slacks),
        ", ".join(cited),
        SUPPLY[proof.supply],
        "no" if proof.loose else "yes",
        "yes" if Cover.HOPS in proof.covers else "no",
        "yes" if Cover.GAPS in proof.covers else "no",
        source,
        ", ".join(hunt.removeprefix("test_").removesuffix(".py") for hunt in proof.hunts),
    ]
    return f"| {' | '.join(cells)} |"


def renewed(text: str) -> str:
    """The page with the table of each scope as it should be; ValueError if it has not both."""
    pieces = re.split(rf"^{re.escape(HEAD)}\n\| ---.*\n(?:\|.*\n)*", text, flags=re.MULTILINE)
    if len(pieces) != 1 + len(Scope):
        raise ValueError(f"{len(pieces) - 1} tables of proofs, not {len(Scope)}")
    parts = [pieces[0]]
    for scope, piece in zip(Scope, pieces[1:], strict=True):
        parts += [table_of(scope), piece]
    return "".join(parts)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
