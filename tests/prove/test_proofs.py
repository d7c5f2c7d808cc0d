# SPDX-License-Identifier: BSD-2-Clause
"""The proofs and what is said of them: every function is in the list, every law has a proof.

`make prove` asks the model checker; here nothing is proved. What is looked at is what would rot
unseen: a proof that nobody asks for, a law that nobody shows, a fault that no longer fits the
core, a page that says something else.
"""

from __future__ import annotations

import re

import pytest
from tests.prove.mutants import MUTANTS, Mutant
from tests.prove.page import PAGE, with_tables
from tests.prove.proofs import HERE, PROOFS, ROOT


def test_every_proof_is_asked_for() -> None:
    found = {
        (file.name, name)
        for file in HERE.glob("*.c")
        for name in re.findall(r"^void (\w+)\(void\) \{$", file.read_text(), re.MULTILINE)
    }
    assert found == {(one.file, one.name) for one in PROOFS}


def test_every_law_is_shown() -> None:
    used = re.findall(r"^static void law_(\w+)\(", (HERE / "arithmetic.h").read_text(), re.M)
    shown = re.findall(r"^\(push\) ; (\w+)$", (HERE / "lemmas.smt2").read_text(), re.M)
    assert sorted(used) == sorted(shown)
    assert len(used) > 5


def test_accounts_multiply_by_verbs_alone() -> None:
    """A product or quotient of two unknowns in an account is one that no proof can see through."""
    files = [ROOT / "core" / "account.h", ROOT / "core" / "slack" / "spare.h"]
    for file in [*files, *sorted((ROOT / "core" / "budget").glob("*.h"))]:
        code = re.sub(r"/\*.*?\*/|//[^\n]*|#include[^\n]*", "", file.read_text(), flags=re.DOTALL)
        code = code.replace("span_ns / 2u", "")
        code = re.sub(
            r"HP_VCPUS \* HP_REFILLS|% HP_REFILLS|vcpu \* HP_REFILLS|\d+u \* HP_REFILLS", "", code
        )
        found = re.findall(r"[^\n]*[\w)] [*/%]=? [\w(][^\n]*", code)
        assert not found, f"{file.name}: {found}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.says.replace(" ", "-"))
def test_faults_fit_the_core(mutant: Mutant) -> None:
    text = (ROOT / "core" / mutant.file).read_text()
    assert mutant.apply(text) != text
    assert mutant.proof in {one.name for one in PROOFS}


def test_half_of_the_proofs_see_a_fault() -> None:
    seen = {one.proof for one in MUTANTS}
    assert len(seen) * 2 >= len(PROOFS)


def test_the_page_says_what_is_proved() -> None:
    assert "hp_drop_level" in PAGE.read_text()
    assert PAGE.read_text() == with_tables(PAGE.read_text()), (
        "run: python -m tests.prove.prove --write"
    )
