# SPDX-License-Identifier: BSD-2-Clause
"""The file of Experiment D of the ERTDS paper: VMs, the way of a request, how much is measured."""

from __future__ import annotations

from typing import Annotated

from hyperperiod.experiments.reproduce.figure import Asked
from hyperperiod.experiments.reproduce.measured import MeasuredFigure
from hyperperiod.experiments.reproduce.result import RequestRow
from hyperperiod.model import Interface
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Etf, PositiveTime, Whole

Many = Annotated[int, Whole(1, 65536)]


class RequestVm(Part):
    """A VM and its server under either policy."""

    name: str
    ertds: Interface
    rtds: Interface


class RequestHop(Part):
    """A step of every request; its mean work, or as the run says."""

    vm: str
    name: str
    work_ns: PositiveTime | None = None


class DatabaseLoad(Part):
    """A guess at what a request costs at the hop without work of its own."""

    name: str
    work_ns: PositiveTime


class RequestSetting(Part):
    """How much is measured on a host: which runs, the clients of the x axis, their thoughts."""

    databases: tuple[str, ...]
    clients: tuple[Many, ...]
    think_ns: PositiveTime
    ramp_ns: PositiveTime
    horizon_ns: PositiveTime
    sets: Annotated[int, Whole(1)]


class RequestFindings(Part):
    """What the paper says of its figure."""

    ertds_hz: int
    rtds_hz: int
    gain: str
    who: str
    trend: str
    never_worse: str


class Workload(MeasuredFigure[RequestRow]):
    """VMs on one pcpu, the way of a request, and how much is measured."""

    etf: Etf
    spare: Interface
    vms: Annotated[tuple[RequestVm, ...], AtLeast(1)] = key(name="vm")
    hops: Annotated[tuple[RequestHop, ...], AtLeast(1)] = key(name="hop")
    runs: Annotated[tuple[DatabaseLoad, ...], AtLeast(1)] = key(name="run")
    sim: RequestSetting
    xen: RequestSetting
    paper: RequestFindings

    def setting(self, asked: Asked) -> RequestSetting:
        """How much is measured on the host."""
        return self.xen if asked.host == "xen" else self.sim

    def runs_of(self, setting: RequestSetting) -> list[DatabaseLoad]:
        """Returns the guesses that are measured on that host, in the order of the file."""
        return [run for run in self.runs if run.name in setting.databases]

    def work_ns(self, vm: RequestVm, run: DatabaseLoad) -> int:
        """What a request costs in a VM on average, in nanoseconds."""
        return sum(hop.work_ns or run.work_ns for hop in self.hops if hop.vm == vm.name)
