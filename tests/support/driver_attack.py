# SPDX-License-Identifier: BSD-2-Clause
"""Plants of a driver domain, and the adversary that plays packets at them.

A stage is a plant on its machine under SEDF, SEDF' or PSEDF, with other domains beside it that work
whenever they like. A play says who does what when; it is moved step by step towards the latest
answer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from tests.model_naive import slices
from tests.model_naive.driver_loop import Passage, Place, Shape, passages
from tests.support.paper_loops import bounds_of

from hyperperiod.analysis.driver_loop import psedf, sedf, sedf_prime
from hyperperiod.analysis.driver_loop.driver_domain import BoundParts, PlacedPlant, parts_of
from hyperperiod.analysis.servers.server import Server
from hyperperiod.analysis.verdict import Verdict

TICKS = 200
ENDLESS = 10**6
Part = TypeVar("Part")
RULES: dict[str, tuple[ModuleType, slices.Wakes, slices.Order]] = {
    "sedf": (sedf, "once", "edf"),
    "sedf-prime": (sedf_prime, "keep", "edf"),
    "psedf": (psedf, "keep", "fp"),
}


@dataclass(frozen=True)
class Stage:
    """A plant on its machine, and the other domains there."""

    name: str
    placed: PlacedPlant
    others: tuple[Server, ...] = ()
    beside: tuple[Server, ...] | None = None

    def bounds(self) -> list[int] | None:
        """The bounds of all services if all their deadlines are met."""
        module, _, _ = RULES[self.name]
        verdicts = bounds_of(self.placed, module.RULE)
        if not all(verdict.holds for verdict in verdicts):
            return None
        return [verdict.bound_ns or 0 for verdict in verdicts]

    def parts(self) -> list[BoundParts]:
        """Returns the terms (ns) of the bound of each driver loop."""
        found = parts_of(self.placed, RULES[self.name][0].RULE)
        assert not isinstance(found, Verdict)
        return found


@dataclass(frozen=True)
class Play:
    """Who does what when: arrivals of each flow, and the work of the others."""

    arrivals: tuple[tuple[int, ...], ...]
    script: tuple[tuple[tuple[int, int], ...], ...]


def latest(stage: Stage, bounds: list[int], play: Play) -> tuple[int, str]:
    """The answer that comes closest to its bound: its distance beyond it, and which it was."""
    seen = run(stage, play)
    worst = max(seen, key=lambda one: one.response - bounds[one.flow], default=None)
    if worst is None:
        return -ENDLESS, ""
    return worst.response - bounds[worst.flow], f"{worst}, bound {bounds[worst.flow]}"


def latest_hop(stage: Stage, parts: list[BoundParts], play: Play) -> tuple[int, str]:
    """The same of single hops, each from its own wake."""
    found = [(-ENDLESS, "")]
    for one in run(stage, play):
        own = parts[one.flow]
        hops = (
            (one.reached - one.came, own.in_ns),
            (one.answered - one.reached, own.wake_ns),
            (one.left - one.answered, own.in_ns),
        )
        found += [(took - bound, f"{one}: {took}, bound {bound}") for took, bound in hops]
    return max(found)


def run(stage: Stage, play: Play) -> list[Passage]:
    """All packets that were answered."""
    _, wakes, order = RULES[stage.name]
    placed = stage.placed
    served = [server for server, _ in placed.services] + list(stage.others)
    if stage.beside is None:
        pcpus = [[placed.driver, *served]]
    else:
        pcpus = [[placed.driver, *stage.beside], served]
    worlds = [
        slices.World(
            [slices.Slice(s.period_ns, s.budget_ns, s.priority) for s in servers],
            wakes,
            order,
            booted=True,
        )
        for servers in pcpus
    ]
    last = len(pcpus) - 1
    places: list[Place] = [(last, number + 1 - last) for number in range(len(served))]
    places += [(0, number + 1) for number in range(len(stage.beside or ()))]
    count = len(placed.services)
    plant = placed.plant
    shape = Shape(
        (0, 0), tuple(places[:count]), plant.packet_ns, tuple(s.wcet_ns for s in plant.services)
    )
    script = dict(zip(places[count:], play.script, strict=True))
    return passages(worlds, shape, dict(enumerate(play.arrivals)), TICKS, script)


def some_play(draw: random.Random, stage: Stage, *, together: bool) -> Play:
    arrivals = []
    for service in stage.placed.plant.services:
        late = 0 if together else draw.randrange(service.period_ns)
        times = []
        while late < TICKS:
            times.append(late)
            late += service.period_ns + (draw.randrange(8) if draw.random() < 0.2 else 0)
        arrivals.append(tuple(times))
    idle = (*stage.others, *(stage.beside or ()))
    return Play(tuple(arrivals), tuple(some_work(draw, other) for other in idle))


def some_work(draw: random.Random, other: Server) -> tuple[tuple[int, int], ...]:
    """Always busy, or at times."""
    now = draw.randrange(20)
    if draw.random() < 0.4:
        return ((now, ENDLESS),)
    steps = []
    while now < TICKS:
        steps.append((now, draw.randint(1, 2 * other.budget_ns)))
        now += draw.randint(1, 2 * other.period_ns)
    return tuple(steps)


def neighbours(draw: random.Random, play: Play) -> list[Play]:
    """One flow, or one packet and all behind it, a little earlier or later; one other's work."""
    found = []
    for flow, times in enumerate(play.arrivals):
        after = draw.randrange(len(times))
        for step in (1, 2, 5):
            moved = (*times[:after], *(time + step for time in times[after:]))
            found.append(Play(_put(play.arrivals, flow, moved), play.script))
        if times[0] > 0:
            earlier = tuple(time - 1 for time in times)
            found.append(Play(_put(play.arrivals, flow, earlier), play.script))
    for number, steps in enumerate(play.script):
        moved_work = tuple((when + 1, amount) for when, amount in steps)
        found.append(Play(play.arrivals, _put(play.script, number, moved_work)))
    return found


def _put(parts: tuple[Part, ...], index: int, part: Part) -> tuple[Part, ...]:
    return (*parts[:index], part, *parts[index + 1 :])
