# SPDX-License-Identifier: BSD-2-Clause
"""`make misra` sees a rule that is broken, one without a row, and a row that nothing needs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tools.check_misra import (
    PAGE,
    Finding,
    complaints,
    deviations,
    findings,
    findings_for_xen,
)

from tools import misra_xen

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
    page = PAGE.read_text()
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d+\.\d+ ", line)]
    assert len(rows) == len(deviations(page)) + len(deviations(page, xen=True))
    assert deviations(page) != deviations(page, xen=True)
    assert not [row for row in rows if len(row[2]) < 20]


HEADER = """\
#define FIVE 05
typedef unsigned long word_t;
struct pair { word_t a, b; };
static inline __attribute__((__unused__)) word_t swap(struct pair *p)
{
    word_t old = 010;
    asm volatile ( "xchg %0, %1" : "+r" (old), [to] "+m" (p->a) : : "memory" );
    if ( old ) { p->b = '}'; }
    return old;
}
"""
OWN = """\
#include <odd.h>
#include "own.h"

word_t entry(struct pair *p);
word_t entry(struct pair *p)
{
    p->b = FIVE;
    p->a = NINE;
    p->b = 010;
    return swap(p);
}
"""


def own_tree(root: Path) -> Path:
    """A folder with a unit of hosts/xen, and the objects of a hypervisor whose header is odd."""
    own, headers, objects = root / "hosts" / "xen", root / "headers", root / "objects"
    command = misra_xen.command_file(objects, "unit")
    for folder in (own, headers, command.parent):
        folder.mkdir(parents=True)
    (headers / "odd.h").write_text(HEADER)
    (own / "own.h").write_text("#define NINE 011\n")
    (own / "unit.c").write_text(OWN)
    options = f"-MMD -MF x.d -std=gnu99 -Wa,--noexecstack -I{headers} '-DOBJECT=a b'"
    command.write_text(f"cmd_unit.o := gcc {options} -c unit.c -o unit.o\n\nsource := unit.c\n")
    return objects


def test_of_xens_functions_the_heads_are_left(tmp_path: Path) -> None:
    text = misra_xen.preprocessed(tmp_path, own_tree(tmp_path))
    left = misra_xen.readable(text, tmp_path)
    assert "asm" in text
    assert "asm" not in left
    assert "swap(struct pair *p)\n;" in left
    assert "struct pair { word_t a, b; };" in left
    assert "return swap(p);\n}" in left


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
def test_what_the_glue_breaks_is_found_and_what_xen_breaks_is_not(tmp_path: Path) -> None:
    found = findings_for_xen(tmp_path, own_tree(tmp_path))
    octal = [one for one in found if one.rule == "7.1"]
    assert octal == [Finding("7.1", "hosts/xen/unit.c", line) for line in (8, 9)]
    assert "hosts/xen/unit.c:9: MISRA C:2012 7.1" in complaints(
        found, deviations(PAGE.read_text(), xen=True)
    )


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
def test_a_unit_that_cannot_be_read_is_no_clean_one(tmp_path: Path) -> None:
    objects = own_tree(tmp_path)
    unit = tmp_path / "hosts" / "xen" / "unit.c"
    unit.write_text(OWN + "int broken(\n")
    with pytest.raises(RuntimeError):
        findings_for_xen(tmp_path, objects)
    unit.write_text(OWN + "#include <missing.h>\n")
    with pytest.raises(RuntimeError, match=r"missing\.h"):
        findings_for_xen(tmp_path, objects)
