# SPDX-License-Identifier: BSD-2-Clause
"""The properties of a trace, one per file.

Each module opens with the property in one sentence and has `check(header, records)`, which
returns a `Finding`. They are listed here by hand, in the order in which they are reported: what
a run is made of first, then budgets, then decisions, then promises.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from hyperperiod.trace.format import Header, Records
from hyperperiod.trace.properties import (
    best_effort,
    budget,
    demand,
    depleted,
    guarantee,
    idle,
    jobs,
    one_pcpu,
    order,
    paid_time,
    payer,
    releases,
    spare,
)
from hyperperiod.trace.properties.finding import Finding, Status, Violation

__all__ = ["PROPERTIES", "Finding", "Property", "Status", "Violation"]


class Property(NamedTuple):
    """A property: what it is called, what it says, and who checks it."""

    name: str
    statement: str
    check: Callable[[Header, Records], Finding]


def _sentence(text: str | None) -> str:
    """The one sentence with which a property's module opens."""
    return (text or "").strip().splitlines()[0]


PROPERTIES: Final = (
    Property("one-pcpu", _sentence(one_pcpu.__doc__), one_pcpu.check),
    Property("releases", _sentence(releases.__doc__), releases.check),
    Property("jobs", _sentence(jobs.__doc__), jobs.check),
    Property("demand", _sentence(demand.__doc__), demand.check),
    Property("paid-time", _sentence(paid_time.__doc__), paid_time.check),
    Property("budget", _sentence(budget.__doc__), budget.check),
    Property("depleted", _sentence(depleted.__doc__), depleted.check),
    Property("payer", _sentence(payer.__doc__), payer.check),
    Property("order", _sentence(order.__doc__), order.check),
    Property("idle", _sentence(idle.__doc__), idle.check),
    Property("best-effort", _sentence(best_effort.__doc__), best_effort.check),
    Property("spare", _sentence(spare.__doc__), spare.check),
    Property("guarantee", _sentence(guarantee.__doc__), guarantee.check),
)
