# SPDX-License-Identifier: BSD-2-Clause
"""Traces of the naive model: random systems that it decides tick by tick.

A best-effort turn is four ticks here, a share two.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.model_naive.model import IDLE, ORDINARY, Grant, Params, Policy, Setup
from tests.model_naive.model import SPARE as NAIVE_SPARE
from tests.model_naive.workload import Run
from tests.support.rules import GLOBAL, LOCAL
from tests.support.trace_writer import Script, make_header, vcpu

from hyperperiod.trace.format import EXTRA, NONE, SECOND_PAYER, SPARE, STOLEN, Kind
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS

TICKS = 240
TICK_NS = 250_000
CASES = [(rules, 1) for rules in LOCAL] + [(rules, pcpus) for rules in GLOBAL for pcpus in (2, 3)]


class NaiveRun:
    """A random system under the naive model, and its trace so far."""

    def __init__(self, rules: Any, pcpus: int, random: Random, swaps: Any = ()) -> None:
        """With `swaps`, policies and interfaces change now and then, and pcpus are stolen."""
        self.random, self.swaps = random, swaps
        params = [random_params(random) for _ in range(random.randint(1, 4))]
        guests = [Params(1, 0, best_effort=True, weight=weight) for weight in (1, 300)]
        self.params = params + guests[: random.randint(0, 2)]
        has_spare = swaps or rules[2] == "spare"
        spare = (random.choice((6, 12)), random.randint(1, 3)) if has_spare else (0, 0)
        quantum = random.choice((None, None, 1, 2))
        setup = Setup(Policy(*rules), pcpus, quantum, *spare, best_effort_turn=4, share=2)
        self.run = Run(setup, self.params)
        self.script = Script(header_of(rules, self.params, setup))
        self.load = random.choice((0.03, 0.1, 0.4))
        self.now = 0
        self.before: list[Grant | None] = [None] * pcpus

    def decide(self) -> list[Grant]:
        """The events of the next tick, which are recorded, and its grants, which are not yet."""
        now_ns = self.now * TICK_NS
        departed = self.run.finish_tick() if self.now else self.run.begin()
        for grant in self.before:
            if grant is not None and grant.run in departed:
                self.script.depart(now_ns, grant.run)
        units = [
            self.random.randint(1, 5) if self.random.random() < self.load else 0
            for _ in self.params
        ]
        self.script.arrive(now_ns, *self.run.arrive(units))
        if self.swaps:
            self._disturb()
        return self.run.world.decide()

    def _disturb(self) -> None:
        """Now and then another policy, another interface, a pcpu that is stolen or given back."""
        world, now_ns = self.run.world, self.now * TICK_NS
        pcpu = self.random.randrange(world.setup.pcpus)
        if self.random.random() < 0.03:
            swap(self.script, self.now, self.run, self.random.choice(self.swaps))
        if self.random.random() < 0.03:
            vcpu = self.random.choice(world.servers)
            params = random_params(self.random)._replace(extra=world.vcpus[vcpu].params.extra)
            world.update(vcpu, params)
            interface = {"period_ns": params.period * TICK_NS, "budget_ns": params.budget * TICK_NS}
            entry = {"at_ns": now_ns, "domain": f"v{vcpu}", "interface": interface}
            self.script.header["changes"].append({**entry, "priority": params.priority})
        if pcpu in world.stolen and self.random.random() < 0.3:
            world.give_back(pcpu)
            self.before[pcpu] = None
        elif pcpu not in world.stolen and self.random.random() < 0.02:
            world.steal(pcpu)
            self.script.idle(now_ns, pcpu=pcpu, flags=STOLEN)
            self.before[pcpu] = IDLE

    def record(self, grants: list[Grant]) -> None:
        """The decisions of this tick, which is over with that."""
        write(self.script, self.now * TICK_NS, self.before, grants)
        self.before = [*grants]
        self.now += 1

    def with_others(self, grants: list[Grant]) -> Script:
        """The trace up to now, with these grants in the tick to come, which is the last."""
        script = Script(self.script.header)
        script.rows, script.open = self.script.rows[:], dict(self.script.open)
        write(script, self.now * TICK_NS, self.before, grants)
        return script.end((self.now + 1) * TICK_NS)


def play(rules: Any, pcpus: int, seed: int, swaps: Any = ()) -> Script:
    """A random system under the naive model, as a trace; now and then one of `swaps` takes over."""
    run = NaiveRun(rules, pcpus, Random(seed), swaps)
    for _ in range(TICKS):
        run.record(run.decide())
    return run.script.end(TICKS * TICK_NS)


def write(script: Script, now_ns: int, before: list[Grant | None], grants: list[Grant]) -> None:
    """What each pcpu does from now on, where that is something else than before."""
    for pcpu, grant in enumerate(grants):
        if grant != before[pcpu]:
            decide(script, now_ns, pcpu, grant)


def swap(script: Script, now: int, run: Run, rules: Any) -> None:
    run.world.swap(Policy(*rules))
    value = BUDGETS.index(rules[0]) | ORDERS.index(rules[1]) << 8 | SLACKS.index(rules[2]) << 16
    script.add(now * TICK_NS, Kind.SWAP, value=value)
    script.header["swaps"].append({"at_ns": now * TICK_NS, "policy": "+".join(rules)})


def random_params(random: Random) -> Params:
    period = random.choice((4, 5, 6, 8, 10, 12, 20))
    budget = random.randint(1, max(1, period // 2))
    priority = random.choice((0, 1, 2, ORDINARY))
    return Params(period, budget, priority, extra=random.random() < 0.6)


def header_of(rules: Any, params: list[Params], setup: Setup) -> Any:
    one = setup.pcpus == 1
    vcpus = [
        vcpu(
            f"v{index}",
            None if each.best_effort else each.period * TICK_NS,
            None if each.best_effort else each.budget * TICK_NS,
            priority=each.priority,
            pcpu=0 if one else None,
            extra=each.extra,
            weight=each.weight if each.best_effort else None,
        )
        for index, each in enumerate(params)
    ]
    spare = {
        "period_ns": setup.spare_period * TICK_NS,
        "budget_ns": setup.spare_budget * TICK_NS,
    }
    return make_header(
        "ptps",
        vcpus,
        budget=rules[0],
        order=rules[1],
        slack=rules[2],
        scope="partitioned" if one else "global",
        pcpus=setup.pcpus,
        horizon_ns=TICKS * TICK_NS,
        quantum_ns=setup.quantum and setup.quantum * TICK_NS,
        spare=spare if setup.spare_period else None,
    )


def decide(script: Script, now_ns: int, pcpu: int, grant: Grant) -> None:
    pay = NONE if grant.pay is None else SPARE if grant.pay == NAIVE_SPARE else grant.pay
    if grant.run is None:
        script.idle(now_ns, pay, pcpu=pcpu)
        return
    flags = (SECOND_PAYER if grant.also is not None else 0) | (EXTRA if grant.level else 0)
    script.run(now_ns, grant.run, pay, pcpu=pcpu, flags=flags)
