# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis says of systems that were changed a little: verdicts and bounds by name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from hyperperiod.analysis import analyze
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.model import Interface, System, Task
from hyperperiod.model.part import Part, fields_of


def with_budget(system: System, index: int, budget_ns: int) -> System:
    domain = system.domains[index]
    assert domain.interface is not None
    interface = Interface(period_ns=domain.interface.period_ns, budget_ns=budget_ns)
    domains = list(system.domains)
    domains[index] = domain.replace(interface=interface)
    return system.replace(domains=tuple(domains))


def proved(system: System) -> dict[str, bool]:
    """By name, whether each server surely gets its budget."""
    return {
        server.name: verdict.holds is True
        for group in groups_of(system)
        for server, verdict in zip(
            group.servers, host_level(system.policy, group).servers, strict=True
        )
    }


class Said(NamedTuple):
    """A verdict and, where there is one, a response bound."""

    holds: bool | None
    bound_ns: int | None = None


def said_of(system: System) -> dict[str, Said]:
    """By name: of the system (""), its domains, their tasks, and flows."""
    found = analyze(system)
    said = {"": Said(found.schedulable)}
    for domain in found.domains:
        said[domain.name] = Said(domain.schedulable)
        for task in domain.tasks:
            name = f"{domain.name}.{task.name}"
            said[name] = Said(task.schedulable, task.response_bound_ns)
    for flow in found.flows:
        said[f"flow {flow.name}"] = Said(flow.schedulable, flow.response_bound_ns)
    return said


def scaled(part: Any, factor: int) -> Any:
    """A part of a system with every time in it so many times as long, the shortest job as well."""
    if isinstance(part, tuple):
        return tuple(scaled(one, factor) for one in part)
    if not isinstance(part, Part):
        return part
    changed = {}
    for name in fields_of(type(part)):
        value = getattr(part, name)
        if name.endswith("_ns") and value is not None:
            changed[name] = value * factor
        elif isinstance(value, (Part, tuple)):
            changed[name] = scaled(value, factor)
    if isinstance(part, Task) and part.wcet_ns is not None and part.bcet_ns is not None:
        changed["etf"] = Fraction(part.bcet_ns, part.wcet_ns)
    return part.replace(**changed)
