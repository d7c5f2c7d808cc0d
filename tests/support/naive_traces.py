# SPDX-License-Identifier: BSD-2-Clause
"""Traces of the naive model: random systems that it decides tick by tick.

A best-effort turn is four ticks here, a share two.
"""

from random import Random
from typing import Any

from tests.model_naive.model import ORDINARY, Grant, Params, Policy, Setup
from tests.model_naive.model import SPARE as NAIVE_SPARE
from tests.model_naive.workload import Run
from tests.support.rules import GLOBAL, LOCAL
from tests.support.trace_writer import Script, make_header, vcpu

from hyperperiod.trace.format import EXTRA, NONE, SECOND_PAYER, SPARE, Kind
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS

TICKS = 240
TICK_NS = 250_000
CASES = [(rules, 1) for rules in LOCAL] + [(rules, pcpus) for rules in GLOBAL for pcpus in (2, 3)]


def play(rules: Any, pcpus: int, seed: int, swaps: Any = ()) -> Script:
    """A random system under the naive model, as a trace; now and then one of `swaps` takes over."""
    random = Random(seed)
    params = [random_params(random) for _ in range(random.randint(1, 4))]
    guests = [Params(1, 0, best_effort=True, weight=weight) for weight in (1, 300)]
    params += guests[: random.randint(0, 2)]
    spare = (
        (random.choice((6, 12)), random.randint(1, 3)) if swaps or rules[2] == "spare" else (0, 0)
    )
    quantum = random.choice((None, None, 1, 2))
    setup = Setup(Policy(*rules), pcpus, quantum, *spare, best_effort_turn=4, share=2)
    run = Run(setup, params)
    script = Script(header_of(rules, params, setup))
    load = random.choice((0.03, 0.1, 0.4))
    before: list[Grant | None] = [None] * pcpus
    for now in range(TICKS):
        departed = run.finish_tick() if now else run.begin()
        for grant in before:
            if grant is not None and grant.run in departed:
                script.depart(now * TICK_NS, grant.run)
        woken = run.arrive([random.randint(1, 5) if random.random() < load else 0 for _ in params])
        script.arrive(now * TICK_NS, *woken)
        if swaps and random.random() < 0.03:
            swap(script, now, run, random.choice(swaps))
        for pcpu, grant in enumerate(run.world.decide()):
            if grant != before[pcpu]:
                decide(script, now * TICK_NS, pcpu, grant)
            before[pcpu] = grant
    return script.end(TICKS * TICK_NS)


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
