# SPDX-License-Identifier: BSD-2-Clause
"""Whether servers got their budgets, counted in the simulator: by hand, and once more naively.

The naive count is that of the naive model, which follows a trace and shares nothing with the core.
"""

import random
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.naive_periods import agree, in_simulator, naive
from tests.support.random_systems import random_system, step_of
from tests.support.rules import LOCAL
from tests.support.worlds import domain, run, system, task
from tests.support.worlds import server as interface

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.result import RunPeriods
from hyperperiod.model import Change, Overheads, Scope, Stolen, System, TaskKind, vcpus_of
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read

BUSY = task("t", kind="busy")


@pytest.mark.parametrize("policy", ["deferrable+fp+none", "polling+fp+none", "slice+fp+none"])
def test_an_overbooked_pcpu(policy: str) -> None:
    """a has 6 in 10 and runs in [0, 6) and [10, 16); b has [6, 10) and [16, 20) of 9 in 20."""
    a, b = domain("a", (6, 10), BUSY, priority=0), domain("b", (9, 20), BUSY, priority=1)
    found = in_simulator(run(system(policy, a, b), 100).result)
    assert found == [
        RunPeriods(wanted=10, short=0, least_supply_ns=6, latest_ns=6),
        RunPeriods(wanted=5, short=5, least_supply_ns=8, latest_ns=None),
    ]


def test_a_cbs_server_gets_its_budget_after_its_deadline() -> None:
    """Under cbs what is left at 20 is used in [26, 27): 7 late. The next period begins at 20 all
    the same, and has [27, 30) and [36, 40) by its end at 40: 2 are missing."""
    a, b = domain("a", (6, 10), BUSY, priority=0), domain("b", (9, 20), BUSY, priority=1)
    found = in_simulator(run(system("cbs+fp+none", a, b), 40).result)
    assert found[1] == RunPeriods(wanted=2, short=2, least_supply_ns=7, latest_ns=27)


def test_a_period_in_which_work_came_late_is_not_wanted() -> None:
    """Work that comes at 8 gets 2 of a budget of 4 in 10 by 10: no guarantee says it gets more."""
    late = domain("a", (4, 10), task("t", 100, 4, offset=8))
    (found,) = in_simulator(run(system("ds", late), 100).result)
    assert found == RunPeriods(wanted=0, short=0, least_supply_ns=None, latest_ns=None)


def test_only_under_cbs_is_a_budget_used_up_after_its_period() -> None:
    """The pick at 150 takes 30 and spans the deadline at 200: what b has then is another budget."""
    c = domain("c", (5, 1000), task("t", 1000, 1, offset=150), priority=0)
    b = domain("b", (175, 200), BUSY, priority=1)
    for policy in ("ds", "polling+fp+none", "slice+fp+none", "periodic+fp+none"):
        one = system(policy, c, b, overheads=Overheads(pick_ns=30))
        found = run(one, 208)
        agree(found.result, naive(found.header, found.records, 1))


@pytest.mark.parametrize("offset", [87, 88])
def test_a_period_that_is_over_when_it_begins_had_nothing(offset: int) -> None:
    """v has used up its budget at 87 or 88, after periods of 4 that nothing was left for."""
    h = domain("h", (84, 200), task("t", 200, 84, offset=2), priority=0)
    v = domain("v", (3, 4), BUSY, priority=1)
    w = domain("w", (1, 500), task("t", 500, 1, offset=offset), priority=2)
    found = run(system("cbs+fp+none", h, v, w), 90)
    counts = naive(found.header, found.records, 1)
    agree(found.result, counts)
    assert counts[1].least_supply_ns == 0


def test_no_periods_of_sporadic_servers_and_best_effort() -> None:
    sporadic, rest = domain("a", (4, 10), BUSY), domain("b", None, BUSY)
    assert in_simulator(run(system("sporadic+fp+none", sporadic, rest), 100).result) == [None, None]


@pytest.mark.parametrize("rules", LOCAL)
def test_a_guaranteed_server_is_never_short(rules: tuple[str, str, str]) -> None:
    """Harmonic periods, under edf with all of the pcpu; all want everything all the time."""
    budgets = ((2, 10), (4, 20), (12, 40)) if rules[1] != "edf" else ((3, 10), (8, 20), (12, 40))
    domains = [domain(f"d{place}", own, BUSY, priority=place) for place, own in enumerate(budgets)]
    one = system("+".join(rules), *domains, spare=interface(1, 40))
    assert Analysis(one).result().pcpus[0].schedulable is not False
    found = [periods for periods in in_simulator(run(one, 400).result) if periods is not None]
    assert all(periods.wanted > 5 and periods.short == 0 for periods in found)


def at_ticks(seed: int) -> System:
    """A drawn system in which everything happens at ticks: swaps, thefts, moves, late picks."""
    draw = random.Random(f"periods {seed}")
    drawn = random_system(seed)
    tick_ns = tick_of(drawn)
    domains = tuple(
        domain.replace(
            tasks=tuple(
                one.replace(
                    etf=Fraction(1),
                    jitter_ns=0,
                    kind=TaskKind.PERIODIC if one.kind is TaskKind.SPORADIC else one.kind,
                )
                for one in domain.tasks
            )
        )
        for domain in drawn.domains
    )
    step_ns = step_of(drawn)
    thefts = (Stolen(period_ns=draw.randint(5, 30) * step_ns, duration_ns=2 * step_ns),)
    moves = tuple(
        Change(at_ns=at * step_ns, domain=draw.choice(vcpus_of(drawn)).name, pcpu=pcpu)
        for at in draw.sample(range(60), draw.randint(1, 5))
        for pcpu in [draw.randrange(drawn.pcpus)]
    )
    costs = {name: draw.randrange(3) * tick_ns for name in ("pick_ns", "wake_ns", "replenish_ns")}
    is_local = drawn.policy.scope is Scope.PARTITIONED
    return drawn.replace(
        overheads=Overheads(**costs) if draw.random() < 0.3 else Overheads(),
        domains=domains,
        stolen=thefts if draw.random() < 0.3 else (),
        changes=moves if is_local and draw.random() < 0.5 else drawn.changes,
    )


def tick_of(system: System) -> int:
    return step_of(system) // 10


# The last ones: budgets that are used up when a later period, or the run, is over already.
@pytest.mark.parametrize("seed", [*range(50), 58, 203, 526, 559, 676, 678, 736, 737, 939, 1032])
def test_the_count_is_that_of_the_naive_model(seed: int, tmp_path: Path) -> None:
    one = at_ticks(seed)
    result = simulate(one, 60 * step_of(one), seed, tmp_path / "run.hpt")
    agree(result, naive(*read(tmp_path / "run.hpt"), tick_of(one)))
