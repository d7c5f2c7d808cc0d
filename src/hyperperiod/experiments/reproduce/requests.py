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
is the mean over sets of draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from pydantic import Field, StrictInt

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.files import Part
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse
from hyperperiod.hosts.sim import simulate
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
from hyperperiod.model.values import Etf, PositiveTime
from hyperperiod.report.lines import Curve, LineChart, Ruler, Scale

HOST = "sim"
NS_PER_S = 1_000_000_000
POLICIES = ("ertds", "rtds")
COLUMNS = ("run", "clients", "ertds_hz", "rtds_hz", "gain", "ertds_ns", "rtds_ns", "ratio")
NOT_WORSE = 1.01
"""A ratio of responses up to this counts as not worse."""
GAIN = 0.02
"""A gain above this is more than luck: whoever is not held up by a server gets the same in both."""
HELP = 0.01
"""A share of the pcpu above this counts as getting of the spare."""
ROOM = 1.2
"""Of the largest throughput: where the axis ends, so that words have room above the curves."""
SEEDS = 2**64

Many = Annotated[StrictInt, Field(ge=1, le=65536)]


class Vm(Part):
    """A VM and its server under either policy."""

    name: str
    ertds: Interface
    rtds: Interface


class Hop(Part):
    """A step of every request; its mean work, or as the run says."""

    vm: str
    name: str
    work_ns: PositiveTime | None = Field(alias="work", default=None)


class Run(Part):
    """A guess at what a request costs at the hop without work of its own."""

    name: str
    work_ns: PositiveTime = Field(alias="work")


class Findings(Part):
    """What the paper says of its figure."""

    ertds_hz: StrictInt
    rtds_hz: StrictInt
    gain: str
    who: str
    trend: str
    never_worse: str


class Session(NamedTuple):
    """What one session came to, or the mean of several; `donated` as shares of a pcpu, by VM."""

    throughput_hz: float
    response_ns: float
    donated: Mapping[str, float]


class Requests(Part):
    """An experiment: VMs on one pcpu, the way of a request, and the clients of the x axis."""

    name: str
    title: str
    source: str
    clients: tuple[Many, ...]
    think_ns: PositiveTime = Field(alias="think")
    ramp_ns: PositiveTime = Field(alias="ramp")
    horizon_ns: PositiveTime = Field(alias="horizon")
    sets: Annotated[StrictInt, Field(ge=1)]
    etf: Etf
    spare: Interface
    vms: tuple[Vm, ...] = Field(alias="vm", min_length=1)
    hops: tuple[Hop, ...] = Field(alias="hop", min_length=1)
    runs: tuple[Run, ...] = Field(alias="run", min_length=1)
    paper: Findings

    def steps(self, asked: Asked) -> int:
        return len(self.runs) * len(self.clients) * (asked.sets or self.sets)

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        refuse(asked, self.name, "packets")
        rows: list[dict[str, Any]] = []
        interrupted = False
        try:
            rows.extend(self._measured(asked, progress))
        except KeyboardInterrupt:
            interrupted = True
        claims = [] if interrupted else list(self._claims(rows))
        chart = self._chart(rows)
        return Figure(self.name, self.title, self.source, rows, claims, chart, COLUMNS, interrupted)

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[dict[str, Any]]:
        done, sets = 0, asked.sets or self.sets
        for run in self.runs:
            for clients in self.clients:
                found: dict[str, list[Session]] = {policy: [] for policy in POLICIES}
                for number in range(sets):
                    for policy in POLICIES:
                        system = self.system(policy, run, clients)
                        found[policy].append(self.session(system, asked, number))
                    done += 1
                    progress(done)
                yield _row(run, clients, sets, *(_mean(found[policy]) for policy in POLICIES))

    def system(self, policy: str, run: Run, clients: int) -> System:
        """The three VMs under a policy, with so many clients."""
        domains = tuple(
            Domain(
                name=vm.name,
                scheduler=Scheduler.FIFO,
                interface=vm.ertds if policy == "ertds" else vm.rtds,
                tasks=tuple(self._task(hop, run) for hop in self.hops if hop.vm == vm.name),
            )
            for vm in self.vms
        )
        source = Source(kind=SourceKind.CLOSED, clients=clients, think_ns=self.think_ns)
        requests = Flow(
            name="requests",
            source=source,
            hops=tuple(f"{hop.vm}.{hop.name}" for hop in self.hops),
            deadline_ns=self.horizon_ns,
        )
        spare = self.spare if policy == "ertds" else None
        return System(
            name=self.name,
            policy=PRESETS[policy],
            spare=spare,
            domains=domains,
            flows=(requests,),
        )

    def _task(self, hop: Hop, run: Run) -> Task:
        mean_ns = hop.work_ns or run.work_ns
        most_ns = int(2 * mean_ns / (1 + self.etf))
        return Task(
            name=hop.name,
            kind=TaskKind.EVENT,
            period_ns=self.think_ns,
            wcet_ns=most_ns,
            etf=self.etf,
        )

    def session(self, system: System, asked: Asked, number: int) -> Session:
        """One session. InputError if no request was completed in it."""
        horizon_ns = asked.horizon_ns or self.horizon_ns
        seed = (asked.seed + number) % SEEDS
        before = _run(system, self.ramp_ns, seed)
        after = _run(system, self.ramp_ns + horizon_ns, seed)
        (ramp,), (whole,) = before["flows"], after["flows"]
        completed = whole["finished"] - ramp["finished"]
        if completed == 0:
            found = f"{format_time(horizon_ns)}, in which no request was completed"
            raise InputError("", None, "--horizon", found, f"some of {format_time(self.think_ns)}")
        donated = {
            domain["name"]: (domain["donated_ns"] - earlier["donated_ns"]) / horizon_ns
            for domain, earlier in zip(after["domains"], before["domains"], strict=True)
        }
        response_ns = (_total_ns(whole) - _total_ns(ramp)) / completed
        return Session(completed * NS_PER_S / horizon_ns, response_ns, donated)

    def _claims(self, rows: Sequence[dict[str, Any]]) -> Iterator[Claim]:
        last = {run.name: _row_at(rows, run, self.clients[-1]) for run in self.runs}
        gains = {name: row["gain"] for name, row in last.items()}
        theirs = self.paper.ertds_hz / self.paper.rtds_hz - 1
        yield Claim(
            f"With {self.clients[-1]} clients ERTDS completes more requests per second.",
            self.paper.gain,
            "; ".join(
                f"{row['ertds_hz']:.1f} and {row['rtds_hz']:.1f}, {row['gain']:.1%} more, with"
                f" {name} in the database"
                for name, row in last.items()
            ),
            min(gains.values()) > GAIN,
        )
        yield Claim(
            "The paper's gain lies between ours for little and for much work in the database.",
            f"{theirs:.1%}",
            f"{min(gains.values()):.1%} to {max(gains.values()):.1%}",
            min(gains.values()) <= theirs <= max(gains.values()),
        )
        yield from (self._claim_begin(run, rows) for run in self.runs)
        yield self._claim_spare(last)
        worst = max(rows, key=lambda row: float(row["ratio"]))
        yield Claim(
            "At no number of clients is the mean response more than 1 % above that of RTDS.",
            self.paper.never_worse,
            f"the largest ratio is {worst['ratio']:.3f}, with {worst['clients']} clients and"
            f" {worst['run']} in the database",
            worst["ratio"] <= NOT_WORSE,
        )

    def _claim_begin(self, run: Run, rows: Sequence[dict[str, Any]]) -> Claim:
        gains = {count: _row_at(rows, run, count)["gain"] for count in self.clients}
        first = next((count for count in self.clients if gains[count] > GAIN), None)
        full = self._full(run)
        return Claim(
            f"{run.name} in the database: the gain begins where the demand of a tier passes what"
            " RTDS promises it.",
            self.paper.trend,
            f"it is above {GAIN:.0%} from {first} clients on; {full} ask for all that is promised",
            first == next((count for count in self.clients if count > full), None),
        )

    def _claim_spare(self, last: Mapping[str, dict[str, Any]]) -> Claim:
        said, holds = [], True
        for run in self.runs:
            row = last[run.name]
            short = [vm.name for vm in self.vms if self._is_short(vm, run, row["ertds_hz"])]
            shares = [f"{name} {row['donated'][name]:.1%}" for name in short]
            said.append(f"{run.name}: {' and '.join(shares)} of the pcpu")
            holds &= all(row["donated"][name] > HELP for name in short)
        return Claim(
            "Every tier whose demand is above its own server gets of the spare.",
            self.paper.who,
            "; ".join(said),
            holds,
        )

    def work_ns(self, vm: Vm, run: Run) -> int:
        """What a request costs in a VM on average, in nanoseconds."""
        return sum(hop.work_ns or run.work_ns for hop in self.hops if hop.vm == vm.name)

    def _is_short(self, vm: Vm, run: Run, throughput_hz: float) -> bool:
        """Whether so many requests need more than the server of ERTDS has."""
        return throughput_hz * self.work_ns(vm, run) / NS_PER_S > vm.ertds.bandwidth

    def _full(self, run: Run) -> int:
        """So many clients, if they never waited, would ask for all that RTDS promises some VM."""
        per_thought = (vm.rtds.bandwidth * self.think_ns / self.work_ns(vm, run) for vm in self.vms)
        return int(min(per_thought))

    def _chart(self, rows: Sequence[dict[str, Any]]) -> LineChart:
        ends = (float(self.clients[0]), float(self.clients[-1]))
        curves = [
            Curve(f"ERTDS, database {run.name}", _points(rows, run, "ertds_hz"), dots=True)
            for run in self.runs
        ]
        curves.append(Curve("RTDS, any", _points(rows, self.runs[-1], "rtds_hz"), dots=True))
        for policy, theirs in (("ERTDS", self.paper.ertds_hz), ("RTDS", self.paper.rtds_hz)):
            level = [(at, float(theirs)) for at in ends]
            curves.append(Curve(f"{policy}, paper: {theirs}", level))
        full = self._full(self.runs[-1])
        return LineChart(
            self.title,
            Scale("clients"),
            Scale("requests per second"),
            curves,
            subtitle=self.source,
            rulers=[Ruler(float(full), "demand passes what RTDS promises")],
            x_least=ends[0],
            x_most=ends[1],
            y_most=ROOM
            * max((row["ertds_hz"] for row in rows), default=float(self.paper.ertds_hz)),
        )


def _run(system: System, horizon_ns: int, seed: int) -> dict[str, Any]:
    """KeyboardInterrupt if Ctrl-C ended the run: half a run is no measurement."""
    result = simulate(system, horizon_ns, seed)
    if result["interrupted"]:
        raise KeyboardInterrupt
    return result


def _total_ns(flow: Mapping[str, Any]) -> int:
    """All response times together, to half a nanosecond each."""
    return int(flow["finished"] * flow["response_ns"]["mean"]) if flow["response_ns"] else 0


def _mean(sessions: Sequence[Session]) -> Session:
    names = sessions[0].donated
    return Session(
        fmean(one.throughput_hz for one in sessions),
        fmean(one.response_ns for one in sessions),
        {name: fmean(one.donated[name] for one in sessions) for name in names},
    )


def _row(run: Run, clients: int, sets: int, ertds: Session, rtds: Session) -> dict[str, Any]:
    return {
        "run": run.name,
        "host": HOST,
        "clients": clients,
        "sets": sets,
        "ertds_hz": ertds.throughput_hz,
        "rtds_hz": rtds.throughput_hz,
        "gain": ertds.throughput_hz / rtds.throughput_hz - 1,
        "ertds_ns": ertds.response_ns,
        "rtds_ns": rtds.response_ns,
        "ratio": ertds.response_ns / rtds.response_ns,
        "donated": dict(ertds.donated),
    }


def _row_at(rows: Sequence[dict[str, Any]], run: Run, clients: int) -> dict[str, Any]:
    return next(row for row in rows if (row["run"], row["clients"]) == (run.name, clients))


def _points(rows: Sequence[dict[str, Any]], run: Run, key: str) -> list[tuple[float, float]]:
    return [(float(row["clients"]), row[key]) for row in rows if row["run"] == run.name]
