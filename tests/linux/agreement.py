# SPDX-License-Identifier: BSD-2-Clause
"""Whether a system does on Linux what it does in the simulator."""

from __future__ import annotations

from tests.support.on_linux import OVERHEADS, OnLinux, thefts
from tests.support.robust import HORIZON_NS, simulated

from hyperperiod.model import System
from hyperperiod.trace.compare import Comparison, compare

MOVED_NS = 120_000
BOUND_NS = 60_000
COMPARED = 0.7
"""At least this share of the time is farther than the bound from every boundary."""


def compared(system: System, done: OnLinux) -> Comparison:
    """The simulator beside the run on Linux."""
    expected = system.replace(overheads=OVERHEADS, stolen=thefts(done.trace))
    return compare(simulated(expected, HORIZON_NS), done.trace, BOUND_NS)


def agree(system: System, done: OnLinux) -> None:
    found = compared(system, done)
    assert found.agrees, f"{system.name}\n{found.text()}"
    assert found.compared_ns >= COMPARED * found.total_ns, found.text()
