# SPDX-License-Identifier: BSD-2-Clause
"""Stability control: four control loops behind one driver domain, beside a growing load.

PSEDF paper, section VII (Figs. 5 to 7). Packets for four wheels pass a network domain, the wheel's
control domain and the network domain again; ordinary VMs load all pcpus meanwhile. The paper does
not say what share of a pcpu, if any, those are promised, nor how its packets came, so both run in
two ways (`PacketWay`):

- *best effort*: ordinary VMs have no slice and run in time that nobody else wants;
- *reserved*: each has a slice as large as its load, in periods like those of the control domains,
  and no priority, so that under PSEDF it is ordinary;
- packets come *apart*, those of the wheels spread evenly over their period, or at *random*: at
  least a period apart for each wheel, whatever the others do;
- in the simulator, a switch from one VM to another may cost time.

With packets apart the paper's largest response under PSEDF, less than the work of one packet, can
come out: so those are the rows that stand for its figures, with a load that has slices for SEDF and
SEDF'. All are in `measured`: a row is a wheel at a load, over several draws of the instants at
which packets come; apart they come without any draw, and there is one. A packet that is dropped,
since the one before it is still on its way, was not answered in time: it counts among the misses.
Where a load leaves so little that packets are dropped, the responses of the others only tell how
long the queue is: such points are rows, but not in the curves.

Slices of the control domains alone come to 80 % of their pcpu, so a load with slices overbooks it
above 20 %. Under PSEDF ordinary VMs come behind all real-time ones whatever they are promised.

On the hypervisor everything is on one pcpu, where time is exact; there slices have room for what
the hypervisor takes of them. Some claims hold exactly in the simulator and up to a slack there:
what its own work on the way of one packet takes. The bounds are then those of tasks that take so
much longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from hyperperiod.analysis import analyze
from hyperperiod.experiments.confidence import mean_interval
from hyperperiod.hosts.result import Responses, RunFlow
from hyperperiod.model import (
    Domain,
    Flow,
    Interface,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
    format_time,
    load_system,
    parse_policy,
    tasks_of,
)
from hyperperiod.model.values import PositiveTime, Time, Whole
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope, estimate, high, low, percent, time, where
from hyperperiod.papers.result import PacketRow, PacketRunRow, ResponseRange
from hyperperiod.resources import SOURCES

Come = Literal["apart", "random"]
LoadAs = Literal["best effort", "reserved"]


class PacketWay(NamedTuple):
    """How packets and load come; `switch_ns`: what a switch costs, in the simulator."""

    load_as: LoadAs
    come: Come
    switch_ns: int = 0


class JobCosts(NamedTuple):
    """What a hypervisor takes for one job: until it runs, and until who was displaced goes on."""

    start_ns: int = 0
    resume_ns: int = 0


class StabilityControl(Experiment):
    """The policies, the loads of the x axis in percent, and the system without them.

    With `switch_ns` the first policy is also measured with switches that take so long.
    `first_miss` is the paper's least load with misses, `paper_largest_ns` its largest response.
    """

    policies: tuple[str, ...]
    system: str
    load_period_ns: PositiveTime
    loads: tuple[Annotated[int, Whole(0, 100)], ...]
    switch_ns: Time = 0
    first_miss: int = 0
    paper_largest_ns: PositiveTime | None = None

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return sum(len(self._ways(policy)) for policy in self.policies) * len(self.loads)

    def _ways(self, policy: str) -> list[PacketWay]:
        loads: tuple[LoadAs, ...] = ("best effort", "reserved")
        comes: tuple[Come, ...] = ("apart", "random")
        ways = [PacketWay(load_as, come) for load_as in loads for come in comes]
        if self.switch_ns and policy == self.policies[0]:
            ways.append(PacketWay("reserved", "random", self.switch_ns))
        return ways

    @property
    def base(self) -> System:
        """The system without ordinary VMs of its own."""
        system = load_system(str(SOURCES / self.system))
        domains = tuple(domain for domain in system.domains if not domain.best_effort)
        return system.replace(domains=domains)

    def measured(self, run: Measuring) -> Iterator[PacketRunRow]:
        base = self.base
        for policy in self.policies:
            for way in self._ways(policy):
                for load in self.loads:
                    yield from list(self._wheels(base, run, policy, way, load))
                    run.step()

    def _wheels(
        self, base: System, run: Measuring, policy: str, way: PacketWay, load: int
    ) -> Iterator[PacketRunRow]:
        """The runs of all draws: a row per wheel, with all that there is to say of it."""
        system = self._loaded(base, policy, way, load)
        seeds = run.seeds(1 if way.come == "apart" else self.sets)
        # Packets that come at random are one to two periods apart.
        period_ns = base.flows[0].source.period_ns or 0
        horizon_ns = self.packets * period_ns * (1 if way.come == "apart" else 2)
        draws = [run.run(system, horizon_ns, seed).flows for seed in seeds]
        for flow, *found in zip(system.flows, *draws, strict=True):
            yield PacketRunRow(
                policy=policy,
                host=run.host,
                **way._asdict(),
                load=load,
                domain=controller(flow),
                packets=sum(draw.items for draw in found),
                dropped=sum(draw.dropped for draw in found),
                misses=sum(draw.misses + draw.dropped for draw in found),
                draws=len(found),
                late_draws=sum(bool(draw.misses + draw.dropped) for draw in found),
                **_responses(found),
            )

    def _loaded(self, base: System, policy: str, way: PacketWay, load: int) -> System:
        overheads = base.overheads.replace(context_switch_ns=way.switch_ns)
        loads = self._loads(base, way.load_as, load) if load else ()
        return base.replace(
            policy=parse_policy(policy),
            overheads=overheads,
            domains=(*base.domains, *loads),
            flows=tuple(_coming(base, number, way.come) for number in range(len(base.flows))),
        )

    def _loads(self, base: System, load_as: LoadAs, load: int) -> Iterator[Domain]:
        """On each pcpu an ordinary VM that asks for `load` percent of it."""
        period_ns = self.load_period_ns
        work_ns = period_ns * load // 100
        for pcpu in range(base.pcpus):
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

    def standing(self, rows: Sequence[Any]) -> list[PacketRow]:
        def stands(row: PacketRunRow) -> bool:
            load_as = "best effort" if row.policy == "psedf" else "reserved"
            return row.come == "apart" and row.load_as == load_as and not row.switch_ns

        keys = PacketRow.field_defaults
        return [
            PacketRow(**{key: getattr(row, key) for key in keys}) for row in rows if stands(row)
        ]

    def shown(self, rows: Sequence[Any]) -> list[Any]:
        return where(rows, domain=rows[0].domain) if rows else []

    def costs(self, host: Host) -> JobCosts:
        """Returns how long (ns) the host works for each job, at its start and when one goes on."""
        return _costs_of_xen() if host == "xen" else JobCosts()

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:
        base = self.settled(options).base

        def slack() -> int:
            """Returns how long (ns) the host works for a packet on its whole way."""
            return self.costs(options.host).start_ns * len(base.flows[0].hops)

        def allowed() -> str:
            if not slack():
                return ""
            return f" ({time(slack())} is what the hypervisor takes on the way of a packet)"

        return {
            "slack": slack,
            "allowed": allowed,
            "bounds": lambda: bounds_of(base, self.costs(options.host)),
            "deadlines": [flow.deadline_ns for flow in base.flows],
            "way_ns": work_ns(base),
            "left": _left(base),
            "room": _room(base),
            "wheel": self.shown(rows),
            **{
                one.__name__: one
                for one in (response, kept, curves, spread, moved, growth, largest)
            },
            **{one.__name__: one for one in (first_missed, first_miss_text, largest_text)},
        }


@cache
def _costs_of_xen() -> JobCosts:
    """What the hypervisor takes, measured on it; and a guest, at most, for a job of its own."""
    from hyperperiod.hosts.xen.measure import measure
    from hyperperiod.hosts.xen.run import JOB_OVERHEAD_NS

    found = measure().overheads
    resume_ns = found.pick_ns + found.context_switch_ns
    return JobCosts(found.interrupt_ns + found.wake_ns + resume_ns + JOB_OVERHEAD_NS, resume_ns)


def bounds_of(base: System, costs: JobCosts) -> dict[str, int | None]:
    """By control domain, the bound for tasks that take the hypervisor's time as well."""
    more_ns = costs.start_ns + costs.resume_ns
    domains = tuple(
        domain.replace(
            tasks=tuple(
                task.replace(wcet_ns=(task.wcet_ns or 0) + more_ns) for task in domain.tasks
            )
        )
        for domain in base.domains
    )
    flows = {
        one.name: one.response_bound_ns for one in analyze(base.replace(domains=domains)).flows
    }
    return {controller(flow): flows[flow.name] for flow in base.flows}


def _left(base: System) -> Fraction:
    """What the slices on the control domains' pcpu leave of it."""
    pcpu = base.domains[-1].pcpu
    booked = [one.interface.bandwidth for one in base.domains if one.pcpu == pcpu and one.interface]
    return 1 - sum(booked, Fraction(0))


def _room(base: System) -> float:
    """The load in percent beside which the packets' own work still fits that pcpu."""
    work = {f"{placed.domain.name}.{placed.task.name}": placed for placed in tasks_of(base)}
    asked = sum(
        (work[hop].task.wcet_ns or 0) / (flow.source.period_ns or 1)
        for flow in base.flows
        for hop in flow.hops
        if work[hop].domain.pcpu == base.domains[-1].pcpu
    )
    return 100 * (1 - asked)


def _responses(found: Sequence[RunFlow]) -> dict[str, Any]:
    """The answers of all draws together; intervals are of the mean and the largest of a draw."""
    answered = [(draw.finished, draw.response_ns) for draw in found if draw.response_ns]
    ranges = [one for _, one in answered]
    finished = sum(count for count, _ in answered)
    total_ns = sum(count * one.mean for count, one in answered)
    together = ResponseRange(
        min=min((one.min for one in ranges), default=0),
        mean=(2 * total_ns + finished) // (2 * finished or 1),
        max=max((one.max for one in ranges), default=0),
    )
    return {
        "response_ns": together if ranges else None,
        "mean_interval_ns": mean_interval([one.mean for one in ranges]),
        "max_interval_ns": mean_interval([one.max for one in ranges]),
    }


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


# -- what expressions ask of rows ----------------------------------------------------------------


def response(row: PacketRunRow, key: str) -> float:
    """The least, mean or largest response of a row, with its interval if it has one."""
    return estimate(getattr(row.response_ns, key), getattr(row, f"{key}_interval_ns", None))


def kept(rows: Sequence[PacketRunRow]) -> list[PacketRunRow]:
    """The rows with answers of which no packet was dropped."""
    return [row for row in rows if row.response_ns and not row.dropped]


def curves(rows: Sequence[PacketRunRow]) -> list[list[PacketRunRow]]:
    """The kept rows of each curve: those that differ in their load alone."""
    found: dict[Any, list[PacketRunRow]] = {}
    for row in kept(rows):
        found.setdefault((row.policy, row.load_as, row.come, row.switch_ns), []).append(row)
    return list(found.values())


def spread(values: Sequence[int]) -> int:
    """How far values lie apart."""
    return max(values) - min(values)


def moved(rows: Sequence[PacketRunRow]) -> int:
    """How far a load moves the mean (ns), in the way of running it where that is most."""
    means = [[row.response_ns.mean for row in curve if row.response_ns] for curve in curves(rows)]
    return max(map(spread, means))


def growth(rows: Sequence[PacketRunRow]) -> float:
    """The largest mean over the least at the worse ends of their intervals, where that is most."""
    means = [[response(row, "mean") for row in curve] for curve in curves(rows)]
    return max(max(map(low, curve)) / min(map(high, curve)) for curve in means)


def largest(rows: Sequence[PacketRunRow]) -> int:
    """The largest response in rows (ns); 0 if no packet got through."""
    return max((row.response_ns.max for row in rows if row.response_ns), default=0)


def first_missed(rows: Sequence[PacketRunRow]) -> int | None:
    """The least load at which a packet misses."""
    return min((row.load for row in rows if row.misses), default=None)


def first_miss_text(rows: Sequence[PacketRunRow]) -> str:
    """The least load at which a packet misses, and in how many of the draws there."""
    first = first_missed(rows)
    if first is None:
        return percent(None)
    late = max((row for row in rows if row.load == first), key=lambda row: row.late_draws)
    return f"{percent(first)} (in {late.late_draws} of {late.draws} draws)"


def largest_text(rows: Sequence[PacketRunRow]) -> str:
    """The largest response of all draws, and where the largest of a single draw lies on average."""
    most_ns = largest(rows)
    most = next((row for row in rows if row.response_ns and row.response_ns.max == most_ns), None)
    if most is None or most.max_interval_ns is None:
        return format_time(most_ns)
    ends = " to ".join(time(end, 1000) for end in vars(most.max_interval_ns).values())
    return f"{format_time(most_ns)} (mean of a draw's largest, 95 %: {ends})"
