# SPDX-License-Identifier: BSD-2-Clause
"""Where a reproduction runs: the simulator, or a real hypervisor or kernel on a machine in QEMU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hyperperiod.model import System
from hyperperiod.runs import run_on_linux, run_on_xen, simulate

if TYPE_CHECKING:
    from hyperperiod.hosts.result import RunResult

Host = Literal["sim", "xen", "linux"]


def run_on(host: Host, system: System, horizon_ns: int, seed: int) -> RunResult:
    """The result object of a run.

    KeyboardInterrupt if Ctrl-C ended it: part of a run is no measurement. Errors are those of the
    hosts.
    """
    match host:
        case "sim":
            result = simulate(system, horizon_ns, seed)
        case "xen":
            result = run_on_xen(system, horizon_ns, seed)
        case "linux":
            result = run_on_linux(system, horizon_ns, seed)
    if result.interrupted:
        raise KeyboardInterrupt
    return result
