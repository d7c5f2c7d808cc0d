# SPDX-License-Identifier: BSD-2-Clause
"""Whether servers got their budgets, counted in the simulator: by hand, and once more naively.

The naive count knows a run from its trace. What servers have left and when their periods end it
takes from the replay of the oracle (tests/trace/oracle), which shares nothing with the core.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.drawn_runs import drawn_system, with_global_guests, with_moves
from tests.support.naive_periods import naive
from tests.support.rules import LOCAL
from tests.support.worlds import domain, run, system, task
from tests.support.worlds import server as interface

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.result import PeriodCount, RunPeriods
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read


def simulated(result: Any) -> list[RunPeriods | None]:
    """What the simulator has counted of each vcpu, or of a whole domain if its vcpus are alike."""
    return [one.periods for domain in result.domains for one in (domain.each_vcpu or (domain,))]


def expected(result: Any, counts: list[PeriodCount]) -> list[RunPeriods | None]:
    """The same of a naive count."""
    rest = iter(counts)
    found: list[RunPeriods | None] = []
    for one in result.domains:
        own = [next(rest) for _ in range(one.vcpus)]
        for each in [[one] for one in own] if one.each_vcpu else [own]:
            both = PeriodCount()
            for count in each:
                both |= count
            found.append(
                RunPeriods(
                    wanted=both.wanted,
                    short=both.short,
                    least_supply_ns=both.least_supply_ns if both.wanted else None,
                    latest_ns=both.latest_ns or None,
                )
            )
    return found


BUSY = task("t", kind="busy")


@pytest.mark.parametrize("policy", ["deferrable+fp+none", "polling+fp+none", "slice+fp+none"])
def test_an_overbooked_pcpu(policy: str) -> None:
    """a has 6 in 10 and runs in [0, 6) and [10, 16); b has [6, 10) and [16, 20) of 9 in 20."""
    a, b = domain("a", (6, 10), BUSY, priority=0), domain("b", (9, 20), BUSY, priority=1)
    found = simulated(run(system(policy, a, b), 100).result)
    assert found == [
        RunPeriods(wanted=10, short=0, least_supply_ns=6, latest_ns=6),
        RunPeriods(wanted=5, short=5, least_supply_ns=8, latest_ns=None),
    ]


def test_a_cbs_server_gets_its_budget_after_its_deadline() -> None:
    """Under cbs what is left at 20 is used in [26, 27): 7 late. The next period begins at 20 all
    the same, and has [27, 30) and [36, 40) by its end at 40: 2 are missing."""
    a, b = domain("a", (6, 10), BUSY, priority=0), domain("b", (9, 20), BUSY, priority=1)
    found = simulated(run(system("cbs+fp+none", a, b), 40).result)
    assert found[1] == RunPeriods(wanted=2, short=2, least_supply_ns=7, latest_ns=27)


def test_a_period_in_which_work_came_late_is_not_wanted() -> None:
    """Work that comes at 8 gets 2 of a budget of 4 in 10 by 10: no guarantee says it gets more."""
    late = domain("a", (4, 10), task("t", 100, 4, offset=8))
    (found,) = simulated(run(system("ds", late), 100).result)
    assert found == RunPeriods(wanted=0, short=0, least_supply_ns=None, latest_ns=None)


def test_no_periods_of_sporadic_servers_and_best_effort() -> None:
    sporadic, rest = domain("a", (4, 10), BUSY), domain("b", None, BUSY)
    assert simulated(run(system("sporadic+fp+none", sporadic, rest), 100).result) == [None, None]


@pytest.mark.parametrize("rules", LOCAL)
def test_a_guaranteed_server_is_never_short(rules: tuple[str, str, str]) -> None:
    """Harmonic periods, under edf with all of the pcpu; all want everything all the time."""
    budgets = ((2, 10), (4, 20), (12, 40)) if rules[1] != "edf" else ((3, 10), (8, 20), (12, 40))
    domains = [domain(f"d{place}", own, BUSY, priority=place) for place, own in enumerate(budgets)]
    one = system("+".join(rules), *domains, spare=interface(1, 40))
    assert Analysis(one).result().pcpus[0].schedulable is not False
    found = [periods for periods in simulated(run(one, 400).result) if periods is not None]
    assert all(periods.wanted > 5 and periods.short == 0 for periods in found)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("draw_it", [drawn_system, with_moves, with_global_guests])
def test_the_count_is_that_of_the_trace(draw_it: Any, seed: int, tmp_path: Path) -> None:
    draw = random.Random(f"periods {draw_it.__name__} {seed}")
    one, horizon_ns = draw_it(seed, draw)
    result = simulate(one, horizon_ns, seed, tmp_path / "run.hpt")
    wanted = expected(result, naive(*read(tmp_path / "run.hpt")))
    found = simulated(result)
    assert [a if a is None else b for a, b in zip(found, wanted, strict=True)] == found
