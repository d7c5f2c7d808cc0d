# SPDX-License-Identifier: BSD-2-Clause
"""The signatures that type checkers see are those of the fields that constructors read."""

from __future__ import annotations

import pytest
from tools.signatures import CLASSES, block, file_of, renewed

from hyperperiod.model import Interface, Task
from hyperperiod.model.part import Part


@pytest.mark.parametrize("part", CLASSES)
def test_every_class_has_the_signature_of_its_fields(part: type[Part]) -> None:
    text = file_of(part).read_text()
    assert renewed(text, part) == text, "python tools/signatures.py --write"


def test_a_signature_that_differs_is_found() -> None:
    text = file_of(Task).read_text()
    wrong = text.replace("            wcet: int | str | None = ...,\n", "")
    assert wrong != text
    assert renewed(wrong, Task) == text
    with pytest.raises(ValueError, match="Interface has no signature"):
        renewed(text, Interface)


def test_what_is_required_is_so_by_keys_and_by_names() -> None:
    text = block(Interface)
    assert text.count("@overload") == 2
    assert "            period: int | str,\n            budget: int | str,\n" in text
    assert "            period_ns: int | str,\n            budget_ns: int | str,\n" in text
