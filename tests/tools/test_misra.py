# SPDX-License-Identifier: BSD-2-Clause
"""`make misra` sees a rule that is broken, one without a row, and a row that nothing needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tools.check_misra import PAGE, Finding, complaints, deviations, findings

BROKEN = """\
static int octal(void);
static int octal(void) { return 010; }
int entry(void);
int entry(void) { return octal(); }
"""


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
def test_what_breaks_a_rule_is_found(tmp_path: Path) -> None:
    (tmp_path / "broken.c").write_text(BROKEN)
    rules = {one.rule for one in findings(tmp_path, "broken.c", "")}
    assert "7.1" in rules
    assert not rules & deviations(PAGE.read_text())


def test_a_rule_without_a_row_and_a_row_without_a_rule_are_named() -> None:
    found = [Finding("7.1", "core/a.h", 3), Finding("15.5", "core/a.h", 4)]
    assert complaints(found, {"15.5", "16.4"}) == [
        "core/a.h:3: MISRA C:2012 7.1",
        "misra.md: nothing breaks 16.4 any more",
    ]


def test_every_row_has_a_reason() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    reasons = {row.split(" | ")[0]: row.split(" | ")[-1] for row in rows if row[2].isdigit()}
    assert len(reasons) == len(deviations(PAGE.read_text()))
    assert not [rule for rule, reason in reasons.items() if len(reason) < 20]
