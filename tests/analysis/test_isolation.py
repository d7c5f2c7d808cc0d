# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a domain whatever the others do: never more than is known without them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.worlds import domain, system, task

from hyperperiod.analysis import analyze
from hyperperiod.analysis.isolation import ARRIVALS
from hyperperiod.analysis.result import DomainResult
from hyperperiod.model import Domain, System

ITEMS = {"name": "f", "source": {"period": 100}, "deadline": 100}


def isolated(of: System, name: str) -> DomainResult:
    return next(one for one in analyze(of, isolation=True).isolation if one.name == name)


def pair(**more: Any) -> System:
    hop, there = task("hop", 40, 2, kind="event"), task("there", 40, 2, kind="event")
    return system(
        "ptps", domain("a", (6, 10), hop, task("t", 40, 4)), domain("b", (4, 10), there), **more
    )


@pytest.mark.parametrize("sbf", ["general", "servers"])
def test_bounds_that_rest_on_budgets_alone_stay(sbf: str) -> None:
    """The same whether b has a task of 2 in 40, or a hog in its place."""
    of = pair(sbf=sbf)
    row, plain = isolated(of, "a"), analyze(of).domains[0]
    assert row.schedulable
    assert row.tasks == plain.tasks
    hogs = system("ptps", of.domains[0], domain("b", (4, 10), task("h", kind="busy")), sbf=sbf)
    assert isolated(hogs, "a").tasks == row.tasks
    assert analyze(of).isolation == ()


def test_a_flow_through_another_domain_is_not_known() -> None:
    of = pair(flow=[{**ITEMS, "hops": ["b.there", "a.hop"]}])
    assert analyze(of).domains[0].schedulable
    row = isolated(of, "a")
    assert (row.schedulable, row.reason) == (None, "flow f comes and goes by way of b.there")
    assert {one.response_bound_ns for one in row.tasks} == {None}


def test_a_flow_of_its_own_stays_and_those_of_others_are_nobodys_business() -> None:
    inside = pair(flow=[{**ITEMS, "hops": ["a.hop"]}])
    assert isolated(inside, "a").schedulable
    assert isolated(inside, "a").tasks == analyze(inside).domains[0].tasks
    assert isolated(pair(flow=[{**ITEMS, "hops": ["b.there"]}]), "a").schedulable


def test_overheads_count_arrivals_of_others_on_the_same_pcpu_only() -> None:
    more: dict[str, Any] = {"overheads": {"wake_ns": 1}, "pcpus": 2}
    tasks = task("t", 400, 20), task("u", 400, 40)
    together = [domain(name, (40, 100), *tasks, pcpu=0) for name in "ab"]
    apart = domain("c", (40, 100), *tasks, pcpu=1)
    of = system("ptps", *together, apart, **more)
    assert analyze(of).schedulable
    assert isolated(of, "a").reason == ARRIVALS
    assert isolated(of, "c").tasks == analyze(of).domains[2].tasks


def test_vcpus_that_differ_and_domains_inside_are_one_domain() -> None:
    """Both vcpus of a are its own, wherever they are; b's inner domains are others to a."""
    two = domain(
        "a",
        None,
        task("t", 40, 2, vcpu=0),
        task("u", 40, 2, vcpu=1),
        best_effort=False,
        vcpu=[
            {"interface": {"period": 10, "budget": 3}},
            {"interface": {"period": 20, "budget": 5}},
        ],
    )
    inner = domain("b.in", (4, 20), task("x", 80, 2))
    outer = Domain.of({"name": "b", "interface": {"period": 10, "budget": 4}, "domain": [inner]})
    of = system("ptps", two, outer)
    found = analyze(of, isolation=True)
    assert [one.tasks for one in found.isolation] == [one.tasks for one in found.domains]
    assert found.isolation[1].domains[0].tasks == found.domains[1].domains[0].tasks
    assert found.isolation[0].schedulable
