# SPDX-License-Identifier: BSD-2-Clause
"""`make proofs`: Coq accepts the theorems, none of falsehoods, and pages and code name real ones.

A falsehood is a copy of the files in which one definition says what is not so, as the floor that
the paper prints in place of the ceiling. A copy in which a claim is not proved is refused as well.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tools.check_theorems import SOURCES, NotProved, check, main, theorems

from hyperperiod.analysis.proofs import THEOREMS

PAGE = SOURCES.parent / "docs" / "analysis" / "proofs.md"
COQ = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")

Change = tuple[str, str, str]
FALSEHOODS: dict[str, Change] = {
    "floor": ("model.v", "(a + b - 1) / b", "a / b"),
    "supply-one-more": ("model.v", "min ((t - x) mod P) B.", "min ((t - x) mod P) B + 1."),
    "blackout-one-less": ("model.v", "(P - B) + (D - B).", "(P - B) + (D - B) - 1."),
}
LONG_FALSEHOODS: dict[str, Change] = {
    "polling-as-deferrable": ("model.v", "| Polling => late P B", "| Polling => general P B P"),
    "deadline-behind-period": (
        "model.v",
        "+ jitter (tasks i) <= period (tasks i).",
        "<= deadline (tasks i).",
    ),
    "lower-goes-first": ("model.v", "key other <= key j", "key j <= key other"),
}
UNPROVED: dict[str, Change] = {
    "left-out": ("tasks.v", "now apply server_supply.\nQed.", "Admitted."),
    "axiom": ("supply.v", "Lemma quotient P n y :", "Axiom quotient : forall P n y,"),
}


def falsified(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the files with one place changed in one of them."""
    shutil.copytree(SOURCES, folder)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    return folder


@COQ
def test_all_theorems_are_proved() -> None:
    assert check(SOURCES) == theorems(SOURCES)


def is_refused(folder: Path, change: Change) -> None:
    """Asserts that a proof breaks on the change, and not the definitions."""
    with pytest.raises(NotProved, match=r"File \"./(supply|tasks|runs).v\", line \d+"):
        check(falsified(folder, *change))


@COQ
@pytest.mark.parametrize("change", FALSEHOODS.values(), ids=FALSEHOODS)
def test_falsehoods_are_not_proved(change: Change, tmp_path: Path) -> None:
    is_refused(tmp_path / "proofs", change)


@COQ
@pytest.mark.slow
@pytest.mark.parametrize("change", LONG_FALSEHOODS.values(), ids=LONG_FALSEHOODS)
def test_more_falsehoods_are_not_proved(change: Change, tmp_path: Path) -> None:
    is_refused(tmp_path / "proofs", change)


@pytest.mark.parametrize("change", UNPROVED.values(), ids=UNPROVED)
def test_claims_without_a_proof_are_named(change: Change, tmp_path: Path) -> None:
    with pytest.raises(NotProved, match=rf"{change[0]}:\d+: (Admitted|Axiom) takes something"):
        check(falsified(tmp_path / "proofs", *change))


@COQ
@pytest.mark.slow
def test_what_coq_itself_takes_for_granted_is_seen(tmp_path: Path) -> None:
    """A claim that no word of the list gives away: a context outside of a section is an axiom."""
    file = "supply.v"
    old = "Lemma quotient P n y : y < P -> (n * P + y) / P = n.\n"
    new = "Context (quotient : forall P n y, y < P -> (n * P + y) / P = n).\nLemma one : 1 = 1.\n"
    folder = falsified(tmp_path / "proofs", file, old, new)
    text = (folder / file).read_text()
    proof = "Proof. intros small. symmetry. apply (Nat.div_unique _ _ _ y); lia. Qed."
    assert proof in text
    (folder / file).write_text(text.replace(proof, "Proof. reflexivity. Qed."))
    with pytest.raises(NotProved, match=r"without assumptions\nAxioms:\s+(supply\.)?quotient"):
        check(folder)


def test_without_coq_the_command_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", ["check_theorems.py"])
    assert main() == 3
    assert "sudo apt-get install -y coq" in capsys.readouterr().out


def test_a_folder_without_theorems_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["check_theorems.py", str(tmp_path)])
    assert main() == 2
    assert str(tmp_path) in capsys.readouterr().out


def test_the_rows_of_the_analysis_name_theorems() -> None:
    assert set(THEOREMS.values()) <= set(theorems(SOURCES))


def test_the_page_names_every_theorem_and_quotes_them_right() -> None:
    page = PAGE.read_text()
    missing = [name for name in theorems(SOURCES) if f"`{name}`" not in page]
    assert not missing
    quoted = re.findall(r"```coq\n(.*?)```", page, re.DOTALL)
    assert quoted
    files = "\n".join(file.read_text() for file in SOURCES.glob("*.v"))
    assert all(one in files for one in quoted)
