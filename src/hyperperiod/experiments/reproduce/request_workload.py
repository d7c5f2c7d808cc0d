# SPDX-License-Identifier: BSD-2-Clause
"""The file of Experiment D of the ERTDS paper: VMs, the way of a request, how much is measured."""

from __future__ import annotations

from typing import Annotated

from hyperperiod.experiments.reproduce.figure import Asked
from hyperperiod.experiments.reproduce.measured import Measured
from hyperperiod.experiments.reproduce.result import RequestRow
from hyperperiod.model import Interface
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Etf, PositiveTime, Whole

Many = Annotated[int, Whole(1, 65536)]


class Vm(Part):
    """A VM and its server under either policy."""

    name: str
    ertds: Interface
    rtds: Interface


class Hop(Part):
    """A step of every request; its mean work, or as the run says."""

    vm: str
    name: str
    work_ns: PositiveTime | None = None


class Run(Part):
    """A guess at what a request costs at the hop without work of its own."""

    name: str
    work_ns: PositiveTime


class Setting(Part):
    """How much is measured on a host: which runs, the clients of the x axis, their thoughts."""

    databases: tuple[str, ...]
    clients: tuple[Many, ...]
    think_ns: PositiveTime
    ramp_ns: PositiveTime
    horizon_ns: PositiveTime
    sets: Annotated[int, Whole(1)]


class Findings(Part):
    """What the paper says of its figure."""

    ertds_hz: int
    rtds_hz: int
    gain: str
    who: str
    trend: str
    never_worse: str


class Workload(Measured[RequestRow]):
    """VMs on one pcpu, the way of a request, and how much is measured."""

    etf: Etf
    spare: Interface
    vms: Annotated[tuple[Vm, ...], AtLeast(1)] = key(name="vm")
    hops: Annotated[tuple[Hop, ...], AtLeast(1)] = key(name="hop")
    runs: Annotated[tuple[Run, ...], AtLeast(1)] = key(name="run")
    sim: Setting
    xen: Setting
    paper: Findings

    def setting(self, asked: Asked) -> Setting:
        """How much is measured on the host."""
        return self.xen if asked.host == "xen" else self.sim

    def runs_of(self, setting: Setting) -> list[Run]:
        """Those that are measured, in the order of the file."""
        return [run for run in self.runs if run.name in setting.databases]

    def work_ns(self, vm: Vm, run: Run) -> int:
        """What a request costs in a VM on average, in nanoseconds."""
        return sum(hop.work_ns or run.work_ns for hop in self.hops if hop.vm == vm.name)
