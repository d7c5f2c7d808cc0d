# SPDX-License-Identifier: BSD-2-Clause
"""The rows of records (record/record.h) in the places that cannot be made of them.

The package and all hosts are. A stub for type checkers, and the page about formats, are not: they
list the same kinds, fields and flags with the same numbers.
"""

from __future__ import annotations

import ast
import re
from enum import IntEnum
from pathlib import Path

import pytest

from hyperperiod import _check
from hyperperiod.trace import format as trace_format
from hyperperiod.trace.format import RECORD, Call, Kind
from hyperperiod.trace.records import Record

TOP = Path(__file__).parents[2]
FLAGS = ("SECOND_PAYER", "EXTRA", "STOLEN", "AFTER_PICK", "HOST")


@pytest.mark.parametrize("kinds", [Kind, Call])
def test_the_stub_lists_the_kinds_that_there_are(kinds: type[IntEnum]) -> None:
    stub = ast.parse((TOP / "src/hyperperiod/_check.pyi").read_text())
    found = next(
        node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == kinds.__name__
    )
    listed = {ast.unparse(row) for row in found.body}
    assert listed == {f"{kind.name} = {kind.value}" for kind in kinds}


def test_a_record_has_32_bytes_and_the_fields_of_the_rows() -> None:
    assert RECORD.itemsize == 32
    assert RECORD.names == Record._fields


def test_the_page_about_formats_has_all_rows() -> None:
    page = (TOP / "docs/formats.md").read_text()
    kinds = re.findall(r"^\| (\d+) \| (\w+) \| [^|]*\| [^|]*\|$", page, re.MULTILINE)
    listed = [(int(number), name) for number, name in kinds]
    assert listed == [(kind.value, kind.name.lower()) for kind in Kind]
    offset = 0
    for name, (_, size) in zip(RECORD.names or (), _check.FIELDS, strict=True):
        assert re.search(rf"^\| {offset} \| `?{name}`? \| u{8 * size}\b", page, re.MULTILINE), name
        offset += size


def test_each_flag_has_one_meaning() -> None:
    """Each is a bit of its own, whatever the kind of the record."""
    bits = [getattr(_check, name) for name in FLAGS]
    assert bits == [1 << place for place in range(len(FLAGS))]
    assert trace_format.AFTER_PICK == _check.AFTER_PICK
