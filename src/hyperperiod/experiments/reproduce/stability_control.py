# SPDX-License-Identifier: BSD-2-Clause
"""Electronic stability control under SEDF, SEDF' and PSEDF beside a growing load.

PSEDF paper, section VII (Figs. 5 to 7). Packets for four wheels pass a network domain, the wheel's
control domain and the network domain again; ordinary VMs load both pcpus meanwhile. The paper does
not say what share of a pcpu, if any, those are promised, so they run in two ways:
- *best effort*: without a slice, in time that nobody else wants;
- *reserved*: with a slice as large as their load, in periods like those of the control domains.
  These alone reserve 80 % of their pcpu, so above a load of 20 % this overbooks it.
Under PSEDF ordinary VMs come behind all real-time ones whatever they are promised.

Packets of different wheels come *apart*, spread evenly over their period, or at *random*:
at least a period apart for each wheel, whatever the others do.

Where a load leaves so little that packets are dropped, their responses only tell how long the queue
is: such points are rows, but not in the curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from hyperperiod.analysis import analyze
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.files import FOLDER, Part
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse
from hyperperiod.hosts.sim import simulate
from hyperperiod.model import (
    Domain,
    Flow,
    InputError,
    Interface,
    Policy,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
    format_time,
    load_system,
    parse_policy,
)
from hyperperiod.model.values import PositiveTime
from hyperperiod.report.lines import Curve, LineChart, Scale, time_scale

Phases = Literal["apart", "random"]
LoadAs = Literal["best effort", "reserved"]

COLUMNS = (
    "policy",
    "load_as",
    "phases",
    "load",
    "domain",
    "packets",
    "dropped",
    "misses",
    "response_ns",
)
CONSTANT = 1.01
"""Means whose ratio is at most this count as the same."""

Percent = Annotated[StrictInt, Field(ge=0, le=100)]


class Findings(Part):
    """What the paper says of its figure; not every figure says everything."""

    constant: str = ""
    grows: str = ""
    misses: str = ""
    bound: str = ""
    apart: str = ""
    load: str = ""


class StabilityControl(Part):
    """An experiment: the system, its policies, and the loads of the x axis in percent."""

    name: str
    title: str
    source: str
    system: str
    shown: Literal["mean", "all"]
    policies: tuple[str, ...]
    loads: tuple[Percent, ...]
    packets: Annotated[StrictInt, Field(ge=1)]
    load_period_ns: PositiveTime = Field(alias="load_period")
    paper: Findings

    def steps(self, asked: Asked) -> int:  # noqa: ARG002 - the same however many packets
        return sum(len(list(self._settings(policy))) for policy in self.policies) * len(self.loads)

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        refuse(asked, self.name, "sets", "horizon_ns")
        base = load_system(str(FOLDER.parent / self.system))
        rows: list[dict[str, Any]] = []
        interrupted = False
        try:
            for done, row in enumerate(self._measured(base, asked), start=1):
                rows.extend(row)
                progress(done)
        except KeyboardInterrupt:
            interrupted = True
        claims = [] if interrupted else list(self._claims(base, rows))
        return Figure(
            self.name,
            self.title,
            self.source,
            rows,
            claims,
            self._chart(base, rows),
            COLUMNS,
            interrupted,
        )

    def _settings(self, policy: str) -> Iterator[tuple[LoadAs, Phases]]:
        """Reserved or not is the same under PSEDF, where ordinary VMs come last."""
        ways: tuple[LoadAs, ...] = (
            ("best effort",) if policy == "psedf" else ("best effort", "reserved")
        )
        for load_as in ways:
            yield load_as, "apart"
            yield load_as, "random"

    def _measured(self, base: System, asked: Asked) -> Iterator[list[dict[str, Any]]]:
        for name in self.policies:
            for load_as, phases in self._settings(name):
                for load in self.loads:
                    yield self._rows(base, parse_policy(name), load_as, phases, load, asked)

    def _rows(
        self, base: System, policy: Policy, load_as: LoadAs, phases: Phases, load: int, asked: Asked
    ) -> list[dict[str, Any]]:
        """One run: a row per wheel."""
        system = self._system(base, policy, load_as, phases, load)
        packets = asked.packets or self.packets
        # Sporadic packets come one to two periods apart.
        horizon_ns = packets * _period_ns(base.flows[0]) * (1 if phases == "apart" else 2)
        result = simulate(system, horizon_ns, asked.seed)
        if result["interrupted"]:
            raise KeyboardInterrupt
        if not all(found["response_ns"] for found in result["flows"]):
            few = f"{packets}, of which none got through on one of the ways"
            raise InputError("", None, "--packets", few, "some hundreds")
        return [
            {
                "policy": str(policy),
                "host": "sim",
                "load_as": load_as,
                "phases": phases,
                "load": load,
                "domain": flow.hops[1].partition(".")[0],
                "packets": found["items"],
                "dropped": found["dropped"],
                "misses": found["misses"],
                "response_ns": {key: found["response_ns"][key] for key in ("min", "mean", "max")},
            }
            for flow, found in zip(system.flows, result["flows"], strict=True)
        ]

    def _system(
        self, base: System, policy: Policy, load_as: LoadAs, phases: Phases, load: int
    ) -> System:
        loads = [self._load(pcpu, load_as, load) for pcpu in range(base.pcpus) if load]
        return base.model_copy(
            update={
                "policy": policy,
                "domains": (*base.domains, *loads),
                "flows": tuple(_phased(base, number, phases) for number in range(len(base.flows))),
            }
        )

    def _load(self, pcpu: int, load_as: LoadAs, load: int) -> Domain:
        """An ordinary VM that asks for `load` percent of a pcpu."""
        work_ns = self.load_period_ns * load // 100
        task = Task(name="work", period_ns=self.load_period_ns, wcet_ns=work_ns)
        if load_as == "best effort":
            return Domain(name=f"load-{pcpu}", pcpu=pcpu, best_effort=True, tasks=(task,))
        return Domain(
            name=f"load-{pcpu}",
            pcpu=pcpu,
            priority=LAST,
            interface=Interface(period_ns=self.load_period_ns, budget_ns=work_ns),
            tasks=(Task(name="work", kind=TaskKind.BUSY),),
        )

    def _claims(self, base: System, rows: Sequence[dict[str, Any]]) -> Iterator[Claim]:
        first = [row for row in rows if row["domain"] == rows[0]["domain"]]
        if self.paper.constant:
            yield from self._about_means(first)
        if self.paper.misses:
            yield from self._about_misses(base, rows)
        if self.paper.bound:
            yield from self._about_bounds(base, rows)

    def _about_means(self, rows: Sequence[dict[str, Any]]) -> Iterator[Claim]:
        booked = [
            row["response_ns"]["mean"]
            for row in rows
            if row["load_as"] == "reserved" and not row["dropped"]
        ]
        spread = _spread(rows, "psedf", "best effort")
        yield Claim(
            "Under PSEDF the mean response does not depend on the load.",
            self.paper.constant,
            f"the largest mean is {spread:.3f} times the least of its curve",
            spread <= CONSTANT,
        )
        idle = [_spread(rows, policy, "best effort") for policy in ("sedf", "sedf-prime")]
        yield Claim(
            "Under SEDF and SEDF' a load without slices leaves the mean response as it is.",
            self.paper.grows,
            f"the largest mean is {max(idle):.3f} times the least of its curve",
            max(idle) <= CONSTANT,
        )
        reserved = [_spread(rows, policy, "reserved") for policy in ("sedf", "sedf-prime")]
        yield Claim(
            "Under SEDF and SEDF' the mean grows with a load that has slices.",
            self.paper.grows,
            f"up to {min(reserved):.2f} times under one, {max(reserved):.2f} times under the other;"
            f" largest mean {format_time(int(max(booked)))}",
            min(reserved) > CONSTANT,
        )

    def _about_misses(self, base: System, rows: Sequence[dict[str, Any]]) -> Iterator[Claim]:
        free = [row for row in rows if row["load_as"] == "best effort"]
        yield Claim(
            "Beside a load without slices no packet misses: inequality (1) holds exactly.",
            self.paper.misses,
            f"{sum(row['misses'] for row in free)} misses; largest response"
            f" {format_time(_largest(free))}",
            not any(row["misses"] + row["dropped"] for row in free),
        )
        booked = [row for row in rows if row["load_as"] == "reserved"]
        late = [row["load"] for row in booked if row["misses"]]
        kept = [row for row in booked if not row["dropped"]]
        dropped = [row["load"] for row in booked if row["dropped"]]
        overbooked = min(load for load in self.loads if load > 100 * _left(base))
        yield Claim(
            "Packets miss where a load with slices overbooks the pcpu: this explains the figure.",
            self.paper.misses,
            f"the first misses at {_percent(min(late, default=None))}; overbooked from"
            f" {overbooked} %; largest response {format_time(_largest(kept))}; the first packets"
            f" dropped at {_percent(min(dropped, default=None))}",
            bool(late) and min(late) >= overbooked,
        )

    def _about_bounds(self, base: System, rows: Sequence[dict[str, Any]]) -> Iterator[Claim]:
        flows = {flow["name"]: flow for flow in analyze(base)["flows"]}
        bounds = {
            flow.hops[1].partition(".")[0]: flows[flow.name]["response_bound_ns"]
            for flow in base.flows
        }
        said = ("none" if bound is None else format_time(bound) for bound in bounds.values())
        yield Claim(
            "Every response is within the bound of the analysis, and that within the deadline.",
            self.paper.bound,
            f"largest {format_time(_largest(rows))}; bounds {', '.join(said)}",
            all(row["response_ns"]["max"] <= (bounds[row["domain"]] or 0) for row in rows),
        )
        apart = [r for r in rows if r["phases"] == "apart" and r["domain"] == rows[0]["domain"]]
        least_ns = _work(base)
        yield Claim(
            "With packets apart the first wheel takes 2 e_N + e_1, whatever the load.",
            self.paper.apart,
            f"largest {format_time(_largest(apart))}, 2 e_N + e_1 is {format_time(least_ns)}",
            _largest(apart) <= least_ns,
        )
        largest = {
            (row["phases"], row["domain"]): {
                other["response_ns"]["max"]
                for other in rows
                if (other["phases"], other["domain"]) == (row["phases"], row["domain"])
            }
            for row in rows
        }
        moved = max(max(values) - min(values) for values in largest.values())
        yield Claim(
            "The load does not move the largest response of any wheel.",
            self.paper.load,
            f"by at most {moved} ns",
            moved == 0,
        )

    def _chart(self, base: System, rows: Sequence[dict[str, Any]]) -> LineChart:
        first = base.flows[0].hops[1].partition(".")[0]
        keys = ("mean",) if self.shown == "mean" else ("max", "mean", "min")
        curves = []
        for policy in self.policies:
            for load_as, phases in self._settings(policy):
                if phases == "apart":
                    continue
                for key in keys:
                    points = [
                        (float(row["load"]), float(row["response_ns"][key]))
                        for row in rows
                        if (row["policy"], row["load_as"], row["phases"], row["domain"])
                        == (policy, load_as, phases, first)
                        and not row["dropped"]
                    ]
                    words = [policy if self.shown == "mean" else key]
                    words += [f"load {load_as}"] if policy != "psedf" else []
                    curves.append(Curve(", ".join(words), points, dots=True))
        most = max((y for curve in curves for _, y in curve.points), default=1.0)
        return LineChart(
            self.title,
            Scale("load of ordinary VMs", "%"),
            time_scale("response", most),
            curves,
            subtitle=self.source,
            x_most=100.0,
        )


LAST = 1000
"""The priority of ordinary VMs: below every real-time one."""


def _period_ns(flow: Flow) -> int:
    """Of its packets, which a clock sends."""
    assert flow.source.period_ns is not None, "no flow of the case study is closed"
    return flow.source.period_ns


def _phased(base: System, number: int, phases: Phases) -> Flow:
    """A flow with its packets as the phases want them."""
    flow = base.flows[number]
    period_ns = _period_ns(flow)
    if phases == "random":
        source = Source(kind=SourceKind.SPORADIC, period_ns=period_ns)
    else:
        offset_ns = number * period_ns // len(base.flows)
        source = Source(kind=SourceKind.PERIODIC, period_ns=period_ns, offset_ns=offset_ns)
    return flow.model_copy(update={"source": source})


def _spread(rows: Sequence[dict[str, Any]], policy: str, load_as: LoadAs) -> float:
    """The largest mean over the least, of the curve where that is most."""
    found = 1.0
    for phases in ("apart", "random"):
        means = [
            row["response_ns"]["mean"]
            for row in rows
            if (row["policy"], row["load_as"], row["phases"]) == (policy, load_as, phases)
            and not row["dropped"]
        ]
        found = max(found, max(means) / min(means))
    return found


def _largest(rows: Sequence[dict[str, Any]]) -> int:
    largest: int = max(row["response_ns"]["max"] for row in rows)
    return largest


def _left(base: System) -> float:
    """What the control domains leave of their pcpu."""
    pcpu = base.domains[-1].pcpu
    booked = sum(
        float(domain.interface.bandwidth)
        for domain in base.domains
        if domain.pcpu == pcpu and domain.interface is not None
    )
    return 1 - booked


def _work(base: System) -> int:
    """The work of one packet of the first flow along all its hops."""
    wcets = {f"{d.name}.{t.name}": t.wcet_ns or 0 for d in base.domains for t in d.tasks}
    return sum(wcets[hop] for hop in base.flows[0].hops)


def _percent(load: int | None) -> str:
    return "no load" if load is None else f"{load} %"
