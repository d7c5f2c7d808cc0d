# SPDX-License-Identifier: BSD-2-Clause
"""Packets through control loops beside a load: the ways in which both come, and what was measured.

A **way** says what ordinary VMs are promised and how packets come:
- *best effort*: ordinary VMs have no slice and run in time that nobody else wants;
- *reserved*: each has a slice as large as its load, in periods like those of the control domains,
  and no priority, so that under PSEDF it is ordinary;
- packets come *apart*, those of the wheels spread evenly over their period, or at *random*: at
  least a period apart for each wheel, whatever the others do;
- in the simulator, a switch from one VM to another may cost time.

A row is a wheel at a load, over several draws of the instants at which packets come; apart they
come without any draw, and there is one. A packet that is dropped, since the one before it is still
on its way, was not answered in time: it counts among the misses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from hyperperiod.experiments.confidence import mean_interval
from hyperperiod.experiments.reproduce.on_host import Host, run_on
from hyperperiod.experiments.reproduce.result import PacketRow, PacketRunRow, ResponseRange
from hyperperiod.hosts.result import Responses, RunFlow
from hyperperiod.model import (
    Domain,
    Flow,
    Interface,
    Policy,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
)

Come = Literal["apart", "random"]
SEEDS = 2**64
LoadAs = Literal["best effort", "reserved"]
SomeRow = TypeVar("SomeRow", PacketRow, PacketRunRow)


@dataclass(frozen=True)
class PacketWay:
    """How packets and load come; `switch_ns`: what a switch costs, in the simulator."""

    load_as: LoadAs
    come: Come
    switch_ns: int = 0


@dataclass(frozen=True)
class PacketBench:
    """What all runs of a figure share."""

    base: System
    host: Host
    load_period_ns: int
    packets: int
    sets: int
    seed: int

    def draws(self, way: PacketWay) -> int:
        """How many draws there are of what comes at random."""
        return 1 if way.come == "apart" else self.sets


def measured(bench: PacketBench, policy: Policy, way: PacketWay, load: int) -> list[PacketRunRow]:
    """The runs of all draws: a row per wheel, with all that there is to say of it.

    KeyboardInterrupt if Ctrl-C ended one of them.
    """
    system = _system(bench, policy, way, load)
    seeds = [(bench.seed + draw) % SEEDS for draw in range(bench.draws(way))]
    draws = [run_on(bench.host, system, _horizon(bench, way), seed).flows for seed in seeds]
    return [
        _row(bench, way, policy, load, controller(flow), found)
        for flow, *found in zip(system.flows, *draws, strict=True)
    ]


def _row(
    bench: PacketBench,
    way: PacketWay,
    policy: Policy,
    load: int,
    domain: str,
    found: Sequence[RunFlow],
) -> PacketRunRow:
    """What the draws came to for one wheel."""
    answered = [draw for draw in found if draw.response_ns]
    ranges = [draw.response_ns for draw in answered if draw.response_ns]
    finished = sum(draw.finished for draw in answered)
    total_ns = sum(draw.finished * draw.response_ns.mean for draw in answered if draw.response_ns)
    return PacketRunRow(
        policy=str(policy),
        host=bench.host,
        load_as=way.load_as,
        come=way.come,
        switch_ns=way.switch_ns,
        load=load,
        domain=domain,
        packets=sum(draw.items for draw in found),
        dropped=sum(draw.dropped for draw in found),
        misses=sum(draw.misses + draw.dropped for draw in found),
        draws=len(found),
        late_draws=sum(bool(draw.misses + draw.dropped) for draw in found),
        response_ns=ResponseRange(
            min=min(one.min for one in ranges),
            mean=(2 * total_ns + finished) // (2 * finished),
            max=max(one.max for one in ranges),
        )
        if ranges
        else None,
        mean_interval_ns=mean_interval([one.mean for one in ranges]),
        max_interval_ns=mean_interval([one.max for one in ranges]),
    )


def row_of_figure(row: PacketRunRow) -> PacketRow:
    """What a row of the figure has of one that was measured."""
    return PacketRow(
        policy=row.policy,
        host=row.host,
        load=row.load,
        domain=row.domain,
        packets=row.packets,
        misses=row.misses,
        response_ns=row.response_ns,
    )


def of(rows: Sequence[SomeRow], **wanted: Any) -> list[SomeRow]:
    """Returns those rows that have these values in these fields."""
    return [row for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]


def largest(rows: Sequence[PacketRow] | Sequence[PacketRunRow]) -> int:
    """The largest response in rows; 0 if no packet got through."""
    return max((row.response_ns.max for row in rows if row.response_ns), default=0)


def controller(flow: Flow) -> str:
    """The control domain of a flow, which is its middle hop."""
    return flow.hops[1].partition(".")[0]


def work_ns(base: System) -> int:
    """The work of one packet of the first flow along all its hops."""
    wcets = {f"{d.name}.{t.name}": t.wcet_ns or 0 for d in base.domains for t in d.tasks}
    return sum(wcets[hop] for hop in base.flows[0].hops)


def response_range(found: Responses | None) -> ResponseRange | None:
    """The response times that a row shows; None without any."""
    if found is None:
        return None
    return ResponseRange(min=found.min, mean=found.mean, max=found.max)


def _horizon(bench: PacketBench, way: PacketWay) -> int:
    """Time for all packets; those that come at random are one to two periods apart."""
    period_ns = bench.base.flows[0].source.period_ns or 0
    return bench.packets * period_ns * (1 if way.come == "apart" else 2)


def _system(bench: PacketBench, policy: Policy, way: PacketWay, load: int) -> System:
    base = bench.base
    overheads = base.overheads.replace(context_switch_ns=way.switch_ns)
    return base.replace(
        policy=policy,
        overheads=overheads,
        domains=(*base.domains, *(_loads(bench, way.load_as, load) if load else ())),
        flows=tuple(_coming(base, number, way.come) for number in range(len(base.flows))),
    )


def _loads(bench: PacketBench, load_as: LoadAs, load: int) -> Iterator[Domain]:
    """On each pcpu an ordinary VM that asks for `load` percent of it."""
    period_ns = bench.load_period_ns
    work_ns = period_ns * load // 100
    for pcpu in range(bench.base.pcpus):
        if load_as == "best effort":
            task = Task(name="work", period_ns=period_ns, wcet_ns=work_ns)
            yield Domain(name=f"load-{pcpu}", pcpu=pcpu, best_effort=True, tasks=(task,))
        else:
            yield Domain(
                name=f"load-{pcpu}",
                pcpu=pcpu,
                interface=Interface(period_ns=period_ns, budget_ns=work_ns),
                tasks=(Task(name="work", kind=TaskKind.BUSY),),
            )


def _coming(base: System, number: int, come: Come) -> Flow:
    """A flow with its packets as the way has them.

    Apart, the last wheel's come first: on a hypervisor the first job of a domain takes longer, and
    what is said of packets apart is said of the first wheel.
    """
    flow = base.flows[number]
    period_ns = flow.source.period_ns or 0
    if come == "random":
        source = Source(kind=SourceKind.SPORADIC, period_ns=period_ns)
    else:
        turn = (number + 1) % len(base.flows)
        offset_ns = turn * period_ns // len(base.flows)
        source = Source(kind=SourceKind.PERIODIC, period_ns=period_ns, offset_ns=offset_ns)
    return flow.replace(source=source)
