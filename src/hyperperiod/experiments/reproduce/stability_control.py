# SPDX-License-Identifier: BSD-2-Clause
"""Stability control: four control loops behind one driver domain, beside a growing load.

PSEDF paper, section VII (Figs. 5 to 7). Packets for four wheels pass a network domain, the wheel's
control domain and the network domain again; ordinary VMs load all pcpus meanwhile. The paper does
not say what share of a pcpu, if any, those are promised, nor how its packets came, so both run in
two ways (`packet_runs`). With packets apart its largest response under PSEDF, less than the work
of one packet, can come out: so those are the rows that stand for its figures, with a load that has
slices for SEDF and SEDF'. All others are in `measured`.

Slices of the control domains alone come to 80 % of their pcpu, so a load with slices overbooks it
above 20 %. Under PSEDF ordinary VMs come behind all real-time ones whatever they are promised.

On the hypervisor everything is on one pcpu, where time is exact; there slices have room for what
the hypervisor takes of them.

Where a load leaves so little that packets are dropped, the responses of the others only tell how
long the queue is: such points are rows, but not in the curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse, refuse_host
from hyperperiod.experiments.reproduce.packet_claims import Costs, PacketFindings, PacketJudge
from hyperperiod.experiments.reproduce.packet_runs import (
    PacketBench,
    PacketWay,
    measured,
    of,
    row_of_figure,
)
from hyperperiod.experiments.reproduce.result import PacketRunRow
from hyperperiod.model import System, load_system, parse_policy
from hyperperiod.model.part import Part
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import Curve, LineChart
from hyperperiod.resources import SOURCES

COLUMNS = (
    "policy",
    "load_as",
    "come",
    "switch_ns",
    "load",
    "packets",
    "dropped",
    "misses",
    "draws",
    "late_draws",
    "response_ns",
    "mean_interval_ns",
    "max_interval_ns",
)

Percent = Annotated[int, Whole(0, 100)]


class ControlSetting(Part):
    """A host's system and how much is measured there."""

    system: str
    loads: tuple[Percent, ...]
    packets: Annotated[int, Whole(1)]
    sets: Annotated[int, Whole(1)]


class StabilityControl(Part):
    """An experiment: the policies, the loads of the x axis in percent, on each host."""

    name: str
    title: str
    source: str
    shown: Literal["mean", "all"]
    policies: tuple[str, ...]
    load_period_ns: PositiveTime
    switch_ns: PositiveTime | None = None
    sim: ControlSetting
    xen: ControlSetting
    paper: PacketFindings

    def steps(self, asked: Asked) -> int:
        ways = sum(len(self._ways(policy, asked)) for policy in self.policies)
        return ways * len(self._setting(asked).loads)

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        refuse(asked, self.name, "horizon_ns", "plays")
        refuse_host(asked, self.name, "packets pass domains, which processes do not", "xen")
        setting = self._setting(asked)
        base = _without_load(load_system(str(SOURCES / setting.system)))
        rows: list[PacketRunRow] = []
        interrupted, costs = False, Costs()
        try:
            costs = _costs() if asked.host == "xen" else costs
            for done, row in enumerate(self._measured(base, asked), start=1):
                rows.extend(row)
                progress(done)
        except KeyboardInterrupt:
            interrupted = True
        judge = PacketJudge(base, self.paper, setting.loads, costs)
        return Figure(
            self.name,
            self.title,
            self.source,
            [row_of_figure(row) for row in rows if self._stands(row)],
            [] if interrupted else list(judge.claims(rows)),
            self._chart(rows),
            COLUMNS,
            interrupted,
            measured=rows,
            shown=of(rows, domain=rows[0].domain) if rows else [],
            keys=COLUMNS.index("packets"),
        )

    def _setting(self, asked: Asked) -> ControlSetting:
        return self.xen if asked.host == "xen" else self.sim

    def _ways(self, policy: str, asked: Asked) -> list[PacketWay]:
        ways = [
            PacketWay(load_as, come)
            for load_as in ("best effort", "reserved")
            for come in ("apart", "random")
        ]
        if self.switch_ns is not None and asked.host == "sim" and policy == self.policies[0]:
            ways.append(PacketWay("reserved", "random", self.switch_ns))
        return ways

    def _measured(self, base: System, asked: Asked) -> Iterator[list[PacketRunRow]]:
        setting = self._setting(asked)
        packets = asked.packets or setting.packets
        sets = asked.sets or setting.sets
        bench = PacketBench(base, asked.host, self.load_period_ns, packets, sets, asked.seed)
        for name in self.policies:
            for way in self._ways(name, asked):
                for load in setting.loads:
                    yield measured(bench, parse_policy(name), way, load)

    def _stands(self, row: PacketRunRow) -> bool:
        """Whether a row is one of those that stand for the paper's figure."""
        load_as = "best effort" if row.policy == "psedf" else "reserved"
        return row.come == "apart" and row.load_as == load_as and not row.switch_ns

    def _chart(self, rows: Sequence[PacketRunRow]) -> LineChart:
        curves = list(self._mean_curves(rows) if self.shown == "mean" else self._curves(rows))
        largest = max((y for curve in curves for _, y in curve.points), default=1.0)
        return LineChart(
            self.title,
            Scale("load of ordinary VMs", "%"),
            time_scale("response", largest),
            curves,
            subtitle=self._caption(rows),
            x_max=100.0,
        )

    def _caption(self, rows: Sequence[PacketRunRow]) -> str:
        """Lines are of all draws together; a mean over draws has an interval."""
        draws = max((row.draws for row in rows), default=0)
        if draws < 2:
            return self.source
        of_a_draw = "mean" if self.shown == "mean" else "mean and largest"
        return (
            f"{self.source}; of {draws} draws together; intervals of 95 % of the {of_a_draw} of"
            " one draw"
        )

    def _mean_curves(self, rows: Sequence[PacketRunRow]) -> Iterator[Curve]:
        for policy in self.policies:
            for load_as in ("reserved",) if policy == "psedf" else ("best effort", "reserved"):
                found = of(rows, policy=policy, load_as=load_as, come="random", switch_ns=0)
                yield _curve(f"{policy}, load {load_as}", found, "mean")

    def _curves(self, rows: Sequence[PacketRunRow]) -> Iterator[Curve]:
        """Largest, mean and least of the first policy, what stands beside them, the paper's."""
        policy = self.policies[0]
        booked = policy != "psedf"
        ours = of(rows, policy=policy, load_as="reserved" if booked else "best effort")
        for key in ("max", "mean", "min"):
            yield _curve(f"{key}, at random", of(ours, come="random", switch_ns=0), key)
        if booked:
            yield _curve("max, with switches", [row for row in ours if row.switch_ns], "max")
            free = of(rows, policy=policy, load_as="best effort", come="random")
            yield _curve("max, load best effort", free, "max")
        else:
            yield _curve("max, apart", of(ours, come="apart"), "max")
        if self.paper.largest_ns is not None:
            level = float(self.paper.largest_ns)
            yield Curve("paper's largest", [(0.0, level), (100.0, level)])


def _curve(name: str, rows: Sequence[PacketRunRow], key: str) -> Curve:
    first = of(rows, domain=rows[0].domain) if rows else []
    points = [
        (float(row.load), float(getattr(row.response_ns, key)))
        for row in first
        if row.response_ns and not row.dropped
    ]
    whiskers = [
        (float(row.load), interval.low, interval.high)
        for row in first
        if not row.dropped and (interval := getattr(row, f"{key}_interval_ns", None))
    ]
    return Curve(name, points, dots=True, whiskers=whiskers)


def _without_load(system: System) -> System:
    """The system without ordinary VMs of its own."""
    domains = tuple(domain for domain in system.domains if not domain.best_effort)
    return system.replace(domains=domains)


def _costs() -> Costs:
    """What the hypervisor takes, measured on it; and a guest, at most, for a job of its own."""
    from hyperperiod.hosts.xen.measure import measure
    from hyperperiod.hosts.xen.run import JOB_OVERHEAD_NS

    found = measure().overheads
    resume_ns = found.pick_ns + found.context_switch_ns
    return Costs(found.interrupt_ns + found.wake_ns + resume_ns + JOB_OVERHEAD_NS, resume_ns)
