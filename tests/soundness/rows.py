# SPDX-License-Identifier: BSD-2-Clause
"""Systems for each row of the table of proofs, and the adversary that is set on what is accepted.

A system of a row has one of the policies that the row names. There are four kinds. A *whole*
system (`whole_worlds.World`) has overheads, quanta, jitter, offsets, blocking, ties, several
vcpus, best effort and flows of up to 30 hops. A system of *vcpus* is that with its domains put
together, so that the vcpus of one differ in all that a vcpu has, on up to four pcpus. A *moving*
one is the same without overheads and flows, but that the jobs of each domain move between its
vcpus. A *chain* (`chain_worlds`) is one item that passes up to 30 hops of one vcpu, beside servers
whose jobs preempt it, with a price on the wakes in between.

What the analysis promises of the system is handed to the native adversary
(hosts/sim/adversary.cpp), which chooses phases, executions, releases and seeds by local search.
What it breaks comes back as two system files: the one that was analysed, and the one to be
simulated, which is no more than what the first one allows.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from tests.support.chain_worlds import draw_system as draw_chain
from tests.support.whole_worlds import SCHEDULERS, TICKS, World, claims_of

from hyperperiod import _sim
from hyperperiod.analysis import Analysis
from hyperperiod.analysis.proofs import PROOFS, Cover, Proof, Rules
from hyperperiod.analysis.resolve import resolve
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.model import (
    Budget,
    Domain,
    InputError,
    Interface,
    Order,
    Overheads,
    OwnVcpu,
    Policy,
    Scheduler,
    Scope,
    SourceKind,
    System,
    Task,
    TaskKind,
    to_toml,
)
from hyperperiod.model.policy import legal_policies
from hyperperiod.runs import complete

NEVER = 2**64 - 1
KINDS = ("whole", "vcpus", "moving", "chain")
GLOBAL = [scheduler for scheduler in Scheduler if scheduler.is_global]
WITHOUT_BOUNDS = ("slice-once+fp", "slice-once+edf")
"""Rows of which no flow has a bound: chains would be drawn in vain."""
LONGEST_CHAIN_NS = 60_000
"""Bounds beyond that would make runs long, and do not make them harder."""


def name_of(row: Proof) -> str:
    """How a row is called on the command line: deferrable+edf, cbs+fp+global."""
    scope = "+global" if row.scope is Scope.GLOBAL else ""
    return f"{row.budget}+{row.order}{scope}"


ROWS = {name_of(row): row for row in PROOFS}


def kinds_of(name: str) -> tuple[str, ...]:
    """What is drawn for a row."""
    left_out = {"chain"} if name in WITHOUT_BOUNDS else set()
    if Cover.GAPS not in ROWS[name].covers:
        left_out.add("moving")
    return tuple(kind for kind in KINDS if kind not in left_out)


@cache
def policies_of(row: Proof) -> list[Policy]:
    """Those that the row is about.

    No policy has the row of slice-once under fp-edf for all its servers: it is that of the ordinary
    ones beside slice.
    """
    found = [policy for policy in legal_policies() if row.matches(Rules.of(policy))]
    if not found:
        assert (row.budget, row.order) == (Budget.SLICE_ONCE, Order.FP_EDF)
        return policies_of(ROWS["slice+fp-edf"])
    return found


class RowWorld(World):
    """A whole system under given policies: mostly with interfaces that cost nothing to find."""

    def __init__(self, draw: random.Random, policies: list[Policy]) -> None:
        super().__init__(draw, policies)
        self.flows = not self.harmonic and self.chance(0.4)
        self.most_hops = draw.choice((4, 4, 4, 8, 8, 30))

    def interface(self, pace: int, share: float, *, wild: bool) -> dict[str, Any]:
        if wild or self.chance(0.1):
            return super().interface(pace, share, wild=wild)
        budget = min(pace, max(1, round(pace * share)))
        return {"interface": Interface(period_ns=pace * self.tick, budget_ns=budget * self.tick)}

    def task(self, *args: Any, **more: Any) -> Task:
        drawn = super().task(*args, **more)
        if self.harmonic or not self.chance(0.08):
            return drawn
        return drawn.replace(blocking_ns=self.ticks(1, 4))


class Drawn(NamedTuple):
    """A system with all interfaces, and what the adversary needs to know of it."""

    system: System
    horizon_ns: int
    latest_offset_ns: int
    steps_ns: tuple[int, ...]
    phases: bool
    free: bool  # tasks of which nothing is promised may take as long as they like


@dataclass
class Tried:
    """What became of one drawn system."""

    accepted: bool = False
    runs: int = 0
    nearest: int = 0
    """The longest response that was seen, in millionths of its bound."""
    counterexample: str = ""


def draw_whole(draw: random.Random, row: Proof, *, in_guests: bool = False) -> Drawn | None:
    world = RowWorld(draw, policies_of(row))
    if in_guests and world.policy.scope is Scope.PARTITIONED:
        world.pcpus = draw.randint(1, 4)
    try:
        drawn = world.system()
        system = resolve(with_guests(draw, drawn) if in_guests else drawn)
    except InputError:  # a spare of too long a period, or no interface
        return None
    tick = world.tick
    steps = (1, tick, 5 * tick) if tick > 1 else (1, 1, 2, 7)
    return Drawn(system, TICKS * tick, 60 * tick, steps, not world.harmonic, free=False)


def draw_of_kind(draw: random.Random, row: Proof, kind: str) -> Drawn | None:
    if kind == "chain":
        return draw_of_chain(draw, row)
    if kind == "moving":
        return draw_moving(draw, row)
    return draw_whole(draw, row, in_guests=kind == "vcpus")


def draw_moving(draw: random.Random, row: Proof) -> Drawn | None:
    """A system of guests whose jobs move, mostly with what their test covers."""
    world = RowWorld(draw, policies_of(row))
    world.overheads, world.flows, world.harmonic = Overheads(), False, False
    if world.policy.scope is Scope.PARTITIONED:
        world.pcpus = draw.randint(1, 4)
    drawn = world.system()
    domains = tuple(
        one.replace(tasks=tuple(_covered(draw, task) for task in one.tasks))
        for one in drawn.domains
    )
    try:
        system = resolve(with_guests(draw, drawn.replace(domains=domains), GLOBAL))
    except InputError:  # a spare of too long a period, or no interface
        return None
    tick = world.tick
    steps = (1, tick, 5 * tick) if tick > 1 else (1, 1, 2, 7)
    return Drawn(system, TICKS * tick, 60 * tick, steps, phases=True, free=False)


def _covered(draw: random.Random, task: Task) -> Task:
    """The task without blocking, mostly with its deadline before its next release."""
    task = task.replace(blocking_ns=0)
    if task.period_ns is None or task.deadline_ns is None or draw.random() < 0.05:
        return task
    room_ns = task.period_ns - (task.wcet_ns or 0)
    jitter_ns = min(task.jitter_ns, max(0, room_ns))
    deadline_ns = min(task.deadline_ns, task.period_ns - jitter_ns)
    return task.replace(jitter_ns=jitter_ns, deadline_ns=deadline_ns)


def with_guests(
    draw: random.Random, system: System, schedulers: Sequence[Scheduler] = SCHEDULERS
) -> System:
    """The system with its domains in up to three guests, of which they are the vcpus."""
    guests = [(f"g{number}", draw.choice(schedulers)) for number in range(draw.randint(1, 3))]
    members: dict[str, list[Domain]] = {name: [] for name, _ in guests}
    others = [domain for domain in system.domains if domain.vcpus > 1]
    for domain in system.domains:
        if domain.vcpus == 1:
            members[draw.choice(guests)[0]].append(domain)
    made = [_guest(draw, *guest, members[guest[0]]) for guest in guests if members[guest[0]]]
    homes = {domain.name: name for name, inside in members.items() for domain in inside}
    flows = []
    for flow in system.flows:
        parts = (hop.partition(".") for hop in flow.hops)
        hops = (f"{homes[d]}.{d}-{t}" if d in homes else f"{d}.{t}" for d, _, t in parts)
        flows.append(flow.replace(hops=tuple(hops)))
    domains = [*made, *others]
    draw.shuffle(domains)
    return System.of({**vars(system), "domains": tuple(domains), "flows": tuple(flows)})


def _guest(draw: random.Random, name: str, scheduler: Scheduler, members: list[Domain]) -> Domain:
    priorities, moving = scheduler.takes_priorities, scheduler.is_global
    return Domain(
        name=name,
        scheduler=scheduler,
        own_vcpus=tuple(
            OwnVcpu(
                pcpu=one.pcpu,
                priority=one.priority,
                interface=one.interface,
                interface_period_ns=_period_ns(one, moving=moving),
                best_effort=one.best_effort or None,
                extra=(one.extra or None) if not one.best_effort else None,
            )
            for one in members
        ),
        tasks=tuple(
            task.replace(
                name=f"{one.name}-{task.name}",
                vcpu=None if moving else vcpu,
                priority=draw.randint(0, 2) if priorities else None,
            )
            for vcpu, one in enumerate(members)
            for task in one.tasks
        ),
    )


def _period_ns(vcpu: Domain, *, moving: bool) -> int | None:
    """The period of a vcpu without an interface; jobs that move need one that is given."""
    if moving and vcpu.interface is None and not vcpu.best_effort:
        longest_ns = max(task.period_ns or 0 for task in vcpu.tasks)
        return vcpu.interface_period_ns or max(1, longest_ns // 5)
    return vcpu.interface_period_ns


def draw_of_chain(draw: random.Random, row: Proof) -> Drawn:
    system = draw_chain(draw, [str(policy) for policy in policies_of(row)])
    scale = 40 if any(vars(system.overheads).values()) else 1
    return Drawn(system, 0, 200 * scale, (1, scale, 5 * scale), phases=True, free=True)


def try_one(
    draw: random.Random, row: Proof, kind: str, starts: int = 6, changes: int = 12
) -> Tried:
    """Draws a system of the row, analyses it and attacks what was accepted."""
    system = None
    try:
        drawn = draw_of_kind(draw, row, kind)
        if drawn is None:
            return Tried()
        system = drawn.system
        return attack(drawn, draw.getrandbits(32), starts, changes)
    except Exception:
        # A broken law of the core, or a crash of the analysis.
        text = to_toml(system) if system else "# no system with all its interfaces"
        return Tried(True, counterexample=f"{traceback.format_exc()}\n{text}")


def attack(drawn: Drawn, seed: int, starts: int, changes: int) -> Tried:
    system = drawn.system
    tasks, kept, bounds = claims_of(system)
    # A flow that holds is within its deadline; one with a bound, within that at any rate.
    flows = {**kept, **bounds}
    if not tasks and not flows:
        return Tried()
    horizon_ns = drawn.horizon_ns
    if drawn.free:
        if not flows or max(flows.values()) > LONGEST_CHAIN_NS:
            return Tried()
        tasks = {}
        horizon_ns = drawn.latest_offset_ns + max(flows.values()) + 1
    members = [(one, task) for one in system.domains for task in one.tasks]
    found = _sim.attack(
        scenario=make_scenario(complete(Analysis(system)), horizon_ns, 1, check=seed % 16 == 0),
        tasks=[tasks.get(f"{one.name}.{task.name}", NEVER) for one, task in members],
        flows=[flows.get(flow.name, NEVER) for flow in system.flows],
        lossless=[flow.name in kept for flow in system.flows],
        phases=drawn.phases,
        shortest=[_shortest_ns(task, free=drawn.free) for _, task in members],
        longest=[_longest_ns(task, free=drawn.free) for _, task in members],
        latest_offset_ns=drawn.latest_offset_ns,
        steps_ns=drawn.steps_ns,
        starts=starts,
        changes=changes,
        seed=seed,
    )
    tried = Tried(True, found["runs"], found["nearest"])
    if found["broken"]:
        tried.counterexample = _told(system, found, horizon_ns, {**tasks, **flows})
    return tried


def _is_free(task: Task, *, free: bool) -> bool:
    """Whether it is one of the jobs beside a chain, of whose length no bound depends."""
    return free and task.kind is not TaskKind.EVENT


def _shortest_ns(task: Task, *, free: bool) -> int:
    return 1 if _is_free(task, free=free) else task.bcet_ns or 1


def _longest_ns(task: Task, *, free: bool) -> int:
    return 2 * (task.wcet_ns or 1) if _is_free(task, free=free) else NEVER


def _told(system: System, found: _sim.Attacked, horizon_ns: int, bounds: dict[str, int]) -> str:
    """The counterexample: what was promised, and two files."""
    run = to_toml(placed(system, found["placement"]))
    told = f"horizon {horizon_ns} ns, seed {found['seed']}, bounds {bounds}"
    return f"# {told}\n# analysed:\n{to_toml(system)}\n# simulated:\n{run}"


def placed(system: System, placement: list[tuple[bool, int, int, int, int]]) -> System:
    """The system with the choices of the adversary."""
    choices = iter(placement)

    def chosen(task: Task) -> Task:
        sporadic, offset_ns, jitter_ns, wcet_ns, bcet_ns = next(choices)
        kind = task.kind
        if kind is TaskKind.SPORADIC and not sporadic:
            kind = TaskKind.PERIODIC
        if task.wcet_ns is not None:
            task = task.replace(wcet_ns=wcet_ns, etf=Fraction(bcet_ns, wcet_ns))
        return task.replace(kind=kind, offset_ns=offset_ns, jitter_ns=jitter_ns)

    domains = tuple(
        one.replace(tasks=tuple(chosen(task) for task in one.tasks)) for one in system.domains
    )
    flows = []
    for flow in system.flows:
        sporadic, offset_ns, jitter_ns, _, _ = next(choices)
        source = flow.source.replace(offset_ns=offset_ns)
        if source.period_ns is not None:
            source = source.replace(jitter_ns=jitter_ns)
            if source.kind is SourceKind.SPORADIC and not sporadic:
                source = source.replace(kind=SourceKind.PERIODIC)
        flows.append(flow.replace(source=source))
    return system.replace(domains=domains, flows=tuple(flows))
