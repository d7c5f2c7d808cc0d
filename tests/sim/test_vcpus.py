# SPDX-License-Identifier: BSD-2-Clause
"""Vcpus that differ: each is served as a domain with that vcpu alone would be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.vcpus_drawn import drawn

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.sim import run
from hyperperiod.model import InputError, System, TaskKind, split, tasks_of
from hyperperiod.runs import complete
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import NONE, Records, read

HORIZON_NS = 200_000_000


def completed(seed: int) -> System | None:
    """A drawn system with its interfaces, all tasks periodic: draws are by number of a task."""
    system = drawn(seed)
    domains = tuple(
        domain.replace(
            tasks=tuple(
                task.replace(kind=TaskKind.PERIODIC) if task.kind is TaskKind.SPORADIC else task
                for task in domain.tasks
            )
        )
        for domain in system.domains
    )
    try:
        return complete(Analysis(system.replace(domains=domains)))
    except InputError:
        return None  # a vcpu has more work than any interface serves


def traced(system: System, file: Path) -> Records:
    run(system, HORIZON_NS, 1, file)
    return read(file)[1]


def numbers_in_parts(system: System) -> dict[int, int]:
    """The number that each task has in the split system."""
    parts = {(one.domain.name, one.task.name): one.id for one in tasks_of(split(system))}
    homes = {
        one.id: one.domain.vcpu_names[one.task.vcpu or 0]
        if one.domain.is_split
        else one.domain.name
        for one in tasks_of(system)
    }
    return {one.id: parts[homes[one.id], one.task.name] for one in tasks_of(system)}


@pytest.mark.parametrize("seed", range(150))
def test_a_vcpu_is_served_as_a_domain_of_its_own(seed: int, tmp_path: Path) -> None:
    system = completed(seed)
    if system is None:
        return
    whole = traced(system, tmp_path / "whole.hpt").copy()
    parts = traced(split(system), tmp_path / "parts.hpt")
    number = numbers_in_parts(system)
    whole["task"] = [number.get(task, NONE) for task in whole["task"].tolist()]
    # Those of one instant stand in the order of the tasks' numbers, which are others.
    fields = ["time_ns", "kind", "pcpu", "vcpu", "task", "job", "payer", "value", "flags"]
    assert sorted(whole[fields].tolist()) == sorted(parts[fields].tolist())


@pytest.mark.parametrize("seed", range(150, 200))
def test_the_trace_holds_all_that_is_checked(seed: int, tmp_path: Path) -> None:
    system = completed(seed)
    if system is None:
        return
    traced(system, tmp_path / "t.hpt")
    found = check_file(tmp_path / "t.hpt")
    assert found.ok, [verdict for _, verdict in found.findings if verdict.count]


@pytest.mark.parametrize("seed", range(50))
def test_what_each_vcpu_got_adds_up(seed: int) -> None:
    system = completed(seed)
    if system is None:
        return
    result = run(system, HORIZON_NS)
    for domain in result.domains:
        if domain.each_vcpu:
            assert domain.supply_ns == sum(one.supply_ns for one in domain.each_vcpu)
            assert domain.donated_ns == sum(one.donated_ns for one in domain.each_vcpu)
    busy_ns = sum(pcpu.busy_ns for pcpu in result.pcpus)
    assert sum(domain.supply_ns for domain in result.domains) == busy_ns
