# SPDX-License-Identifier: BSD-2-Clause
"""Reads JSON as people write it by hand, with the line of every key.

`/* ... */` and `// ...` are comments, and a comma may stand behind the last member. Numbers are
whole: an integer of Python's, or a Decimal where the file has a fraction. A key that stands twice
in one object is refused, for it would silently hide the first. Nothing is believed about the text:
whatever it contains, the only exception is InputError, with the line of what is wrong.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from hyperperiod.model.errors import InputError
from hyperperiod.model.limits import DEPTH_LIMIT

KeyPath = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|/\*.*?\*/|//[^\n]*)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]{0,29}))(\.[0-9]{1,30})?(?![0-9.eE])")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None}


def read_json(file: str, text: str) -> tuple[Any, dict[KeyPath, int]]:
    """The value that the text says, and the line (from 1) of each key and list member by path."""
    reader = _JsonReader(file, text)
    return reader.whole(), reader.lines


class _JsonReader:
    """Walks the text once; `at` is the next character that nobody has read."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.at = 0
        self.counted = (0, 1)
        self.lines: dict[KeyPath, int] = {}

    def whole(self) -> Any:
        value = self._value(())
        if self._next():
            raise self._refuse(self._shown(), "nothing behind the outermost object")
        return value

    def _value(self, path: KeyPath) -> Any:
        if len(path) > DEPTH_LIMIT:
            raise self._refuse("objects nested deeper", f"{DEPTH_LIMIT} levels")
        first = self._next()
        self.lines[path] = self._line()
        if first == "{":
            return self._object(path)
        if first == "[":
            return self._list(path)
        if first == '"':
            return self._string()
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            self.at = number.end()
            return Decimal(number.group()) if number.group(2) else int(number.group())
        word = _WORD.match(self.text, self.at)
        if word is None or word.group() not in _WORDS:
            raise self._refuse(self._shown(), "a JSON value")
        self.at = word.end()
        return _WORDS[word.group()]

    def _object(self, path: KeyPath) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self.at += 1
        while self._next() != "}":
            if self._next() != '"':
                raise self._refuse(self._shown(), 'a key in "quotes" or }')
            line = self._line()
            key = self._string()
            if key in members:
                found = f"{key[:40]} a second time"
                raise self._refuse(found, "each key once: run0, run1, ...")
            if self._next() != ":":
                raise self._refuse(self._shown(), f": behind the key {key[:40]}")
            self.at += 1
            members[key] = self._value((*path, key))
            self.lines[(*path, key)] = line
            self._comma("}")
        self.at += 1
        return members

    def _list(self, path: KeyPath) -> list[Any]:
        members: list[Any] = []
        self.at += 1
        while self._next() != "]":
            members.append(self._value((*path, len(members))))
            self._comma("]")
        self.at += 1
        return members

    def _comma(self, end: str) -> None:
        """Reads the comma behind a member; the last one need not have it."""
        following = self._next()
        if following == ",":
            self.at += 1
        elif following != end:
            raise self._refuse(self._shown(), f", or {end}")

    def _string(self) -> str:
        string = _STRING.match(self.text, self.at)
        try:
            value = json.loads(string.group() if string else "")
        except ValueError:
            raise self._refuse(self._shown(), 'a text in "quotes", on one line') from None
        assert isinstance(value, str)
        if any(0xD800 <= ord(one) < 0xE000 for one in value):
            raise self._refuse("half of a surrogate pair", "characters of Unicode")
        assert string is not None
        self.at = string.end()
        return value

    def _next(self) -> str:
        """The first character behind white space and comments; nothing at the end."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None, "it matches nothing as well"
        self.at = space.end()
        return self.text[self.at : self.at + 1]

    def _shown(self) -> str:
        return repr(self.text[self.at : self.at + 20]) if self._next() else "the end of the file"

    def _line(self) -> int:
        """The line of the next character, counted on from the last one that was asked for."""
        at, line = self.counted
        line += self.text.count("\n", at, self.at)
        self.counted = (self.at, line)
        return line

    def _refuse(self, found: str, allowed: str) -> InputError:
        return InputError(self.file, self._line(), "", found, allowed)
