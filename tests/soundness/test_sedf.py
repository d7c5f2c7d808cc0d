# SPDX-License-Identifier: BSD-2-Clause
"""Hunts for counterexamples to what is said about SEDF, SEDF' and PSEDF, with the tick model.

First the way of a packet through the driver domain and back: small plants, the paper's
configuration or any other, on one pcpu or with the driver apart, other domains beside them that
work whenever they like; phases drawn, all at once, and climbing towards the latest answer. Then
slices as such: what the host level promises, and the supply bound that domains build on.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from tests.model_naive import slices
from tests.support.campaign import Trial, climb, hunt, sizes
from tests.support.driver_attack import (
    ENDLESS,
    RULES,
    TICKS,
    Stage,
    latest,
    latest_hop,
    neighbours,
    some_play,
    some_work,
)
from tests.support.paper_loops import configure

from hyperperiod.analysis.domains.domain_level import SupplyContract, shape_for
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.driver_loop.driver_domain import (
    Configuration,
    Plant,
    Service,
    Slice,
    place,
)
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import PRESETS, Policy


def some_stage(name: str, draw: random.Random) -> Stage | None:
    """A small plant; None if the configuration that was drawn does not exist."""
    count = draw.randint(1, 3)
    services = []
    for number in range(count):
        period = draw.randint(24, 96)
        wcet = draw.randint(1, 3)
        services.append(Service(f"s{number}", period, draw.randint(period * 3 // 4, period), wcet))
    plant = Plant(tuple(services), 1, draw.choice([count, count, count + 1]))
    try:
        if draw.random() < 0.5:
            configuration = configure(RULES[name][0].RULE, plant)
        else:
            configuration = _any_configuration(draw, plant)
    except ValueError:
        return None
    others = _some_others(draw, 10)
    beside = _some_others(draw, 20) if draw.random() < 0.5 else None
    placed = place(plant, configuration, others=others, beside=beside)
    return Stage(name, placed, others, beside)


def _some_others(draw: random.Random, first: int) -> tuple[Server, ...]:
    others = []
    for number in range(draw.choice([0, 0, 1, 1, 2])):
        period = draw.randint(4, 24)
        budget = draw.randint(1, max(1, period // 4))
        name = f"o{first + number}"
        others.append(Server(first + number, name, period, budget, draw.choice([0, 2, 9, 9])))
    return tuple(others)


def _any_configuration(draw: random.Random, plant: Plant) -> Configuration:
    slice_ns = plant.slice_ns + draw.choice([0, 0, 0, 1])
    services = []
    for service in plant.services:
        own_ns = service.wcet_ns + draw.choice([0, 0, 1])
        longest = draw.choice([service.period_ns, service.period_ns // 3])
        services.append(Slice(draw.randint(own_ns, max(own_ns, longest)), own_ns))
    return Configuration(Slice(slice_ns + draw.randint(0, 6), slice_ns), tuple(services))


def passage_trial(name: str, draw: random.Random) -> Trial:
    stage = some_stage(name, draw)
    bounds = stage.bounds() if stage else None
    if stage is None or bounds is None:
        return Trial(accepted=False)
    parts = stage.parts()
    for number in range(3):
        play = some_play(draw, stage, together=number == 0)
        beyond, what = max(latest(stage, bounds, play), latest_hop(stage, parts, play))
        if number == 2 and draw.random() < 0.05:
            play, beyond = climb(
                play,
                lambda here: neighbours(draw, here),
                lambda here: latest(stage, bounds, here)[0],
                steps=10,
            )
        if beyond > 0:
            return Trial(accepted=True, counterexample=f"{stage}, {play}: {what}")
    return Trial(accepted=True)


@sizes(750)
@pytest.mark.parametrize("name", RULES)
def test_no_packet_is_later_than_its_bound(name: str, systems: int) -> None:
    hunt(f"passages {name}", systems, lambda draw: passage_trial(name, draw))


def near_stage(name: str, draw: random.Random) -> Stage | None:
    """As many flows as packets, some of them near one another, mostly with the driver beside."""
    count, least, packet = (
        draw.choice([2, 2, 3, 3, 4]),
        draw.randint(20, 60),
        draw.choice([1, 1, 2]),
    )
    services, chosen = [], []
    for number in range(count):
        period = draw.randint(least, least + draw.choice([0, 4, 20, 60]))
        wcet = draw.randint(1, 3)
        services.append(Service(f"s{number}", period, draw.randint(period * 2 // 3, period), wcet))
        own = wcet + draw.choice([0, 0, 1])
        longest = draw.choice([period // 4, period // 3, period // 2, period])
        chosen.append(Slice(draw.randint(own, max(own, longest)), own))
    plant = Plant(tuple(services), packet, count)
    period = draw.randint(plant.slice_ns, max(plant.slice_ns, least // 2))
    alone = draw.random() < (0.3 if name == "psedf" else 0.9)
    others = _some_others(draw, 10) if draw.random() < 0.3 else ()
    configuration = Configuration(Slice(period, plant.slice_ns), tuple(chosen))
    beside: tuple[Server, ...] | None = () if alone else None
    placed = place(plant, configuration, others=others, beside=beside)
    return Stage(name, placed, others, beside)


def near_trial(name: str, draw: random.Random) -> Trial:
    """Only plants whose bound is less than a wait on both ways, part by part."""
    stage = near_stage(name, draw)
    bounds = stage.bounds() if stage else None
    if stage is None or bounds is None:
        return Trial(accepted=False)
    parts = stage.parts()
    if all(one.out_ns == one.in_ns and one.total_ns == one.sum_ns for one in parts):
        return Trial(accepted=False)
    for number in range(3):
        play = some_play(draw, stage, together=number == 0)
        beyond, what = max(latest(stage, bounds, play), latest_hop(stage, parts, play))
        if number == 2 and draw.random() < 0.2:
            play, beyond = climb(
                play,
                lambda here: neighbours(draw, here),
                lambda here: latest(stage, bounds, here)[0],
                steps=10,
            )
        if beyond > 0:
            return Trial(accepted=True, counterexample=f"{stage}, {play}: {what}")
    return Trial(accepted=True)


@sizes(400)
@pytest.mark.parametrize("name", ["sedf-prime", "psedf"])
def test_one_wait_and_one_piece_are_enough(name: str, systems: int) -> None:
    hunt(f"near {name}", systems, lambda draw: near_trial(name, draw), 0.02)


# -- slices as such ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared:
    """Slices on one pcpu; work for all but the first by script, for the first as it is told."""

    policy: Policy
    servers: tuple[Server, ...]

    def run(
        self, script: tuple[tuple[tuple[int, int], ...], ...]
    ) -> tuple[list[bool], list[bool], set[int]]:
        """Per tick: whether the first has work, and runs on its slice; and when it blocked."""
        _, wakes, order = RULES[str(self.policy)]
        world = slices.World(
            [
                slices.Slice(s.period_ns, s.budget_ns, s.priority, extra=s.order % 2 == 1)
                for s in self.servers
            ],
            wakes,
            order,
            booted=True,
        )
        steps = [list(reversed(one)) for one in script]
        amounts = [0] * len(script)
        work, runs, blocks = [], [], set()
        running: int | None = None
        for now in range(TICKS):
            if now:
                world.elapse()
            if running is not None:
                amounts[running] -= 1
                if not amounts[running]:
                    world.block(running)
                    blocks |= {now} if running == 0 else set()
            for v, one in enumerate(steps):
                while one and one[-1][0] == now:
                    amounts[v] += one.pop()[1]
                    if not world.vcpus[v].work:
                        world.wake(v)
            running = world.decide()
            work.append(amounts[0] > 0)
            runs.append(running == 0 and not world.in_extra)
        return work, runs, blocks


def some_slices(name: str, draw: random.Random) -> Shared:
    servers = []
    for number in range(draw.randint(2, 4)):
        period = draw.randint(4, 24)
        budget = draw.randint(1, max(1, period // draw.choice([2, 3, 4])))
        servers.append(Server(number, f"v{number}", period, budget, draw.randint(0, 3)))
    return Shared(PRESETS[name], tuple(servers))


def promised_trial(name: str, draw: random.Random) -> Trial:
    """With work from some instant on, the first server gets its slice in each period from there."""
    shared = some_slices(name, draw)
    verdict = host_level(shared.policy, Group(shared.servers)).servers[0]
    if not verdict.holds:
        return Trial(accepted=False)
    first = shared.servers[0]
    begin = draw.randrange(40)
    script = (((begin, ENDLESS),), *(some_work(draw, other) for other in shared.servers[1:]))
    _, runs, _ = shared.run(script)
    for period in range(begin, TICKS - first.period_ns, first.period_ns):
        got = sum(runs[period : period + first.period_ns])
        if got < first.budget_ns:
            return Trial(accepted=True, counterexample=f"{shared}, {script}: {got} from {period}")
    return Trial(accepted=True)


def supply_trial(name: str, draw: random.Random) -> Trial:
    """In every window in which the first has work throughout it gets what its bound says."""
    shared = some_slices(name, draw)
    if not host_level(shared.policy, Group(shared.servers)).servers[0].holds:
        return Trial(accepted=False)
    first = shared.servers[0]
    contract = SupplyContract(shared.policy.budget, order=shared.policy.order)
    supply = Supply(shape_for(contract, first.period_ns, ()), first.period_ns, first.budget_ns)
    script = tuple(some_work(draw, one) for one in shared.servers)
    work, runs, blocks = shared.run(script)
    bound = [supply.sbf(length) for length in range(TICKS + 1)]
    for begin in range(TICKS):
        got = 0
        for end in range(begin, TICKS):
            if not work[end] or (end in blocks and end > begin):
                break
            got += runs[end]
            if got < bound[end - begin + 1]:
                what = f"{got} in [{begin}, {end + 1}), at least {bound[end - begin + 1]}"
                return Trial(accepted=True, counterexample=f"{shared}, {script}: {what}")
    return Trial(accepted=True)


@sizes(300)
@pytest.mark.parametrize("name", RULES)
def test_slices_are_got(name: str, systems: int) -> None:
    hunt(f"slices {name}", systems, lambda draw: promised_trial(name, draw))


@sizes(150)
@pytest.mark.parametrize("name", RULES)
def test_supply_is_got(name: str, systems: int) -> None:
    hunt(f"supply {name}", systems, lambda draw: supply_trial(name, draw))
