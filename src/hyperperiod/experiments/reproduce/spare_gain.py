# SPDX-License-Identifier: BSD-2-Clause
"""What the spare budget of ERTDS gains: mean response under ERTDS over that under RTDS.

ERTDS paper, Experiments A to C (Figs. 6 to 8). Each VM has one vcpu with a server; under ERTDS the
servers are a little smaller and a spare lends on top of them, under RTDS they share the whole pcpu.
All VMs but one ask for a fixed part of a pcpu, less than they are promised; the last one asks for
whatever is missing to the total on the x axis, in the end more than its promise.

The paper's task sets are random and not printed, nor how they are scheduled inside. Here a VM has
three tasks: their shares are cut at random from the VM's, their periods are whole milliseconds from
20 to 200. They are served first come, first served: under fixed priority the lowest task of an
overloaded VM would never finish a job and so would drop out of the mean. The mean is over tasks,
each counting alike, then over the task sets. Only finished jobs have a response time. The ratio
of the two means has a confidence interval, and what is said of ratios holds at its worse end.

On the hypervisor time is exact: the same claims are made of fewer and shorter runs, and each mean
stands beside the simulator's of the same run. Where two pcpus cannot be kept in step only the
schedule is real, the times are those of a busy host: nothing is said of means there, only of who
got of the spare.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from statistics import fmean
from typing import Annotated, Any

from hyperperiod.experiments.claim import Claim, ClaimMark
from hyperperiod.experiments.confidence import ends, ratio_interval, with_interval
from hyperperiod.experiments.reproduce.figure import Asked, Progress, caption, refuse_host
from hyperperiod.experiments.reproduce.measured import MeasuredFigure
from hyperperiod.experiments.reproduce.on_host import Host, run_on
from hyperperiod.experiments.reproduce.result import SpareGainRow
from hyperperiod.hosts.xen.images import can_keep_in_step
from hyperperiod.model import (
    PRESETS,
    Domain,
    InputError,
    Interface,
    Policy,
    Scheduler,
    Slack,
    System,
    format_time,
)
from hyperperiod.model.generate import ertds_tasks
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale
from hyperperiod.report.lines import Curve, LineChart, Ruler

COLUMNS = ("run", "host", "load", "ertds_ns", "rtds_ns", "ratio", "ratio_interval")
NOT_WORSE = 1.01
"""A ratio up to this counts as not worse."""
SIMILAR = 0.1
"""Mean responses that differ by no more than this part are similar."""
ALIKE = 0.05
"""How far a mean on the hypervisor may be from the simulator's: its own work slows everything."""
GAIN = 0.75
"""A ratio below this counts as a great gain: more than what smaller servers and luck make."""

Percent = Annotated[int, Whole(1, 6400)]


class SpareVm(Part):
    """A VM: what it asks for (in percent of a pcpu; the last one takes the rest), its servers."""

    name: str
    load: Percent | None = None
    ertds: Interface
    rtds: Interface


class SpareFindings(Part):
    """What the paper says of its figure."""

    never_worse: str
    gain: str
    turn: str
    similar: str = ""
    similar_below: int = 0


class SpareCurve(Part):
    """One of the curves: ERTDS with this spare; against other servers of RTDS where given."""

    name: str
    spare: Interface
    rtds: tuple[Interface, ...] = ()


class Reduced(Part):
    """How much is measured on the hypervisor."""

    loads: tuple[Percent, ...]
    sets: Annotated[int, Whole(1)]
    horizon_ns: PositiveTime


@dataclass(frozen=True)
class Mean:
    """What one run came to: the mean response, and what the last VM got of the spare."""

    response_ns: float
    donated_ns: int


class SpareGain(MeasuredFigure[SpareGainRow]):
    """An experiment: VMs on pcpus, and the total loads of the x axis in percent."""

    pcpus: int = 1
    loads: tuple[Percent, ...]
    sets: Annotated[int, Whole(1)]
    horizon_ns: PositiveTime
    xen: Reduced
    runs: Annotated[tuple[SpareCurve, ...], AtLeast(1)] = key(name="run")
    vms: Annotated[tuple[SpareVm, ...], AtLeast(2)] = key(name="vm")
    paper: SpareFindings

    def steps(self, asked: Asked) -> int:
        return len(self.runs) * len(self._loads(asked)) * self._sets(asked)

    def _columns(self) -> tuple[Sequence[str], int]:
        return COLUMNS, COLUMNS.index("ertds_ns")

    def _judged(self, rows: Sequence[SpareGainRow], asked: Asked) -> tuple[list[Claim], LineChart]:
        claims = [claim for run in self.runs for claim in self._judged_run(run, rows, asked)]
        return claims, self._chart(rows)

    def _loads(self, asked: Asked) -> tuple[int, ...]:
        return self.xen.loads if asked.host == "xen" else self.loads

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _horizon(self, asked: Asked) -> int:
        usual_ns = self.xen.horizon_ns if asked.host == "xen" else self.horizon_ns
        return asked.horizon_ns or usual_ns

    def _exact(self, asked: Asked) -> bool:
        """Whether times are what the machine makes them, and not how busy its host is."""
        return asked.host == "sim" or self.pcpus == 1 or can_keep_in_step()

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[SpareGainRow]:
        refuse_host(asked, self.name, "the paper is about a hypervisor", "xen")
        done = 0
        known: dict[tuple[Any, ...], Mean] = {}
        for run in self.runs:
            for load in self._loads(asked):
                means: dict[str, list[Mean]] = {"ertds": [], "rtds": []}
                plain: dict[str, list[Mean]] = {"ertds": [], "rtds": []}
                for number in range(self._sets(asked)):
                    draw = f"{asked.seed}:{self.name}:{number}"
                    for policy in means:
                        system = self._system(PRESETS[policy], draw, load, run)
                        key = (policy, number, load, run.rtds if policy == "rtds" else run.name)
                        if key not in known:
                            known[key] = self._mean(system, asked, asked.host)
                        means[policy].append(known[key])
                        if asked.host == "xen" and self._exact(asked):
                            plain[policy].append(self._mean(system, asked, "sim"))
                    done += 1
                    progress(done)
                yield self._row(run, load, asked, means, plain)

    def _row(
        self,
        run: SpareCurve,
        load: int,
        asked: Asked,
        means: dict[str, list[Mean]],
        plain: dict[str, list[Mean]],
    ) -> SpareGainRow:
        ertds = fmean(one.response_ns for one in means["ertds"])
        rtds = fmean(one.response_ns for one in means["rtds"])
        return SpareGainRow(
            run=run.name,
            host=asked.host,
            load=load,
            sets=self._sets(asked),
            ertds_ns=ertds,
            rtds_ns=rtds,
            ratio=ertds / rtds,
            ratio_interval=ratio_interval(
                [one.response_ns for one in means["ertds"]],
                [one.response_ns for one in means["rtds"]],
            ),
            donated_ns=sum(one.donated_ns for one in means["ertds"]),
            ertds_sim_ns=_mean_ns(plain["ertds"]),
            rtds_sim_ns=_mean_ns(plain["rtds"]),
            timing="" if self._exact(asked) else "host",
        )

    def _mean(self, system: System, asked: Asked, host: Host) -> Mean:
        """The mean response time over the tasks of one set.

        KeyboardInterrupt if Ctrl-C ended the run: half a run is no measurement. InputError if no
        job finished in it.
        """
        horizon_ns = self._horizon(asked)
        result = run_on(host, system, horizon_ns, asked.seed)
        means = [task.response_ns.mean for task in result.tasks if task.response_ns]
        if not means:
            found = f"{format_time(horizon_ns)}, in which no job finished"
            raise InputError("", None, "--horizon", found, "some of the longest period, 200ms")
        last = [one for one in result.domains if one.name == self.vms[-1].name]
        return Mean(fmean(means), sum(one.donated_ns for one in last))

    def _system(self, policy: Policy, draw: str, load: int, run: SpareCurve) -> System:
        lends = policy.slack is Slack.SPARE
        servers = [vm.ertds for vm in self.vms] if lends else self._rtds(run)
        domains = [
            Domain(
                name=vm.name,
                scheduler=Scheduler.FIFO,
                interface=server,
                tasks=tuple(ertds_tasks(random.Random(f"{draw}:{vm.name}"), share)),
            )
            for vm, server in zip(self.vms, servers, strict=True)
            if (share := self._share(vm, load))
        ]
        return System(
            name=self.name,
            policy=policy,
            pcpus=self.pcpus,
            spare=run.spare if lends else None,
            domains=tuple(domains),
        )

    def _rtds(self, run: SpareCurve) -> list[Interface]:
        return list(run.rtds) or [vm.rtds for vm in self.vms]

    def _share(self, vm: SpareVm, load: int) -> int:
        """What a VM asks for, in percent; nothing is left for the last one at the least load."""
        fixed = sum(other.load or 0 for other in self.vms)
        return load - fixed if vm.load is None else vm.load

    def _judged_run(
        self, run: SpareCurve, rows: Sequence[SpareGainRow], asked: Asked
    ) -> Iterator[Claim]:
        """The claims that a run's rows can show; none if it was cut short."""
        ours = [row for row in rows if row.run == run.name]
        if len(ours) < len(self._loads(asked)):
            return
        if self._exact(asked):
            yield from self._claims(run, ours)
        else:
            yield self._claim_donated(run, ours)
        if any(row.ertds_sim_ns is not None for row in ours):
            yield self._claim_alike(run, ours)

    def _claim_donated(self, run: SpareCurve, rows: Sequence[SpareGainRow]) -> Claim:
        """Returns the only claim that can be made where time is not exact: who got of the spare."""
        name = self.vms[-1].name
        helped = [row.load for row in rows if row.donated_ns]
        beyond = [
            row.load
            for row in rows
            if self._share(self.vms[-1], row.load) > 100 * self.vms[-1].ertds.bandwidth
        ]
        return Claim(
            f"{run.name}: {name} gets of the spare wherever it asks for more than its own server.",
            self.paper.gain,
            f"with a demand above it at {_percents(beyond)}, of the spare at {_percents(helped)};"
            " the times are those of a busy host, so nothing is said of means",
            set(beyond) <= set(helped),
            mark="ours",
        )

    def _claim_alike(self, run: SpareCurve, rows: Sequence[SpareGainRow]) -> Claim:
        """Returns the claim that every mean on the hypervisor is near the simulator's."""
        off = {
            (row.load, policy): ours_ns / sim_ns
            for row in rows
            for policy, ours_ns, sim_ns in (
                ("ertds", row.ertds_ns, row.ertds_sim_ns),
                ("rtds", row.rtds_ns, row.rtds_sim_ns),
            )
            if sim_ns is not None
        }
        worst = max(off, key=lambda one: abs(off[one] - 1))
        return Claim(
            f"{run.name}: every mean is within {ALIKE:.0%} of the simulator's of the same run.",
            "measured on Xen 4.7",
            f"the furthest is {off[worst]:.3f} times the simulator's, under {worst[1]} at"
            f" {worst[0]} %",
            abs(off[worst] - 1) <= ALIKE,
            mark="ours",
        )

    def _claims(self, run: SpareCurve, rows: Sequence[SpareGainRow]) -> Iterator[Claim]:
        ratios = {row.load: row.ratio for row in rows}
        shown = {row.load: with_interval(_ratio, row.ratio, row.ratio_interval) for row in rows}
        low, high = (
            {row.load: ends(row.ratio, row.ratio_interval)[end] for row in rows} for end in (0, 1)
        )
        loads = list(ratios)
        # Of several runs the first has the paper's servers, others have what we made of them.
        mark: ClaimMark = "paper" if run is self.runs[0] else "ours"
        worst = max(high, key=lambda load: high[load])
        yield Claim(
            f"{run.name}: at no load is the mean response more than 1 % above that of RTDS.",
            self.paper.never_worse,
            f"the largest ratio is {shown[worst]}, at {worst} %"
            f"{self._why(run, fails=high[worst] > NOT_WORSE)}",
            high[worst] <= NOT_WORSE,
            mark,
        )
        # A load whose interval reaches from one side of the limit to the other is on neither.
        first = next((load for load in loads if low[load] < GAIN), None)
        clear = first is None or high[first] < GAIN
        begins = "" if first is None else f", where it is {shown[first]}"
        past = self._first_past(self._guaranteed(run), loads)
        yield Claim(
            f"{run.name}: the great gain begins where the last VM's demand passes its promise.",
            self.paper.gain,
            f"the ratio is first below {GAIN} at {_percent(first)}{begins}; the demand passes the"
            f" promise of RTDS between {_before(past, loads)} % and {past} %"
            f"{self._why(run, fails=first != past)}",
            first == past and clear,
            mark,
        )
        best = min(ratios, key=lambda load: ratios[load])
        beyond = self._first_past(self._guaranteed(run) + run.spare.bandwidth, loads)
        rises = all(
            ratios[one] <= NOT_WORSE * ratios[other]
            for one, other in pairwise(loads)
            if one >= best
        )
        yield Claim(
            f"{run.name}: the gain shrinks again once the demand is beyond promise and spare.",
            self.paper.turn,
            f"the ratio is least at {best} %, {shown[best]}, and"
            f" {'rises from there' if rises else 'does not rise steadily from there'}; promise and"
            f" spare are passed at {beyond} %",
            rises and high[best] < GAIN and best <= beyond and best < loads[-1],
            mark,
        )
        if self.paper.similar:
            low_loads = [load for load in loads if load < self.paper.similar_below]
            yield Claim(
                f"{run.name}: below {self.paper.similar_below} % the mean responses are the same,"
                f" to {SIMILAR:.0%}.",
                self.paper.similar,
                "; ".join(f"{shown[load]} at {load} %" for load in low_loads),
                all(abs(ratios[load] - 1) <= SIMILAR for load in low_loads),
                mark,
            )

    def _guaranteed(self, run: SpareCurve) -> Fraction:
        """What RTDS promises the VM whose demand grows: above it RTDS cannot keep up."""
        return self._rtds(run)[-1].bandwidth

    def _first_past(self, bandwidth: Fraction, loads: Sequence[int]) -> int:
        """The first load at which the last VM asks for more."""
        last = self.vms[-1]
        past = (load for load in loads if self._share(last, load) > 100 * bandwidth)
        return next(past, loads[-1])

    def _why(self, run: SpareCurve, *, fails: bool) -> str:
        """What becomes of a spare that is gone before it is needed, if that makes a claim fail."""
        own = self.vms[-1].ertds
        first_ns, max_ns = own.budget_ns, run.spare.budget_ns
        early = run.spare.period_ns >= own.period_ns and max_ns <= first_ns
        if not fails or self.pcpus == 1 or not early:
            return ""
        return (
            "; a spare idles away while nobody is depleted, and with a pcpu free from the begin of"
            f" its period its {format_time(max_ns)} are gone before {self.vms[-1].name} has used"
            f" up the {format_time(first_ns)} of its own"
        )

    def _chart(self, rows: Sequence[SpareGainRow]) -> LineChart:
        curves = [
            Curve(
                run.name,
                [(row.load, row.ratio) for row in rows if row.run == run.name],
                dots=True,
                whiskers=[
                    (row.load, row.ratio_interval.low, row.ratio_interval.high)
                    for row in rows
                    if row.run == run.name and row.ratio_interval
                ],
            )
            for run in self.runs
        ]
        ends = (self.loads[0], self.loads[-1])
        curves.append(Curve("RTDS", [(float(load), 1.0) for load in ends]))
        past = float(100 * self._guaranteed(self.runs[0])) + sum(vm.load or 0 for vm in self.vms)
        return LineChart(
            self.title,
            Scale("total load", "%"),
            Scale("mean response / RTDS"),
            curves,
            subtitle=caption(self.source, rows[0].sets if rows else 0),
            rulers=[Ruler(past, f"{self.vms[-1].name} passes its promise", low=True)],
            x_min=float(self.loads[0]),
            x_max=float(self.loads[-1]),
        )


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _mean_ns(means: Sequence[Mean]) -> float | None:
    """The mean response over task sets; None without any."""
    return fmean(one.response_ns for one in means) if means else None


def _before(load: int, loads: Sequence[int]) -> int:
    """Returns the load before this one; of the first, itself."""
    return loads[max(0, list(loads).index(load) - 1)]


def _percents(loads: Sequence[int]) -> str:
    return ", ".join(f"{load} %" for load in loads) or "no load"


def _percent(load: int | None) -> str:
    return "no load" if load is None else f"{load} %"
