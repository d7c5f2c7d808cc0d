# SPDX-License-Identifier: BSD-2-Clause
"""Vcpus that differ are judged as domains of their own, and told as vcpus of theirs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.vcpus_drawn import drawn

from hyperperiod.analysis import Analysis, analyze, resolve
from hyperperiod.analysis.resolve import with_guests
from hyperperiod.model import InputError, System, split, vcpus_of


@pytest.mark.parametrize("seed", range(200))
def test_rows_are_the_domains_of_the_split_system(seed: int) -> None:
    system = with_guests(drawn(seed, moving=True))
    whole, parts = analyze(system), analyze(split(system))
    assert whole.pcpus == parts.pcpus
    by_name = {domain.name: domain for domain in parts.domains}
    for domain, found in zip(system.domains, whole.domains, strict=True):
        if not domain.is_split:
            assert found == by_name[domain.name]
            continue
        assert [row.name for row in found.each_vcpu] == list(domain.vcpu_names)
        assert [row.pcpu for row in found.each_vcpu] == [keys.pcpu for keys in domain.each_vcpu]
        for row in found.each_vcpu:
            part = by_name[row.name]
            assert (row.schedulable, row.reason) == (part.schedulable, part.reason)
            assert row.interface == part.interface
            assert row.tests == (() if domain.moves_jobs else part.tests)
        served = [
            row.schedulable
            for row, keys in zip(found.each_vcpu, domain.each_vcpu, strict=True)
            if not keys.best_effort
        ]
        if domain.moves_jobs:
            assert found.schedulable is not True or all(served)
        elif served:
            assert found.schedulable == (
                False if False in served else None if None in served else True
            )
        if not domain.moves_jobs:
            tasks = {task.name: task for name in domain.vcpu_names for task in by_name[name].tasks}
            assert list(found.tasks) == [tasks[task.name] for task in domain.tasks]


@pytest.mark.parametrize("seed", range(200))
def test_computed_interfaces_are_those_of_the_parts(seed: int) -> None:
    system = drawn(seed)
    try:
        whole = resolve(system)
    except InputError:
        with pytest.raises(InputError):
            resolve(split(system))
        return
    parts = vcpus_of(resolve(split(system)))
    assert [vcpu.interface for vcpu in vcpus_of(whole)] == [vcpu.interface for vcpu in parts]
    assert Analysis(whole).result().schedulable == Analysis(system).result().schedulable


LINUX: dict[str, Any] = {
    "name": "linux",
    "vcpu": [
        {"pcpu": 0, "interface": {"period": "10ms", "budget": "4ms"}},
        {"pcpu": 1, "interface": {"period": "20ms", "budget": "4ms"}},
    ],
    "task": [
        {"name": "a", "vcpu": 0, "period": "40ms", "wcet": "4ms"},
        {"name": "b", "vcpu": 1, "period": "40ms", "wcet": "4ms"},
    ],
}


def two_vcpus(**more: Any) -> System:
    """One domain on two pcpus; `more` are its keys, and `flow` of the system."""
    flows = {"flow": [more.pop("flow")]} if "flow" in more else {}
    domain = {**LINUX, **more}
    return System.of({"name": "s", "policy": "ptps", "pcpus": 2, "domain": [domain], **flows})


def without(key: str, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if name != key} for one in tasks]


@pytest.mark.parametrize(
    ("asked", "subject"),
    [
        ("linux.b", "linux.1.b"),
        ("linux.1.b", "linux.1.b"),
        ("b", "linux.1.b"),
        ("linux.1", "linux.1"),
        ("linux", "linux.0"),
    ],
)
def test_explanations_name_the_vcpu(asked: str, subject: str) -> None:
    found = analyze(two_vcpus(), explain=asked).explain
    assert found is not None
    assert found.subject == subject


FLOW = {
    "name": "f",
    "source": {"period": "80ms"},
    "hops": ["linux.a", "linux.b"],
    "deadline": "80ms",
}


def test_flows_through_vcpus_that_differ() -> None:
    events = [{**task, "kind": "event"} for task in LINUX["task"]]
    system = two_vcpus(task=events, flow=FLOW)
    (found,) = analyze(system).flows
    (alike,) = analyze(split(system)).flows
    assert found.schedulable is True
    assert found.response_bound_ns == alike.response_bound_ns
    assert [(hop.domain, hop.task) for hop in found.hops] == [("linux", "a"), ("linux", "b")]
    result = analyze(two_vcpus(task=without("vcpu", events), flow=FLOW))
    assert (result.schedulable, result.flows[0].schedulable) == (None, None)
    assert all(task.schedulable is None for task in result.domains[0].tasks)
