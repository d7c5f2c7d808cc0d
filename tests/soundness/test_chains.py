# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for items that are later than their bound after many hops on one vcpu.

Where an item goes on from task to task of one vcpu, the vcpu runs out of work and gets some at one
instant. Budget rules that act on arrivals, and overheads that are paid for at each pick, notice
that; a bound that takes all hops for one stretch of work must not. One flow of 5 to 30 hops through
one vcpu, beside one or two servers whose jobs preempt it. The adversary places the item and these
jobs (when each comes and how long it is) by local search, so that hops end just after a preemption,
at refills and at deadlines. Overheads in two systems of five.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.support.campaign import Trial, climb, hunt, sizes
from tests.support.chain_worlds import KNOWN, draw_system, known_chain, wakes_of_hops
from tests.support.executor_worlds import with_executors
from tests.support.flow_attack import analysis_of

from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.model import System, Task, TaskKind
from hyperperiod.runs import simulate

MOST_HORIZON = 60_000


class Placed(NamedTuple):
    """When the item comes; and when each job beside it comes, and how long it is."""

    source: int
    jobs: tuple[tuple[int, int], ...]


def placement_of(one: System) -> Placed:
    jobs = tuple((each.offset_ns, each.wcet_ns or 1) for each in _jobs_of(one))
    return Placed(one.flows[0].source.offset_ns, jobs)


def _jobs_of(one: System) -> list[Task]:
    return [t for each in one.domains for t in each.tasks if t.kind is not TaskKind.EVENT]


def placed(one: System, where: Placed) -> System:
    """The system with its item and jobs where they are to be; no bound depends on that."""
    jobs = iter(where.jobs)

    def moved(member: Task) -> Task:
        if member.kind is TaskKind.EVENT:
            return member
        offset, wcet = next(jobs)
        return member.replace(offset_ns=offset, wcet_ns=wcet)

    domains = tuple(
        each.replace(tasks=tuple(moved(member) for member in each.tasks)) for each in one.domains
    )
    flow = one.flows[0]
    source = flow.source.replace(offset_ns=where.source)
    return one.replace(domains=domains, flows=(flow.replace(source=source),))


def around(where: Placed, scale: int) -> Iterator[Placed]:
    for step in (-5 * scale, -scale, -1, 1, scale, 5 * scale):
        if where.source + step >= 0:
            yield where._replace(source=where.source + step)
        for number, (offset, wcet) in enumerate(where.jobs):
            rest = where.jobs[:number], where.jobs[number + 1 :]
            for job in ((offset + step, wcet), (offset, wcet + step)):
                if job[0] >= 0 and job[1] > 0:
                    yield where._replace(jobs=(*rest[0], job, *rest[1]))


def lateness(one: System, found: FlowAnalysis, where: Placed) -> tuple[int, str]:
    """The response in millionths of its bound, and what broke the bound."""
    judged = found.flows[0]
    assert judged.bound_ns is not None
    horizon = where.source + judged.bound_ns + 1
    response = simulate(placed(one, where), horizon, 1).flows[0].response_ns
    if response is None:
        return 0, f"not done by its bound of {judged.bound_ns}"
    return 1_000_000 * response.max // judged.bound_ns, ""


def attack(one: System, found: FlowAnalysis, rng: random.Random, starts: int, steps: int) -> str:
    """What was broken, and how; empty: nothing."""
    scale = 40 if any(vars(one.overheads).values()) else 1
    for _ in range(starts):
        here = placement_of(one)
        jobs = tuple((rng.randint(0, here.source + 200 * scale), wcet) for _, wcet in here.jobs)
        here = here._replace(jobs=jobs)
        here, _ = climb(
            here,
            lambda where: around(where, scale),
            lambda where: lateness(one, found, where)[0],
            steps,
        )
        for where in (here, *around(here, scale)):
            _, broken = lateness(one, found, where)
            if broken:
                return f"{broken}: {where} of {one!r}"
    return ""


def trial(rng: random.Random) -> Trial:
    return attacked(rng, draw_system(rng))


def attacked(rng: random.Random, one: System) -> Trial:
    """The trial of one system."""
    found = analysis_of(one)
    bound_ns = found.flows[0].bound_ns
    if bound_ns is None or bound_ns > MOST_HORIZON:
        return Trial(accepted=False)
    return Trial(accepted=True, counterexample=attack(one, found, rng, 1, 4))


@sizes(50)
def test_no_item_is_later_after_many_hops(systems: int) -> None:
    hunt("chains", systems, trial, least_accepted=0.2)


@sizes(20)
def test_no_item_is_later_after_many_callbacks(systems: int) -> None:
    def executors(rng: random.Random) -> Trial:
        return attacked(rng, with_executors(rng, draw_system(rng)))

    hunt("executor chains", systems, executors, least_accepted=0.2)


@pytest.mark.parametrize("policy", KNOWN)
def test_a_chain_that_no_single_window_bounds(policy: str) -> None:
    one, response = known_chain(policy), KNOWN[policy][-1]
    seen = simulate(one, 10_000, 1).flows[0].response_ns
    assert seen is not None
    assert seen.max == response
    bound_ns = analysis_of(one).flows[0].bound_ns
    assert bound_ns is not None
    assert bound_ns >= response


def test_wakes_of_hops_are_paid_for() -> None:
    one = wakes_of_hops()
    seen = simulate(one, 10**9, 1).flows[0]
    assert seen.response_ns is not None
    assert seen.response_ns.max == 1_995_000
    bound_ns = analysis_of(one).flows[0].bound_ns
    assert bound_ns is not None
    assert bound_ns >= 1_995_000
