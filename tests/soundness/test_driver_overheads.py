# SPDX-License-Identifier: BSD-2-Clause
"""A hunt for packets that are late, or later than their bound, in driver loops with overheads.

Plants of one to four real-time domains under PSEDF and SEDF' and the plain rules with slices, on
one pcpu or with the driver apart, whose slices hold a little more than the work. Beside them hogs,
domains whose many short jobs wake their vcpus all the time, and best effort. Overheads of every
kind, small beside the slices as on real machines. The adversary runs each system that is
accepted from many phases of packets and tasks, all at once among them, and climbs over these
towards the longest response in relation to its bound: of a flow, and of each hop.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from tests.support.campaign import Trial, climb, hunt, sizes
from tests.support.flow_attack import Outcome, Phases, one_moved, shifted
from tests.support.worlds import domain, system, task

from hyperperiod.analysis.flows.found import WholeVerdict
from hyperperiod.analysis.flows.registry import whole_verdicts
from hyperperiod.hosts.result import Responses
from hyperperiod.model import Domain, Flow, System
from hyperperiod.runs import simulate

POLICIES = (
    "psedf", "psedf", "slice+fp", "slice+fp+extra", "sedf-prime", "slice+edf", "slice+edf+extra",
)  # fmt: skip
PERIODS = 12
"""How many periods of the longest source a run has."""


class World:
    """What the parts of one drawn plant share."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.policy = draw.choice(POLICIES)
        self.pcpus = draw.choice((1, 2, 2))
        self.apart = self.pcpus == 2 and draw.random() < 0.6
        self.flows = draw.randint(1, 4)
        self.pace = draw.randint(10_000, 80_000)

    def overheads(self) -> dict[str, int]:
        """Costs of all kinds, or of one, which is then the larger."""
        keys = ("pick", "context_switch", "interrupt", "wake", "replenish")
        if self.draw.random() < 0.4:
            return {self.draw.choice(keys): self.draw.choice((1, 5, 20, 50))}
        most = self.draw.choice((1, 3, 10))
        costs = {key: self.draw.choice((0, self.draw.randint(0, most))) for key in keys}
        return costs if any(costs.values()) else {self.draw.choice(keys): most}

    def pin(self, pcpu: int) -> dict[str, int]:
        return {"pcpu": pcpu if self.pcpus == 2 else 0}

    def numbered(self, number: int) -> dict[str, int]:
        """Mostly deadline monotonic behind the driver; under EDF no number means anything."""
        draw = self.draw
        moved = draw.random() < 0.15
        return {"priority": draw.randint(0, self.flows) if moved else number}

    def slice(self, work: int, share: float) -> tuple[int, int]:
        """A slice that holds the work and a little or much of overheads, as part of its period."""
        more = self.draw.choice((20, 100, 200, 400, 800))
        budget = work + self.draw.randint(more // 2, more)
        return budget, max(budget, int(budget / share))

    def driver(self, packet: int) -> Domain:
        inside = task("packet", 1_000_000, packet, kind="event", deadline=1_000_000)
        share = self.draw.choice((1.0, 0.9, 0.7, 0.5, 0.3)) if self.apart else 0.3
        given = self.slice(self.flows * packet, share)
        return domain("driver", given, inside, scheduler="fifo", **self.pin(0), **self.numbered(0))

    def reply(self, number: int, period: int) -> Domain:
        draw = self.draw
        wcet = draw.randint(50, max(60, period // (6 * self.flows)))
        inside = task("answer", period, wcet, kind="event", deadline=period)
        budget, shortest = self.slice(wcet, draw.choice((0.9, 0.5, 0.3)) / self.flows)
        own = max(shortest, period // draw.choice((1, 2, 3, 5, 8)))
        where = 1 if self.apart else draw.choice((0, 1))
        more = {**self.pin(where), **self.numbered(number + 1), "extra": draw.random() < 0.2}
        return domain(f"own{number}", (budget, own), inside, **more)

    def flow(self, number: int, period: int) -> Flow:
        jitter = self.draw.choice((0, 0, 0, self.draw.randint(0, period // 8)))
        most = period - jitter
        return Flow.of(
            {
                "name": f"f{number}",
                "source": {"kind": "periodic", "period": period, "jitter": jitter},
                "hops": ["driver.packet", f"own{number}.answer", "driver.packet"],
                "deadline": self.draw.randint(3 * most // 4, most),
                "queue": 1,
            }
        )

    def beside(self, number: int) -> Domain:
        """Somebody else: always busy, or short jobs that come often."""
        draw = self.draw
        period = draw.randint(500, 8_000)
        given = (max(1, int(period * draw.choice((0.02, 0.05, 0.1)))), period)
        if draw.random() < 0.4:
            inside = [task("hog", kind="busy")]
        else:
            inside = [
                task(f"t{k}", draw.randint(400, 5_000), draw.randint(1, 60), deadline=1_000_000)
                for k in range(draw.randint(1, 2))
            ]
        more = {**self.pin(draw.choice((0, 1))), "extra": draw.random() < 0.3}
        rank = {"priority": draw.choice((0, 2, 9, 9))}
        return domain(f"beside{number}", given, *inside, scheduler="fifo", **more, **rank)

    def best_effort(self) -> Domain:
        inside = [task("hog", kind="busy")]
        if self.draw.random() < 0.5:
            inside = [task("often", self.draw.randint(200, 2_000), 50, deadline=1_000_000)]
        return domain("rest", None, *inside, scheduler="fifo", **self.pin(self.draw.choice((0, 1))))


def some_system(draw: random.Random) -> System:
    world = World(draw)
    periods = [draw.randint(world.pace, 2 * world.pace) for _ in range(world.flows)]
    packet = draw.randint(20, max(30, world.pace // (20 * world.flows)))
    domains = [world.driver(packet)]
    domains += [world.reply(number, period) for number, period in enumerate(periods)]
    domains += [world.beside(number) for number in range(draw.choice((0, 0, 0, 1, 1, 2)))]
    if draw.random() < 0.3:
        domains.append(world.best_effort())
    if draw.random() < 0.5:
        draw.shuffle(domains)
    flows = tuple(world.flow(number, period) for number, period in enumerate(periods))
    return system(
        world.policy, *domains, pcpus=world.pcpus, flow=flows, overheads=world.overheads()
    )


def outcome(one: System, wholes: Mapping[str, WholeVerdict], phases: Phases) -> Outcome:
    """How near a run came to a bound, and what broke one; without verdicts, what was late."""
    horizon = PERIODS * max(flow.source.period_ns or 0 for flow in one.flows)
    result = simulate(shifted(one, phases), horizon, phases.seed)
    nearest = 0
    broken = []

    def compare(what: str, response: Responses | None, bound: int | None) -> None:
        nonlocal nearest
        if response is None or bound is None:
            return
        nearest = max(nearest, 1_000_000 * response.max // bound)
        if response.max > bound:
            broken.append(f"{what} takes {response.max}, its bound is {bound}")

    bounds: dict[str, int] = {}
    for flow, seen in zip(one.flows, result.flows, strict=True):
        if seen.misses or seen.dropped:
            broken.append(f"{flow.name}: {seen.misses} missed, {seen.dropped} dropped")
        whole = wholes.get(flow.name)
        if whole is None:
            continue
        compare(flow.name, seen.response_ns, whole.sound.bound_ns)
        for hop, bound in zip(flow.hops, whole.hops_ns or (), strict=True):
            bounds[hop] = max(bounds.get(hop, 0), bound)
    for each in result.domains:
        for member in each.tasks:
            name = f"{each.name}.{member.name}"
            compare(name, member.response_ns, bounds.get(name))
    return Outcome(nearest, "; ".join(broken))


def some_phases(draw: random.Random, one: System, *, together: bool) -> Phases:
    """Phases of the packets within a period and of all other tasks, and a seed of draws."""
    longest = max(flow.source.period_ns or 0 for flow in one.flows)
    start = draw.randint(0, longest)
    return Phases(
        tuple(start if together else draw.randint(0, 2 * longest) for _ in one.flows),
        tuple(draw.randint(0, longest) for each in one.domains for _ in each.tasks),
        draw.randint(1, 1000),
    )


def around(phases: Phases) -> Iterator[Phases]:
    for step in (-500, -60, -7, -1, 1, 7, 60, 500):
        for moved in one_moved(phases.sources, step):
            yield phases._replace(sources=moved)
        for moved in one_moved(phases.tasks, step):
            yield phases._replace(tasks=moved)


def attack(
    one: System, wholes: Mapping[str, WholeVerdict], draw: random.Random, runs: int, steps: int
) -> str:
    """What was broken, and from which phases; empty: nothing."""
    starts = [some_phases(draw, one, together=number % 3 == 0) for number in range(runs)]
    best, score = starts[0], -1
    for phases in starts:
        nearest, broken = outcome(one, wholes, phases)
        if broken:
            return f"{broken} with {phases} of {one!r}"
        if nearest > score:
            best, score = phases, nearest
    best, _ = climb(best, around, lambda phases: outcome(one, wholes, phases).nearest, steps)
    broken = outcome(one, wholes, best).broken
    return f"{broken} with {best} of {one!r}" if broken else ""


def trial(draw: random.Random) -> Trial:
    one = some_system(draw)
    wholes = whole_verdicts(one)
    if not wholes or not all(whole.sound.holds for whole in wholes.values()):
        return Trial(accepted=False)
    climbs = 4 if draw.random() < 0.2 else 0
    return Trial(accepted=True, counterexample=attack(one, wholes, draw, 6, climbs))


@sizes(100)
def test_no_packet_is_later_than_its_bound_with_overheads(systems: int) -> None:
    hunt("driver overheads", systems, trial, least_accepted=0.2)
