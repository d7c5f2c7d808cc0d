# SPDX-License-Identifier: BSD-2-Clause
"""What the spare budget of ERTDS gains for requests: a closed loop of clients and two tiers.

ERTDS paper, Experiment D (Fig. 9): RUBiS, a benchmark of a web auction site, on three VMs that
share one core: the web front end, the database, the clients with their generator. Throughput under
ERTDS (smaller servers, and a spare) stands beside that under RTDS.

The paper prints two numbers, and of the workload nothing but its name. Here a client thinks,
uniform from 0 to twice the mean (RUBiS: exponential), sends a request, and waits for the page. That
costs one piece of work at each hop: in the client's VM, the front end, the database, the front end
and the client's VM again, first come first served. Work is uniform between `etf` and 1 of its
largest, around a mean that the file gives; the database's mean differs from run to run.

What is counted is a session after a ramp, as RUBiS does. Runs are deterministic, so a run over ramp
and session begins with the run over the ramp: the session is the difference of the two. Each number
is the mean over sets of draws. On Linux and on Xen the services are real (`services`), and what a
request costs is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from hyperperiod.experiments.confidence import (
    Interval,
    mean_interval,
    mean_of,
    mean_share_interval,
    ratio_interval,
)
from hyperperiod.model.values import Finding
from hyperperiod.papers.experiment import (
    FigureOptions,
    Host,
    Measuring,
)
from hyperperiod.papers.expressions import Scope, estimate
from hyperperiod.papers.result import RequestRow
from hyperperiod.papers.services import ServiceSessions
from hyperperiod.papers.sessions import (
    NS_PER_S,
    POLICIES,
    DatabaseLoad,
    RequestLoop,
    RequestSessions,
    Session,
    SessionHost,
)


class Requests(RequestLoop):
    """An experiment about a closed loop of clients: throughput, response, use of the spare."""

    def _findings(self) -> Iterable[Finding]:
        yield from super()._findings()
        for run in self.measured_runs:
            if run.work_ns is None:
                yield Finding(("databases",), f"{run.name} without work", "runs with work")

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(self.databases) * len(self.clients) * self.sets

    def measured(self, run: Measuring) -> Iterator[RequestRow]:
        for database in self.measured_runs:
            there = self._sessions_on(run.host, database)
            for clients in self.clients:
                done, seeds = run.done, run.seeds(self.sets)

                def progress(more: int, done: int = done) -> None:
                    run.reach(done + more)

                found = there.sessions(database, clients, seeds, progress)
                run.done = done + self.sets
                yield session_row(run.host, database, clients, found)

    def _sessions_on(self, host: Host, run: DatabaseLoad) -> SessionHost:
        if run.work_ns is None:
            return ServiceSessions(self, host=host)
        return RequestSessions(self, host)

    def names(self, rows: Sequence[RequestRow], options: FigureOptions) -> Scope:
        here = self.settled(options)

        def full(run: DatabaseLoad) -> int:
            """So many clients, if they never waited, would ask for all that RTDS promises a VM."""
            asked = {vm: here.work_ns(vm, run, rows) for vm in self.vms}
            return int(min(vm.rtds.bandwidth * here.think_ns / asked[vm] for vm in self.vms))

        def short(row: RequestRow) -> list[str]:
            """The VMs that so many requests need more of than their servers of ERTDS have."""
            (run,) = (one for one in self.runs if one.name == row.run)
            works = {vm: here.work_ns(vm, run, rows) for vm in self.vms}
            asked = {vm: row.ertds_hz * work_ns / NS_PER_S for vm, work_ns in works.items()}
            return [vm.name for vm in self.vms if asked[vm] > vm.ertds.bandwidth]

        def donated(row: RequestRow, vm: str) -> float:
            """What a VM got of the spare, a share of the pcpu with its interval."""
            return estimate(row.donated[vm], row.donated_interval.get(vm))

        runs = here.measured_runs
        return {"runs": runs, "full": full, "short": short, "donated": donated}


def _shares(name: str, shares: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Each VM's mean share, and its interval if there are sessions enough, by the row's keys."""
    found = {vm: mean_share_interval([one[vm] for one in shares]) for vm in shares[0]}
    return {
        name: {vm: fmean(one[vm] for one in shares) for vm in shares[0]},
        f"{name}_interval": {vm: one for vm, one in found.items() if one is not None},
    }


def session_row(
    host: Host, run: DatabaseLoad, clients: int, found: Mapping[str, Sequence[Session]]
) -> RequestRow:
    """The means over the sessions of so many clients under each policy."""
    ertds, rtds = (found[policy] for policy in POLICIES)
    rates = [[one.throughput_hz for one in each] for each in (ertds, rtds)]
    times = [[one.response_ns for one in each] for each in (ertds, rtds)]
    gain = ratio_interval(*rates)
    return RequestRow(
        run=run.name,
        clients=clients,
        **mean_of("ertds_hz", rates[0], mean_interval),
        **mean_of("rtds_hz", rates[1], mean_interval),
        gain=fmean(rates[0]) / fmean(rates[1]) - 1,
        gain_interval=gain and Interval(low=gain.low - 1, high=gain.high - 1),
        ertds_ns=fmean(times[0]),
        rtds_ns=fmean(times[1]),
        ratio=fmean(times[0]) / fmean(times[1]),
        ratio_interval=ratio_interval(*times),
        **_shares("used", [one.used for one in ertds]),
        **_shares("donated", [one.donated for one in ertds]),
        host=host,
        sets=len(ertds),
    )
