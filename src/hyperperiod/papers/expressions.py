# SPDX-License-Identifier: BSD-2-Clause
"""Expressions and templates of experiment files, evaluated over what was measured.

An expression is one of Python's over the names of a *scope*: the rows, what the file says, and the
functions below. A template is text in which `{...}` holds an expression, with a format of Python's
behind a colon. A number that is the mean over draws (`Estimate`) has its confidence interval beside
it in any format; `+number` is the number alone.

The files ship with the program and are part of it: an expression may do what a module may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import CodeType
from typing import Any, Final, Self

from hyperperiod.experiments.confidence import Interval, interval_key
from hyperperiod.model import format_time
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.values import Definitions, JsonSchema, Kind, Path, Reading, show

Scope = dict[str, Any]


class Expression:
    """An expression of an experiment file, compiled once; calling it evaluates it in a scope."""

    def __init__(self, text: str, code: CodeType) -> None:
        self.text, self._code = text, code

    def __call__(self, scope: Scope) -> Any:
        """The value over the names of a scope; errors are those of the expression."""
        return eval(self._code, scope)

    @classmethod
    def of(cls, source: str) -> Expression:
        """The expression in a source; SyntaxError if it is none."""
        return cls(source, compile(source, "<experiment>", "eval"))


class _Compiled(Kind):
    """A text that is compiled as it is read."""

    allowed = ""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if isinstance(value, Expression):
            return value
        try:
            return Expression.of(self.source(value))
        except (SyntaxError, AttributeError):
            return reading.refuse(path, show(value), self.allowed)

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002
        return {"type": "string"}

    def source(self, text: str) -> str:
        """The source of an expression that says what the text does."""
        raise NotImplementedError


class Formula(_Compiled):
    """An expression."""

    allowed = "an expression of Python's"

    def source(self, text: str) -> str:
        return f"({text.strip()}\n)"


class Template(_Compiled):
    """A text with expressions in braces; line breaks in it are spaces."""

    allowed = "a text with expressions of Python's in braces"

    def source(self, text: str) -> str:
        return f'f"""{" ".join(text.split())} """[:-1]'


class ForClause(_Compiled):
    """`one in many`, as behind a `for`: the names that it binds, once for each round."""

    allowed = "names in a list, as behind a `for`"

    def source(self, text: str) -> str:
        names, _, _ = text.partition(" in ")
        bound = ", ".join(f"{name}={name}" for name in names.replace(" ", "").split(","))
        return f"[dict({bound}) for {text}]"


class Estimate(float):
    """A mean over draws, whose text in any format has its confidence interval beside it."""

    low: float
    high: float

    def __new__(cls, value: float, interval: Interval) -> Self:
        made = super().__new__(cls, value)
        made.low, made.high = interval.low, interval.high
        return made

    def __format__(self, spec: str) -> str:
        value, low, high = (format(one, spec) for one in (+self, self.low, self.high))
        return f"{value} (95 %: {low} to {high})"


def estimate(value: float, interval: Interval | None) -> float:
    """A number with its interval, if it has one."""
    return value if interval is None else Estimate(value, interval)


def low(value: float) -> float:
    """The lower end of a number's interval; of one without, itself."""
    return value.low if isinstance(value, Estimate) else value


def high(value: float) -> float:
    """The upper end of a number's interval; of one without, itself."""
    return value.high if isinstance(value, Estimate) else value


class View:
    """A row as expressions see it: numbers that have intervals are estimates."""

    def __init__(self, row: ResultObject) -> None:
        self._row = row

    def __getattr__(self, key: str) -> Any:
        value = getattr(self._row, key)
        interval = getattr(self._row, interval_key(key), None)
        return Estimate(value, interval) if isinstance(interval, Interval) else value


def where(rows: Iterable[Any], **wanted: Any) -> list[Any]:
    """Those rows that have these values in these fields."""
    return [row for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]


def time(span_ns: float, step_ns: int = 1) -> str:
    """A time in words, rounded to steps, with its interval if it has one."""
    spans = (span_ns, low(span_ns), high(span_ns)) if isinstance(span_ns, Estimate) else (span_ns,)
    value, *ends = (format_time(step_ns * round(+one / step_ns)) for one in spans)
    return f"{value} (95 %: {' to '.join(ends)})" if ends else value


def percent(load: int | None) -> str:
    """A load in words; there may be none."""
    return "no load" if load is None else f"{load} %"


def joined(texts: Iterable[str], between: str = "; ") -> str:
    """Texts as one."""
    return between.join(texts)


FUNCTIONS: Final[Mapping[str, Any]] = {
    "__builtins__": {},
    **{
        one.__name__: one
        for one in (
            *(low, high, estimate, where, time, percent, joined, pairwise),
            *(
                abs,
                all,
                any,
                dict,
                enumerate,
                float,
                getattr,
                hasattr,
                int,
                len,
                list,
                map,
                max,
                min,
                next,
            ),
            *(range, reversed, round, set, sorted, str, sum, tuple, zip),
        )
    },
}


def rounds(loop: Expression | None, scope: Scope) -> Iterator[Scope]:
    """The scope with the names of each round of a loop; once as it is without one."""
    for bound in [{}] if loop is None else loop(scope):
        yield {**scope, **bound}


def viewed(rows: Sequence[ResultObject]) -> list[View]:
    """The rows as expressions see them."""
    return [View(row) for row in rows]
