# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis finds, in the form of CARTS' output: PRM, or MPR2 under global EDF.

For each component and each of its periods the budget in units of 1 ms, as `bandwidth` (four
decimals) and as the task that it is for the scheduler above. An interface that the system gives
stays as it is; of the others each period has its least budget in whole units. Components inside
have the same period as the one around them, or their own where they have only one. The root is
the scheduler of the pcpu; where the components in it have no periods in common it has CARTS' own
default, one unit. A period in which no budget is enough is left out; CARTS would write a
bandwidth above 1.

Under global EDF a component has `cpus` vcpus, each with the budget that the analysis finds or the
system gives; `execution_time` is what they have together. The root has all pcpus, whole.

CARTS computes in floating point and rounds up: its budgets are these, or one unit more where the
least real budget is a whole number.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

from hyperperiod.analysis import resolve
from hyperperiod.analysis.component import Component, component_of_domains
from hyperperiod.analysis.domains.domain_level import SupplyContract, components_of, shape_for
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.export import carts
from hyperperiod.model import (
    Budget,
    Domain,
    InputError,
    Interface,
    Order,
    Sbf,
    Scheduler,
    Scope,
    System,
)

UNIT_NS = carts.UNIT_NS
PERIODS_LIMIT = 10_000
# What stands behind a component in CARTS' periodic resource model.
PRM = SupplyContract(Budget.PERIODIC, Sbf.GENERAL)

Budgets = dict[int, int]
"""A budget for each period, in nanoseconds."""
ComponentsAt = Callable[[int], Sequence[Component] | None]
"""What a period has to serve; None if something inside has no budget in it."""


def export_carts_result(system: System) -> dict[str, str | bytes | Path]:
    """The files of the export, by name; InputError for what cannot be said."""
    carts.refuse(system)
    if system.policy.scope is Scope.GLOBAL:
        return {"system.xml": _text(_multiprocessor(resolve(system)))}
    _refuse(system)
    resolved = resolve(system)
    found = {
        domain.name: _Node(domain, of_file)
        for domain, of_file in zip(resolved.domains, system.domains, strict=True)
        if not domain.best_effort
    }
    files: dict[str, str | bytes | Path] = {}
    for name, domains in carts.groups(system):
        nodes = [found[domain.name] for domain in domains]
        files[name] = _text(_root(system, nodes))
    return files


def _refuse(system: System) -> None:
    if system.sbf is not Sbf.GENERAL:
        raise InputError("", None, "sbf", str(system.sbf), "general: PRM knows no other")
    for index, domain in enumerate(system.domains):
        given = domain.interface_period_range
        if domain.vcpus != 1 or domain.scheduler.value == "gedf":
            key, found = f"domain[{index}].scheduler", "gedf"
            raise InputError("", None, key, found, "one vcpu: PRM knows no other")
        if given is not None and (given.max_ns - given.min_ns) // UNIT_NS >= PERIODS_LIMIT:
            key, found = f"domain[{index}].interface_period_range", "a longer range"
            raise InputError("", None, key, found, f"at most {PERIODS_LIMIT} periods")


class _Node:
    """A component with the budgets of all its periods, and those inside it."""

    def __init__(self, domain: Domain, of_file: Domain) -> None:
        self.domain = domain
        self.inside = [
            _Node(inner, given)
            for inner, given in zip(domain.domains, of_file.domains, strict=True)
        ]
        self.budgets = self._budgets(of_file)

    def at(self, period_ns: int) -> Interface | None:
        """The interface at that period, or at the component's only one."""
        if period_ns not in self.budgets and len(self.budgets) == 1:
            period_ns = next(iter(self.budgets))
        budget_ns = self.budgets.get(period_ns)
        if budget_ns is None:
            return None
        return Interface(period_ns=period_ns, budget_ns=budget_ns)

    def _budgets(self, of_file: Domain) -> Budgets:
        interface = self.domain.interface
        assert interface is not None, "resolved domains with a server have an interface"
        if of_file.interface is not None:
            return {interface.period_ns: interface.budget_ns}
        given = of_file.interface_period_range
        if given is None:
            periods: Sequence[int] = [interface.period_ns]
        else:
            periods = range(given.min_ns, given.max_ns + 1, UNIT_NS)
        return _least(periods, self._components)

    def _components(self, period_ns: int) -> Sequence[Component] | None:
        if not self.inside:
            return components_of(self.domain)
        component = _around(self.domain.scheduler, self.inside, period_ns)
        return None if component is None else [component]


def _around(scheduler: Scheduler, nodes: Sequence[_Node], period_ns: int) -> Component | None:
    """Components as the load of what is around them; None if one has no budget there."""
    domains = []
    for node in nodes:
        interface = node.at(period_ns)
        if interface is None:
            return None
        domains.append(node.domain.replace(interface=interface))
    return component_of_domains(scheduler, domains)


def _least(periods: Sequence[int], components_at: ComponentsAt) -> Budgets:
    """The least budget in whole units for each period that has one."""
    budgets: Budgets = {}
    for period_ns in periods:
        components = components_at(period_ns)
        if components is None:
            continue
        shape = shape_for(PRM, period_ns, components)
        found = minimal_budget(components, shape, period_ns, UNIT_NS)
        if found.budget_ns is not None:
            budgets[period_ns] = found.budget_ns
    return budgets


def _root(system: System, nodes: Sequence[_Node]) -> ET.Element:
    """The scheduler of a pcpu, with all that runs on it."""
    scheduler = Scheduler.DM if system.policy.order is Order.FP else Scheduler.EDF

    def components_at(period_ns: int) -> Sequence[Component] | None:
        component = _around(scheduler, nodes, period_ns)
        return None if component is None else [component]

    common = set.intersection(*(set(node.budgets) for node in nodes))
    budgets = _least(sorted(common) or [UNIT_NS], components_at)
    return _element("OS Scheduler", budgets, nodes)


def _element(name: str, budgets: Budgets, nodes: Sequence[_Node]) -> ET.Element:
    element = ET.Element("component", {"name": name, "algorithm": "PRM interface"})
    resource = ET.SubElement(element, "resource")
    processed = ET.SubElement(element, "processed_task")
    for period_ns, budget_ns in budgets.items():
        period, budget = carts.units(period_ns), carts.units(budget_ns)
        bandwidth = f"{Decimal(budget_ns) / Decimal(period_ns):.4f}".rstrip("0").rstrip(".")
        as_resource = {"period": period, "bandwidth": bandwidth, "deadline": period}
        as_task = {"period": period, "execution_time": budget, "deadline": period}
        ET.SubElement(resource, "model", as_resource)
        ET.SubElement(processed, "model", as_task)
    for node in nodes:
        element.append(_element(node.domain.name, node.budgets, node.inside))
    return element


def _multiprocessor(system: System) -> ET.Element:
    """Everything under global EDF: vcpus in the place of budgets of one."""
    served = [domain for domain in system.domains if not domain.best_effort]
    for index, domain in enumerate(served):
        if domain.domains:
            key, found = f"domain[{index}].domain", f"domains inside {domain.name!r}"
            raise InputError("", None, key, found, "two levels in CARTS' MPR2")
    whole = Interface(period_ns=UNIT_NS, budget_ns=UNIT_NS)
    root = _cluster("system", whole, system.pcpus)
    for domain in served:
        assert domain.interface is not None, "resolved domains with a server have an interface"
        root.append(_cluster(domain.name, domain.interface, domain.vcpus))
    return root


def _cluster(name: str, interface: Interface, cpus: int) -> ET.Element:
    element = ET.Element("component", {"name": name, "resource_model": "MPR2 model"})
    resource = ET.SubElement(element, "resource")
    period, budget = carts.units(interface.period_ns), carts.units(interface.budget_ns)
    together = carts.units(cpus * interface.budget_ns)
    as_resource = {"cpus": str(cpus), "period": period, "execution_time": together}
    ET.SubElement(resource, "model", as_resource)
    processed = ET.SubElement(element, "processed_task")
    for _ in range(cpus):
        as_task = {"period": period, "execution_time": budget, "deadline": period}
        ET.SubElement(processed, "model", as_task)
    return element


def _text(root: ET.Element) -> str:
    ET.indent(root, "  ")
    return ET.tostring(root, encoding="unicode") + "\n"
