# SPDX-License-Identifier: BSD-2-Clause
"""The two ways in which a command can be unable to begin, and how a run can fail.

`InputError`: what the user gave is wrong. It names file, line and key, what was found and
what is allowed, and carries the problems that were found, not just the first (exit code 2).
`MissingError`: the machine lacks something. It names the command that installs it (exit
code 3). `FailedError`: a machine was started and did not come to its end (exit code 70). All are
for people: none is ever shown as a traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence

from hyperperiod.model.frozen import FrozenFields

PROBLEM_LIMIT = 50
"""More problems than this help nobody."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What the operating system says where the place is right and the disk is full."""


class Problem(FrozenFields):
    """One thing that is wrong with an input; `line` counts from 1, `key` is a path in the file."""

    file: str
    line: int | None
    key: str
    found: str
    allowed: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None and self.file else self.file
        parts = [part for part in (place, self.key) if part]
        return ": ".join([*parts, f"found {self.found}; allowed: {self.allowed}"])


SHOWN_NAMES = 6
"""How many of a list a sentence names."""


def some_names(names: Sequence[str]) -> str:
    """The names in a sentence: all, or the first of them and how many more there are."""
    more = len(names) - SHOWN_NAMES
    return ", ".join(names if more <= 1 else [*names[:SHOWN_NAMES], f"{more} more"])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message: the known word that looks most like `word`; empty if none does."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class InputError(Exception):
    """Bad input. The message has one line per problem."""

    def __init__(self, file: str, line: int | None, key: str, found: str, allowed: str) -> None:
        self._adopt([Problem(file, line, key, found, allowed)])

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> InputError:
        """One error for all problems of a file, or the first of many; there must be one."""
        assert problems, "an input error needs a problem"
        error = cls.__new__(cls)
        error._adopt(problems[:PROBLEM_LIMIT])
        return error

    def _adopt(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        self.file, self.line, self.key = first.file, first.line, first.key
        self.found, self.allowed = first.found, first.allowed
        Exception.__init__(self, "\n".join(str(problem) for problem in self.problems))


class MissingError(Exception):
    """The environment lacks `what`; `install` is the command that brings it, or empty."""

    def __init__(self, what: str, install: str = "") -> None:
        self.what = what
        self.install = install
        super().__init__(f"{what}; install it with: {install}" if install else what)


class FailedError(Exception):
    """Something that was started broke down; `log` is the last that it said."""

    def __init__(self, what: str, log: str = "") -> None:
        self.what = what
        self.log = log
        super().__init__(f"{what}\n{log}" if log else what)
