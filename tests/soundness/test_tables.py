# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for jobs that are late although the analysis of a table of windows promised they were not.

The supply of a partition is compared with the least of all windows of time, tick by tick. Then
partitions that are accepted are run with tasks that are released anywhere in the table, and no
response may be longer than its bound; that the hunt finds what is there is shown with a supply
that comes one tick too early.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.support.campaign import Trial, hunt, sizes
from tests.support.drawn_tables import owner_at, some_table, with_offsets

from hyperperiod.analysis import Analysis, analyze
from hyperperiod.analysis.domains.supply_bound import Staircase
from hyperperiod.analysis.servers import server_table
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Order, System
from hyperperiod.runs import simulate

RUNS = 6


def supplies(system: System) -> list[Staircase]:
    """Returns the supply (ns in ns) that the analysis knows of each partition of a table."""
    found = [known for one in Analysis(system).contracts.values() if (known := one.known)]
    assert len(found) == len(system.domains)
    return [supply for known in found for supply in known.supplies]


@pytest.mark.parametrize("number", range(60))
def test_the_supply_is_the_least_of_any_window(number: int) -> None:
    system = some_table(random.Random(number))
    frame = system.major_frame_ns
    assert frame
    for domain, supply in zip(system.domains, supplies(system), strict=True):
        there = [owner_at(domain, frame, tick) for tick in range(4 * frame)]
        for length in range(3 * frame + 1):
            least = min(sum(there[start : start + length]) for start in range(frame))
            assert supply.sbf(length) == least, (domain.windows, length)
        found = analyze(system, explain=domain.name)
        blackouts = {one.name: one.blackout_ns for one in found.domains}
        assert found.explain is not None
        assert found.explain.server is not None
        assert found.explain.server.blackout_ns == blackouts[domain.name] == supply.blackout_ns


def attacked(draw: random.Random) -> Trial:
    system = some_table(draw)
    found = analyze(system)
    bounds = {
        (domain.name, task.name): task.response_bound_ns
        for domain in found.domains
        for task in domain.tasks
        if domain.schedulable
    }
    ends = {one.name: one.response_bound_ns for one in found.flows if one.schedulable}
    for seed in range(RUNS if bounds or ends else 0):
        run = simulate(with_offsets(draw, system), 600, seed)
        for flow in run.flows:
            bound_ns = ends.get(flow.name)
            if bound_ns is not None and flow.response_ns and flow.response_ns.max > bound_ns:
                return Trial(True, f"{flow} of {system}: {bound_ns}")
        for domain in run.domains:
            for task in domain.tasks:
                bound_ns = bounds.get((domain.name, task.name))
                if bound_ns is None or task.response_ns is None:
                    continue
                if task.misses or task.response_ns.max > bound_ns:
                    return Trial(True, f"{domain.name}.{task.name} of {system}: {task}, {bound_ns}")
    return Trial(bool(bounds or ends))


@sizes(100)
def test_no_response_is_longer_than_its_bound(systems: int) -> None:
    hunt("tables", systems, attacked, least_accepted=0.3)


def test_a_supply_that_comes_too_early_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = server_table.supply_by_table

    def early(group: Group, order: Order, own: Server) -> Staircase:
        supply = right(group, order, own)
        stairs = tuple((amount, max(0, wait - 1)) for amount, wait in supply.stairs)
        return replace(supply, stairs=stairs)

    monkeypatch.setattr("hyperperiod.analysis.servers.known_servers.supply_by_table", early)
    with pytest.raises(pytest.fail.Exception, match="trial"):
        hunt("tables", 150, attacked)
