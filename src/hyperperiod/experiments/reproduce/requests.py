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
is the mean over sets of draws. Xen on one pcpu has exact time as well, and is asked for less. On
Linux the services are real (`service_bench`), and what a request costs is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import (
    Interval,
    mean_interval,
    mean_share_interval,
    ratio_interval,
)
from hyperperiod.experiments.reproduce.figure import Asked, Progress
from hyperperiod.experiments.reproduce.on_host import Host, run_on
from hyperperiod.experiments.reproduce.request_claims import RequestJudge
from hyperperiod.experiments.reproduce.request_session import POLICIES, Bench, Session
from hyperperiod.experiments.reproduce.request_workload import (
    DatabaseLoad,
    RequestHop,
    RequestSetting,
    Workload,
)
from hyperperiod.experiments.reproduce.result import RequestRow
from hyperperiod.hosts.result import RunFlow
from hyperperiod.model import (
    PRESETS,
    Domain,
    Flow,
    InputError,
    Scheduler,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
    format_time,
)
from hyperperiod.report.lines import LineChart

NS_PER_S = 1_000_000_000
COLUMNS = (
    "run",
    "clients",
    "ertds_hz",
    "rtds_hz",
    "gain",
    "gain_interval",
    "ertds_ns",
    "rtds_ns",
    "ratio",
    "ratio_interval",
)
SEEDS = 2**64


class Requests(Workload):
    """Experiment D: requests of a closed loop of clients under ERTDS and under RTDS."""

    def steps(self, asked: Asked) -> int:
        setting = self.setting(asked)
        return len(setting.databases) * len(setting.clients) * (asked.sets or setting.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        return COLUMNS, COLUMNS.index("ertds_hz")

    def _judged(self, rows: Sequence[RequestRow], asked: Asked) -> tuple[list[Claim], LineChart]:
        setting = self.setting(asked)
        judge = RequestJudge(self, setting)
        whole = len(rows) == len(self.runs_of(setting)) * len(setting.clients)
        return list(judge.claims(rows)) if whole else [], judge.chart(rows)

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[RequestRow]:
        setting = self.setting(asked)
        done, sets = 0, asked.sets or setting.sets
        bench = self._bench(setting, asked.host, asked.horizon_ns or setting.horizon_ns)
        for run in self.runs_of(setting):
            for clients in setting.clients:
                seeds = [(asked.seed + number) % SEEDS for number in range(sets)]
                found = bench.sessions(run, clients, seeds, partial(_after, progress, done))
                done += sets
                yield _row(asked.host, run, clients, found)

    def _bench(self, setting: RequestSetting, host: Host, horizon_ns: int) -> Bench:
        if host == "linux":
            from hyperperiod.experiments.reproduce.service_bench import ServiceBench

            return ServiceBench(self, setting, horizon_ns)
        return RequestBench(self, setting, host, horizon_ns)


@dataclass(frozen=True)
class RequestBench:
    """Where requests are measured, and for how long after the ramp."""

    experiment: Workload
    setting: RequestSetting
    host: Host
    horizon_ns: int

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
                interface=vm.ertds if policy == "ertds" else vm.rtds,
                tasks=tuple(self._task(hop, run) for hop in asked.hops if hop.vm == vm.name),
            )
            for vm in asked.vms
        )
        source = Source(kind=SourceKind.CLOSED, clients=clients, think_ns=self.setting.think_ns)
        requests = Flow(
            name="requests",
            source=source,
            hops=tuple(f"{hop.vm}.{hop.name}" for hop in asked.hops),
            deadline_ns=self.horizon_ns,
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
            period_ns=self.setting.think_ns,
            wcet_ns=int(2 * work_ns / (1 + etf)),
            etf=etf,
        )

    def session(self, system: System, seed: int) -> Session:
        """One session. InputError if no request was completed in it."""
        before = run_on(self.host, system, self.setting.ramp_ns, seed)
        after = run_on(self.host, system, self.setting.ramp_ns + self.horizon_ns, seed)
        (ramp,), (whole,) = before.flows, after.flows
        completed = whole.finished - ramp.finished
        if completed == 0:
            found = f"{format_time(self.horizon_ns)}, in which no request was completed"
            allowed = f"some of {format_time(self.setting.think_ns)}"
            raise InputError("", None, "--horizon", found, allowed)
        each = list(zip(after.domains, before.domains, strict=True))
        used = {one.name: (one.supply_ns - old.supply_ns) / self.horizon_ns for one, old in each}
        donated = {
            one.name: (one.donated_ns - old.donated_ns) / self.horizon_ns for one, old in each
        }
        response_ns = (_total_ns(whole) - _total_ns(ramp)) / completed
        return Session(completed * NS_PER_S / self.horizon_ns, response_ns, used, donated)


def _after(progress: Progress, done: int, more: int) -> None:
    """Reports that `more` steps are done after `done` earlier ones."""
    progress(done + more)


def _total_ns(flow: RunFlow) -> int:
    """All response times together, to half a nanosecond each."""
    return flow.finished * flow.response_ns.mean if flow.response_ns else 0


def _mean(sessions: Sequence[Session]) -> Session:
    names = sessions[0].donated
    return Session(
        fmean(one.throughput_hz for one in sessions),
        fmean(one.response_ns for one in sessions),
        {name: fmean(one.used[name] for one in sessions) for name in names},
        {name: fmean(one.donated[name] for one in sessions) for name in names},
    )


def _throughput_interval(sessions: Sequence[Session]) -> Interval | None:
    return mean_interval([one.throughput_hz for one in sessions])


def _share_intervals(shares: Sequence[Mapping[str, float]]) -> dict[str, Interval]:
    """The interval of each VM's share, if there are sessions enough for one."""
    found = {name: mean_share_interval([one[name] for one in shares]) for name in shares[0]}
    return {name: interval for name, interval in found.items() if interval is not None}


def _row(
    host: Host, run: DatabaseLoad, clients: int, found: Mapping[str, Sequence[Session]]
) -> RequestRow:
    ertds, rtds = (_mean(found[policy]) for policy in POLICIES)
    rates, times = (
        ratio_interval(*([getattr(one, key) for one in found[policy]] for policy in POLICIES))
        for key in ("throughput_hz", "response_ns")
    )
    return RequestRow(
        run=run.name,
        clients=clients,
        ertds_hz=ertds.throughput_hz,
        ertds_hz_interval=_throughput_interval(found["ertds"]),
        rtds_hz=rtds.throughput_hz,
        rtds_hz_interval=_throughput_interval(found["rtds"]),
        gain=ertds.throughput_hz / rtds.throughput_hz - 1,
        gain_interval=rates and Interval(low=rates.low - 1, high=rates.high - 1),
        ertds_ns=ertds.response_ns,
        rtds_ns=rtds.response_ns,
        ratio=ertds.response_ns / rtds.response_ns,
        ratio_interval=times,
        used=ertds.used,
        used_interval=_share_intervals([one.used for one in found["ertds"]]),
        donated=ertds.donated,
        donated_interval=_share_intervals([one.donated for one in found["ertds"]]),
        host=host,
        sets=len(found["ertds"]),
    )
