# SPDX-License-Identifier: BSD-2-Clause
"""The file of Experiment D of the ERTDS paper: VMs, the way of a request, how much is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from hyperperiod.experiments.reproduce.figure import Asked
from hyperperiod.experiments.reproduce.measured import MeasuredFigure
from hyperperiod.experiments.reproduce.result import RequestRow
from hyperperiod.model import Interface
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Etf, Finding, PositiveTime, Whole

NS_PER_S: Final = 1_000_000_000
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
    """A guess at what a request costs at the hop without work of its own; none: it is measured."""

    name: str
    work_ns: PositiveTime | None = None


class RequestSetting(Part):
    """How much is measured on a host: which runs, the clients of the x axis, their thoughts.

    `title` is what the figure is called there, if not as elsewhere.
    """

    title: str = ""
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
    linux: RequestSetting
    paper: RequestFindings

    def _findings(self) -> Iterable[Finding]:
        for host, setting in (("sim", self.sim), ("xen", self.xen)):
            for run in self.runs_of(setting):
                if run.work_ns is None:
                    yield Finding((host, "databases"), f"{run.name} without work", "runs with work")

    def _title(self, asked: Asked) -> str:
        return self.setting(asked).title or self.title

    def setting(self, asked: Asked) -> RequestSetting:
        """How much is measured on the host."""
        return {"sim": self.sim, "xen": self.xen, "linux": self.linux}[asked.host]

    def runs_of(self, setting: RequestSetting) -> list[DatabaseLoad]:
        """Returns the guesses that are measured on that host, in the order of the file."""
        return [run for run in self.runs if run.name in setting.databases]

    def work_ns(self, vm: RequestVm, run: DatabaseLoad, rows: Sequence[RequestRow]) -> float:
        """What a request costs in a VM on average, in nanoseconds.

        As the file says, or else what was measured where the fewest clients were.
        """
        if run.work_ns is None:
            first = next(row for row in rows if row.run == run.name)
            return first.used[vm.name] * NS_PER_S / first.ertds_hz
        return sum(hop.work_ns or run.work_ns for hop in self.hops if hop.vm == vm.name)
