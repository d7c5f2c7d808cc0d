# SPDX-License-Identifier: BSD-2-Clause
"""On small systems with several vcpus a domain `fit` finds what trying everything finds.

Trying everything: each task that names no vcpu on each vcpu of its domain, each vcpu with each
interface whose budget is the least of the grid for its tasks, on each pcpu; in order of bandwidth,
until `analyze` proves one that has what is wished. What `fit` returns is analysed and simulated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest
from tests.fit.brute import MS, least_budget

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit.answer import Fitted, Options
from hyperperiod.analysis.fit.fit import fit, with_bound_guests
from hyperperiod.analysis.fit.fit_result import FitResult
from hyperperiod.analysis.fit.result import result_of
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    Scheduler,
    Scope,
    System,
    Task,
    vcpus_of,
)
from hyperperiod.model.own_vcpu import OwnVcpu
from hyperperiod.model.vcpus import bandwidth_of
from hyperperiod.model.write import to_toml
from hyperperiod.runs import simulate

PERIODS = (2 * MS, 4 * MS)
GRID = MS
POLICIES = ("ptps", "periodic+edf", "ds", "deferrable+edf", "polling", "periodic+edf+none+global")
BASE = Options(periods=PERIODS, step_ns=GRID, limit_s=60.0)
NOTHING = OwnVcpu(best_effort=True)


def drawn(seed: int) -> System:
    """A domain of two vcpus with up to four tasks, some of them pinned, and mostly another one."""
    draw = random.Random(f"fit vcpus {seed}")
    policy = POLICIES[seed % len(POLICIES)]
    pcpus = draw.choice((2, 2, 3))
    many = {
        "name": "many",
        "scheduler": draw.choice(("rm", "edf")),
        "vcpus": 2,
        "task": [_task(draw, f"t{n}", vcpus=2) for n in range(draw.randint(2, 4))],
    }
    kind = draw.random()
    if kind < 0.3:
        many["vcpu"] = [_vcpu(draw, pcpus, policy) for _ in range(2)]
    if "global" not in policy and draw.random() < 0.5:
        many[draw.choice(("spread", "together"))] = True
    domains = [many]
    if draw.random() < 0.8:
        other: dict[str, Any] = {"name": "other", "task": [_task(draw, "u", vcpus=1)]}
        if draw.random() < 0.4:
            other["apart"] = ["many"]
        domains.append(other)
    system: dict[str, Any] = {"name": f"drawn-{seed}", "policy": policy, "pcpus": pcpus}
    if "global" not in policy and draw.random() < 0.3:
        system["reserved"] = [draw.randrange(pcpus)]
    try:
        return System.of({**system, "domain": domains})
    except InputError:
        return drawn(seed + 100_000)


def _task(draw: random.Random, name: str, *, vcpus: int) -> dict[str, Any]:
    period = draw.choice((6, 8, 10, 12, 20))
    wcet = draw.randint(1, max(1, period // 4)) * draw.choice((1, 2))
    task: dict[str, Any] = {"name": name, "period": f"{period}ms", "wcet": f"{min(wcet, period)}ms"}
    if vcpus > 1 and draw.random() < 0.4:
        task["vcpu"] = draw.randrange(vcpus)
    return task


def _vcpu(draw: random.Random, pcpus: int, policy: str) -> dict[str, Any]:
    vcpu: dict[str, Any] = {}
    if "global" not in policy and draw.random() < 0.4:
        vcpu["pcpu"] = draw.randrange(pcpus)
    if draw.random() < 0.3:
        period = draw.choice((2, 3, 4))
        vcpu["interface"] = {"period": f"{period}ms", "budget": f"{period - 1}ms"}
    return vcpu


def wished(system: System) -> bool:
    """Whether the pcpus are as the system asks for them."""
    if system.policy.scope is Scope.GLOBAL:
        return True
    homes = {
        domain.name: [vcpu.pcpu for vcpu in vcpus_of(system) if vcpu.domain is domain]
        for domain in system.domains
    }
    return all(
        (not domain.spread or len(set(homes[domain.name])) == len(homes[domain.name]))
        and (not domain.together or len(set(homes[domain.name])) <= 1)
        and all(not set(homes[domain.name]) & set(homes[name]) for name in domain.apart)
        for domain in system.domains
    )


def complete(system: System) -> Iterator[tuple[Fraction, System]]:
    """Every complete system with its bandwidth, all tasks placed."""
    places = [
        [range(domain.vcpus) if task.vcpu is None else [task.vcpu] for task in domain.tasks]
        for domain in system.domains
    ]
    for chosen in product(*(product(*one) for one in places)):
        options = [
            list(_domains(system, domain, vcpus))
            for domain, vcpus in zip(system.domains, chosen, strict=True)
        ]
        for domains in product(*options):
            yield (
                sum((width for width, _ in domains), Fraction(0)),
                system.replace(domains=tuple(domain for _, domain in domains)),
            )


def _domains(
    system: System, domain: Domain, vcpus: tuple[int, ...]
) -> Iterator[tuple[Fraction, Domain]]:
    """The domain with its tasks on these vcpus, and all that each vcpu may be given."""
    each = []
    for number, keys in enumerate(domain.each_vcpu):
        tasks = tuple(t for t, vcpu in zip(domain.tasks, vcpus, strict=True) if vcpu == number)
        pins: list[int | None] = [keys.pcpu]
        if system.policy.scope is Scope.PARTITIONED and keys.pcpu is None:
            pins = [pcpu for pcpu in range(system.pcpus) if pcpu not in system.reserved]
        if keys.interface is not None:
            found = [keys.interface]
        elif tasks:
            found = list(_interfaces(str(system.policy), domain.scheduler.value, tasks))
        else:
            each.append([NOTHING.replace(pcpu=pin) for pin in pins])
            continue
        each.append([OwnVcpu(pcpu=pin, interface=one) for one in found for pin in pins])
    placed = tuple(
        task.replace(vcpu=vcpu if domain.vcpus > 1 else None)
        for task, vcpu in zip(domain.tasks, vcpus, strict=True)
    )
    for own in product(*each):
        made = domain.replace(own_vcpus=own, tasks=placed, pcpu=None)
        yield bandwidth_of(made), made


@cache
def _interfaces(policy: str, scheduler: str, tasks: tuple[Task, ...]) -> tuple[Interface, ...]:
    alone = System.of({"name": "alone", "policy": policy, "domain": [ANY]})
    domain = alone.domains[0].replace(
        scheduler=type(alone.domains[0].scheduler)(scheduler),
        tasks=tuple(task.replace(vcpu=None) for task in tasks),
    )
    found = (
        (period_ns, least_budget(alone, domain, period_ns, GRID))
        for period_ns in range(PERIODS[0], PERIODS[1] + 1, GRID)
    )
    return tuple(Interface(period_ns=p, budget_ns=b) for p, b in found if b is not None)


ANY = {"name": "any", "task": [{"name": "t", "period": "1s", "wcet": "1ms"}]}


def best(system: System) -> Fraction | None:
    """The least bandwidth of all complete systems that hold, or None if none does."""
    every = sorted(complete(system), key=lambda pair: pair[0])
    return next(
        (
            width
            for width, one in every
            if width <= one.pcpus and wished(one) and analyze(one).schedulable is True
        ),
        None,
    )


def check_sound(system: System, fitted: Fitted) -> None:
    """What was given is kept, what was wished is there, and no run misses a deadline."""
    found = fitted.system
    if found is None:
        return
    assert analyze(found).schedulable is True
    assert wished(found)
    for before, after in zip(vcpus_of(system), vcpus_of(found), strict=True):
        assert before.interface in (None, after.interface)
        assert before.pcpu in (None, after.pcpu)
        if before.pcpu is None:
            assert after.pcpu not in system.reserved
    for one, other in zip(system.domains, found.domains, strict=True):
        for task, placed in zip(one.tasks, other.tasks, strict=True):
            assert task.vcpu in (None, placed.vcpu)
            assert task.replace(vcpu=placed.vcpu) == placed
            assert one.vcpus == 1 or placed.vcpu is not None
    result = simulate(found, horizon_ns=240 * MS, seed=3)
    assert all(task.misses == 0 for domain in result.domains for task in domain.tasks)


def read_again(found: System) -> System:
    """The system from the file that is written of it."""
    import tomllib

    return System.of(tomllib.loads(to_toml(found)))


@pytest.mark.parametrize(
    "seed", [*range(24), *(pytest.param(n, marks=pytest.mark.slow) for n in range(24, 400))]
)
def test_the_best_of_everything_is_found(seed: int) -> None:
    system = drawn(seed)
    fitted = fit(system, BASE)
    check_sound(system, fitted)
    expected = best(system)
    if expected is None:
        assert fitted.status in ("infeasible", "not found"), fitted.reason
        return
    assert fitted.system is not None, fitted.reason
    width = sum((bandwidth_of(domain) for domain in fitted.system.domains), Fraction(0))
    assert abs(width - expected) <= Fraction(1, 10**8)
    assert fitted.status == "optimal"
    assert read_again(fitted.system) == fitted.system


@pytest.mark.parametrize("seed", range(24))
def test_heuristics_alone_are_sound_and_never_better(seed: int) -> None:
    system = drawn(seed)
    quick, whole = fit(system, replace(BASE, solver=False)), fit(system, BASE)
    check_sound(system, quick)
    if quick.system is not None:
        assert whole.system is not None
        widths = [
            sum((bandwidth_of(domain) for domain in one.domains), Fraction(0))
            for one in (quick.system, whole.system)
        ]
        assert widths[0] >= widths[1]


def many_tasks(tasks: int, **keys: Any) -> System:
    each = [
        {"name": f"t{n}", "period": f"{10 + 2 * n}ms", "wcet": f"{600 + 50 * n}us"}
        for n in range(tasks)
    ]
    domain = {"name": "linux", "vcpus": 4, "task": each, **keys}
    return System.of({"name": "s", "policy": "ptps", "pcpus": 4, "domain": [domain]})


def test_many_tasks_are_placed_by_rule_and_by_steps() -> None:
    system = many_tasks(14, spread=True)
    fitted = fit(system, Options(solver=False, limit_s=2.0))
    assert fitted.status == "fitted"
    check_sound(system, fitted)


def test_an_interrupted_search_leaves_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from hyperperiod.analysis.fit import fit as module

    run, calls = module._Fit.run, []

    def interrupted(one: Any) -> Fitted:
        calls.append(one)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(one)

    monkeypatch.setattr(module._Fit, "run", interrupted)
    system = many_tasks(3)
    fitted = fit(system, BASE)
    assert fitted.interrupted
    assert fitted.status == "fitted"
    check_sound(system, fitted)


def test_guests_whose_jobs_move_get_interfaces_and_pcpus() -> None:
    system = many_tasks(8, scheduler="gedf", spread=True)
    fitted = fit(system, Options(limit_s=20.0))
    assert result_of(fitted).asked.time_limit_s == 20.0
    assert fitted.status == "fitted"
    assert fitted.system is not None
    assert sorted(vcpu.pcpu or 0 for vcpu in vcpus_of(fitted.system)) == [0, 1, 2, 3]
    assert analyze(fitted.system).schedulable is True


def test_the_result_has_a_row_for_each_vcpu() -> None:
    fitted = fit(many_tasks(4), Options(least=Least.OVERHEAD, solver=False))
    result = result_of(fitted)
    assert isinstance(result, FitResult)
    assert {row.name for row in result.domains} <= {f"linux.{n}" for n in range(4)}
    assert result.bandwidth.found is not None


def test_nothing_goes_to_a_reserved_pcpu() -> None:
    system = many_tasks(4).replace(reserved=(0, 1, 2, 3))
    fitted = fit(system, Options(solver=False))
    assert fitted.status == "infeasible"
    assert "reserved" in fitted.reason


def spread_beside(**keys: Any) -> System:
    """A guest of three vcpus on different pcpus with work for one, and another away from it."""
    tasks = [{"name": "t", "period": "40ms", "wcet": "4ms"}]
    guest = {"name": "guest", "vcpus": 3, "spread": True, "task": tasks}
    other = {"name": "other", "apart": ["guest"], "task": tasks}
    return System.of({"name": "s", "policy": "ptps", "domain": [guest, other], **keys})


def test_vcpus_without_work_keep_to_the_wishes() -> None:
    none = fit(spread_beside(pcpus=3), BASE)
    assert (none.status, none.system) == ("infeasible", None)
    one = spread_beside(pcpus=4)
    fitted = fit(one, BASE)
    check_sound(one, fitted)
    assert fitted.status == "optimal"
    assert fit(spread_beside(pcpus=4, reserved=[3]), BASE).status == "infeasible"
    more = spread_beside(pcpus=5, reserved=[1])
    check_sound(more, fit(more, BASE))


def test_best_effort_goes_where_the_others_leave_it_a_place() -> None:
    tasks = [{"name": "t", "period": "40ms", "wcet": "4ms"}]
    domains = [
        {"name": "a", "pcpu": 1, "task": tasks},
        {"name": "b", "best_effort": True, "apart": ["a"]},
        {"name": "c", "best_effort": True, "apart": ["b"]},
    ]
    system = System.of({"name": "s", "policy": "ptps", "pcpus": 2, "domain": domains})
    fitted = fit(system, BASE)
    assert fitted.status == "optimal"
    assert fitted.system is not None
    assert [domain.pcpu for domain in fitted.system.domains] == [1, 0, 1]
    nowhere = fit(system.replace(reserved=(0,)), BASE)
    assert nowhere.status == "infeasible"
    assert "reserved" in nowhere.reason


def test_a_grid_that_is_asked_for_is_that_of_given_periods_too() -> None:
    task = {"name": "t", "period": "7ms", "wcet": "1030us"}
    guest = {"name": "guest", "scheduler": "gdm", "vcpus": 2, "task": [task]}
    domains = [
        {**guest, "interface_period": "2ms"},
        {"name": "own", "interface_period": "3ms", "task": [task]},
        {"name": "open", "task": [task]},
    ]
    system = System.of({"name": "s", "policy": "ptps", "pcpus": 2, "domain": domains})
    step_ns = MS // 10
    fitted = fit(system, Options(step_ns=step_ns, solver=False))
    assert fitted.system is not None
    each = [vcpu.interface for vcpu in vcpus_of(fitted.system)]
    assert all(one and not one.budget_ns % step_ns and not one.period_ns % step_ns for one in each)
    exact = fit(system, Options(solver=False)).system
    assert exact is not None
    found = exact.domains[1].interface
    assert found is not None
    assert found.budget_ns % step_ns, "without a grid the least budget is that to the nanosecond"
    assert result_of(fitted).bandwidth.before is None


def bindable(**keys: Any) -> System:
    """A guest of four vcpus under gdm, with tasks that ask for 65 % of one."""
    tasks = [{"name": name, "period": "40ms", "wcet": "13ms"} for name in ("t", "u")]
    guest = {"name": "guest", "scheduler": "gdm", "vcpus": 4, "pcpus": [0, 1, 2, 3], "task": tasks}
    return System.of({"name": "s", "policy": "ptps", "pcpus": 4, "domain": [{**guest, **keys}]})


def test_tasks_that_are_cheaper_bound_to_vcpus_are_told() -> None:
    system = bindable(interface_period="20ms")
    found = with_bound_guests(system, analyze(system))
    (guest,) = found.bound
    assert guest == result_of(fit(system, Options(solver=False))).bound[0]
    interface = found.domains[0].interface
    assert interface is not None
    assert guest.moving == interface.bandwidth > 2.5
    assert guest.bandwidth < 0.8
    # What is told is proved of the file that one writes, for the same period.
    tasks = tuple(t.replace(vcpu=guest.vcpus[t.name]) for t in system.domains[0].tasks)
    local = system.domains[0].replace(scheduler=Scheduler(guest.scheduler), tasks=tasks)
    bound = fit(system.replace(domains=(local,)), Options(solver=False)).system
    assert bound is not None
    assert float(bandwidth_of(bound.domains[0])) == guest.bandwidth
    assert analyze(bound).schedulable is True


def test_a_guest_with_budgets_or_cheaper_as_it_is_is_left_alone() -> None:
    given = bindable(interface={"period": "20ms", "budget": "14ms"})
    assert with_bound_guests(given, analyze(given)).bound == ()
    three = [{"name": f"t{n}", "period": "10ms", "wcet": "6ms"} for n in range(3)]
    no_room = bindable(interface_period="10ms", vcpus=2, pcpus=[0, 1], task=three)
    assert with_bound_guests(no_room, analyze(no_room)).bound == ()
