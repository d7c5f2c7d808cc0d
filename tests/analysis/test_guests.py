# SPDX-License-Identifier: BSD-2-Clause
"""Guests whose jobs move between vcpus that differ, from the system to the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from hyperperiod.analysis import analyze, resolve
from hyperperiod.model import System, vcpus_of

LINUX: dict[str, Any] = {
    "name": "linux",
    "vcpu": [
        {"pcpu": 0, "interface": {"period": "10ms", "budget": "4ms"}},
        {"pcpu": 1, "interface": {"period": "20ms", "budget": "4ms"}},
    ],
    "task": [
        {"name": "a", "period": "40ms", "wcet": "4ms"},
        {"name": "b", "period": "40ms", "wcet": "4ms"},
    ],
}
TOP: dict[str, Any] = {"name": "s", "policy": "ptps", "pcpus": 2}


def moving(scheduler: str = "grm", **top: Any) -> System:
    """A system of one domain whose jobs move; `top` are other keys of the system."""
    return System.of({**TOP, "domain": [{**LINUX, "scheduler": scheduler}], **top})


@pytest.mark.parametrize("scheduler", ["gedf", "grm", "gdm"])
def test_jobs_that_move_between_vcpus_that_differ(scheduler: str) -> None:
    result = analyze(moving(scheduler))
    (domain,) = result.domains
    assert result.schedulable is True
    bounds = [task.response_bound_ns or 0 for task in domain.tasks]
    assert all(4_000_000 < bound <= 40_000_000 for bound in bounds)
    names = [test.test for test in domain.tests]
    assert names == [f"{scheduler}, virtual multiprocessor", f"{scheduler}, multi supply function"]
    assert [row.schedulable for row in domain.each_vcpu] == [True, True]


@pytest.mark.parametrize(
    ("top", "why"),
    [
        ({"policy": "polling+fp"}, "does not cover jobs that move between vcpus"),
        ({"policy": "cbs"}, "does not cover jobs that move between vcpus"),
        ({"overheads": {"pick": "1us"}}, "overheads beside jobs that move"),
        ({"sbf": "harmonic"}, "harmonic sbf"),
    ],
)
def test_what_is_not_proved_of_jobs_that_move(top: dict[str, Any], why: str) -> None:
    result = analyze(moving(**top))
    assert result.schedulable is None
    assert why in str(result.domains[0].reason)


def test_overheads_beside_jobs_that_move_are_unknown_for_others_too() -> None:
    (guest,) = moving().domains
    other = {"name": "other", "pcpu": 0, "interface": {"period": "10ms", "budget": "2ms"}}
    task = {"name": "c", "period": "40ms", "wcet": "2ms"}
    alone = System.of({**TOP, "domain": [{**other, "task": [task]}]})
    both = moving().replace(domains=(guest, *alone.domains))
    assert [row.schedulable for row in analyze(both).domains] == [True, True]
    costs = System.of({**TOP, "overheads": {"pick": "1us"}, "domain": [{**other, "task": [task]}]})
    assert analyze(costs).schedulable is True
    assert analyze(both.replace(overheads=costs.overheads)).domains[1].schedulable is None


def test_a_best_effort_vcpu_only_adds() -> None:
    more = [*LINUX["vcpu"], {"pcpu": 1, "best_effort": True}]
    system = moving(domain=[{**LINUX, "vcpu": more, "scheduler": "gedf"}])
    assert analyze(system).domains[0].tasks == analyze(moving("gedf")).domains[0].tasks


def test_linux_moves_jobs_only_between_vcpus_that_are_always_there() -> None:
    linux = {**LINUX, "guest": "linux", "scheduler": "gedf"}
    parts = analyze(moving(domain=[linux]))
    assert parts.schedulable is None
    assert "Linux does not know" in parts.reason
    whole = [{"pcpu": pcpu, "interface": {"period": "10ms", "budget": "10ms"}} for pcpu in (0, 1)]
    assert analyze(moving(domain=[{**linux, "vcpu": whole}])).schedulable is True
    alike = {**linux, "vcpus": 2, "interface": {"period": "10ms", "budget": "9ms"}}
    del alike["vcpu"]
    assert "Linux does not know" in analyze(moving(policy="rtds", domain=[alike])).reason


@pytest.mark.parametrize("scheduler", ["gedf", "grm", "gdm"])
def test_how_far_jobs_that_move_are_from_their_edge(scheduler: str) -> None:
    """What is told is accepted when it is put back in."""
    system = moving(scheduler)
    (found,) = analyze(system, sensitivity=True).domains
    assert found.sensitivity
    assert found.sensitivity.wcet_factor is not None
    assert found.sensitivity.wcet_factor > 1
    (guest,) = system.domains
    for number, row in enumerate(found.tasks):
        assert row.sensitivity
        longest_ns, shortest_ns = row.sensitivity.largest_wcet_ns, row.sensitivity.slack_ns
        assert longest_ns is not None
        assert shortest_ns is not None
        assert longest_ns > 4_000_000
        tasks = list(guest.tasks)
        tasks[number] = tasks[number].replace(wcet_ns=longest_ns)
        grown = system.replace(domains=(guest.replace(tasks=tuple(tasks)),))
        assert analyze(grown).schedulable is True


@pytest.mark.parametrize("scheduler", ["gedf", "grm", "gdm"])
def test_budgets_for_given_periods_are_equal_shares_and_the_least(scheduler: str) -> None:
    vcpus = [{"pcpu": 0, "interface_period": "8ms"}, {"pcpu": 1, "interface_period": "5ms"}]
    found = resolve(moving(domain=[{**LINUX, "scheduler": scheduler, "vcpu": vcpus}]))
    assert analyze(found).schedulable is True
    interfaces = [vcpu.interface for vcpu in vcpus_of(found)]
    long, short = (one.budget_ns if one else 0 for one in interfaces)
    assert 0 < long < 8_000_000
    assert short == -(-long * 5 // 8)
    (guest,) = found.domains
    less = [
        own.replace(interface=own.interface.replace(budget_ns=own.interface.budget_ns - 2))
        for own in guest.own_vcpus
        if own.interface is not None
    ]
    short_of = found.replace(domains=(guest.replace(own_vcpus=tuple(less)),))
    assert analyze(short_of).schedulable is None


def test_without_a_period_no_budget_is_sought() -> None:
    system = moving(domain=[{**LINUX, "scheduler": "grm", "vcpu": [{"pcpu": 0}, {"pcpu": 1}]}])
    assert "no period is given" in analyze(system).reason


def test_below_a_busy_task_nothing_is_known() -> None:
    busy = {"name": "busy", "kind": "busy", "priority": 1}
    tasks = [{**task, "priority": 2 * at} for at, task in enumerate(LINUX["task"])]
    system = moving(domain=[{**LINUX, "scheduler": "gfp", "task": [*tasks, busy]}])
    assert [row.schedulable for row in analyze(system).domains[0].tasks] == [True, None, None]


def test_a_task_that_moves_is_explained_by_what_all_vcpus_get() -> None:
    found = analyze(moving(), explain="linux.a").explain
    assert found is not None
    assert found.schedulable is True
    assert "move between the 2 vcpus" in found.text
    unknown = analyze(moving(policy="cbs"), explain="linux.b").explain
    assert unknown is not None
    assert "does not cover jobs that move" in unknown.text
