# SPDX-License-Identifier: BSD-2-Clause
"""Whether a system does on Xen what it does in the simulator."""

from pathlib import Path

from tests.support.on_xen import bound_ns, run_on_xen, with_overheads
from tests.support.robust import HORIZON_NS, SEED, sequence, simulated

from hyperperiod.model import Scope, System
from hyperperiod.trace.compare import Trace, compare

COMPARED = 0.85
"""At least this share of the time is farther than the bound from every boundary."""
MIGRATING_BOUND_NS = 50_000
"""The bound where vcpus go from pcpu to pcpu: an event there may be two migrations as well."""


def agree(system: System, folder: Path, flavour: str = "arm64") -> Trace:
    """Asserts that a system does on Xen what it does in the simulator; the trace on Xen."""
    shared = system.pcpus > 1 and system.policy.scope is Scope.GLOBAL
    migrating = shared or any(change.pcpu is not None for change in system.changes)
    on_xen = run_on_xen(system, HORIZON_NS, SEED, folder, flavour=flavour)
    in_simulator = simulated(with_overheads(system), HORIZON_NS)
    found = compare(in_simulator, on_xen.trace, MIGRATING_BOUND_NS if migrating else bound_ns())
    assert found.agrees, f"{system.name}\n{found.text()}"
    assert found.compared_ns >= COMPARED * found.total_ns, found.text()
    assert sequence(in_simulator) == sequence(on_xen.trace)
    return on_xen.trace
