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
from fractions import Fraction
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from hyperperiod.experiments.confidence import ratio_interval
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
from hyperperiod.model.values import Positive, Whole
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring, run_on
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.result import SpareGainRow

Percent = Annotated[int, Whole(1, 6400)]


class SpareVm(Part):
    """A VM: what it asks for (in percent of a pcpu; the last one takes the rest), its servers."""

    name: str
    load: Percent | None = None
    ertds: Interface
    rtds: Interface


class SpareCurve(Part):
    """One of the curves: ERTDS with this spare; against other servers of RTDS where given."""

    name: str
    spare: Interface
    rtds: tuple[Interface, ...] = ()


class SpareMean(NamedTuple):
    """The mean response of one run, and what the last VM got of the spare."""

    response_ns: float
    donated_ns: int


Means = dict[str, list[SpareMean]]
"""By policy, of each task set."""


class SpareGain(Experiment):
    """VMs on pcpus, and the total loads of the x axis in percent."""

    pcpus: Positive = 1
    similar_below: int = 0
    loads: tuple[Percent, ...]
    runs: Annotated[tuple[SpareCurve, ...], AtLeast(1)] = key(name="run")
    vms: Annotated[tuple[SpareVm, ...], AtLeast(2)] = key(name="vm")

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(self.runs) * len(self.loads) * self.sets

    def _exact(self, host: Host) -> bool:
        """Whether times are what the machine makes them, and not how busy its host is."""
        return host == "sim" or self.pcpus == 1 or can_keep_in_step()

    def measured(self, run: Measuring) -> Iterator[SpareGainRow]:
        known: dict[tuple[Any, ...], SpareMean] = {}
        for curve in self.runs:
            for load in self.loads:
                means: Means = {"ertds": [], "rtds": []}
                plain: Means = {"ertds": [], "rtds": []}
                for number in range(self.sets):
                    draw = f"{run.seed}:{self.name}:{number}"
                    for policy in means:
                        system = self._system(PRESETS[policy], draw, load, curve)
                        like = (
                            policy,
                            number,
                            load,
                            curve.rtds if policy == "rtds" else curve.name,
                        )
                        if like not in known:
                            known[like] = self._mean(system, run.host, run.seed)
                        means[policy].append(known[like])
                        if run.host == "xen" and self._exact(run.host):
                            plain[policy].append(self._mean(system, "sim", run.seed))
                    run.step()
                yield self._row(curve, load, run.host, means, plain)

    def _row(
        self, curve: SpareCurve, load: int, host: Host, means: Means, plain: Means
    ) -> SpareGainRow:
        ertds, rtds = ([one.response_ns for one in means[policy]] for policy in means)
        sim = {
            f"{policy}_sim_ns": fmean(one.response_ns for one in found)
            for policy, found in plain.items()
            if found
        }
        return SpareGainRow(
            run=curve.name,
            host=host,
            load=load,
            sets=self.sets,
            ertds_ns=fmean(ertds),
            rtds_ns=fmean(rtds),
            ratio=fmean(ertds) / fmean(rtds),
            ratio_interval=ratio_interval(ertds, rtds),
            donated_ns=sum(one.donated_ns for one in means["ertds"]),
            **sim,
            timing="" if self._exact(host) else "host",
        )

    def _mean(self, system: System, host: Host, seed: int) -> SpareMean:
        """The mean response time over the tasks of one set.

        InputError if no job finished in it; KeyboardInterrupt as of `run_on`.
        """
        result = run_on(host, system, self.horizon_ns, seed)
        means = [task.response_ns.mean for task in result.tasks if task.response_ns]
        if not means:
            found = f"{format_time(self.horizon_ns)}, in which no job finished"
            raise InputError("", None, "--horizon", found, "some of the longest period, 200ms")
        last = [one for one in result.domains if one.name == self.vms[-1].name]
        return SpareMean(fmean(means), sum(one.donated_ns for one in last))

    def _system(self, policy: Policy, draw: str, load: int, curve: SpareCurve) -> System:
        lends = policy.slack is Slack.SPARE
        servers = [vm.ertds for vm in self.vms] if lends else self._rtds(curve)
        domains = [
            Domain(
                name=vm.name,
                scheduler=Scheduler.FIFO,
                interface=server,
                tasks=tuple(ertds_tasks(random.Random(f"{draw}:{vm.name}"), share)),
            )
            for vm, server in zip(self.vms, servers, strict=True)
            if (share := load - self._fixed() if vm.load is None else vm.load)
        ]
        return System(
            name=self.name,
            policy=policy,
            pcpus=self.pcpus,
            spare=curve.spare if lends else None,
            domains=tuple(domains),
        )

    def _rtds(self, curve: SpareCurve) -> list[Interface]:
        return list(curve.rtds) or [vm.rtds for vm in self.vms]

    def _fixed(self) -> int:
        """What all VMs but the last one ask for, in percent."""
        return sum(vm.load or 0 for vm in self.vms)

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        here = self.settled(options)

        def guaranteed(curve: SpareCurve) -> Fraction:
            """What RTDS promises the VM whose demand grows: above it RTDS cannot keep up."""
            return self._rtds(curve)[-1].bandwidth

        def beyond(bandwidth: Fraction) -> list[int]:
            """The loads at which the last VM asks for more."""
            return [load for load in here.loads if load - self._fixed() > 100 * bandwidth]

        def first_beyond(bandwidth: Fraction) -> int:
            return next(iter(beyond(bandwidth)), here.loads[-1])

        def why(curve: SpareCurve) -> str:
            """What becomes of a spare that is gone before it is needed, if it is."""
            own, spare = self.vms[-1].ertds, curve.spare
            early = spare.period_ns >= own.period_ns and spare.budget_ns <= own.budget_ns
            if self.pcpus == 1 or not early:
                return ""
            return (
                "; a spare idles away while nobody is depleted, and with a pcpu free from the begin"
                f" of its period its {format_time(spare.budget_ns)} are gone before"
                f" {self.vms[-1].name} has used up the {format_time(own.budget_ns)} of its own"
            )

        return {
            "why": why,
            "exact": here._exact(options.host),
            "last": self.vms[-1],
            "fixed": self._fixed(),
            "guaranteed": guaranteed,
            "beyond": beyond,
            "first_beyond": first_beyond,
        }
