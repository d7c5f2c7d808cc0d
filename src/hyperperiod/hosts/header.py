# SPDX-License-Identifier: BSD-2-Clause
"""The header of a trace: what a reader must know of the system, the same whatever the host."""

from __future__ import annotations

from typing import Any

from hyperperiod.hosts.priorities import Priorities
from hyperperiod.model import Change, Interface, Source, System, hops_of, tasks_of, vcpus_of
from hyperperiod.trace.format import FORMAT


def make_header(
    system: System, host: str, horizon_ns: int, seed: int | None, *, guarantees: bool
) -> dict[str, Any]:
    """The header for a run of `system`, whose interfaces must be known.

    `guarantees`: the host-level test holds, so a reader may check what servers are promised.
    """
    priorities = Priorities(system)
    return {
        "format": FORMAT,
        "system": system.name,
        "host": host,
        "policy": str(system.policy),
        "budget": str(system.policy.budget),
        "order": str(system.policy.order),
        "slack": str(system.policy.slack),
        "scope": str(system.policy.scope),
        "seed": seed,
        "horizon_ns": horizon_ns,
        "quantum_ns": system.quantum_ns,
        "pcpus": system.pcpus,
        "overheads": dict(vars(system.overheads)),
        "vcpus": _vcpus(system, priorities),
        "spare": _interface(system.spare),
        "tasks": _tasks(system),
        "swaps": [{"at_ns": swap.at_ns, "policy": str(swap.policy)} for swap in system.swaps],
        "changes": [_change(change, priorities) for change in system.changes],
        "guarantees": guarantees,
        **({"flows": _flows(system)} if system.flows else {}),
    }


def _vcpus(system: System, priorities: Priorities) -> list[dict[str, Any]]:
    return [
        {
            "name": vcpu.name,
            "domain": vcpu.domain.name,
            "period_ns": vcpu.interface.period_ns if vcpu.interface else None,
            "budget_ns": vcpu.interface.budget_ns if vcpu.interface else None,
            "priority": None if vcpu.best_effort else priorities.of(vcpu.domain),
            "pcpu": vcpu.pcpu,
            "best_effort": vcpu.best_effort,
            "extra": vcpu.extra,
            "weight": vcpu.weight,
        }
        for vcpu in vcpus_of(system)
    ]


def _tasks(system: System) -> list[dict[str, Any]]:
    return [
        {
            "domain": placed.domain.name,
            "name": placed.task.name,
            "kind": str(placed.task.kind),
            "period_ns": placed.task.period_ns,
            "deadline_ns": placed.task.deadline_ns,
            "wcet_ns": placed.task.wcet_ns,
            "bcet_ns": placed.task.bcet_ns,
            "offset_ns": placed.task.offset_ns,
            "jitter_ns": placed.task.jitter_ns,
            "priority": placed.task.priority,
        }
        for placed in tasks_of(system)
    ]


def _flows(system: System) -> list[dict[str, Any]]:
    return [
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
            **_clients(flow.source),
        }
        for flow, hops in zip(system.flows, hops_of(system), strict=True)
    ]


def _clients(source: Source) -> dict[str, Any]:
    """The keys of the header that only closed sources have; none for others."""
    if source.clients is None:
        return {}
    min_ns, max_ns = source.think_range_ns
    return {"clients": source.clients, "think_least_ns": min_ns, "think_most_ns": max_ns}


def _change(change: Change, priorities: Priorities) -> dict[str, Any]:
    return {
        "at_ns": change.at_ns,
        "domain": change.domain,
        "interface": _interface(change.interface),
        "priority": priorities.after(change),
    }


def _interface(interface: Interface | None) -> dict[str, int] | None:
    if interface is None:
        return None
    return {"period_ns": interface.period_ns, "budget_ns": interface.budget_ns}
