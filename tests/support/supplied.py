# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a vcpu whose supply an adversary places, tick by tick.

The adversary decides in which ticks of each server period the budget comes, when each task is
first released, and how late within its jitter each job comes. Nothing here knows of bounds or
windows: jobs queue, the first of them runs where there is supply, and what is late is seen.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.support.campaign import Trial, climb

from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, NamedLoad

NEVER_LATE = -(10**9)


@dataclass(frozen=True)
class Server:
    """The budget comes within the first `deadline` ticks of each period."""

    period: int
    budget: int
    deadline: int
    polling: bool = False  # the budget is lost at any tick without work


@dataclass(frozen=True)
class Attack:
    """What the adversary chose; the last placement goes on for ever, delays come in turns."""

    placed: tuple[frozenset[int], ...]
    phases: tuple[int, ...]
    delays: tuple[tuple[int, ...], ...]


def releases(loads: Sequence[Load], attack: Attack, ticks: int) -> dict[int, list[int]]:
    """Which tasks release a job at which tick."""
    coming: dict[int, list[int]] = {}
    for index, load in enumerate(loads):
        delays = attack.delays[index]
        for job, nominal in enumerate(range(attack.phases[index], ticks, load.period)):
            coming.setdefault(nominal + delays[job % len(delays)], []).append(index)
    return coming


def lateness(
    local: Local, loads: Sequence[Load], server: Server, attack: Attack, ticks: int
) -> list[int]:
    """For each task how late its latest job finished after its deadline (negative: before).

    The longest blocking is work of nobody that comes before the first job of each busy window.
    """
    worst = [NEVER_LATE] * len(loads)
    held = max((load.blocking for load in loads), default=0)
    coming = releases(loads, attack, ticks)
    queue: list[list[int]] = []  # rank, order of release, task, deadline, work left
    serial, live = 0, True
    for now in range(ticks):
        if held and not queue and now in coming:  # what blocks has just begun
            queue.append([NEVER_LATE, 0, 0, ticks - NEVER_LATE, held])
        for index in coming.get(now, ()):
            deadline = now + loads[index].deadline
            rank = {
                Local.FIXED_PRIORITY: index,
                Local.EDF: deadline,
                Local.FIFO: now,
                Local.EXECUTOR: -index,  # any order would do
            }
            insort(queue, [rank[local], serial, index, deadline, loads[index].wcet])
            serial += 1
        number, slot = divmod(now, server.period)
        if server.polling:
            live = bool(queue) and (live or slot == 0)
        if not queue or not live:
            continue
        if slot not in attack.placed[min(number, len(attack.placed) - 1)]:
            continue
        first = queue[0]
        first[4] -= 1
        if local is Local.EXECUTOR:
            first[0] = -len(loads)  # nobody comes before it any more
        if first[4] == 0:
            worst[first[2]] = max(worst[first[2]], now + 1 - first[3])
            del queue[0]
    for _, _, index, deadline, _ in queue:
        worst[index] = max(worst[index], ticks - deadline)
    return worst


def worst_case(loads: Sequence[Load], server: Server) -> Attack:
    """The textbook one: the budget early, all tasks just after it, then the budget late.

    Jitter at its worst: the first job as late as it may be, those after it at once.
    """
    early = frozenset(range(server.budget))
    late = frozenset(range(server.deadline - server.budget, server.deadline))
    begin = 1 if server.polling else server.budget
    far = max((load.jitter for load in loads), default=0)
    shift = -(-far // server.period) * server.period
    return Attack(
        placed=(early,) * (shift // server.period + 1) + (late,),
        phases=tuple(begin + shift - load.jitter for load in loads),
        delays=tuple((load.jitter,) + (0,) * 40 for load in loads),
    )


def some_attack(draw: random.Random, loads: Sequence[Load], server: Server) -> Attack:
    def place() -> frozenset[int]:
        style = draw.random()
        if style < 0.3:
            return frozenset(range(server.budget))
        if style < 0.6:
            return frozenset(range(server.deadline - server.budget, server.deadline))
        return frozenset(draw.sample(range(server.deadline), server.budget))

    begin = draw.randint(0, 2 * server.period)
    together = draw.random() < 0.5
    return Attack(
        placed=tuple(place() for _ in range(draw.randint(2, 6))),
        phases=tuple(
            begin if together else draw.randint(0, min(load.period, 12)) for load in loads
        ),
        delays=tuple(
            tuple(draw.choice([0, load.jitter, draw.randint(0, load.jitter)]) for _ in range(3))
            for load in loads
        ),
    )


def in_phase(attack: Attack) -> Attack:
    """The same supply for tasks that are released together at 0."""
    none = (0,) * len(attack.phases)
    return replace(attack, phases=none, delays=tuple((0,) for _ in attack.phases))


def neighbours(
    draw: random.Random, loads: Sequence[Load], server: Server, attack: Attack
) -> Iterator[Attack]:
    """A few attacks that differ in one choice."""
    for _ in range(2):
        placed = list(attack.placed)
        placed[draw.randrange(len(placed))] = frozenset(
            draw.sample(range(server.deadline), server.budget)
        )
        yield replace(attack, placed=tuple(placed))
        phases = list(attack.phases)
        which = draw.randrange(len(phases))
        phases[which] = max(0, phases[which] + draw.choice([-2, -1, 1, 2]))
        yield replace(attack, phases=tuple(phases))
    other = some_attack(draw, loads, server)
    yield replace(attack, placed=other.placed)
    yield replace(attack, delays=other.delays)


def attacks_on(
    draw: random.Random,
    local: Local,
    loads: Sequence[Load],
    server: Server,
    *,
    phased: bool = False,
) -> Iterator[tuple[Attack, list[int]]]:
    """The textbook attack, random ones, and the end of a climb from the best of them."""
    ticks = 60 + 4 * max(load.period for load in loads)

    def run(attack: Attack) -> list[int]:
        return lateness(local, loads, server, in_phase(attack) if phased else attack, ticks)

    def score(attack: Attack) -> int:
        return max(run(attack))

    tried = [worst_case(loads, server), *(some_attack(draw, loads, server) for _ in range(3))]
    for attack in tried:
        yield attack, run(attack)
    top, _ = climb(
        max(tried, key=score), lambda here: neighbours(draw, loads, server, here), score, 3
    )
    yield top, run(top)


def broken(
    draw: random.Random,
    local: Local,
    loads: Sequence[Load],
    server: Server,
    bounds: Sequence[int],
    *,
    phased: bool = False,
) -> str:
    """An attack under which some response is longer than its bound; empty if none was found."""
    for attack, late in attacks_on(draw, local, loads, server, phased=phased):
        for load, bound, worst in zip(loads, bounds, late, strict=True):
            if worst + load.deadline > bound:
                return f"{loads} on {server}: {attack} takes {worst + load.deadline} > {bound}"
    return ""


def some_server(draw: random.Random, *, polling: bool = False, early: bool = False) -> Server:
    period = draw.randint(2, 8)
    budget = draw.randint(1, period)
    deadline = draw.randint(budget, period) if early else period
    return Server(period, budget, deadline, polling)


def some_loads(draw: random.Random, server: Server) -> list[Load]:
    """One to three loads that have a chance on this server."""
    count = draw.randint(1, 3)
    loads = []
    for _ in range(count):
        period = draw.choice([3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 24])
        share = draw.uniform(0.1, 1.1) * server.budget / server.period / count
        wcet = min(period, max(1, int(period * share)))
        late = draw.random()
        if late < 0.5:
            deadline = period
        else:
            deadline = draw.randint(wcet, period if late < 0.85 else 2 * period)
        jitter = draw.randint(0, period) if draw.random() < 0.2 else 0
        loads.append(Load(wcet, period, deadline, jitter))
    return sorted(loads, key=lambda load: load.period)


def component(local: Local, loads: Sequence[Load]) -> Component:
    return Component(local, tuple(NamedLoad(f"t{i}", load) for i, load in enumerate(loads)))


def refuted(local: Local, loads: Sequence[Load], server: Server, ticks: int) -> Trial:
    """A "no" of an exact test has to be shown by the textbook attack."""
    late = lateness(local, loads, server, worst_case(loads, server), ticks)
    if max(late) > 0:
        return Trial(accepted=False)
    return Trial(accepted=False, counterexample=f"refused, yet nothing is late: {loads}, {server}")
