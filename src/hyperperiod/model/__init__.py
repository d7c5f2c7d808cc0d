# SPDX-License-Identifier: BSD-2-Clause
"""The model: what a system is, and reading one from a file.

`load_system("systems/flight-control.toml")` gives a frozen `System`; everything else in the
package works on that. `errors` says how input is refused. The writers of files are loaded when they
are first asked for: what only reads starts without them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperperiod.model.changes import Change, Overrun, Swap, overrun_of
from hyperperiod.model.domain import Domain
from hyperperiod.model.errors import FailedError, InputError, MissingError, Problem
from hyperperiod.model.flow import Device, Flow, Source
from hyperperiod.model.interface import Interface, PeriodRange, TimeWindow
from hyperperiod.model.load import load_system, require_pins, require_system
from hyperperiod.model.override import fitting_policies, with_policy
from hyperperiod.model.own_vcpu import OwnVcpu, VcpuKeys
from hyperperiod.model.policy import (
    POLICIES,
    PRESETS,
    TABLE,
    Budget,
    Order,
    Policy,
    Scope,
    Slack,
    parse_policy,
)
from hyperperiod.model.split import joined, partitions_alone, split
from hyperperiod.model.stolen import Stolen
from hyperperiod.model.system import Overheads, System
from hyperperiod.model.task import Task
from hyperperiod.model.units import format_time, parse_time
from hyperperiod.model.vcpus import (
    ORDINARY,
    PlacedTask,
    Vcpu,
    by_period,
    changed_vcpus,
    hops_of,
    is_ordinary,
    priorities_in,
    tasks_of,
    vcpus_of,
)
from hyperperiod.model.words import GuestKind, Sbf, Scheduler, SourceKind, TaskKind, ThinkDraw

if TYPE_CHECKING:
    from hyperperiod.model.readers.table import to_table
    from hyperperiod.model.write import to_toml

__all__ = [
    "ORDINARY",
    "POLICIES",
    "PRESETS",
    "TABLE",
    "Budget",
    "Change",
    "Device",
    "Domain",
    "FailedError",
    "Flow",
    "GuestKind",
    "InputError",
    "Interface",
    "MissingError",
    "Order",
    "Overheads",
    "Overrun",
    "OwnVcpu",
    "PeriodRange",
    "PlacedTask",
    "Policy",
    "Problem",
    "Sbf",
    "Scheduler",
    "Scope",
    "Slack",
    "Source",
    "SourceKind",
    "Stolen",
    "Swap",
    "System",
    "Task",
    "TaskKind",
    "ThinkDraw",
    "TimeWindow",
    "Vcpu",
    "VcpuKeys",
    "by_period",
    "changed_vcpus",
    "fitting_policies",
    "format_time",
    "hops_of",
    "is_ordinary",
    "joined",
    "load_system",
    "overrun_of",
    "parse_policy",
    "parse_time",
    "partitions_alone",
    "priorities_in",
    "require_pins",
    "require_system",
    "split",
    "tasks_of",
    "to_table",
    "to_toml",
    "vcpus_of",
    "with_policy",
]

_WRITERS = {"to_table": "readers.table", "to_toml": "write"}


if not TYPE_CHECKING:  # whoever checks types has the names above, and no others

    def __getattr__(name: str) -> Any:
        home = _WRITERS.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{home}"), name)
