# SPDX-License-Identifier: BSD-2-Clause
"""Flows of a system that pass through a driver domain and back: which test of SEDF fits them.

A system is of this form if its policy has slices, each flow has three hops - driver, a domain of
its own with one task, driver - with one item outstanding, all with the same driver domain, the
driver does nothing else, nothing blocks, and no overheads are given. Everything else is for the
general bounds of flows.

Inputs: a system whose interfaces are known. Result: per flow the paper's verdict and the sound
one, or None for systems of another form. Errors: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from hyperperiod.analysis.servers import psedf, sedf, sedf_prime
from hyperperiod.analysis.servers.driver_domain import (
    Configuration,
    Placed,
    Plant,
    Service,
    Slice,
)
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget, Domain, Flow, Order, Overheads, Policy, Scheduler, System

_TESTS = {
    (Budget.SLICE_ONCE, Order.EDF): sedf,
    (Budget.SLICE, Order.EDF): sedf_prime,
    (Budget.SLICE, Order.FP): psedf,
}


@dataclass(frozen=True)
class DriverFlow:
    """One flow: what the PSEDF paper says, and what can be promised (bound in nanoseconds)."""

    flow: str
    test: str
    paper: bool
    sound: Verdict


def driver_flows(system: System) -> dict[str, DriverFlow] | None:
    """The flows of a driver loop by name, or None if the system is not one."""
    test = rule_for(system.policy)
    placed = placed_of(system)
    if test is None or placed is None:
        return None
    services = tuple(Slice(s.period_ns, s.budget_ns) for s, _ in placed.services)
    driver = Slice(placed.driver.period_ns, placed.driver.budget_ns)
    papers = test.paper_holds(placed.plant, Configuration(driver, services))
    name = test.__name__.rsplit(".", 1)[-1]
    return {
        flow.name: DriverFlow(flow.name, name, paper, sound)
        for flow, paper, sound in zip(system.flows, papers, test.bounds(placed), strict=True)
    }


def rule_for(policy: Policy) -> ModuleType | None:
    """The file whose test is about this policy."""
    return _TESTS.get((policy.budget, policy.order))


def placed_of(system: System) -> Placed | None:
    """The system as a plant behind its driver domain, or None."""
    if system.overheads != Overheads():
        return None
    owners = {f"{d.name}.{t.name}": d for d in system.domains for t in d.tasks}
    wcets = {f"{d.name}.{t.name}": t.wcet_ns for d in system.domains for t in d.tasks}
    drivers = {owners[flow.hops[0]].name for flow in system.flows if flow.hops}
    if len(drivers) != 1 or not all(_is_loop(flow, owners) for flow in system.flows):
        return None
    driver = owners[system.flows[0].hops[0]]
    replies = [owners[flow.hops[1]] for flow in system.flows]
    used = {hop for flow in system.flows for hop in (flow.hops[0], flow.hops[2])}
    own = {f"{driver.name}.{task.name}" for task in driver.tasks}
    if len({one.name for one in replies}) != len(replies) or own != used:
        return None
    servers = {s.name: (s, g) for g in groups_of(system) for s in g.servers}
    wanted = [driver, *replies]
    if not all(_is_simple(one) and one.name in servers for one in wanted):
        return None
    answers_ns = [wcets[flow.hops[1]] or 0 for flow in system.flows]
    plant = _plant(system, answers_ns, max(wcets[hop] or 0 for hop in used))
    if plant is None:
        return None
    group = servers[driver.name]
    return Placed(plant, group[0], group[1], tuple(servers[one.name] for one in replies))


def _plant(system: System, answers_ns: list[int], packet_ns: int) -> Plant | None:
    try:
        services = tuple(
            Service(flow.name, period_ns - flow.source.jitter_ns, flow.deadline_ns, ns)
            for flow, ns in zip(system.flows, answers_ns, strict=True)
            if (period_ns := flow.source.period_ns) is not None
        )
        return Plant(services, packet_ns, len(services))
    except ValueError:
        return None


def _is_loop(flow: Flow, owners: dict[str, Domain]) -> bool:
    closed = flow.source.period_ns is None
    if closed or len(flow.hops) != 3 or flow.queue != 1 or flow.source.burst != 1:
        return False
    into, reply, out = (owners[hop] for hop in flow.hops)
    return into is out and reply is not into and len(reply.tasks) == 1


def _is_simple(domain: Domain) -> bool:
    """One vcpu, and nothing but arrival decides who is served first, and when."""
    in_order = len(domain.tasks) == 1 or domain.scheduler is Scheduler.FIFO
    return domain.vcpus == 1 and in_order and not any(task.blocking_ns for task in domain.tasks)
