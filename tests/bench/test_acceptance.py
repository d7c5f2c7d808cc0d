# SPDX-License-Identifier: BSD-2-Clause
"""Families of systems: each can be measured, and a test that accepts too much is found out."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import pytest
from bench.acceptance import Family
from bench.acceptance.__main__ import (
    NUMBERS,
    PAGE,
    SURVIVES,
    UnsoundError,
    family,
    measure,
    names,
    page_with,
    picture,
)

EVERYTHING: Mapping[str, Any] = {"everything": lambda _: True}
SMALL: Family[float] = Family(
    "small", "a title", "load", (0.5, 1.0), lambda _, load: load, EVERYTHING, lambda _: True
)


@pytest.mark.parametrize("name", names())
def test_no_test_accepts_what_does_not_survive(name: str) -> None:
    one = family(name)
    few = dataclasses.replace(one, loads=one.loads[:: max(1, len(one.loads) // 2)])
    fractions = measure(few, systems=2)
    for test in one.tests:
        for accepted, survived in zip(fractions[test], fractions[SURVIVES], strict=True):
            assert 0 <= accepted <= survived <= 1


def test_a_test_that_accepts_too_much_is_found_out() -> None:
    one = dataclasses.replace(SMALL, survives=lambda load: load < 1)
    with pytest.raises(UnsoundError, match=r"everything accepted system 0 of load 1\.0"):
        measure(one, systems=3)


def test_a_picture_names_every_test() -> None:
    text = picture(SMALL, measure(SMALL, systems=3))
    assert "everything" in text
    assert SURVIVES in text


def test_the_page_has_the_numbers() -> None:
    known = json.loads(NUMBERS.read_text())
    assert PAGE.read_text() == page_with(PAGE.read_text(), known)
    assert set(known) == {family(name).name for name in names()}
