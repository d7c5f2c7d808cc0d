# SPDX-License-Identifier: BSD-2-Clause
"""Configuration for hosts that users run themselves: a system as files in a folder.

`linux` is a system for a machine with hyperperiodd; `xen-dom0less` one that Xen boots from the
device tree, without a toolstack; `xen-xl` one for Xen with a dom0 that runs Linux. `xen-rtds`,
`xen-null`, `xen-arinc653`, `sched-deadline`, `cgroup`, `libvirt` and `kubernetes` are for what
these hosts have without ours. `carts`, `carts-result`, `rt-app`, `arinc653`, `csv` and `toml` are
the same system for other tools. What was left open in the system is computed first; what a target
cannot express is refused before anything is written.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.export.arinc653 import export_arinc653
from hyperperiod.export.carts import export_carts
from hyperperiod.export.carts_result import export_carts_result
from hyperperiod.export.cgroup import export_cgroup
from hyperperiod.export.deadline import as_deadline, export_deadline
from hyperperiod.export.dom0less import Board, export_dom0less
from hyperperiod.export.folder import write_folder
from hyperperiod.export.kubernetes import as_pods, export_kubernetes
from hyperperiod.export.libvirt import as_whole, export_libvirt
from hyperperiod.export.linux import export_linux
from hyperperiod.export.quota import as_quotas
from hyperperiod.export.rt_app import export_rt_app
from hyperperiod.export.text import export_csv, export_toml
from hyperperiod.export.xen_stock import (
    ARINC653,
    NULL,
    RTDS,
    as_arinc653,
    as_null,
    as_rtds,
    export_xen_stock,
)
from hyperperiod.export.xl import US, export_xl
from hyperperiod.for_host import NONE
from hyperperiod.model import System

FOR_ANALYSIS: Final[Mapping[str, Callable[[System], dict[str, str | bytes | Path]]]] = {
    "carts": export_carts,
    "carts-result": export_carts_result,
    "rt-app": export_rt_app,
    "csv": export_csv,
    "arinc653": export_arinc653,
    "toml": export_toml,
}
"""Targets that need nothing but the system."""


def _itself(system: System) -> System:
    return system


class HostTarget(NamedTuple):
    """A host that a system is written for: whose overheads are counted (`NONE`: nobody knows what
    they take of windows), on which grid (ns) budgets are computed, the files, and what the system
    is judged as."""

    costs: str
    grid_ns: int
    files: Callable[[System, Sequence[int] | None], dict[str, str | bytes | Path]]
    judged: Callable[[System], System] = _itself


HOSTS: Final[Mapping[str, HostTarget]] = {
    "linux": HostTarget("linux", 1, export_linux),
    "sched-deadline": HostTarget("linux", 1, export_deadline, as_deadline),
    "cgroup": HostTarget("linux", US, export_cgroup, as_quotas),
    "libvirt": HostTarget("linux", 1, partial(export_libvirt, False), as_whole),
    "libvirt-quota": HostTarget("linux", US, partial(export_libvirt, True), as_quotas),
    "kubernetes": HostTarget("linux", 1, partial(export_kubernetes, False), as_pods),
    "kubevirt": HostTarget("linux", 1, partial(export_kubernetes, True), as_pods),
    "xen-xl": HostTarget("xen", US, export_xl),
    "xen-rtds": HostTarget("xen", US, partial(export_xen_stock, RTDS), as_rtds),
    "xen-null": HostTarget("xen", US, partial(export_xen_stock, NULL), as_null),
    "xen-arinc653": HostTarget(NONE, US, partial(export_xen_stock, ARINC653), as_arinc653),
}
"""Targets that are put in force by a toolstack or a daemon there."""

__all__ = [
    "FOR_ANALYSIS",
    "HOSTS",
    "Board",
    "HostTarget",
    "export_carts",
    "export_carts_result",
    "export_csv",
    "export_dom0less",
    "export_linux",
    "export_rt_app",
    "export_toml",
    "export_xl",
    "write_folder",
]
