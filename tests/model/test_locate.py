# SPDX-License-Identifier: BSD-2-Clause
"""Every key of a TOML file is found on its line."""

from __future__ import annotations

import contextlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperperiod.model.locate import locate

TEXT = '''\
# a comment with [brackets] and = signs
name = "x" # [[domain]]
text = """
domain = "not a key"
\\""" still text""""
literal = \'\'\'
x = 1\'\'\'\'\'
"quoted.key" = 1
"esc\\u0061ped" = 2
a.b . "c" = 3
numbers = [
  1, # one ]
  2,
  { deep = 4, er = [ "]",
    '}' ] },
]
[overheads]
pick = "1us"
[[domain]]
name = "first"
interface = { period = "1ms", budget = "2ms" }
[[domain.task]]
name = "t0"
[[domain.task]]
name = "t1"
[domain.extra.inner]
key = 1
[[domain]]
  [[domain.task]]
  date = 1979-05-27 07:32:00
'''

PLACES: list[tuple[tuple[str | int, ...], int]] = [
    (("name",), 2),
    (("text",), 3),
    (("literal",), 6),
    (("quoted.key",), 8),
    (("escaped",), 9),
    (("a",), 10),
    (("a", "b", "c"), 10),
    (("numbers",), 11),
    (("numbers", 0), 12),
    (("numbers", 1), 13),
    (("numbers", 2, "deep"), 14),
    (("numbers", 2, "er"), 14),
    (("numbers", 2, "er", 1), 15),
    (("overheads",), 17),
    (("overheads", "pick"), 18),
    (("overheads", "missing"), 17),
    (("domain",), 19),
    (("domain", 0), 19),
    (("domain", 0, "name"), 20),
    (("domain", 0, "interface", "budget"), 21),
    (("domain", 0, "missing"), 19),
    (("domain", 0, "task", 0, "name"), 23),
    (("domain", 0, "task", 1), 24),
    (("domain", 0, "task", 1, "name"), 25),
    (("domain", 0, "task", 1, "missing"), 24),
    (("domain", 0, "extra", "inner", "key"), 27),
    (("domain", 1), 28),
    (("domain", 1, "task", 0), 29),
    (("domain", 1, "task", 0, "date"), 30),
    (("missing",), 1),
    ((), 1),
]


@pytest.mark.parametrize(("path", "line"), PLACES, ids=str)
def test_places(path: tuple[str | int, ...], line: int) -> None:
    tomllib.loads(TEXT)
    assert locate(TEXT).of(path) == line


def test_crlf() -> None:
    assert locate(TEXT.replace("\n", "\r\n")).of(("domain", 1, "task", 0, "date")) == 30


def keys_of(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all keys in a document."""
    if isinstance(value, dict):
        items: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return []
    return [
        path for key, inner in items for path in ((*above, key), *keys_of(inner, (*above, key)))
    ]


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "systems").glob("*.toml")), ids=lambda f: f.stem
)
def test_every_key_of_the_examples_stands_on_its_line(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lines = locate(text)
    for path in keys_of(tomllib.loads(text)):
        names = [part for part in path if isinstance(part, str)]
        assert names[-1] in text.splitlines()[lines.of(path) - 1]


@given(st.text(alphabet=" \t\n\"'[]{}=.,#\\ab1", max_size=60))
def test_the_walk_always_ends(text: str) -> None:
    """Even what tomllib refuses, and is never located in earnest, does not trap the walker."""
    with contextlib.suppress(tomllib.TOMLDecodeError):
        locate(text)
