# SPDX-License-Identifier: BSD-2-Clause
"""Harmonic systems like the seven ARINC-653 workloads of the CSA paper (RTAS 2012, IV.C).

The task tables of those workloads are in no public document that we know of. The paper prints
three numbers of each (Table I): what its tasks ask for (U_W), what the interfaces take once
budgets are rounded up to whole milliseconds (U_RM), and the difference; of the second one also the
overhead of each of its six domains (Table II). Here are systems drawn at random that have these
numbers: periods that divide one another, given interface periods, tasks released together at
multiples of the interface's period, deadlines equal to periods. Nothing else about them is the
paper's, neither the number of domains (but of workloads 2 and 7) nor any task.

How they are made. Whole budgets are drawn whose bandwidths sum to U_RM; each domain gets back less
than a millisecond of its budget, so that rounding up finds that budget again and what was given
back sums to the overhead; the rest is split among the tasks. The paper's three decimals are met to
half a unit of the last.

Inputs: the number of the workload, a policy, a seed: the same seed gives the same system
everywhere. Result: a system with `sbf = "harmonic"`, a quantum of 1 ms and interfaces to be
computed. Errors: ValueError for a workload other than 1 to 7.
"""

from __future__ import annotations

import random
from fractions import Fraction

from hyperperiod.model.domain import Domain
from hyperperiod.model.policy import Policy
from hyperperiod.model.system import System
from hyperperiod.model.task import Task
from hyperperiod.model.words import Sbf

# Table I: U_RM and U_W in thousandths.
TABLE_1 = {
    1: (460, 378),
    2: (570, 511),
    3: (560, 481),
    4: (450, 389),
    5: (583, 537),
    6: (465, 426),
    7: (20, 3),
}
# Table II: the overhead of each domain of workload 2, in thousandths, by the domain's number.
TABLE_2 = {1: 35, 2: 0, 3: 6, 4: 2, 5: 12, 6: 4}

_CHAINS_MS = ((25, 50, 100, 200), (30, 60, 120, 240))
_NS_PER_MS = 1_000_000
_NS_PER_US = 1_000
_TRIES = 100_000


def arinc_workload(number: int, policy: Policy, *, seed: int = 1) -> System:
    """A system with the numbers that the paper prints of this workload."""
    if number not in TABLE_1:
        raise ValueError(f"workload {number}: the paper has 1 to 7")
    draw = random.Random(f"arinc:{number}:{seed}")
    periods_ms, budgets_ms = _interfaces(draw, number)
    back = _given_back(draw, number, periods_ms)
    domains = tuple(
        Domain(
            name=f"partition{index + 1}",
            pcpu=0,
            interface_period_ns=period * _NS_PER_MS,
            tasks=_tasks(draw, period, budget * _NS_PER_MS - int(given * period * _NS_PER_MS)),
        )
        for index, (period, budget, given) in enumerate(
            zip(periods_ms, budgets_ms, back, strict=True)
        )
    )
    return System(
        name=f"arinc-{number}",
        description=(
            f"Drawn to have the utilizations that the CSA paper prints of its ARINC-653 workload "
            f"{number} (seed {seed}); the tasks are not those of the paper, which are not public"
        ),
        policy=policy,
        quantum_ns=_NS_PER_MS,
        sbf=Sbf.HARMONIC,
        domains=domains,
    )


def _interfaces(draw: random.Random, number: int) -> tuple[list[int], list[int]]:
    """Periods and whole budgets in ms whose bandwidths sum to U_RM, as the table rounds it."""
    with_budgets, tasks = TABLE_1[number]
    for _ in range(_TRIES):
        chain = _CHAINS_MS[0] if number == 2 else draw.choice(_CHAINS_MS)
        if number == 7:
            periods = [draw.choice(chain)]
        elif number == 2:
            # What a domain gives back is below one millisecond of its period.
            periods = [
                draw.choice([p for p in chain if TABLE_2[domain] * p < 1000])
                for domain in sorted(TABLE_2)
            ]
        else:
            periods = [draw.choice(chain) for _ in range(draw.randint(4, 7))]
        budgets = [draw.randint(1, max(1, period // 5)) for period in periods]
        total = sum(Fraction(b, p) for b, p in zip(budgets, periods, strict=True))
        room = sum(Fraction(1, period) for period in periods)
        fits = abs(total - Fraction(with_budgets, 1000)) < Fraction(1, 2000)
        if fits and room > Fraction(with_budgets - tasks + 1, 1000):
            return periods, budgets
    raise AssertionError("the tables are met by many systems")


def _given_back(draw: random.Random, number: int, periods_ms: list[int]) -> list[Fraction]:
    """The overhead of each domain: together that of the table, each below 1 ms in its period."""
    if number == 2:
        return [Fraction(TABLE_2[domain], 1000) for domain in sorted(TABLE_2)]
    with_budgets, tasks = TABLE_1[number]
    overhead = Fraction(with_budgets - tasks, 1000)
    room = [Fraction(1, period) for period in periods_ms]
    shares = [part * overhead / sum(room) for part in room]
    for _ in range(4 * len(shares)):
        giver, taker = draw.randrange(len(shares)), draw.randrange(len(shares))
        share = min(shares[giver], (room[taker] - shares[taker]) * Fraction(9, 10))
        moved = share * draw.randint(0, 100) / 100
        shares[giver] -= moved
        shares[taker] += moved
    return shares


def _tasks(draw: random.Random, period_ms: int, asked_ns: int) -> tuple[Task, ...]:
    """One to four tasks that together ask for this much in every period of the interface."""
    factors = sorted(draw.choice([1, 2, 4]) for _ in range(draw.randint(0, 3)))
    tasks = []
    left_ns = asked_ns
    for factor in factors:
        share_ns = left_ns * draw.randint(10, 60) // 100
        wcet_ns = share_ns * factor // _NS_PER_US * _NS_PER_US
        if wcet_ns:
            left_ns -= wcet_ns // factor
            tasks.append((factor, wcet_ns))
    # What is left, to the nanosecond, is the last task's.
    tasks.append((1, left_ns))
    tasks.sort(key=lambda task: task[0])
    return tuple(
        Task(name=f"process{index + 1}", period_ns=factor * period_ms * _NS_PER_MS, wcet_ns=wcet_ns)
        for index, (factor, wcet_ns) in enumerate(tasks)
    )
