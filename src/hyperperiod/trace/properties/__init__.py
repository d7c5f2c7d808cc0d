# SPDX-License-Identifier: BSD-2-Clause
"""The properties of a trace, one per C++ file beside this one.

Each file opens with the property in one sentence. `checker.cpp` lists them in the order in which
they are reported: what a run is made of first, then budgets, then decisions, then guarantees. All
are judged in one pass over the records, which may come in windows: what is kept does not grow with
the trace.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from hyperperiod import _check
from hyperperiod.trace.format import Header, Progress, Records, chunks
from hyperperiod.trace.properties.finding import (
    PropertyVerdict,
    Status,
    Violation,
    lateness_ns,
)
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS

__all__ = ["PROPERTIES", "Property", "PropertyVerdict", "Status", "Violation", "check_all"]


class Property(NamedTuple):
    """A property: what it is called, and the one sentence that it is."""

    name: str
    statement: str

    def check(self, header: Header, records: Records) -> PropertyVerdict:
        """Checks this property alone and returns its verdict."""
        windows = chunks(records, AT_ONCE)
        return check_windows(header, windows, len(records), properties=[self])[0]


PROPERTIES: Final = tuple(Property(*entry) for entry in _check.PROPERTIES)

WORK: Final = 100
AT_ONCE = 1 << 17
"""Records between two looks at progress, and for Ctrl-C: less than a tenth of a second."""


def check_all(
    header: Header, records: Records, progress: Progress | None = None
) -> list[PropertyVerdict]:
    """Checks every property and returns the verdicts, in the order of PROPERTIES.

    `progress` is called with how much of WORK is done.
    """
    return check_windows(header, chunks(records, AT_ONCE), len(records), progress)


def check_windows(
    header: Header,
    windows: Iterable[Records],
    count: int,
    progress: Progress | None = None,
    properties: Sequence[Property] = PROPERTIES,
) -> list[PropertyVerdict]:
    """The same of `count` records that come in windows, and perhaps of fewer properties."""
    say = progress or (lambda _done: None)
    names = [one.name for one in properties]
    checker = _check.Checker(header, lateness_ns(header), BUDGETS, ORDERS, SLACKS, names)
    done = 0
    say(0)
    for window in windows:
        checker.feed(np.ascontiguousarray(window).view(np.uint8))
        done += len(window)
        say(WORK * done // max(count, 1))
    return [_verdict(*found) for found in checker.close()]


def _verdict(reason: str, count: int, told: Sequence[tuple[int, str]]) -> PropertyVerdict:
    status = Status.SKIPPED if reason else Status.FAILS if count else Status.HOLDS
    return PropertyVerdict(status, reason, count, [Violation(*one) for one in told])
