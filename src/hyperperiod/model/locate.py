# SPDX-License-Identifier: BSD-2-Clause
"""From a key path to the line of a TOML file on which it stands.

tomllib gives values but no lines. This reader walks a text that tomllib has accepted and only
notes where each key and table begins: `("domain", 0, "task", 1, "period") -> 12`. Since the
text is known to be valid it checks nothing; were it ever confused, a message would name a wrong
line, never a wrong value. A path without a line of its own (a missing key) takes the line of
the nearest table around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]

_BARE_END = " \t\n\r.=]},#\"'"
_VALUE_END = ",]}\n#"


class Lines:
    """The lines on which the keys of one file stand; () is the file itself."""

    def __init__(self, lines: Mapping[Path, int]) -> None:
        self._lines = lines

    def of(self, path: Sequence[str | int]) -> int:
        """The line of `path`, or of the longest part of it that has one; the first line is 1."""
        for length in range(len(path), -1, -1):
            line = self._lines.get(tuple(path[:length]))
            if line is not None:
                return line
        return 1


def locate(text: str) -> Lines:
    """The lines of all keys in a valid TOML text."""
    walker = _Walker(text)
    walker.walk()
    return Lines(walker.lines)


class _Walker:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[Path, int] = {}
        self.tables: dict[Path, int] = {}  # how often each [[table]] has begun
        self.prefix: Path = ()

    def walk(self) -> None:
        while self._skip_blank():
            if self._peek() == "[":
                self._header()
            else:
                self._entry(self.prefix)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _step(self, count: int = 1) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _skip_blank(self) -> bool:
        """Over white space, line ends and comments; False at the end of the text."""
        while self.at < len(self.text):
            if self._peek() in " \t\r\n":
                self._step()
            elif self._peek() == "#":
                self._skip_comment()
            else:
                return True
        return False

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _skip_spaces(self) -> None:
        while self._peek() in (" ", "\t"):
            self.at += 1

    def _header(self) -> None:
        """Notes a header, [a.b] or [[a.b]]: the keys that follow stand below it."""
        line = self.line
        array = self.text.startswith("[[", self.at)
        self._step(2 if array else 1)
        keys = self._dotted_key()
        self._step(2 if array else 1)
        inside = self._through_arrays(keys[:-1])
        for length in range(1, len(inside) + 1):
            self.lines.setdefault(inside[:length], line)
        path = (*inside, keys[-1])
        if array:
            index = self.tables.get(path, 0)
            self.tables[path] = index + 1
            self.lines.setdefault(path, line)
            path = (*path, index)
        else:
            path = self._through_arrays(keys)
        self.lines[path] = line
        self.prefix = path

    def _through_arrays(self, keys: Sequence[str]) -> Path:
        """A header means the last element of every array of tables that it passes through."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self.tables:
                path = (*path, self.tables[path] - 1)
        return path

    def _entry(self, above: Path) -> None:
        """Reads a line `key = value` below the table at `above`, and notes where the key stands."""
        line = self.line
        path = above
        for key in self._dotted_key():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._skip_spaces()
        self._step()  # the "="
        self._skip_spaces()
        self._value(path)

    def _dotted_key(self) -> list[str]:
        keys = []
        while True:
            self._skip_spaces()
            keys.append(self._key())
            self._skip_spaces()
            if self._peek() != ".":
                return keys
            self._step()

    def _key(self) -> str:
        if self._peek() in ("'", '"'):
            start = self.at
            quote = self._peek()
            self._string()
            inner = self.text[start + 1 : self.at - 1]
            return _unescape(inner) if quote == '"' else inner
        start = self.at
        while self._peek() and self._peek() not in _BARE_END:
            self.at += 1
        if self.at == start:
            self.at += 1  # never reached in valid text; keeps the walk finite
        return self.text[start : self.at]

    def _value(self, path: Path) -> None:
        match self._peek():
            case "'" | '"':
                self._string()
            case "[":
                self._list(path)
            case "{":
                self._inline_table(path)
            case _:
                start = self.at
                while self._peek() and self._peek() not in _VALUE_END:
                    self.at += 1
                if self.at == start:
                    self._step()  # never reached in valid text; keeps the walk finite

    def _string(self) -> None:
        quote = self._peek()
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self._step(len(fence))
        while self.at < len(self.text) and not self.text.startswith(fence, self.at):
            self._step(2 if quote == '"' and self._peek() == "\\" else 1)
        self._step(len(fence))
        while len(fence) == 3 and self._peek() == quote:
            self._step()  # quotes that belong to the text, right before the closing fence

    def _list(self, path: Path) -> None:
        self._step()
        index = 0
        while self._skip_blank() and self._peek() != "]":
            if self._peek() == ",":
                self._step()
                continue
            self.lines[(*path, index)] = self.line
            self._value((*path, index))
            index += 1
        self._step()

    def _inline_table(self, path: Path) -> None:
        self._step()
        while self._skip_blank() and self._peek() != "}":
            if self._peek() == ",":
                self._step()
                continue
            self._entry(path)
        self._step()


def _unescape(inner: str) -> str:
    """A quoted key as it is meant; only keys with escapes need more than a look."""
    if "\\" not in inner:
        return inner
    import tomllib

    return str(tomllib.loads(f'key = "{inner}"')["key"])
