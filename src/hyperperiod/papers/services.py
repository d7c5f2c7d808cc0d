# SPDX-License-Identifier: BSD-2-Clause
"""Experiment D with real services: Apache with PHP, PostgreSQL and a program of clients, on Linux
or in VMs on Xen.

All sessions of so many clients run on one machine, which boots once, under one policy after the
other: which is first changes from seed to seed, since bids stay in the database. A session is what
comes after the ramp: pages that are there by then, and what each server had from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hyperperiod.model import (
    PRESETS,
    Domain,
    GuestKind,
    InputError,
    Scheduler,
    System,
    Task,
    TaskKind,
    format_time,
    vcpus_of,
)
from hyperperiod.papers.experiment import Host, Progress
from hyperperiod.papers.sessions import NS_PER_S, POLICIES, DatabaseLoad, RequestLoop, Session
from hyperperiod.trace.format import Kind
from hyperperiod.trace.interval_arrays import interval_array

if TYPE_CHECKING:
    from hyperperiod.hosts.services import ServiceSession


@dataclass(frozen=True)
class ServiceSessions:
    """The experiment on Linux, or in VMs on Xen; what its machines leave is kept in `folder`, if
    there is one: on Linux traces of its sessions."""

    experiment: RequestLoop
    folder: Path | None = None
    host: Host = "linux"

    _found: dict[int, dict[str, list[Session]]] = field(default_factory=dict)

    def sessions(
        self, _run: DatabaseLoad, clients: int, seeds: Sequence[int], progress: Progress
    ) -> dict[str, list[Session]]:
        """The sessions of so many clients under each policy, one for each seed."""
        if clients not in self._found:
            # A machine with VMs takes minutes to boot: one does for all numbers of clients.
            together = self.experiment.clients if self.host == "xen" else (clients,)
            self._found.update(self._measured(together, seeds, progress))
        progress(len(seeds))
        return self._found.pop(clients)

    def _measured(
        self, together: Sequence[int], seeds: Sequence[int], progress: Progress
    ) -> dict[int, dict[str, list[Session]]]:
        from hyperperiod.hosts.recorded_run import RunRequest
        from hyperperiod.hosts.services import Clients, SessionRequest

        if self.host == "xen":
            from hyperperiod.hosts.xen.services_run import run_sessions
        else:
            from hyperperiod.hosts.linux.services_run import run_sessions

        end_ns = self.experiment.ramp_ns + self.experiment.horizon_ns
        wanted = [
            (clients, policy, seed)
            for clients in together
            for number, seed in enumerate(seeds)
            for policy in (POLICIES if number % 2 == 0 else reversed(POLICIES))
        ]
        requests = [
            SessionRequest(
                RunRequest(self.system(policy), end_ns, seed, self._trace(clients, policy, seed)),
                Clients(clients, self.experiment.think_ns),
            )
            for clients, policy, seed in wanted
        ]
        folder = None if self.folder is None else self.folder / str(together[0])
        ran = run_sessions(requests, lambda over: progress(over // 2), folder)
        found: dict[int, dict[str, list[Session]]] = {
            clients: {policy: [] for policy in POLICIES} for clients in together
        }
        for (clients, policy, _), asked, one in zip(wanted, requests, ran, strict=True):
            found[clients][policy].append(self.session(asked.run.system, one))
        return found

    def _trace(self, clients: int, policy: str, seed: int) -> Path | None:
        if self.folder is None:
            return None
        return self.folder / str(clients) / f"{policy}-{seed}.hpt"

    def system(self, policy: str) -> System:
        """The VMs under a policy; what is inside them is said to be endless work."""
        domains = tuple(
            Domain(
                name=vm.name,
                scheduler=Scheduler.FAIR,
                guest=GuestKind.LINUX,
                interface=getattr(vm, policy),
                tasks=(Task(name="processes", kind=TaskKind.BUSY),),
            )
            for vm in self.experiment.vms
        )
        return System(
            name=self.experiment.name,
            policy=PRESETS[policy],
            spare=self.experiment.spare if policy == "ertds" else None,
            domains=domains,
        )

    def session(self, system: System, ran: ServiceSession) -> Session:
        """What a session came to. InputError if no page came in it."""
        ramp_ns, horizon_ns = self.experiment.ramp_ns, self.experiment.horizon_ns
        came = ran.pages[ran.pages["there_ns"] >= ramp_ns]
        if len(came) == 0:
            found = f"{format_time(horizon_ns)}, in which no page came"
            allowed = f"some of {format_time(self.experiment.think_ns)}"
            raise InputError("", None, "--horizon", found, allowed)
        intervals = interval_array(ran.records, 0)
        intervals = intervals[(intervals["kind"] == Kind.RUN) & (intervals["end_ns"] > ramp_ns)]
        lengths = intervals["end_ns"] - intervals["start_ns"].clip(ramp_ns)
        own = intervals["payer"] == intervals["vcpu"]
        used, donated = {}, {}
        for vcpu in vcpus_of(system):
            here = intervals["vcpu"] == vcpu.id
            used[vcpu.domain.name] = int(lengths[here].sum()) / horizon_ns
            donated[vcpu.domain.name] = int(lengths[here & ~own].sum()) / horizon_ns
        responses = came["there_ns"] - came["asked_ns"]
        throughput_hz = len(came) * NS_PER_S / horizon_ns
        return Session(throughput_hz, int(responses.sum()) / len(came), used, donated)
