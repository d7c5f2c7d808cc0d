# SPDX-License-Identifier: BSD-2-Clause
"""Packets through a driver domain, a real-time domain and back, one tick at a time.

The workload of the PSEDF paper on `slices`: one or two pcpus, a driver that serves packets as they
come, a service per flow that answers each with one job, and other vcpus with work by a script. In
one tick, in this order: time is charged, what is done moves on, vcpus without work block, packets
arrive (from outside and from the hop before), vcpus with new work wake, every pcpu decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.model_naive.slices import World

Place = tuple[int, int]
"""A vcpu: which pcpu, and which of its vcpus."""


class Shape(NamedTuple):
    """Where everything is and how long it takes; services are numbered like flows."""

    driver: Place
    services: tuple[Place, ...]
    packet: int
    wcets: tuple[int, ...]


class Passage(NamedTuple):
    """An answered packet: its flow; when it came, reached and left its service, and left."""

    flow: int
    came: int
    reached: int
    answered: int
    left: int

    @property
    def response(self) -> int:
        return self.left - self.came


class _Packet:
    __slots__ = ("answered", "came", "flow", "left", "reached")

    def __init__(self, flow: int, came: int, left: int) -> None:
        self.flow = flow
        self.came = came
        self.reached = self.answered = -1
        self.left = left


def passages(
    worlds: Sequence[World],
    shape: Shape,
    arrivals: Mapping[int, Sequence[int]],
    ticks: int,
    script: Mapping[Place, Sequence[tuple[int, int]]] | None = None,
) -> list[Passage]:
    """All packets that left within `ticks`. `arrivals` by flow; `script`: (when, how much) work."""
    loop = _Loop(worlds, shape, arrivals, script or {})
    for now in range(ticks):
        loop.tick(now)
    return loop.done


class _Loop:
    def __init__(
        self,
        worlds: Sequence[World],
        shape: Shape,
        arrivals: Mapping[int, Sequence[int]],
        script: Mapping[Place, Sequence[tuple[int, int]]],
    ) -> None:
        self.worlds = worlds
        self.shape = shape
        self.coming = {flow: deque(times) for flow, times in arrivals.items()}
        self.scripts = {place: deque(steps) for place, steps in script.items()}
        self.queues: dict[Place, deque[_Packet]] = {
            place: deque() for place in (shape.driver, *shape.services)
        }
        self.amounts = dict.fromkeys(self.scripts, 0)
        self.running: list[int | None] = [None] * len(worlds)
        self.moving: list[tuple[Place, _Packet]] = []
        self.done: list[Passage] = []

    def tick(self, now: int) -> None:
        if now:
            for pcpu, world in enumerate(self.worlds):
                world.elapse()
                v = self.running[pcpu]
                if v is not None and not self._works_on((pcpu, v), now):
                    world.block(v)
        self._arrive(now)
        for pcpu, world in enumerate(self.worlds):
            self.running[pcpu] = world.decide()

    def _works_on(self, place: Place, now: int) -> bool:
        """One tick of work is done; is there more?"""
        if place in self.amounts:
            self.amounts[place] -= 1
            return self.amounts[place] > 0
        queue = self.queues[place]
        packet = queue[0]
        packet.left -= 1
        if not packet.left:
            queue.popleft()
            self._move_on(place, packet, now)
        return bool(queue)

    def _move_on(self, place: Place, packet: _Packet, now: int) -> None:
        """From the driver to the service, from there back, and out."""
        if place != self.shape.driver:
            packet.answered = now
            packet.left = self.shape.packet
            self.moving.append((self.shape.driver, packet))
        elif packet.reached < 0:
            packet.reached = now
            packet.left = self.shape.wcets[packet.flow]
            self.moving.append((self.shape.services[packet.flow], packet))
        else:
            self.done.append(
                Passage(packet.flow, packet.came, packet.reached, packet.answered, now)
            )

    def _arrive(self, now: int) -> None:
        for flow, times in self.coming.items():
            while times and times[0] == now:
                times.popleft()
                self.moving.append((self.shape.driver, _Packet(flow, now, self.shape.packet)))
        for place, packet in self.moving:
            self.queues[place].append(packet)
            self._wake(place)
        self.moving.clear()
        for place, steps in self.scripts.items():
            while steps and steps[0][0] == now:
                self.amounts[place] += steps.popleft()[1]
                self._wake(place)

    def _wake(self, place: Place) -> None:
        pcpu, v = place
        if not self.worlds[pcpu].vcpus[v].work:
            self.worlds[pcpu].wake(v)
