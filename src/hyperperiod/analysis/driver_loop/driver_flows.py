# SPDX-License-Identifier: BSD-2-Clause
"""Flows of a system that pass through a driver domain and back: which test of SEDF fits them.

A system is a *driver loop* if its policy has slices, each flow has three hops - driver, a domain of
its own with one task, driver - with one item outstanding, all with the same driver domain, the
driver does nothing else, and nothing blocks. Everything else is for the general bounds of flows,
and so are loops through ordinary domains of PSEDF, and those of SEDF with overheads. What makes a
loop does not depend on slices: `fit` looks for those.

Inputs: a system; for verdicts, one whose interfaces are known, and the rule of its policy. Result:
per flow the paper's verdict and the sound one, or None for systems of another form (`loop_of` says
why). Errors: none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from hyperperiod.analysis.driver_loop.account import Account
from hyperperiod.analysis.driver_loop.driver_domain import (
    BoundParts,
    Configuration,
    PlacedPlant,
    Plant,
    Service,
    Slice,
    SliceRule,
    parts_of,
    verdicts_of,
)
from hyperperiod.analysis.driver_loop.with_overheads import parts_with_overheads
from hyperperiod.analysis.flows.found import WholeVerdict
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import (
    Domain,
    Flow,
    Overheads,
    Scheduler,
    System,
    format_time,
    is_ordinary,
)


class NoLoop(NamedTuple):
    """The reason why a system is not a driver loop."""

    reason: str


@dataclass(frozen=True)
class Loop:
    """The driver and the domains behind it, in the order of the flows.

    `way_ns` is the shortest deadline that the driver's tasks have of their own, `answers_ns` those
    of the answering tasks: a loop must keep these, too.
    """

    plant: Plant
    driver: Domain
    replies: tuple[Domain, ...]
    way_ns: int
    answers_ns: tuple[int, ...]


def driver_flows(rule: SliceRule, system: System) -> dict[str, WholeVerdict] | None:
    """The flows of a driver loop by name, by the rule of its policy; None if it is not one."""
    placed = placed_of(system)
    if placed is None:
        return None
    loop = (placed.driver, *(server for server, _ in placed.services))
    if any(is_ordinary(system.policy, system.domains[one.domain_index]) for one in loop):
        return None
    services = tuple(Slice(s.period_ns, s.budget_ns) for s, _ in placed.services)
    driver = Slice(placed.driver.period_ns, placed.driver.budget_ns)
    papers = rule.paper_holds(placed.plant, Configuration(driver, services))
    found = _parts(placed, rule)
    if found is None:
        return None
    sounds = verdicts_of(placed, found)
    title = f"the driver loop of {rule.name}"
    verdicts = {}
    for number, (flow, sound) in enumerate(zip(system.flows, sounds, strict=True)):
        hops_ns, story = None, f"The loop is not proved: {sound.reason}."
        if sound.holds and not isinstance(found, Verdict):
            parts = found[number]
            hops_ns = (parts.in_ns, parts.wake_ns, parts.in_ns)
            story = _story(flow, parts)
        verdicts[flow.name] = WholeVerdict(rule.name, title, papers[number], sound, hops_ns, story)
    return verdicts


def _parts(placed: PlacedPlant, rule: SliceRule) -> list[BoundParts] | Verdict | None:
    """The parts of the bounds; None where the rule says nothing of such a loop."""
    if placed.account is None:
        return parts_of(placed, rule)
    return None if rule.delays is None else parts_with_overheads(placed, rule.delays)


def _story(flow: Flow, parts: BoundParts) -> str:
    """Returns sentences on the parts of a flow's bound."""
    sides = (parts.in_ns, parts.answer_ns, parts.out_ns, parts.sum_ns)
    way_in, answer, way_out, total = map(format_time, sides)
    less = ""
    if parts.total_ns < parts.sum_ns:
        less = f", and {format_time(parts.total_ns)} in one piece"
    return (
        f"Flow {flow.name}: in {way_in} + answer {answer} + out {way_out} = {total}{less}, within"
        f" {format_time(flow.deadline_ns)}."
    )


def placed_of(system: System) -> PlacedPlant | None:
    """The system as a plant behind its driver domain, or None."""
    loop = loop_of(system)
    if isinstance(loop, NoLoop):
        return None
    servers = {s.name: (s, g) for g in groups_of(system) for s in g.servers}
    if not all(one.name in servers for one in (loop.driver, *loop.replies)):
        return None
    driver, group = servers[loop.driver.name]
    services = tuple(servers[one.name] for one in loop.replies)
    account = None if system.overheads == Overheads() else Account(system)
    return PlacedPlant(loop.plant, driver, group, services, account)


def loop_of(system: System) -> Loop | NoLoop:
    """The loop that a system is, whatever its slices; or the first thing that keeps it from it."""
    if not system.flows:
        return NoLoop("it has no [[flow]]")
    if system.stolen:
        return NoLoop("it has [[stolen]] time")
    owners = {f"{d.name}.{t.name}": d for d in system.domains for t in d.tasks}
    driver = owners[system.flows[0].hops[0]]
    for flow in system.flows:
        reason = _no_loop_in(flow, owners, driver) or _ring_too_short(flow, system)
        if reason:
            return NoLoop(f"flow {flow.name}: {reason}")
    replies = tuple(owners[flow.hops[1]] for flow in system.flows)
    for name, count in Counter(one.name for one in replies).items():
        if count > 1:
            return NoLoop(f"domain {name} answers more than one flow")
    used = {hop for flow in system.flows for hop in (flow.hops[0], flow.hops[2])}
    for task in driver.tasks:
        if f"{driver.name}.{task.name}" not in used:
            return NoLoop(f"the driver domain {driver.name} has another task, {task.name}")
    for one in (driver, *replies):
        reason = _not_simple(one)
        if reason:
            return NoLoop(f"domain {one.name}: {reason}")
    return _loop(system, driver, replies)


def _loop(system: System, driver: Domain, replies: tuple[Domain, ...]) -> Loop | NoLoop:
    packet_ns = max(task.wcet_ns or 0 for task in driver.tasks)
    try:
        services = tuple(
            Service(
                flow.name,
                period_ns - flow.source.jitter_ns,
                flow.deadline_ns,
                one.tasks[0].wcet_ns or 0,
            )
            for flow, one in zip(system.flows, replies, strict=True)
            if (period_ns := flow.source.period_ns) is not None
        )
        plant = Plant(services, packet_ns, len(services))
    except ValueError as error:
        return NoLoop(str(error))
    return Loop(
        plant,
        driver,
        replies,
        min(task.deadline_ns or 0 for task in driver.tasks),
        tuple(one.tasks[0].deadline_ns or 0 for one in replies),
    )


def _no_loop_in(flow: Flow, owners: dict[str, Domain], driver: Domain) -> str:
    """Returns why a flow is not a way through the driver, an answer and a way back; or empty."""
    if flow.source.period_ns is None:
        return "its clients wait for their items"
    if len(flow.hops) != 3:
        return f"{len(flow.hops)} hops instead of driver, answer, driver"
    if flow.queue != 1 or flow.source.burst != 1:
        return "more than one item may be on its way"
    into, reply, out = (owners[hop] for hop in flow.hops)
    if into is not driver or out is not driver:
        return f"its first and last hop are not both in {driver.name}"
    if reply is driver:
        return "its answer is in the driver domain, too"
    if len(reply.tasks) != 1:
        return f"domain {reply.name} has {len(reply.tasks)} tasks instead of one"
    return ""


def _ring_too_short(flow: Flow, system: System) -> str:
    """Returns whether a packet may find its device's ring full, in words; or empty."""
    ring = system.ring_of(flow)
    through = sum(one.via == flow.via for one in system.flows)
    if ring is None or through <= ring:
        return ""
    return f"the ring of {flow.via} has no room for a packet of each of its {through} flows"


def _not_simple(domain: Domain) -> str:
    """One vcpu, and nothing but arrival decides who is served first, and when."""
    if domain.vcpus != 1:
        return f"{domain.vcpus} vcpus instead of one"
    if domain.best_effort:
        return "best effort, so nothing is promised"
    if len(domain.tasks) != 1 and domain.scheduler is not Scheduler.FIFO:
        return f'several tasks under "{domain.scheduler}" instead of "fifo"'
    if any(task.blocking_ns for task in domain.tasks):
        return "a task with blocking"
    return ""
