# SPDX-License-Identifier: BSD-2-Clause
"""Systems on real Xen, for tests: booted with what was just built, or the test is skipped."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.promises import require_properties
from tests.support.xen_images import guest, image

from hyperperiod import runs
from hyperperiod.analysis.overheads import event_cost_ns
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.xen.images import DTC, QEMU, tool
from hyperperiod.hosts.xen.measure import XenCosts, measure
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.hosts.xen.run import BusyError
from hyperperiod.model import MissingError, System
from hyperperiod.trace.compare import Trace
from hyperperiod.trace.format import read


@functools.cache
def need_xen(flavour: str = "arm64") -> Path:
    """The hypervisor, with everything else that a run needs; skips where there is none."""
    try:
        tool(QEMU)
        tool(DTC)
    except MissingError as error:
        pytest.skip(str(error))
    guest()
    return image(flavour)


@functools.cache
def measured() -> XenCosts:
    """The overheads of this host, measured once per process."""
    need_xen()
    return measure()


def with_overheads(system: System) -> System:
    """The system with the costs of this host, for the simulator and the analysis."""
    return system.replace(overheads=measured().overheads)


def bound_ns() -> int:
    """How far Xen may be from the simulator: what two events cost at most on one pcpu."""
    return 2 * event_cost_ns(measured().overheads, 1)


@dataclass(frozen=True)
class OnXen:
    """The result of a run and its trace."""

    result: RunResult
    trace: Trace


def run_on_xen(
    system: System,
    horizon_ns: int,
    seed: int,
    folder: Path,
    *,
    flavour: str = "arm64",
    icount: bool = True,
) -> OnXen:
    """Run a system; its decisions are replayed by the runner, its trace is checked here.

    Without `icount` its pcpus are threads of this host, which meet as they happen to.
    """
    options = XenOptions(hypervisor=need_xen(flavour), folder=folder, icount=icount)
    path = folder / f"{system.name}.hpt"
    try:
        result = runs.run_on_xen(system, horizon_ns, seed, path, options=options)
    except BusyError as error:
        pytest.skip(str(error))
    require_properties(path)
    return OnXen(result, read(path))
