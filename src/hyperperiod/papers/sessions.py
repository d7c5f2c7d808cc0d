# SPDX-License-Identifier: BSD-2-Clause
"""Sessions of Experiment D of the ERTDS paper: VMs, the way of a request, where they are measured.

What is counted is said in `requests`; sessions of real services are in `services`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, Protocol

from hyperperiod.hosts.result import RunFlow
from hyperperiod.model import (
    PRESETS,
    Domain,
    Flow,
    InputError,
    Interface,
    Scheduler,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
    format_time,
)
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Etf, Positive, PositiveTime, Whole
from hyperperiod.papers.experiment import (
    Experiment,
    Host,
    Progress,
    run_on,
)
from hyperperiod.papers.result import RequestRow

NS_PER_S: Final = 1_000_000_000
POLICIES: Final = ("ertds", "rtds")


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


class Session(NamedTuple):
    """What one session came to, or the mean of several; shares of a pcpu by VM.

    `used` is what a VM had, and `donated` what it did not pay of that.
    """

    throughput_hz: float
    response_ns: float
    used: Mapping[str, float]
    donated: Mapping[str, float]


class SessionHost(Protocol):
    """Where sessions are measured."""

    def sessions(
        self, run: DatabaseLoad, clients: int, seeds: Sequence[int], progress: Progress
    ) -> dict[str, list[Session]]:
        """The sessions of so many clients under each policy, one for each seed."""
        ...


class RequestLoop(Experiment):
    """VMs on one pcpu, the way of a request, and how much is measured.

    `databases` names those of the runs that are measured, with each number of clients; these think
    for `think_ns` on average. `paper_ertds_hz` and `paper_rtds_hz` are the paper's throughputs.
    """

    etf: Etf
    spare: Interface
    vms: Annotated[tuple[RequestVm, ...], AtLeast(1)] = key(name="vm")
    hops: Annotated[tuple[RequestHop, ...], AtLeast(1)] = key(name="hop")
    runs: Annotated[tuple[DatabaseLoad, ...], AtLeast(1)] = key(name="run")
    databases: tuple[str, ...]
    clients: tuple[Annotated[int, Whole(1, 65536)], ...]
    think_ns: PositiveTime
    ramp_ns: PositiveTime
    paper_ertds_hz: Positive
    paper_rtds_hz: Positive

    @property
    def measured_runs(self) -> list[DatabaseLoad]:
        """Returns the guesses that are measured, in the order of the file."""
        return [run for run in self.runs if run.name in self.databases]

    def work_ns(self, vm: RequestVm, run: DatabaseLoad, rows: Sequence[RequestRow]) -> float:
        """What a request costs in a VM on average, in nanoseconds.

        As the file says, or else what was measured where the fewest clients were.
        """
        if run.work_ns is None:
            first = next(row for row in rows if row.run == run.name)
            return first.used[vm.name] * NS_PER_S / first.ertds_hz
        return sum(hop.work_ns or run.work_ns for hop in self.hops if hop.vm == vm.name)


@dataclass(frozen=True)
class RequestSessions:
    """Sessions of the experiment in the simulator, or on Xen."""

    experiment: RequestLoop
    host: Host

    def sessions(
        self, run: DatabaseLoad, clients: int, seeds: Sequence[int], progress: Progress
    ) -> dict[str, list[Session]]:
        """The sessions of so many clients under each policy, one for each seed."""
        found: dict[str, list[Session]] = {policy: [] for policy in POLICIES}
        for number, seed in enumerate(seeds, 1):
            for policy in POLICIES:
                found[policy].append(self.session(self.system(policy, run, clients), seed))
            progress(number)
        return found

    def system(self, policy: str, run: DatabaseLoad, clients: int) -> System:
        """The VMs under a policy, with so many clients."""
        asked = self.experiment
        domains = tuple(
            Domain(
                name=vm.name,
                scheduler=Scheduler.FIFO,
                interface=getattr(vm, policy),
                tasks=tuple(self._task(hop, run) for hop in asked.hops if hop.vm == vm.name),
            )
            for vm in asked.vms
        )
        source = Source(kind=SourceKind.CLOSED, clients=clients, think_ns=asked.think_ns)
        requests = Flow(
            name="requests",
            source=source,
            hops=tuple(f"{hop.vm}.{hop.name}" for hop in asked.hops),
            deadline_ns=asked.horizon_ns,
        )
        return System(
            name=asked.name,
            policy=PRESETS[policy],
            spare=asked.spare if policy == "ertds" else None,
            domains=domains,
            flows=(requests,),
        )

    def _task(self, hop: RequestHop, run: DatabaseLoad) -> Task:
        etf = self.experiment.etf
        work_ns = hop.work_ns or run.work_ns
        assert work_ns is not None, "the file's runs on this host have work"
        return Task(
            name=hop.name,
            kind=TaskKind.EVENT,
            period_ns=self.experiment.think_ns,
            wcet_ns=int(2 * work_ns / (1 + etf)),
            etf=etf,
        )

    def session(self, system: System, seed: int) -> Session:
        """One session. InputError if no request was completed in it."""
        ramp_ns, horizon_ns = self.experiment.ramp_ns, self.experiment.horizon_ns
        before = run_on(self.host, system, ramp_ns, seed)
        after = run_on(self.host, system, ramp_ns + horizon_ns, seed)
        (ramp,), (whole,) = before.flows, after.flows
        completed = whole.finished - ramp.finished
        if completed == 0:
            found = f"{format_time(horizon_ns)}, in which no request was completed"
            allowed = f"some of {format_time(self.experiment.think_ns)}"
            raise InputError("", None, "--horizon", found, allowed)
        each = list(zip(after.domains, before.domains, strict=True))
        used = {one.name: (one.supply_ns - old.supply_ns) / horizon_ns for one, old in each}
        donated = {one.name: (one.donated_ns - old.donated_ns) / horizon_ns for one, old in each}
        response_ns = (_total_ns(whole) - _total_ns(ramp)) / completed
        return Session(completed * NS_PER_S / horizon_ns, response_ns, used, donated)


def _total_ns(flow: RunFlow) -> int:
    """All response times together, to half a nanosecond each."""
    return flow.finished * flow.response_ns.mean if flow.response_ns else 0
