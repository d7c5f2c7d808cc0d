# SPDX-License-Identifier: BSD-2-Clause
"""What a command with `--json` prints in place of its result when it ends early."""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.model.errors import Problem
from hyperperiod.model.result_object import ResultObject


class ProblemResult(ResultObject):
    """One thing that is wrong with the input; an empty text or null where there is none."""

    file: str
    line: int | None
    key: str
    found: str
    allowed: str


class FailureResult(ResultObject):
    """The end of a command that failed: exit code, the message for people, and its parts."""

    exit_code: int
    message: str
    problems: tuple[ProblemResult, ...]


class ErrorResult(ResultObject):
    """The one key tells a failure from every result."""

    error: FailureResult


def error_result(exit_code: int, message: str, problems: Sequence[Problem]) -> ErrorResult:
    """Returns the object for an exit code, a message and the problems that it is made of."""
    each = tuple(ProblemResult(**vars(problem)) for problem in problems)
    return ErrorResult(error=FailureResult(exit_code=exit_code, message=message, problems=each))
