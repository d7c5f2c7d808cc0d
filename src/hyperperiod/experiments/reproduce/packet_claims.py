# SPDX-License-Identifier: BSD-2-Clause
"""What the rows of packets through control loops show, beside what the PSEDF paper says.

Some claims hold exactly in the simulator and up to a slack on the hypervisor: what its own work on
the way of one packet takes, measured beforehand (`Costs`; 0 in the simulator). The bounds are then
those of tasks that take so much longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hyperperiod.analysis import analyze
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import ends, with_interval
from hyperperiod.experiments.reproduce.packet_runs import (
    controller,
    largest,
    of,
    work_ns,
)
from hyperperiod.experiments.reproduce.result import PacketRunRow
from hyperperiod.model import System, format_time, tasks_of
from hyperperiod.model.part import Part
from hyperperiod.model.values import PositiveTime

NEAR = 0.1
"""A largest response is the paper's where it is off by no more than this part of it."""
GROWS = 1.01
"""A mean that is larger by more than this has grown."""


class PacketFindings(Part):
    """What the paper says of its figure; not every figure says everything."""

    constant: str = ""
    grows: str = ""
    below: str = ""
    misses: str = ""
    first_miss: int = 0
    largest_ns: PositiveTime | None = None
    similar: str = ""
    bound: str = ""
    apart: str = ""
    load: str = ""


@dataclass(frozen=True)
class Costs:
    """What a hypervisor takes for one job: until it runs, and until who was displaced goes on."""

    start_ns: int = 0
    resume_ns: int = 0


@dataclass(frozen=True)
class PacketJudge:
    """The system whose rows are looked at, and what its host takes for itself."""

    base: System
    paper: PacketFindings
    loads: Sequence[int]
    costs: Costs

    @property
    def slack_ns(self) -> int:
        """What the host takes on the whole way of a packet."""
        return self.costs.start_ns * len(self.base.flows[0].hops)

    def claims(self, rows: Sequence[PacketRunRow]) -> Iterator[Claim]:
        """All claims that the paper's findings give rise to."""
        first = of(rows, domain=rows[0].domain)
        if self.paper.constant:
            yield from self._about_means(first)
        if self.paper.misses:
            yield from self._about_misses(rows)
        if self.paper.bound:
            yield from self._about_bounds(rows)

    def _about_means(self, rows: Sequence[PacketRunRow]) -> Iterator[Claim]:
        moved_ns = _moved(of(rows, policy="psedf"))
        yield Claim(
            "Under PSEDF the mean response does not depend on the load.",
            self.paper.constant,
            f"the load moves it by at most {_time(moved_ns)}{self._allowed()}",
            moved_ns <= self.slack_ns,
        )
        idle_ns = max(
            _moved(of(rows, policy=policy, load_as="best effort"))
            for policy in ("sedf", "sedf-prime")
        )
        yield Claim(
            "Under SEDF and SEDF' a load without slices leaves the mean response as it is.",
            self.paper.grows,
            f"moved by at most {_time(idle_ns)}{self._allowed()}: it runs when nobody else wants"
            " to, so this is not how the paper's load ran",
            idle_ns <= self.slack_ns,
            mark="contradicts",
        )
        growth = [
            _growth(of(rows, policy=policy, load_as="reserved"))
            for policy in ("sedf", "sedf-prime")
        ]
        yield Claim(
            "Under SEDF and SEDF' the mean grows with a load that has slices.",
            self.paper.grows,
            f"up to {growth[0]:.2f} times under SEDF and {growth[1]:.2f} times under SEDF', at the"
            " worse ends of the intervals",
            min(growth) > GROWS,
        )
        room = self._room()
        kept = [row for row in rows if row.load <= room and row.response_ns]
        worst = max(kept, key=lambda row: _ends(row)[1])
        shown = with_interval(_us, _mean_ns(worst), worst.mean_interval_ns)
        yield Claim(
            "The mean stays below the deadline while the load leaves the wheels what they ask for.",
            self.paper.below,
            f"largest mean {shown} up to a load of {room:.1f} %; beyond that packets pile up,"
            " which the paper does not show at 100 %",
            _ends(worst)[1] < self.base.flows[0].deadline_ns,
        )

    def _about_misses(self, rows: Sequence[PacketRunRow]) -> Iterator[Claim]:
        free = of(rows, load_as="best effort")
        yield Claim(
            "Beside a load without slices no packet misses: inequality (1) holds exactly.",
            self.paper.misses,
            f"{sum(row.misses for row in free)} misses; largest response {_time(largest(free))}",
            not any(row.misses for row in free),
            mark="contradicts",
        )
        booked = of(rows, policy="sedf", load_as="reserved", switch_ns=0)
        late = [row.load for row in booked if row.misses]
        overbooked = min((load for load in self.loads if load > 100 * self._left()), default=None)
        kept = [row for row in booked if not row.dropped]
        yield Claim(
            "Packets miss only where a load with slices overbooks the pcpu: of the two ways only"
            " this one has misses, as the figure has.",
            self.paper.misses,
            f"overbooked from {_percent(overbooked)}, the first misses at"
            f" {_first_text(of(booked, come='random'))} with packets at random and"
            f" {_percent(_first(of(booked, come='apart')))} with packets apart, largest response of"
            f" a load without drops {_largest_text(kept)}; later than in the paper, since the"
            f" wheels ask for less than their slices: a load of {self._room():.1f} % leaves them"
            " enough",
            bool(late) and overbooked is not None and min(late) >= overbooked,
            mark="ours",
        )
        yield from self._about_similar(rows)
        yield from self._about_switches(rows)

    def _about_similar(self, rows: Sequence[PacketRunRow]) -> Iterator[Claim]:
        """SEDF' against SEDF, and nothing where only one of them ran."""
        found = {
            policy: _first(of(rows, policy=policy, load_as="reserved", switch_ns=0))
            for policy in ("sedf", "sedf-prime")
        }
        if self.paper.similar and of(rows, policy="sedf-prime"):
            yield Claim(
                "SEDF' behaves like SEDF: packets miss from the same load on, or the next one.",
                self.paper.similar,
                f"from {_percent(found['sedf'])} and from {_percent(found['sedf-prime'])}",
                self._close(found["sedf"], found["sedf-prime"]),
            )

    def _close(self, one: int | None, other: int | None) -> bool:
        """Whether two loads are the same or neighbours."""
        loads = list(self.loads)
        return (
            one is not None
            and other is not None
            and abs(loads.index(one) - loads.index(other)) <= 1
        )

    def _about_switches(self, rows: Sequence[PacketRunRow]) -> Iterator[Claim]:
        """What a machine adds whose switches take time."""
        booked = of(rows, policy="sedf", load_as="reserved", switch_ns=0)
        costly = [row for row in of(rows, policy="sedf", load_as="reserved") if row.switch_ns]
        if not costly:
            return
        first = _first(costly)
        kept = [row for row in costly if not row.dropped]
        cost_ns = costly[0].switch_ns
        yield Claim(
            f"With {format_time(cost_ns)} a switch, a free parameter, packets beside slices miss"
            " from the paper's load on.",
            self.paper.misses,
            f"the first misses at {_first_text(costly)}; largest response of a load without drops"
            f" {_largest_text(kept)}, of all {_time(largest(costly))}; the paper does not say what"
            " a switch took, and this value was chosen for its first misses",
            first == self.paper.first_miss,
            mark="ours",
        )
        paper_ns = self.paper.largest_ns
        there = largest(of(costly, load=self.paper.first_miss))
        if paper_ns is not None and there:
            yield Claim(
                f"At a load of {self.paper.first_miss} % the largest response under SEDF is"
                f" {format_time(paper_ns)}, to {NEAR:.0%}.",
                self.paper.misses,
                f"{_time(there)} with {format_time(cost_ns)} a switch,"
                f" {there / paper_ns:.2f} of the paper's;"
                f" {_time(largest(of(booked, load=self.paper.first_miss)))} with switches that"
                " take no time",
                abs(there / paper_ns - 1) <= NEAR,
            )

    def _about_bounds(self, rows: Sequence[PacketRunRow]) -> Iterator[Claim]:
        bounds = self._bounds()
        said = ("none" if bound is None else format_time(bound) for bound in bounds.values())
        yield Claim(
            "Every response is within the bound of the analysis, and that within the deadline.",
            self.paper.bound,
            f"largest {_time(largest(rows))}; bounds {', '.join(said)}",
            all(
                row.response_ns is not None and row.response_ns.max <= (bounds[row.domain] or 0)
                for row in rows
            )
            and all(
                bound is not None and bound <= flow.deadline_ns
                for flow, bound in zip(self.base.flows, bounds.values(), strict=True)
            ),
        )
        apart = of(rows, come="apart", domain=rows[0].domain)
        min_ns = work_ns(self.base)
        yield Claim(
            "With packets apart the first wheel takes 2 e_N + e_1, whatever the load.",
            self.paper.apart,
            f"largest {_time(largest(apart))}, 2 e_N + e_1 is {format_time(min_ns)}"
            f"{self._allowed()}; the paper's own packets took less than their worst case",
            0 < largest(apart) <= min_ns + self.slack_ns,
            mark="ours",
        )
        paper_ns = self.paper.largest_ns
        if paper_ns is not None:
            yield Claim(
                f"With packets apart no response of the first wheel exceeds"
                f" {format_time(paper_ns)}.",
                self.paper.apart,
                f"largest {_time(largest(apart))}, {largest(apart) / paper_ns:.2f} of the paper's:"
                f" the work of one packet",
                largest(apart) <= paper_ns + self.slack_ns,
            )
        moved_ns = max(
            _spread([largest([row]) for row in of(rows, come=row.come, domain=row.domain)])
            for row in rows
        )
        yield Claim(
            "The load does not move the largest response of any wheel.",
            self.paper.load,
            f"by at most {_time(moved_ns)}{self._allowed()}",
            moved_ns <= self.slack_ns,
        )

    def _allowed(self) -> str:
        if not self.slack_ns:
            return ""
        return f" ({_time(self.slack_ns)} is what the hypervisor takes on the way of a packet)"

    def _bounds(self) -> dict[str, int | None]:
        """By control domain, the bound for tasks that take the hypervisor's time as well."""
        more_ns = self.costs.start_ns + self.costs.resume_ns
        domains = tuple(
            domain.replace(
                tasks=tuple(
                    task.replace(wcet_ns=(task.wcet_ns or 0) + more_ns) for task in domain.tasks
                )
            )
            for domain in self.base.domains
        )
        longer = self.base.replace(domains=domains)
        flows = {flow.name: flow.response_bound_ns for flow in analyze(longer).flows}
        return {controller(flow): flows[flow.name] for flow in self.base.flows}

    def _left(self) -> Fraction:
        """What the slices on the control domains' pcpu leave of it."""
        booked = [
            domain.interface.bandwidth
            for domain in self.base.domains
            if domain.pcpu == self._pcpu() and domain.interface is not None
        ]
        return 1 - sum(booked, Fraction(0))

    def _room(self) -> float:
        """The load in percent beside which the packets' own work still fits that pcpu."""
        work = {f"{p.domain.name}.{p.task.name}": p for p in tasks_of(self.base)}
        asked = sum(
            (work[hop].task.wcet_ns or 0) / (flow.source.period_ns or 1)
            for flow in self.base.flows
            for hop in flow.hops
            if work[hop].domain.pcpu == self._pcpu()
        )
        return 100 * (1 - asked)

    def _pcpu(self) -> int | None:
        return self.base.domains[-1].pcpu


def _moved(rows: Sequence[PacketRunRow]) -> int:
    """How far a load moves the mean, in the way of running it where that is most.

    Runs in which packets were dropped are left out: their means only tell how long the queue is.
    """
    return max(_spread([_mean_ns(row) for row in _alike(rows, row)]) for row in _kept(rows))


def _growth(rows: Sequence[PacketRunRow]) -> float:
    """The largest mean over the least at the worse ends of their intervals, where that is most."""
    curves = [[_ends(row) for row in _alike(rows, row)] for row in _kept(rows)]
    return max(max(low for low, _ in found) / min(high for _, high in found) for found in curves)


def _alike(rows: Sequence[PacketRunRow], row: PacketRunRow) -> list[PacketRunRow]:
    """The rows of the same curve."""
    keys = ("policy", "load_as", "come", "switch_ns")
    return _kept(of(rows, **{key: getattr(row, key) for key in keys}))


def _kept(rows: Sequence[PacketRunRow]) -> list[PacketRunRow]:
    return [row for row in rows if row.response_ns and not row.dropped]


def _mean_ns(row: PacketRunRow) -> int:
    assert row.response_ns is not None, "only rows with answers are compared"
    return row.response_ns.mean


def _ends(row: PacketRunRow) -> tuple[float, float]:
    """The ends of the interval of a mean response."""
    return ends(float(_mean_ns(row)), row.mean_interval_ns)


def _spread(values: Sequence[int]) -> int:
    return max(values) - min(values)


def _first(rows: Sequence[PacketRunRow]) -> int | None:
    """The least load at which a packet misses."""
    return min((row.load for row in rows if row.misses), default=None)


def _first_text(rows: Sequence[PacketRunRow]) -> str:
    """The least load at which a packet misses, and in how many of the draws there."""
    first = _first(rows)
    if first is None:
        return _percent(None)
    late = max((row for row in rows if row.load == first), key=lambda row: row.late_draws)
    return f"{_percent(first)} (in {late.late_draws} of {late.draws} draws)"


def _largest_text(rows: Sequence[PacketRunRow]) -> str:
    """The largest response of all draws, and where the largest of a single draw lies on average."""
    most = max(
        (row for row in rows if row.response_ns),
        key=lambda row: row.response_ns.max if row.response_ns else 0,
        default=None,
    )
    if most is None or most.max_interval_ns is None:
        return _time(largest(rows))
    low, high = most.max_interval_ns.low, most.max_interval_ns.high
    return f"{_time(largest(rows))} (mean of a draw's largest, 95 %: {_us(low)} to {_us(high)})"


def _percent(load: int | None) -> str:
    return "no load" if load is None else f"{load} %"


def _us(span_ns: float) -> str:
    """A time to the microsecond, for what is no more exact than that."""
    return format_time(1000 * round(span_ns / 1000))


def _time(span_ns: float) -> str:
    return format_time(round(span_ns))
