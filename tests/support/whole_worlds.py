# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems of all features at once, and what a run of one must keep of its analysis.

A system has any policy that hosts run, one to three pcpus, and anything that a file can say: given
and computed interfaces of each way to compute them, the three supply bounds, quanta, priorities
with equals, several vcpus, extra time, a spare, best effort, domains that want more than they get,
all kinds of tasks with offsets, jitter, deadlines around their periods and short executions,
flows, overheads. Times are few whole ticks, so that instants coincide.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.campaign import Trial

from hyperperiod.analysis import analyze
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import (
    Domain,
    Flow,
    InputError,
    Interface,
    Order,
    Overheads,
    Policy,
    Sbf,
    Scheduler,
    Scope,
    Slack,
    System,
    Task,
    TaskKind,
    to_toml,
    vcpus_of,
)
from hyperperiod.model.part import fields_of
from hyperperiod.model.policy import legal_policies
from hyperperiod.runs import simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.properties import Status

POLICIES = legal_policies()
SCHEDULERS = [Scheduler.RM, Scheduler.DM, Scheduler.FP, Scheduler.EDF, Scheduler.FIFO]
PACES = ((2, 3, 4, 5, 6, 7, 8, 9, 10, 12), (3, 6, 12), (4, 6, 10), (2, 4, 8), (5, 7, 11), (6,))
TICKS = 900
"""How many ticks a run has."""


class World:
    """A random system as it is drawn: policy, pcpus, overheads and tick, which all parts share."""

    def __init__(self, draw: random.Random, policies: Sequence[Policy] = POLICIES) -> None:
        self.draw = draw
        self.policy = draw.choice(policies)
        self.alone = self.policy.scope is Scope.PARTITIONED
        self.pcpus = draw.choice((1, 1, 1, 2)) if self.alone else draw.choice((1, 2, 2, 3))
        self.overheads = Overheads()
        self.tick = draw.choice((1, 1, 1_000_000))
        if draw.random() < 0.35:
            self.tick = 1000
            self.overheads = self._overheads()
        self.paces = draw.choice(PACES)
        self.flows = draw.random() < 0.25
        self.most_hops = 4
        self.harmonic = draw.random() < 0.12
        fine = 1 if self.tick == 1 else draw.choice((1, 10, 50))
        self.quantum_ns = self.tick // fine if draw.random() < 0.25 else None

    def _overheads(self) -> Overheads:
        most = self.draw.choice((3, 10, 30, 100))
        return Overheads(
            **{
                name: self.draw.choice((0, self.draw.randint(0, most)))
                for name in fields_of(Overheads)
            }
        )

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def ticks(self, low: int, high: int) -> int:
        return self.draw.randint(low, max(low, high)) * self.tick

    def system(self) -> System:
        draw = self.draw
        count = draw.choice((1, 2, 2, 3, 3, 4, 5))
        total = draw.uniform(0.25, 1.0) * self.pcpus
        weights = [draw.uniform(0.3, 1) for _ in range(count)]
        shares = [min(0.95, total * weight / sum(weights)) for weight in weights]
        numbered = self.chance(0.3)
        domains = []
        for index, share in enumerate(shares):
            if self.policy.order is Order.FP_EDF:
                numbered = self.chance(0.6)
            domains.append(self.domain(f"d{index}", share, numbered=numbered))
        if self.chance(0.3):
            domains.append(self.best_effort())
        draw.shuffle(domains)
        spare = None
        if self.policy.slack is Slack.SPARE and self.chance(0.7):
            period = draw.randint(1, 30)
            budget = draw.randint(1, period)
            spare = Interface(period_ns=period * self.tick, budget_ns=budget * self.tick)
        sbf = draw.choice((Sbf.GENERAL, Sbf.SERVERS))
        if self.harmonic:
            sbf = Sbf.HARMONIC
        elif self.policy.budget.value == "periodic" and self.chance(0.5):
            sbf = Sbf.EDP
        return System(
            name="random",
            policy=self.policy,
            pcpus=self.pcpus,
            quantum_ns=self.quantum_ns,
            sbf=sbf,
            spare=spare,
            overheads=self.overheads,
            domains=tuple(domains),
            flows=tuple(self.routes(domains)) if self.flows else (),
        )

    def domain(self, name: str, share: float, *, numbered: bool) -> Domain:
        draw = self.draw
        scheduler = draw.choice(SCHEDULERS)
        vcpus = draw.choice((1, 1, 1, 1, 2))
        count = draw.randint(1, 3) * vcpus
        pace = draw.choice(self.paces)
        wild = self.chance(0.1)
        demand = share * draw.uniform(0.3, 0.9) / count * (4 if wild else 1)
        tasks = []
        for index in range(count):
            place = {"vcpu": index % vcpus} if vcpus > 1 or self.chance(0.1) else {}
            tasks.append(self.task(f"t{index}", demand * vcpus, scheduler, pace, **place))
        if self.chance(0.2):
            tasks.append(self.busy("busy", scheduler, vcpus))
        return Domain(
            name=name,
            scheduler=scheduler,
            vcpus=vcpus,
            pcpu=draw.randrange(self.pcpus) if self.alone else None,
            priority=draw.randint(0, 2) if numbered else None,
            extra=self.chance(0.4),
            tasks=tuple(tasks),
            **self.interface(pace, share / vcpus, wild=wild),
        )

    def interface(self, pace: int, share: float, *, wild: bool) -> dict[str, Any]:
        how = self.draw.random()
        if wild or how < 0.35:
            budget = self.draw.choice((int(pace * share), round(pace * share), -1))
            if budget < 0:
                budget = self.draw.randint(1, pace)
            budget = min(pace, max(1, budget))
            given = Interface(period_ns=pace * self.tick, budget_ns=budget * self.tick)
            return {"interface": given}
        if how < 0.45 and (self.quantum_ns == self.tick or self.tick == 1_000_000):
            return {}
        return {"interface_period_ns": pace * self.tick}

    def task(self, name: str, share: float, scheduler: Scheduler, pace: int, **place: Any) -> Task:
        draw = self.draw
        if self.harmonic:
            period = pace * draw.choice((1, 2, 4))
        else:
            period = draw.choice((draw.randint(4, 60), 2 * pace, 3 * pace, 5 * pace))
        wcet = draw.choice((int(period * share), round(period * share * draw.uniform(0.5, 1))))
        wcet = max(1, min(period, wcet))
        deadline = period
        if self.chance(0.4):
            most = period if self.harmonic else 2 * period
            deadline = draw.randint(max(wcet, period // 2), most)
        kind = draw.choice(
            (TaskKind.PERIODIC, TaskKind.PERIODIC, TaskKind.SPORADIC, TaskKind.EVENT)
        )
        if self.harmonic and not self.flows:
            kind = TaskKind.PERIODIC
        still = self.harmonic or (self.flows and kind is TaskKind.EVENT)
        sub = draw.choice((0, 0, draw.randint(0, self.tick - 1)))
        return Task(
            name=name,
            kind=kind,
            period_ns=period * self.tick,
            wcet_ns=max(1, wcet * self.tick - sub),
            deadline_ns=deadline * self.tick,
            offset_ns=0 if still else draw.choice((0, 0, self.ticks(0, 30))),
            jitter_ns=0 if still else draw.choice((0, 0, 0, self.ticks(0, period))),
            etf=draw.choice((Fraction(1), Fraction(1), Fraction(1, 2), Fraction(1, 10))),
            priority=draw.randint(0, 2) if scheduler.takes_priorities else None,
            **place,
        )

    def busy(self, name: str, scheduler: Scheduler, vcpus: int) -> Task:
        wcet = self.draw.choice((None, self.ticks(1, 5)))
        return Task(
            name=name,
            kind=TaskKind.BUSY,
            wcet_ns=wcet,
            offset_ns=self.draw.choice((0, self.ticks(0, 40))),
            priority=self.draw.randint(0, 3) if scheduler.takes_priorities else None,
            vcpu=self.draw.randrange(vcpus) if vcpus > 1 else None,
        )

    def best_effort(self) -> Domain:
        tasks: tuple[Task, ...] = ()
        if self.chance(0.5):
            inside = [self.task("t0", 0.2, Scheduler.RM, 5)]
            tasks = (*inside, *([self.busy("hog", Scheduler.RM, 1)] if self.chance(0.5) else []))
        pcpu = self.draw.randrange(self.pcpus) if self.alone else None
        return Domain(name="rest", best_effort=True, pcpu=pcpu, tasks=tasks)

    def routes(self, domains: list[Domain]) -> Iterator[Flow]:
        draw = self.draw
        hops = [
            f"{one.name}.{inside.name}"
            for one in domains
            for inside in one.tasks
            if inside.kind is TaskKind.EVENT and not (one.best_effort and self.chance(0.8))
        ]
        if not hops:
            return
        for number in range(draw.choice((1, 1, 2))):
            source = self.closed() if self.chance(0.35) else self.paced()
            queue = {} if "clients" in source else {"queue": draw.choice((1, 2, 3, 8))}
            way = [draw.choice(hops) for _ in range(draw.randint(1, self.most_hops))]
            yield Flow.of(
                {
                    "name": f"f{number}",
                    "source": source,
                    "hops": way,
                    "deadline": self.ticks(20, 100 * max(4, len(way))),
                    **queue,
                }
            )

    def paced(self) -> dict[str, Any]:
        draw = self.draw
        return {
            "kind": draw.choice(("periodic", "sporadic")),
            "period": self.ticks(15, 120),
            "offset": draw.choice((0, self.ticks(0, 20))),
            "jitter": draw.choice((0, 0, self.ticks(0, 40))),
            "burst": draw.choice((1, 1, 1, 2)),
        }

    def closed(self) -> dict[str, Any]:
        draw = self.draw
        return {
            "kind": "closed",
            "clients": draw.choice((1, 2, 3, 8)),
            "think": draw.choice((0, self.ticks(0, 5), self.ticks(0, 120))),
            "think_draw": draw.choice(("constant", "uniform")),
            "offset": draw.choice((0, self.ticks(0, 20))),
        }

    def shifted(self, system: System) -> System:
        """The same with other offsets of tasks, which promise the same."""
        domains = []
        for domain in system.domains:
            tasks = []
            for task in domain.tasks:
                hop = self.flows and task.kind is TaskKind.EVENT
                offset_ns = 0 if hop else self.ticks(0, 40)
                tasks.append(task.replace(offset_ns=offset_ns))
            domains.append(domain.replace(tasks=tuple(tasks)))
        return system.replace(domains=tuple(domains))


def claims_of(system: System) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Bounds of tasks that are schedulable, of such flows, and of flows that have one."""
    said = analyze(system)
    tasks = {
        f"{domain.name}.{task.name}": task.response_bound_ns
        for domain in said.domains
        for task in domain.tasks
        if task.schedulable and task.response_bound_ns is not None
    }
    kept = {flow.name: flow.deadline_ns for flow in said.flows if flow.schedulable}
    bounds = {f.name: f.response_bound_ns for f in said.flows if f.response_bound_ns}
    return tasks, kept, bounds


def broken(run: RunResult, claims: Any) -> Iterator[str]:
    """Which claims a run contradicts."""
    tasks, kept, bounds = claims
    for domain in run.domains:
        for task in domain.tasks:
            name = f"{domain.name}.{task.name}"
            bound_ns = tasks.get(name)
            if bound_ns is None:
                continue
            latest_ns = task.response_ns.max if task.response_ns else 0
            if task.misses or latest_ns > bound_ns:
                yield f"{name} took {latest_ns} (bound {bound_ns}), {task.misses} misses"
    for flow in run.flows:
        latest_ns = flow.response_ns.max if flow.response_ns else 0
        if latest_ns > bounds.get(flow.name, latest_ns):
            yield f"flow {flow.name} took {latest_ns}, bound {bounds[flow.name]}"
        if flow.name in kept and (flow.misses or flow.dropped):
            yield f"flow {flow.name}: {flow.misses} misses, {flow.dropped} dropped"


def failed_properties(system: System, horizon_ns: int, seed: int) -> list[str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.hpt"
        simulate(system, horizon_ns, seed, trace_path=path, check=True)
        found = check_file(path).findings
    return [f"{one.name}: {said}" for one, said in found if said.status is Status.FAILS]


def trial(draw: random.Random, runs: int = 4, kind: type[World] = World) -> Trial:
    """Draws a system of a kind of world, and runs it if the analysis promises anything."""
    world = kind(draw)
    try:
        system = resolve_what_can_be(world.system()).whole()
    except InputError:  # a spare of too long a period
        return Trial(accepted=False)
    if any(vcpu.interface is None and not vcpu.best_effort for vcpu in vcpus_of(system)):
        return Trial(accepted=False)
    claims = claims_of(system)
    if not any(claims):
        return Trial(accepted=False)
    horizon_ns = TICKS * world.tick
    for _ in range(runs):
        seed = draw.randrange(1_000_000)
        run = simulate(system, horizon_ns, seed, check=draw.random() < 0.1)
        found = list(broken(run, claims))
        if not found and draw.random() < 0.02:
            found = failed_properties(system, horizon_ns, seed)
        if found:
            text = to_toml(system)
            return Trial(True, f"{'; '.join(found)} with seed {seed} in {text}")
        if not world.harmonic:
            system = world.shifted(system)
            if world.flows:
                claims = claims_of(system)
    return Trial(accepted=True)
