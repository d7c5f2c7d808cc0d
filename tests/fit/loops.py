# SPDX-License-Identifier: BSD-2-Clause
"""Driver loops for the tests of `fit`: drawn at random, and fitted by trying everything.

The brute force knows nothing of how `fit` searches: every slice and period up to where no bound can
hold, in whole ticks, judged by the bounds of the policy and the host-level tests of the others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from tests.support.paper_loops import bounds_of

from hyperperiod.analysis.driver_loop import psedf, sedf, sedf_prime
from hyperperiod.analysis.driver_loop.driver_domain import PlacedPlant, parts_of
from hyperperiod.analysis.driver_loop.driver_flows import Loop, NoLoop, loop_of
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import System

TESTS = {"sedf": sedf, "sedf-prime": sedf_prime, "psedf": psedf}


def some_loop(
    draw: random.Random,
    policy: str,
    *,
    services: int,
    periods: tuple[int, int],
    most_wcet: int,
    unit_ns: int = 1,
    pinned: bool = True,
) -> System:
    """A plant with nothing chosen; on one pcpu or two, at times with a busy domain beside."""
    pcpus = draw.choice([1, 2, 2])
    packet = draw.choice([1, 1, 1, 2])
    own = draw.choice([50, 50, 8])

    def pin() -> dict[str, int]:
        return {"pcpu": draw.randrange(pcpus)} if pinned or pcpus == 1 else {}

    def event(name: str, period: int, wcet: int, deadline: int) -> dict[str, Any]:
        times = {"period": period, "wcet": wcet, "deadline": deadline}
        return {"name": name, "kind": "event"} | {k: v * unit_ns for k, v in times.items()}

    tasks = [event("packet", 50, packet, own)]
    domains = [{"name": "driver", "scheduler": "fifo", "pcpu": 0, "task": tasks}]
    flows = []
    for number in range(services):
        period = draw.randint(*periods)
        deadline = draw.randint(period * 3 // 4, period)
        wcet = draw.randint(1, most_wcet)
        task = event("answer", period, wcet, draw.choice([period, period, deadline - 2]))
        domains.append({"name": f"own-{number}", "task": [task], **pin()})
        source = {"kind": "sporadic", "period": period * unit_ns}
        hops = ["driver.packet", f"own-{number}.answer", "driver.packet"]
        flow = {"name": f"flow-{number}", "source": source, "hops": hops}
        flows.append(flow | {"deadline": deadline * unit_ns})
    if draw.random() < 0.3:
        period = draw.randint(4, 12)
        budget = draw.randint(1, max(1, period // 3))
        interface = {"period": period * unit_ns, "budget": budget * unit_ns}
        beside = {"name": "beside", "interface": interface, **pin()}
        domains.append(beside | {"task": [{"name": "hog", "kind": "busy"}]})
    found = {"name": "drawn", "policy": policy, "pcpus": pcpus, "domain": domains, "flow": flows}
    return System.of(found)


def best_of_all(system: System) -> Fraction | None:
    """The least bandwidth of all slices and periods that the sound bounds accept."""
    loop = loop_of(system)
    assert not isinstance(loop, NoLoop)
    plant = loop.plant
    # No bound is below p - s plus the work itself.
    longest = plant.shortest_ns + plant.slice_ns
    drivers = list(_all(system, loop.driver.name, 0, plant.slice_ns, longest))
    answers = [
        list(_all(system, domain.name, rank, service.wcet_ns, service.period_ns + service.wcet_ns))
        for domain, service, rank in zip(loop.replies, plant.services, _ranks(loop), strict=True)
    ]
    best: Fraction | None = None
    for driver in drivers:
        for services in product(*answers):
            bandwidth = sum((one.bandwidth for one in (driver, *services)), Fraction(0))
            if best is not None and bandwidth >= best:
                continue
            if accepted(system, loop, driver, services):
                best = bandwidth
    if best is None:
        return None
    return best + sum((one.bandwidth for one in _others(system, loop)), Fraction(0))


def _ranks(loop: Loop) -> list[int]:
    """Deadline monotonic behind the driver, equal ones in order."""
    deadlines = [(one.deadline_ns, number) for number, one in enumerate(loop.plant.services)]
    return [1 + sorted(deadlines).index(one) for one in deadlines]


def _all(system: System, name: str, priority: int, least: int, most: int) -> Iterator[Server]:
    """Every slice and period of a domain, the least bandwidth first."""
    index = next(n for n, one in enumerate(system.domains) if one.name == name)
    slices = [(p, s) for p in range(least, most + 1) for s in range(least, p + 1)]
    for period, slice_ in sorted(slices, key=lambda one: Fraction(one[1], one[0])):
        yield Server(index, name, period, slice_, priority, index)


def _others(system: System, loop: Loop) -> list[Server]:
    inside = {loop.driver.name, *(one.name for one in loop.replies)}
    last = len(inside)
    return [
        Server(index, one.name, one.interface.period_ns, one.interface.budget_ns, last, index)
        for index, one in enumerate(system.domains)
        if one.name not in inside and one.interface is not None
    ]


def accepted(system: System, loop: Loop, driver: Server, services: tuple[Server, ...]) -> bool:
    """Whether the sound bounds hold, tasks' own deadlines with them, and others get slices."""
    others = _others(system, loop)
    found: dict[int, list[Server]] = {}
    for one in sorted([driver, *services, *others]):
        found.setdefault(system.domains[one.domain_index].pcpu or 0, []).append(one)
    groups = {pcpu: Group(tuple(inside)) for pcpu, inside in found.items()}

    def group_of(one: Server) -> Group:
        return groups[system.domains[one.domain_index].pcpu or 0]

    placed = PlacedPlant(
        loop.plant, driver, group_of(driver), tuple((one, group_of(one)) for one in services)
    )
    rule = TESTS[str(system.policy)].RULE
    if not all(verdict.holds for verdict in bounds_of(placed, rule)):
        return False
    parts = parts_of(placed, rule)
    assert not isinstance(parts, Verdict)
    if parts[0].in_ns > loop.way_ns:
        return False
    if any(one.wake_ns > due for one, due in zip(parts, loop.answers_ns, strict=True)):
        return False
    for group in groups.values():
        verdicts = host_level(system.policy, group).servers
        for server, verdict in zip(group.servers, verdicts, strict=True):
            if server in others and not verdict.holds:
                return False
    return True
