# SPDX-License-Identifier: BSD-2-Clause
"""Fitted servers where flows pass: bursts through drivers get budgets that are proved and hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path

from tests.support.drawn_devices import with_devices
from tests.support.flow_worlds import draw_system

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.model import InputError, Interface, System, load_system
from hyperperiod.runs import simulate

SYSTEMS = Path(__file__).parents[2] / "systems"
US = 1_000
DRAWN = 24
SMALL = Options(solver=False, step_ns=1, periods=(2, 12))


def without_interfaces(one: System) -> System:
    members = (
        member.replace(interface=None).with_vcpus({"interface": None} for _ in member.own_vcpus)
        if member.own_vcpus
        else member.replace(interface=None)
        for member in one.domains
    )
    return one.replace(domains=tuple(members))


def bandwidth(one: System) -> Fraction:
    interfaces = (member.interface for member in one.domains if member.interface)
    return sum((given.bandwidth for given in interfaces), Fraction(0))


def widened(one: System, options: Options) -> System | None:
    """The system fitted if its flows needed more than its tasks, else None."""
    said: list[str] = []
    found = fit(one, options, lambda progress: said.append(progress.doing))
    if "budgets for the flows" not in said:
        return None
    assert found.status == "fitted", found.reason
    assert found.system is not None
    return found.system


def all_in_time(one: System, horizon_ns: int) -> bool:
    result = simulate(one, horizon_ns=horizon_ns, seed=1)
    tasks = (task.misses for member in result.domains for task in member.tasks)
    return not any(tasks) and not any(flow.misses or flow.dropped for flow in result.flows)


def drawn() -> Iterator[tuple[System, System]]:
    """Systems with devices that some interfaces serve, and how they were fitted without them."""
    for seed in range(1_000):
        rng = random.Random(seed)
        one = with_devices(rng, draw_system(rng))
        if not one.devices or analyze(one).schedulable is not True:
            continue
        try:
            found = widened(without_interfaces(one), SMALL)
        except InputError:  # it is no system for `fit`
            continue
        if found is not None:
            yield one, found


def test_flows_get_what_is_proved_and_less_than_they_were_drawn_with() -> None:
    pairs = list(islice(drawn(), DRAWN))
    assert len(pairs) == DRAWN
    for _one, found in pairs:
        assert analyze(found).schedulable is True
        assert all_in_time(found, 20_000)
    before, after = (sum(map(bandwidth, side)) for side in zip(*pairs, strict=True))
    assert after < before * Fraction(2, 3)


def test_the_driver_of_the_example_needs_half_of_what_its_file_gives() -> None:
    one = load_system(SYSTEMS / "driver-domain.toml")
    found = widened(without_interfaces(one), Options(solver=False, step_ns=100 * US))
    assert found is not None
    assert found.domains[0].interface == Interface(period_ns=1_000 * US, budget_ns=100 * US)
    assert analyze(found).schedulable is True
    assert all_in_time(found, 5_000_000 * US)


def test_a_flow_through_several_vcpus_of_a_domain_gets_budgets_on_each() -> None:
    one = load_system(SYSTEMS / "zone-controller.toml")
    found = widened(without_interfaces(one), Options(solver=False))
    assert found is not None
    assert analyze(found).schedulable is True
    assert all_in_time(found, 1_000_000 * US)


def test_what_more_budget_does_not_serve_either_is_said() -> None:
    one = load_system(SYSTEMS / "driver-domain.toml")
    found = fit(without_interfaces(one), Options(solver=False))
    assert found.status == "not found"
    assert "on this grid nor with more budget where flows pass" in found.reason
