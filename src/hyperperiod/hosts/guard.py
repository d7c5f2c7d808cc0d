# SPDX-License-Identifier: BSD-2-Clause
"""Limits that runs are held to, so that a build can fail where a design got worse.

A guard is a quantity, a comparison and a value: it fires for every task and flow of which that is
true. `dmr` and `misses` count late jobs; `min`, `mean`, `p50`, `p99` and `max` are response times.
Of servers, `short` counts the periods that ended before a budget that was wanted was given, `least`
is the least of one by the end of its period, `latest` how long into it one was used up at most.

    dmr>0     misses>=3     max>8ms     p99<=200us     max>+5%     mean>+20us     short>0

A value with a plus is on top of what the same task, flow or server had in the first of the runs.
What has no value (no job finished, none was due) fires nothing; where the first run has none, a
value with a plus fires nothing either.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from hyperperiod.hosts import STOCK
from hyperperiod.hosts.result import RunResult, series_names
from hyperperiod.model import InputError
from hyperperiod.model.units import TimeFormatError, format_time, parse_time

RESPONSES: Final = ("min", "mean", "p50", "p99", "max")
PERIODS: Final = {"short": "short", "least": "least_supply_ns", "latest": "latest_ns"}
"""The quantities of servers, with their keys in a result."""
TIMES: Final = (*RESPONSES, "least", "latest")
QUANTITIES: Final = ("dmr", "misses", *RESPONSES, *PERIODS)
COMPARISONS: Final[dict[str, Callable[[Fraction, Fraction], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
ALLOWED: Final = (
    f"{', '.join(QUANTITIES)}, then {', '.join(COMPARISONS)}, then a number, a percentage or a"
    " time, with + in front for more than in the first run: dmr>0, max>8ms, p99>+5%"
)
_GUARD: Final = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*(\+?)\s*(.*?)\s*")
_NUMBER: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


class Guard(NamedTuple):
    """A limit; `share` says that the value is a part of what the first run has."""

    text: str
    quantity: str
    comparison: str
    value: Fraction
    on_top: bool = False
    share: bool = False

    def fires(self, found: Fraction, first: Fraction | None) -> bool:
        """Whether a value of a run is one that this guard is against."""
        if self.on_top and first is None:
            return False
        limit = self.value
        if self.on_top and first is not None:
            limit = first + (first * self.value if self.share else self.value)
        return COMPARISONS[self.comparison](found, limit)


class Tripped(NamedTuple):
    """What fired: the guard, in which run, of which task, flow or server, on what value."""

    guard: Guard
    run: str
    where: str
    found: Fraction

    @property
    def text(self) -> str:
        """The line that is shown for it."""
        is_time = self.guard.quantity in TIMES
        shown = format_time(int(self.found)) if is_time else f"{float(self.found):.6g}"
        return f"{self.guard.text}: {self.where} has {self.guard.quantity} {shown} in {self.run}"


def parse_guard(text: str, *, on_top: bool = True) -> Guard:
    """The guard that `text` says; InputError if it says none, or one `on_top` where none is."""
    match = _GUARD.fullmatch(text)
    if match is None or match[1] not in QUANTITIES:
        raise _refused(text)
    quantity, comparison, plus, said = match.groups()
    if plus and not on_top:
        raise InputError("--fail-on", None, "", repr(text), "without +: there is one run")
    share = said.endswith("%")
    if quantity in TIMES and not share:
        try:
            value = Fraction(parse_time(said))
        except TimeFormatError:
            raise _refused(text) from None
    else:
        number = said.removesuffix("%").rstrip()
        if _NUMBER.fullmatch(number) is None:
            raise _refused(text)
        value = Fraction(number) / (100 if share else 1)
    # A percentage without a plus is a plain ratio, which only dmr is.
    if share and not plus and quantity != "dmr":
        raise _refused(text)
    is_part = share and bool(plus) and quantity != "dmr"
    return Guard(text.strip(), quantity, comparison, value, bool(plus), is_part)


def require_values(guards: Sequence[Guard], hosts: Iterable[str]) -> None:
    """InputError for a limit on servers where one of the hosts has a scheduler that has none."""
    others = [host for host in hosts if host in STOCK]
    for guard in guards:
        if others and guard.quantity in PERIODS:
            allowed = f"a limit on tasks or flows: {others[0]} has no servers"
            raise InputError("--fail-on", None, "", repr(guard.text), allowed)


def tripped(
    guards: Sequence[Guard], results: Sequence[RunResult], names: Sequence[str] | None = None
) -> list[Tripped]:
    """All that fires in these runs of the same tasks; a value with a plus not in the first run."""
    runs = list(zip(names or series_names(results), results, strict=True))
    return [
        Tripped(guard, name, where, found)
        for guard in guards
        for first in [_values(results[0], guard.quantity)]
        for name, result in (runs[1:] if guard.on_top else runs)
        for where, found in _values(result, guard.quantity).items()
        if guard.fires(found, first.get(where))
    ]


def require_same_tasks(results: Sequence[RunResult], names: Sequence[str]) -> None:
    """InputError about the first of the runs whose tasks or flows are not those of the first."""
    wanted = [where for where, _ in results[0].entries]
    for name, result in zip(names, results, strict=True):
        found = [where for where, _ in result.entries]
        if found != wanted:
            raise InputError(name, None, "domains", _listed(found), _listed(wanted))


def _listed(names: Sequence[str]) -> str:
    return f"the tasks {', '.join(names)}" if names else "no tasks"


def _values(result: RunResult, quantity: str) -> dict[str, Fraction]:
    """Returns the value of a quantity of each task and flow, or of each server, that has one."""
    if quantity in PERIODS:
        values = {name: getattr(one, PERIODS[quantity]) for name, one in result.servers}
    else:
        values = {
            name: getattr(one.response_ns if quantity in RESPONSES else one, quantity, None)
            for name, one in result.entries
        }
    return {name: Fraction(value) for name, value in values.items() if value is not None}


def _refused(text: str) -> InputError:
    return InputError("--fail-on", None, "", repr(text), ALLOWED)
