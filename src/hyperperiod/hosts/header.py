# SPDX-License-Identifier: BSD-2-Clause
"""The header of a trace: what a reader must know of the system, the same whatever the host."""

from __future__ import annotations

from collections.abc import Iterator

from hyperperiod.hosts.priorities import Priorities
from hyperperiod.model import (
    Change,
    Interface,
    PlacedTask,
    Scope,
    Source,
    System,
    changed_vcpus,
    hops_of,
    overrun_of,
    tasks_of,
    vcpus_of,
)
from hyperperiod.trace.format import (
    FORMAT,
    ChangeEntry,
    FlowEntry,
    Header,
    InterfaceEntry,
    TaskEntry,
    VcpuEntry,
)


def make_header(
    system: System, host: str, horizon_ns: int, seed: int | None, *, guarantees: bool
) -> Header:
    """The header for a run of `system`, whose interfaces must be known.

    `guarantees`: the host-level test holds, so a reader may check what servers are promised.
    """
    priorities = Priorities(system)
    header: Header = {
        "format": FORMAT,
        "system": system.name,
        "host": host,
        "policy": str(system.policy),
        "budget": system.policy.budget,
        "order": system.policy.order,
        "slack": system.policy.slack,
        "scope": "global" if system.policy.scope is Scope.GLOBAL else "partitioned",
        "seed": seed,
        "horizon_ns": horizon_ns,
        "quantum_ns": system.quantum_ns,
        "pcpus": system.pcpus,
        "overheads": dict(vars(system.overheads)),
        "vcpus": _vcpus(system, priorities),
        "spare": None if system.spare is None else _server(system.spare),
        "tasks": _tasks(system),
        "swaps": [{"at_ns": swap.at_ns, "policy": str(swap.policy)} for swap in system.swaps],
        "changes": [
            entry for change in system.changes for entry in _changes(system, change, priorities)
        ],
        "guarantees": guarantees,
    }
    if system.flows:
        header["flows"] = _flows(system)
    moving = {one.name: one.scheduler.value for one in system.domains if one.scheduler.is_global}
    if moving:
        header["global_guests"] = moving
    return header


def _vcpus(system: System, priorities: Priorities) -> list[VcpuEntry]:
    return [
        {
            "name": vcpu.name,
            "domain": vcpu.domain.name,
            "period_ns": vcpu.interface.period_ns if vcpu.interface else None,
            "budget_ns": vcpu.interface.budget_ns if vcpu.interface else None,
            "priority": None if vcpu.best_effort else priorities.of(vcpu),
            "pcpu": vcpu.pcpu,
            "best_effort": vcpu.best_effort,
            "extra": vcpu.extra,
            "weight": vcpu.weight,
        }
        for vcpu in vcpus_of(system)
    ]


def _tasks(system: System) -> list[TaskEntry]:
    return [_task(system, placed) for placed in tasks_of(system)]


def _task(system: System, placed: PlacedTask) -> TaskEntry:
    """The entry of a task; of items, which have numbers of their own, any may overrun at a hop."""
    task = placed.task
    entry: TaskEntry = {
        "domain": placed.domain.name,
        "name": task.name,
        "kind": str(task.kind),
        "period_ns": task.period_ns,
        "deadline_ns": task.deadline_ns,
        "wcet_ns": task.wcet_ns,
        "bcet_ns": task.bcet_ns,
        "offset_ns": task.offset_ns,
        "jitter_ns": task.jitter_ns,
        "priority": task.priority,
    }
    overrun = overrun_of(system.overruns, placed.domain.name, task.name)
    if overrun is None:
        return entry
    if any(overrun.task in flow.hops for flow in system.flows):
        return {**entry, "wcet_ns": overrun.longest_ns(task)}
    return {
        **entry,
        "overrun": {
            "thousandths": overrun.thousandths,
            "from_ns": overrun.from_ns,
            "to_ns": overrun.to_ns,
            "every": overrun.every,
        },
    }


def _flows(system: System) -> list[FlowEntry]:
    return [
        _with_optional(
            flow.source,
            system.ring_of(flow),
            {
                "name": flow.name,
                "kind": str(flow.source.kind),
                "period_ns": flow.source.period_ns,
                "offset_ns": flow.source.offset_ns,
                "jitter_ns": flow.source.jitter_ns,
                "burst": flow.source.burst,
                "queue": flow.queue,
                "deadline_ns": flow.deadline_ns,
                "hops": list(hops),
            },
        )
        for flow, hops in zip(system.flows, hops_of(system), strict=True)
    ]


def _with_optional(source: Source, ring: int | None, flow: FlowEntry) -> FlowEntry:
    """The entry with the keys that only closed sources or flows via devices have."""
    if ring is not None:
        flow["ring"] = ring
    if source.clients is not None:
        flow["clients"] = source.clients
        flow["think_least_ns"], flow["think_most_ns"] = source.think_range_ns
    return flow


def _changes(system: System, change: Change, priorities: Priorities) -> Iterator[ChangeEntry]:
    """One entry where all vcpus of a domain get the same, else one for each vcpu."""
    if change.interface is None:
        return
    for vcpu in changed_vcpus(system, change):
        entry: ChangeEntry = {
            "at_ns": change.at_ns,
            "domain": vcpu.domain.name,
            "interface": _server(change.interface),
            "priority": priorities.after(change, vcpu),
        }
        if vcpu.domain.is_plain and change.domain == vcpu.domain.name:
            yield entry
            return
        yield {**entry, "vcpus": [vcpu.id]}


def _server(interface: Interface) -> InterfaceEntry:
    return {"period_ns": interface.period_ns, "budget_ns": interface.budget_ns}
