# SPDX-License-Identifier: BSD-2-Clause
"""The explicit-deadline periodic model: its supply, its interfaces, its use for servers."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest
from tests.analysis import plain
from tests.support.published_edp import EdpInterface, bandwidth_optimal, latest_deadline

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.model import Domain, Interface, Policy, Sbf, Scheduler, System, Task, parse_policy

LOCALS = {Local.FIXED_PRIORITY: plain.fixed_priority, Local.EDF: plain.edf}


def component(local: Local, loads: list[Load]) -> Component:
    return Component(local, tuple(NamedLoad(f"t{i}", load) for i, load in enumerate(loads)))


@pytest.mark.parametrize(
    ("period", "budget", "deadline"), [(4, 2, 2), (4, 2, 3), (5, 1, 3), (5, 3, 4)]
)
def test_the_supply_bound_is_the_least_of_all_placements(
    period: int, budget: int, deadline: int
) -> None:
    places = list(combinations(range(deadline), budget))
    supply = Supply(Shape.GENERAL, period, budget, deadline)
    least = [period * 3] * (3 * period + 1)
    for placed in product(places, repeat=3):
        slots = [tick % period in placed[tick // period] for tick in range(3 * period)]
        for first in range(period):
            for last in range(first, 3 * period + 1):
                least[last - first] = min(least[last - first], sum(slots[first:last]))
    for window in range(2 * period + 1):
        assert supply.sbf(window) == least[window], window
        assert supply.sbf(window) == _analysis.sbf(
            (Shape.GENERAL, period, budget, deadline), window
        )
    for amount in range(1, 2 * budget + 1):
        window = supply.time_for(amount)
        assert supply.sbf(window) == amount
        assert supply.sbf(window - 1) < amount


@pytest.mark.parametrize("local", list(LOCALS))
def test_verdicts_budgets_and_deadlines(local: Local) -> None:
    """All budgets and deadlines of small worlds; the interfaces are the best among them."""
    draw = random.Random(80)
    found = 0
    for _ in range(120):
        loads = plain.some_loads(draw, plain=draw.random() < 0.8)
        part = component(local, loads)
        period = draw.randint(2, 6)
        grid = {
            (budget, deadline): LOCALS[local](loads, Shape.GENERAL, period, budget, deadline)
            for budget in range(1, period + 1)
            for deadline in range(budget, period + 1)
        }
        for (budget, deadline), want in grid.items():
            verdict, _ = _analysis.judge(local, loads, (Shape.GENERAL, period, budget, deadline))
            if want is not None and verdict is not Verdict.UNKNOWN:
                assert (verdict is Verdict.HOLDS) == want, (loads, period, budget, deadline)
        if None in grid.values():
            continue
        good = [pair for pair, holds in grid.items() if holds]
        deadline = draw.randint(1, period)
        wanted = min((b for b, d in good if d == deadline), default=None)
        least_of = minimal_budget([part], Shape.GENERAL, period, 1, deadline)
        assert least_of.budget_ns == wanted
        best = bandwidth_optimal([part], period)
        if not good:
            assert best is None
            continue
        found += 1
        least = min(budget for budget, _ in good)
        latest = max(deadline for budget, deadline in good if budget == least)
        assert best is not None
        assert not best.exact or best == EdpInterface(period, least, latest)
    assert found > 20


def test_a_deadline_never_costs_bandwidth() -> None:
    """Against the periodic model, which is the one with the deadline at the period."""
    loads = [Load(3, 50, 50), Load(4, 60, 60)]
    part = component(Local.FIXED_PRIORITY, loads)
    best = bandwidth_optimal([part], 20)
    assert best is not None
    general = _analysis.minimal_budget(Local.FIXED_PRIORITY, loads, Shape.GENERAL, 20, 1)[0]
    assert general is not None
    assert best.budget_ns < general
    assert minimal_budget([part], Shape.GENERAL, 20, 1, 20).budget_ns == general
    assert fixed_priority(part, best.supply)[0].holds
    assert latest_deadline([part], 20, best.budget_ns - 1) == (None, True)


def test_supplies_that_make_no_sense_are_refused() -> None:
    for deadline in (1, 11):
        with pytest.raises(ValueError, match="deadline"):
            Supply(Shape.GENERAL, 10, 2, deadline)
        with pytest.raises(ValueError, match="deadline"):
            _analysis.judge(Local.EDF, [Load(1, 9, 9)], (Shape.GENERAL, 10, 2, deadline))
    with pytest.raises(ValueError, match="general"):
        Supply(Shape.POLLING, 10, 2, 5)
    with pytest.raises(ValueError, match="general"):
        _analysis.judge(Local.EDF, [Load(1, 9, 9)], (Shape.HARMONIC, 10, 2, 5))


def first_late_edf(tasks: list[tuple[int, Load]], ticks: int) -> tuple[list[int], int | None]:
    """Who runs in each tick of (offset, load) under EDF, and the first tick with a late job."""
    jobs: list[list[int]] = []
    ran: list[int] = []
    for now in range(ticks):
        for index, (offset, load) in enumerate(tasks):
            if now >= offset and (now - offset) % load.period == 0:
                jobs.append([now + load.deadline, index, load.wcet])
        jobs = [job for job in jobs if job[2]]
        if any(job[0] <= now for job in jobs):
            return ran, now
        jobs.sort()
        if jobs:
            jobs[0][2] -= 1
        ran.append(jobs[0][1] if jobs else -1)
    return ran, None


def test_a_child_handed_up_with_a_later_deadline_breaks_its_guarantee() -> None:
    """CARTS makes (period, budget, deadline) a task due period + deadline - budget later."""
    child = EdpInterface(4, 2, 2)
    inside = component(Local.EDF, [Load(1, 16, 3)])
    assert edf(inside, child.supply).holds
    other = Load(2, 16, 3)
    later = child.load._replace(deadline=4 + 2 - 2)
    whole = Supply(Shape.GENERAL, 1, 1)
    assert edf(component(Local.EDF, [later, other]), whole).holds
    ran, late = first_late_edf([(0, later), (4, other)], 16)
    assert late is None
    # The child's task comes at 2, has to be done by 5, and the child does not run before 6.
    assert ran[:8] == [0, 0, -1, -1, 1, 1, 0, 0]
    assert child.supply.sbf(3) == 1
    # With the deadline of the model the component above refuses what it cannot guarantee.
    assert edf(component(Local.EDF, [child.load, other]), whole).holds is False


def one_task(name: str, period: int, wcet: int, interface: Interface | int | None) -> Domain:
    given = (
        {"interface": interface}
        if isinstance(interface, Interface)
        else {"interface_period_ns": interface}
    )
    task = Task(name="t", period_ns=period, wcet_ns=wcet)
    return Domain(name=name, tasks=(task,), **given)


def two_domains(policy: str, sbf: Sbf) -> System:
    return System(
        name="two",
        policy=parse_policy(policy),
        sbf=sbf,
        domains=(
            one_task("high", 1000, 10, Interface(period_ns=100, budget_ns=20)),
            one_task("low", 480, 40, Interface(period_ns=200, budget_ns=40)),
        ),
    )


@pytest.mark.parametrize("policy", ["ptps", "wcps", "crps"])
def test_servers_whose_budget_comes_early(policy: str) -> None:
    """The response bound of the lower server is 60: its blackout 180, not 320."""
    general = analyze(two_domains(policy, Sbf.GENERAL))
    early = analyze(two_domains(policy, Sbf.EDP))
    assert [d.tasks[0].response_bound_ns for d in general.domains] == [170, 360]
    assert [d.tasks[0].response_bound_ns for d in early.domains] == [90, 220]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("ds", "not for deferrable"),
        ("polling", "not for polling"),
        ("periodic+edf", "no response bound of servers under edf"),
    ],
)
def test_refused_where_it_is_not_sound(policy: str, why: str) -> None:
    for entry in analyze(two_domains(policy, Sbf.EDP)).domains:
        assert entry.schedulable is None
        assert why in entry.reason


def test_refused_without_a_bound_from_the_host() -> None:
    crowded = System(
        name="crowded",
        policy=parse_policy("ptps"),
        sbf=Sbf.EDP,
        domains=(
            one_task("high", 1000, 10, Interface(period_ns=100, budget_ns=60)),
            one_task("low", 500, 20, Interface(period_ns=110, budget_ns=60)),
        ),
    )
    low = analyze(crowded).domains[1]
    assert low.schedulable is False
    assert low.tasks[0].schedulable is None
    assert "no response bound" in low.tasks[0].reason


def test_inner_servers_have_the_bound_of_the_test_around_them() -> None:
    inner = one_task("inner", 480, 20, Interface(period_ns=200, budget_ns=20))
    outer = Domain(
        name="outer",
        scheduler=Scheduler.RM,
        interface=Interface(period_ns=50, budget_ns=25),
        domains=(inner,),
    )
    for sbf, outer_bound, bound in ((Sbf.GENERAL, 70, 380), (Sbf.EDP, 45, 225)):
        system = System(name="deep", policy=parse_policy("ptps"), sbf=sbf, domains=(outer,))
        entry = analyze(system).domains[0]
        assert outer_bound == Supply(
            Shape.GENERAL, 50, 25, None if sbf is Sbf.GENERAL else 25
        ).time_for(20)
        assert entry.domains[0].tasks[0].response_bound_ns == bound


def smallest(system: System, index: int) -> int | None:
    """The least budget of one domain, trying all from 1, with the others as they are."""
    given = system.domains[index].interface
    assert given is not None
    for budget in range(1, given.budget_ns + 1):
        interface = Interface(period_ns=given.period_ns, budget_ns=budget)
        domains = list(system.domains)
        domains[index] = domains[index].replace(interface=interface)
        changed = system.replace(domains=tuple(domains))
        if analyze(changed).domains[index].schedulable:
            return budget
    return None


def test_computed_budgets_are_the_least_with_their_deadline() -> None:
    draw = random.Random(81)
    smaller = equal = 0
    for _ in range(60):
        periods = sorted(draw.choices([10, 14, 20, 30, 44], k=3))
        policy: Policy = parse_policy(draw.choice(["ptps", "wcps", "crps"]))
        domains = tuple(
            one_task(f"d{i}", draw.randint(3, 9) * period, draw.randint(1, period // 2), period)
            for i, period in enumerate(periods)
        )
        system = System(name="s", policy=policy, sbf=Sbf.EDP, domains=domains)
        if analyze(system).schedulable is not True:
            continue
        equal += len(set(periods)) < len(periods)
        trimmed = resolve(system)
        general = resolve(system.replace(sbf=Sbf.GENERAL))
        assert analyze(trimmed).schedulable is True
        for index, domain in enumerate(trimmed.domains):
            assert domain.interface is not None
            assert domain.interface.budget_ns == smallest(trimmed, index)
            before = general.domains[index].interface
            assert before is not None
            smaller += domain.interface.budget_ns < before.budget_ns
        assert all(verdict.holds for verdict in fp_response_time(groups_of(trimmed)[0]))
    assert smaller > 10
    assert equal > 5
