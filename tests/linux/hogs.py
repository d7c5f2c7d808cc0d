# SPDX-License-Identifier: BSD-2-Clause
"""Servers with endless work, and what they get in each whole period."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hyperperiod.model import Domain, Interface, System, Task, TaskKind, parse_policy, vcpus_of
from hyperperiod.trace.compare import Trace
from hyperperiod.trace.intervals import intervals

MS = 1_000_000
PERIOD_NS = 10 * MS
BUDGETS_NS = (3 * MS, 2 * MS)
POLICIES = ("ptps", "ds", "sporadic", "rtds")


def hogs(policy: str) -> System:
    """Two servers, each with a task that never ends."""
    domains = tuple(
        Domain(
            name=f"d{number}",
            interface=Interface(period_ns=PERIOD_NS, budget_ns=budget_ns),
            tasks=(Task(name="hog", kind=TaskKind.BUSY),),
        )
        for number, budget_ns in enumerate(BUDGETS_NS)
    )
    return System(name=f"hogs-{policy}", policy=parse_policy(policy), domains=domains)


def served(system: System, trace: Trace) -> NDArray[np.int64]:
    """Returns the time (ns) for which each domain ran in each whole period."""
    names = [vcpu.domain.name for vcpu in vcpus_of(system)]
    periods = int(trace[0]["horizon_ns"]) // PERIOD_NS
    got = np.zeros((len(names), periods), np.int64)
    for row in intervals(*trace):
        at = row.start_ns
        while row.run in names and at < min(row.end_ns, periods * PERIOD_NS):
            until = min(row.end_ns, (at // PERIOD_NS + 1) * PERIOD_NS)
            got[names.index(row.run), at // PERIOD_NS] += until - at
            at = until
    return got
