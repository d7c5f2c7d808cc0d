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
each counting alike, then over the task sets. Only finished jobs have a response time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field, StrictInt

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.files import Part
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse
from hyperperiod.hosts.sim import simulate
from hyperperiod.model import (
    PRESETS,
    Domain,
    InputError,
    Interface,
    Policy,
    Scheduler,
    System,
    Task,
    format_time,
)
from hyperperiod.model.values import PositiveTime
from hyperperiod.report.lines import Curve, LineChart, Ruler, Scale

TASKS = 3
PERIODS_MS = (20, 200)
NS_PER_MS = 1_000_000
COLUMNS = ("run", "load", "ertds_ns", "rtds_ns", "ratio")
NOT_WORSE = 1.01
"""A ratio up to this counts as not worse."""
GAIN = 0.75
"""A ratio below this counts as a great gain: more than what smaller servers and luck make."""

Percent = Annotated[StrictInt, Field(ge=1, le=6400)]


class Vm(Part):
    """A VM: what it asks for (in percent of a pcpu; the last one takes the rest), its servers."""

    name: str
    load: Percent | None = None
    ertds: Interface
    rtds: Interface


class Findings(Part):
    """What the paper says of its figure."""

    never_worse: str
    gain: str
    turn: str


class Run(Part):
    """One of the curves: ERTDS with this spare."""

    name: str
    spare: Interface


class SpareGain(Part):
    """An experiment: VMs on pcpus, and the total loads of the x axis in percent."""

    name: str
    title: str
    source: str
    pcpus: StrictInt = 1
    loads: tuple[Percent, ...]
    sets: Annotated[StrictInt, Field(ge=1)]
    horizon_ns: PositiveTime = Field(alias="horizon")
    runs: tuple[Run, ...] = Field(alias="run", min_length=1)
    vms: tuple[Vm, ...] = Field(alias="vm", min_length=2)
    paper: Findings

    def steps(self, asked: Asked) -> int:
        return len(self.runs) * len(self.loads) * (asked.sets or self.sets)

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        refuse(asked, self.name, "packets")
        rows: list[dict[str, Any]] = []
        interrupted = False
        try:
            rows.extend(self._measured(asked, progress))
        except KeyboardInterrupt:
            interrupted = True
        claims = [claim for run in self.runs for claim in self._claims(run, rows)]
        chart, columns = self._chart(rows), ("run", "load", "ertds_ns", "rtds_ns", "ratio")
        return Figure(self.name, self.title, self.source, rows, claims, chart, columns, interrupted)

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[dict[str, Any]]:
        done, sets = 0, asked.sets or self.sets
        for run in self.runs:
            for load in self.loads:
                ertds, rtds = [], []
                for number in range(sets):
                    draw = f"{asked.seed}:{self.name}:{number}"
                    ertds.append(self._mean(PRESETS["ertds"], draw, load, run.spare, asked))
                    rtds.append(self._mean(PRESETS["rtds"], draw, load, None, asked))
                    done += 1
                    progress(done)
                yield {
                    "run": run.name,
                    "load": load,
                    "sets": sets,
                    "ertds_ns": fmean(ertds),
                    "rtds_ns": fmean(rtds),
                    "ratio": fmean(ertds) / fmean(rtds),
                }

    def _mean(
        self, policy: Policy, draw: str, load: int, spare: Interface | None, asked: Asked
    ) -> float:
        """The mean response time over the tasks of one set.

        KeyboardInterrupt if Ctrl-C ended the run: half a run is no measurement. InputError if no
        job finished in it.
        """
        system = self._system(policy, draw, load, spare)
        horizon_ns = asked.horizon_ns or self.horizon_ns
        result = simulate(system, horizon_ns, asked.seed)
        if result["interrupted"]:
            raise KeyboardInterrupt
        tasks = [task for domain in result["domains"] for task in domain["tasks"]]
        means = [task["response_ns"]["mean"] for task in tasks if task["response_ns"]]
        if not means:
            found = f"{format_time(horizon_ns)}, in which no job finished"
            raise InputError("", None, "--horizon", found, "some of the longest period, 200ms")
        return fmean(means)

    def _system(self, policy: Policy, draw: str, load: int, spare: Interface | None) -> System:
        domains = [
            Domain(
                name=vm.name,
                scheduler=Scheduler.FIFO,
                interface=vm.rtds if spare is None else vm.ertds,
                tasks=tuple(_tasks(random.Random(f"{draw}:{vm.name}"), share)),
            )
            for vm in self.vms
            if (share := self._share(vm, load))
        ]
        return System(
            name=self.name, policy=policy, pcpus=self.pcpus, spare=spare, domains=tuple(domains)
        )

    def _share(self, vm: Vm, load: int) -> int:
        """What a VM asks for, in percent; nothing is left for the last one at the least load."""
        fixed = sum(other.load or 0 for other in self.vms)
        return load - fixed if vm.load is None else vm.load

    def _claims(self, run: Run, rows: Sequence[dict[str, Any]]) -> Iterator[Claim]:
        ratios = {row["load"]: row["ratio"] for row in rows if row["run"] == run.name}
        if len(ratios) < len(self.loads):
            return
        worst = max(ratios, key=lambda load: ratios[load])
        yield Claim(
            f"{run.name}: at no load is the mean response more than 1 % above that of RTDS.",
            self.paper.never_worse,
            f"the largest ratio is {ratios[worst]:.3f}, at {worst} %{self._why(run, ratios)}",
            ratios[worst] <= NOT_WORSE,
        )
        first = next((load for load in self.loads if ratios[load] < GAIN), None)
        past = self._first_past(self._promised())
        yield Claim(
            f"{run.name}: the great gain begins where the last VM's demand passes its promise.",
            self.paper.gain,
            f"the ratio is first below {GAIN} at {_percent(first)}; the demand passes the"
            f" promise of RTDS between {past - self._step()} % and {past} %",
            first == past,
        )
        best = min(ratios, key=lambda load: ratios[load])
        beyond = self._first_past(self._promised() + run.spare.bandwidth)
        rises = all(
            ratios[one] <= ratios[other]
            for one, other in zip(self.loads, self.loads[1:], strict=False)
            if one >= best
        )
        yield Claim(
            f"{run.name}: the gain shrinks again once the demand is beyond promise and spare.",
            self.paper.turn,
            f"the ratio is least at {best} % ({ratios[best]:.3f}) and"
            f" {'rises from there' if rises else 'does not rise steadily from there'}; promise and"
            f" spare are passed at {beyond} %",
            rises and best < self.loads[-1] and best <= beyond,
        )

    def _promised(self) -> Fraction:
        """What RTDS promises the VM whose demand grows: above it RTDS cannot keep up."""
        return self.vms[-1].rtds.bandwidth

    def _first_past(self, bandwidth: Fraction) -> int:
        """The first load at which the last VM asks for more."""
        last = self.vms[-1]
        past = (load for load in self.loads if self._share(last, load) > 100 * bandwidth)
        return next(past, self.loads[-1])

    def _step(self) -> int:
        return self.loads[1] - self.loads[0]

    def _why(self, run: Run, ratios: dict[int, float]) -> str:
        """What becomes of a spare that is gone before it is needed."""
        first_ns, most_ns = self.vms[-1].ertds.budget_ns, run.spare.budget_ns
        if max(ratios.values()) <= NOT_WORSE or self.pcpus == 1 or most_ns > first_ns:
            return ""
        return (
            "; a spare idles away while nobody is depleted, and with a pcpu free from the begin of"
            f" its period its {format_time(most_ns)} are gone before {self.vms[-1].name} has used"
            f" up the {format_time(first_ns)} of its own"
        )

    def _chart(self, rows: Sequence[dict[str, Any]]) -> LineChart:
        curves = [
            Curve(
                run.name,
                [(row["load"], row["ratio"]) for row in rows if row["run"] == run.name],
                dots=True,
            )
            for run in self.runs
        ]
        ends = (self.loads[0], self.loads[-1])
        curves.append(Curve("RTDS", [(float(load), 1.0) for load in ends]))
        past = float(100 * self._promised()) + sum(vm.load or 0 for vm in self.vms)
        return LineChart(
            self.title,
            Scale("total load", "%"),
            Scale("mean response / RTDS"),
            curves,
            subtitle=self.source,
            rulers=[Ruler(past, f"{self.vms[-1].name} passes its promise")],
            x_least=float(self.loads[0]),
            x_most=float(self.loads[-1]),
        )


def _percent(load: int | None) -> str:
    return "no load" if load is None else f"{load} %"


def _tasks(draw: random.Random, share: int) -> Iterator[Task]:
    """Tasks that together ask for `share` percent of a pcpu, to the nanosecond's rounding."""
    cuts = sorted(draw.random() for _ in range(TASKS - 1))
    low, high = PERIODS_MS
    for number, (begin, end) in enumerate(zip([0.0, *cuts], [*cuts, 1.0], strict=True)):
        period_ns = (low + int(draw.random() * (high - low + 1))) * NS_PER_MS
        wcet_ns = max(1, int(period_ns * share * (end - begin)) // 100)
        yield Task(name=f"task{number}", period_ns=period_ns, wcet_ns=wcet_ns)
