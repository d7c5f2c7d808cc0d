# SPDX-License-Identifier: BSD-2-Clause
"""Sensitivity against trying every value: the last that holds, and none beyond."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from tests.analysis import plain

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis import analyze
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.component_sensitivity import component_sensitivity, scaled
from hyperperiod.analysis.domains.domain_level import SupplyContract
from hyperperiod.analysis.domains.domain_sensitivity import (
    domain_result,
    domain_sensitivity,
    task_result,
)
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU, Supply
from hyperperiod.model import (
    Budget,
    Domain,
    Interface,
    Overheads,
    Sbf,
    Scheduler,
    System,
    Task,
    TaskKind,
    parse_policy,
)

MS = 1_000_000
PLAIN: dict[Local, Callable[[list[Load], Shape, int, int], bool | None]] = {
    Local.FIXED_PRIORITY: plain.fixed_priority,
    Local.EDF: plain.edf,
}


def component(local: Local, loads: list[Load]) -> Component:
    return Component(local, tuple(NamedLoad(f"t{i}", load) for i, load in enumerate(loads)))


def some_world(draw: random.Random) -> tuple[list[Load], Supply]:
    loads = [load._replace(wcet=min(load.wcet, 3)) for load in plain.some_loads(draw)][:3]
    shape = draw.choice([Shape.GENERAL, Shape.POLLING])
    period = draw.randint(1, 5)
    if draw.random() < 0.3:
        return loads, WHOLE_PCPU
    return loads, Supply(shape, period, draw.randint((period + 1) // 2, period))


@pytest.mark.parametrize("local", list(PLAIN))
@pytest.mark.parametrize("worlds", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_last_value_that_holds(local: Local, worlds: int) -> None:
    """What is told of each wcet, of the factor and of EDF deadlines holds, and no more does."""
    draw = random.Random(41)
    confirmed = 0
    for _ in range(worlds):
        loads, supply = some_world(draw)
        found = component_sensitivity(component(local, loads), supply)
        assert found is not None

        def holds(these: list[Load], on: Supply = supply) -> bool | None:
            return PLAIN[local](these, on.shape, on.period_ns, on.budget_ns)

        if not found.exact or holds(loads) is None:
            continue
        for index, task in enumerate(found.tasks):
            assert task.exact
            best = task.largest_wcet_ns or 0
            for wcet in (best, best + 1):
                moved = [*loads]
                moved[index] = moved[index]._replace(wcet=wcet)
                want = holds(moved) if wcet else None
                assert want in (None, wcet == best), (loads, supply, index, task)
            if local is Local.EDF and task.slack_ns is not None:
                shortest = loads[index].deadline - task.slack_ns
                for deadline in (shortest, shortest - 1):
                    moved = [*loads]
                    moved[index] = moved[index]._replace(deadline=deadline)
                    if deadline:
                        assert holds(moved) is (deadline == shortest), (loads, supply, index)
        if found.factor is not None:
            confirmed += 1
            assert holds(scaled(loads, found.factor)) is not False
            assert not holds(scaled(loads, found.factor + Fraction(1, 10**6)))
    assert confirmed > worlds / 3


def test_slack_is_what_the_bound_leaves() -> None:
    loads = [Load(3, 7, 7), Load(3, 12, 12), Load(5, 20, 20)]
    found = component_sensitivity(component(Local.FIXED_PRIORITY, loads))
    assert found is not None
    assert [task.slack_ns for task in found.tasks] == [4, 6, 0]
    assert [task.largest_wcet_ns for task in found.tasks] == [3, 3, 5]
    assert found.factor == 1
    found = component_sensitivity(component(Local.EDF, [Load(2, 10, 5), Load(3, 10, 10)]))
    assert found is not None
    assert [task.largest_wcet_ns for task in found.tasks] == [5, 8]
    assert [task.slack_ns for task in found.tasks] == [3, 7]
    assert found.factor == 2


def test_too_much_work_is_told_how_far_to_shrink() -> None:
    found = component_sensitivity(component(Local.FIXED_PRIORITY, [Load(4, 8, 8), Load(8, 16, 15)]))
    assert found is not None
    assert [task.largest_wcet_ns for task in found.tasks] == [3, 7]
    assert found.tasks[1].slack_ns is None
    assert found.factor == Fraction(7, 8)


def task(name: str, wcet_ms: int, period_ms: int, **more: object) -> Task:
    return Task.of({"name": name, "wcet_ns": wcet_ms * MS, "period_ns": period_ms * MS, **more})


def domain(*tasks: Task, budget_ms: int = 5, **more: object) -> Domain:
    interface = Interface(period_ns=10 * MS, budget_ns=budget_ms * MS)
    return Domain.of({"name": "d", "task": tasks, "interface": interface, **more})


PERIODIC = SupplyContract(Budget.PERIODIC, Sbf.GENERAL)


def test_a_domain_can_give_back_budget() -> None:
    """Nothing for 10, then 5, in every 10: a task of 4 due at 40 needs 2 (16 without, 8 more)."""
    found = domain_sensitivity(domain(task("t", 4, 40)), PERIODIC)
    assert found is not None
    entry = domain_result(found)
    assert found.tasks["t"].largest_wcet_ns == 15 * MS
    assert found.tasks["t"].slack_ns == 26 * MS
    assert found.factor == Fraction(15, 4)
    least_ns = entry.least_budget_ns
    assert least_ns is not None
    assert Supply(Shape.GENERAL, 10 * MS, least_ns).sbf(40 * MS) >= 4 * MS
    assert Supply(Shape.GENERAL, 10 * MS, least_ns - 1).sbf(40 * MS) < 4 * MS
    assert entry.spare_budget_ns == 5 * MS - least_ns
    whole = domain_sensitivity(domain(task("t", 4, 40)), PERIODIC, MS)
    assert whole is not None
    assert whole.least_budget_ns == -(-least_ns // MS) * MS
    shown = task_result(found.tasks["t"], 40 * MS)
    assert shown.to_dict() == {
        "shortest_deadline_ns": 14 * MS,
        "slack_ns": 26 * MS,
        "largest_wcet_ns": 15 * MS,
        "extra_wcet_ns": 11 * MS,
        "exact": True,
    }


def test_what_overheads_take_is_kept() -> None:
    plain_one = domain_sensitivity(domain(task("t", 4, 40)), PERIODIC)
    lossy = domain_sensitivity(
        domain(task("t", 4, 40)), SupplyContract(Budget.PERIODIC, Sbf.GENERAL, 100_000)
    )
    assert plain_one is not None
    assert lossy is not None
    assert plain_one.least_budget_ns is not None
    assert lossy.least_budget_ns == plain_one.least_budget_ns + 100_000
    assert (lossy.factor or 9) < (plain_one.factor or 0)


def test_no_test_no_sensitivity() -> None:
    busy = Task(name="hog", kind=TaskKind.BUSY, priority=0)
    low = task("t", 4, 40, priority=1)
    assert domain_sensitivity(domain(busy, low, scheduler=Scheduler.FP), PERIODIC) is None
    only = domain(task("t", 4, 40))
    assert domain_sensitivity(only, SupplyContract(Budget.POLLING, Sbf.HARMONIC)) is None


def test_several_vcpus_and_fifo() -> None:
    two = domain(
        task("a", 2, 40, vcpu=0), task("b", 4, 40, vcpu=1), vcpus=2, scheduler=Scheduler.FIFO
    )
    found = domain_sensitivity(two, PERIODIC)
    assert found is not None
    assert list(found.tasks) == ["a", "b"]
    assert found.factor == Fraction(15, 4)


def test_many_tasks_in_short_time() -> None:
    """Fifty tasks with unlike periods: some hundred tests for each."""
    loads = [Load(1000 + 7 * i, 1_000_003 + 17_977 * i, 1_000_003 + 17_977 * i) for i in range(50)]
    for local in (Local.FIXED_PRIORITY, Local.EDF):
        found = component_sensitivity(
            component(local, loads), Supply(Shape.GENERAL, 20_000, 15_000)
        )
        assert found is not None
        assert found.exact
        assert found.factor is not None
        assert found.factor > 1


def test_many_loads_at_the_edge_take_seconds_not_minutes() -> None:
    """The searches share what they may spend, however close to the bandwidth the utilization is."""
    draw = random.Random(3)
    periods = [draw.randrange(10**7, 10**9) | 1 for _ in range(60)]
    loads = [Load(max(1, period * 93 // 6000), period, period) for period in periods]
    component = Component(
        Local.EDF, tuple(NamedLoad(f"t{i}", load) for i, load in enumerate(loads))
    )
    found = component_sensitivity(component, Supply(Shape.GENERAL, 10**7, 9_320_000))
    assert found is not None
    assert all(task.largest_wcet_ns is not None for task in found.tasks)


def test_smaller_budgets_are_used_up_more_often() -> None:
    """On shared pcpus each of them is an event under extra time: 91 us would lose too much."""

    def with_budget(budget_ns: int) -> System:
        work = Task(name="t", wcet_ns=67_000, period_ns=684_000)
        given = Interface(period_ns=294_000, budget_ns=budget_ns)
        policy, cost = parse_policy("deferrable+fp+extra+global"), Overheads(pick_ns=1_000)
        one = Domain(name="d", extra=True, tasks=(work,), interface=given)
        return System(name="one", policy=policy, pcpus=2, overheads=cost, domains=(one,))

    told = analyze(with_budget(127_000), sensitivity=True).domains[0].sensitivity
    assert told
    least_ns = told.least_budget_ns
    assert least_ns is not None
    assert told.exact
    assert analyze(with_budget(least_ns)).schedulable is True
    assert analyze(with_budget(least_ns - 1)).schedulable is None
