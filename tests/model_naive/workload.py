# SPDX-License-Identifier: BSD-2-Clause
"""A workload on the naive model: units of work that arrive, and the ticks that do them.

A vcpu with a backlog of k units has work until it was run for k ticks; units of one vcpu are done
in the order of their arrival. `Run` plays the host of the model and keeps the same-instant order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .model import Grant, Params, Setup, World


class Run:
    """A world and the backlog of each of its vcpus (vcpu ids are 0, 1, ...)."""

    __slots__ = ("backlog", "world")

    def __init__(self, setup: Setup, params: Sequence[Params], now: int = 0) -> None:
        self.world = World(setup, params, now)
        self.backlog = [0] * len(params)

    def copy(self) -> Run:
        """The same run, free to go another way."""
        twin = Run.__new__(Run)
        twin.world = self.world.copy()
        twin.backlog = self.backlog[:]
        return twin

    def key(self) -> tuple[object, ...]:
        """Equal keys: equal futures under equal arrivals."""
        return (tuple(self.backlog), self.world.key())

    def start(self, arrivals: Iterable[int]) -> list[Grant]:
        """The first instant and its grants."""
        self.begin()
        self.arrive(arrivals)
        return self.world.decide()

    def step(self, arrivals: Iterable[int]) -> list[Grant]:
        """One tick passes; then the events of the new instant and its grants."""
        self.finish_tick()
        self.arrive(arrivals)
        return self.world.decide()

    def begin(self) -> list[int]:
        """The first instant in place of `finish_tick`: nothing was granted before it."""
        self.world.refill()
        return []

    def finish_tick(self) -> list[int]:
        """Charge, completions, replenishments; returns the vcpus that departed."""
        ran = [grant.run for grant in self.world.grants if grant.run is not None]
        self.world.elapse()
        for v in ran:
            self.backlog[v] -= 1
        departed = [v for v in ran if self.backlog[v] == 0]
        for v in departed:
            self.world.depart(v)
        self.world.refill()
        return departed

    def arrive(self, arrivals: Iterable[int]) -> list[int]:
        """Adds units of work; returns the vcpus that had none."""
        woken = []
        for v, units in enumerate(arrivals):
            if units and not self.backlog[v]:
                self.world.arrive(v)
                woken.append(v)
            self.backlog[v] += units
        return woken


def play(
    setup: Setup, params: Sequence[Params], patterns: Sequence[dict[int, int]], ticks: int
) -> list[list[Grant]]:
    """The grants of `ticks` ticks; `patterns[v]` maps an instant to the units v gets then."""
    run = Run(setup, params)
    rows = []
    for now in range(ticks):
        arrivals = [pattern.get(now, 0) for pattern in patterns]
        rows.append((run.start if now == 0 else run.step)(arrivals))
    return rows


def finish_times(
    rows: Sequence[Sequence[Grant]], v: int, pattern: dict[int, int]
) -> list[int | None]:
    """When each arrival of v (a job) is done, in the order of arrival; None if it is not."""
    done = [now + 1 for now, grants in enumerate(rows) if any(grant.run == v for grant in grants)]
    finishes: list[int | None] = []
    demand = 0
    for _, units in sorted(pattern.items()):
        demand += units
        finishes.append(done[demand - 1] if demand <= len(done) else None)
    return finishes


def runs(rows: Sequence[Sequence[Grant]], pcpu: int = 0) -> list[int | None]:
    """Who runs in each tick on one pcpu."""
    return [grants[pcpu].run for grants in rows]


def pays(rows: Sequence[Sequence[Grant]], pcpu: int = 0) -> list[object]:
    """Who pays in each tick on one pcpu."""
    return [grants[pcpu].pay for grants in rows]
