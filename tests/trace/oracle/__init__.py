# SPDX-License-Identifier: BSD-2-Clause
"""The properties of traces in Python, the oracle of those in C++: slow, and written to be read.

Each module has `check(header, records)`, which returns a `PropertyVerdict`; `CHECKS` has them. They
look at the whole of a trace at once and at every server at every moment, where the product goes
through it in windows and keeps what it knows up to date: neither can have the other's mistakes.
"""

from collections.abc import Callable
from typing import Final

from tests.trace.oracle import (
    best_effort,
    budget,
    demand,
    depleted,
    guarantee,
    guest_order,
    idle,
    jobs,
    one_pcpu,
    order,
    paid_time,
    payer,
    releases,
    shares,
    spare,
)
from tests.trace.oracle.finding import PropertyVerdict

from hyperperiod.trace.format import Header, Records

CHECKS: Final[dict[str, Callable[[Header, Records], PropertyVerdict]]] = {
    "one-pcpu": one_pcpu.check,
    "releases": releases.check,
    "jobs": jobs.check,
    "demand": demand.check,
    "guest-order": guest_order.check,
    "paid-time": paid_time.check,
    "budget": budget.check,
    "depleted": depleted.check,
    "payer": payer.check,
    "order": order.check,
    "idle": idle.check,
    "best-effort": best_effort.check,
    "spare": spare.check,
    "shares": shares.check,
    "guarantee": guarantee.check,
}
