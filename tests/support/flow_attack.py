# SPDX-License-Identifier: BSD-2-Clause
"""The adversary of flows: runs a system from many phases, and climbs towards the longest response.

Phases are the offsets of sources and tasks. What a run is held against is the end-to-end analysis
of the system: bounds of flows and tasks, verdicts, and how many items clients must have back.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.campaign import climb

from hyperperiod.analysis.flows.end_to_end import analyze_flows
from hyperperiod.analysis.flows.found import FlowAnalysis, FlowVerdict
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.hosts.result import Responses
from hyperperiod.model import System, TaskKind
from hyperperiod.runs import simulate

HORIZON = 700
LONGEST_OFFSET = 70


def analysis_of(one: System) -> FlowAnalysis:
    """What is known where some servers may not get their budgets."""
    not_guaranteed = {
        one.domains[server.domain_index].name: verdict.reason
        for group in groups_of(one)
        for server, verdict in zip(
            group.servers, host_level(one.policy, group).servers, strict=True
        )
        if not verdict.holds
    }
    return analyze_flows(one, contracts_of(one), not_guaranteed)


class Phases(NamedTuple):
    """Offsets of the sources, of all tasks in file order, and the seed of draws."""

    sources: tuple[int, ...]
    tasks: tuple[int, ...]
    seed: int


def shifted(one: System, phases: Phases) -> System:
    offsets = iter(phases.tasks)
    domains = []
    for each in one.domains:
        inside = []
        for member in each.tasks:
            offset = next(offsets)
            hop = member.kind is TaskKind.EVENT
            inside.append(member if hop else member.replace(offset_ns=offset))
        domains.append(each.replace(tasks=tuple(inside)))
    flows = tuple(
        each.replace(source=each.source.replace(offset_ns=offset))
        for each, offset in zip(one.flows, phases.sources, strict=True)
    )
    return one.replace(domains=tuple(domains), flows=flows)


def draw_phases(rng: random.Random, one: System) -> Phases:
    count = sum(len(each.tasks) for each in one.domains)
    return Phases(
        tuple(rng.randint(0, 40) for _ in one.flows),
        tuple(rng.randint(0, 40) for _ in range(count)),
        rng.randint(1, 1000),
    )


def around(phases: Phases) -> Iterator[Phases]:
    for step in (-7, -1, 1, 7):
        for moved in one_moved(phases.sources, step):
            yield phases._replace(sources=moved)
        for moved in one_moved(phases.tasks, step):
            yield phases._replace(tasks=moved)


def one_moved(offsets: tuple[int, ...], step: int) -> Iterator[tuple[int, ...]]:
    for place, offset in enumerate(offsets):
        if offset + step >= 0:
            yield (*offsets[:place], offset + step, *offsets[place + 1 :])


class Outcome(NamedTuple):
    """How near a run came to a bound, in thousandths of it, and what broke one."""

    nearest: int
    broken: str


def least_finished(judged: FlowVerdict, horizon: int) -> int:
    """How many items clients must have back: each takes the bound and thinks at most."""
    source = judged.flow.source
    if source.clients is None or judged.bound_ns is None:
        return 0
    cycle = judged.bound_ns + source.think_range_ns[1]
    # Sources may have been moved by up to the longest offset that the adversary tries.
    return source.clients * max(0, (horizon - LONGEST_OFFSET) // cycle)


def outcome(one: System, found: FlowAnalysis, phases: Phases, horizon: int = HORIZON) -> Outcome:
    result = simulate(shifted(one, phases), horizon, phases.seed)
    nearest = 0
    broken = []

    def compare(what: str, response: Responses | None, bound: int | None) -> None:
        nonlocal nearest
        if response is None or bound is None:
            return
        nearest = max(nearest, 1000 * response.max // bound)
        if response.max > bound:
            broken.append(f"{what} takes {response.max}, its bound is {bound}")

    for judged, flow in zip(found.flows, result.flows, strict=True):
        compare(f"flow {flow.name}", flow.response_ns, judged.bound_ns)
        if judged.verdict.holds and (flow.misses or flow.dropped):
            broken.append(f"{flow.name}: {flow.misses} missed, {flow.dropped} dropped")
        least = least_finished(judged, horizon)
        if flow.finished < least:
            broken.append(f"{flow.name}: {flow.finished} finished, at least {least} must")
    bounds = {
        f"{hop.domain}.{hop.task}": hop.bound_ns for verdict in found.flows for hop in verdict.hops
    }
    for each in result.domains:
        parts = found.domains[each.name].parts if each.name in found.domains else {}
        for member in each.tasks:
            name = f"{each.name}.{member.name}"
            compare(name, member.response_ns, bounds.get(name))
            if member.name not in parts:
                continue
            verdict = parts[member.name]
            compare(name, member.response_ns, verdict.bound_ns)
            if verdict.holds and member.misses:
                broken.append(f"{name} misses {member.misses}")
    return Outcome(nearest, "; ".join(broken))


def attack(
    one: System,
    found: FlowAnalysis,
    rng: random.Random,
    runs: int,
    steps: int,
    horizon: int = HORIZON,
) -> str:
    """What was broken, and from which phases; empty: nothing."""
    starts = [draw_phases(rng, one)._replace(sources=(0,) * len(one.flows)) for _ in range(1)]
    starts += [draw_phases(rng, one) for _ in range(runs - 1)]
    best, score = starts[0], -1
    for phases in starts:
        nearest, broken = outcome(one, found, phases, horizon)
        if broken:
            return f"{broken} with {phases} of {one!r}"
        if nearest > score:
            best, score = phases, nearest
    best, score = climb(
        best, around, lambda phases: outcome(one, found, phases, horizon).nearest, steps
    )
    broken = outcome(one, found, best, horizon).broken
    return f"{broken} with {best} of {one!r}" if broken else ""
