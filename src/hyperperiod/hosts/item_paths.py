# SPDX-License-Identifier: BSD-2-Clause
"""The way of every item through its hops, from what the guests recorded.

A guest records an item when it is released at a task of the guest. It is released there when it
was done at the hop before, in another guest perhaps, or when the source says. That is checked here,
and what a guest had no time to record is added: an item that reached it and that it never saw, and
what its sources released at the end.

A guest that is interrupted between noting the instant at which a job is done and passing its item
on has done both when it is back, not before: others may have had items, or a source a full queue,
in between. Then the job is done when its item is released at the next hop, or after the drop.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

import numpy as np

from hyperperiod.hosts.rings import new_records
from hyperperiod.model import FailedError, System, hops_of, tasks_of
from hyperperiod.trace.format import NONE, Item, Kind, Records, item_of

NETWORK_FRAMES = 10_000
"""What QEMU keeps of frames that a card has no room for; it loses what comes then."""
Sources = Callable[[int, Sequence[int]], Sequence[int]]
"""When the source of a flow releases, as the draws say, given the instants at which items left."""


@dataclass(frozen=True)
class Passed:
    """What a trace has of jobs where there are flows; `items` are those at hops and the dropped."""

    releases: Records
    completions: Records
    items: Records


class _Job(NamedTuple):
    task: int
    number: int


class _New(NamedTuple):
    """An item that reached a hop, which nobody recorded."""

    time_ns: int
    item: Item


def follow(
    system: System,
    releases: Records,
    completions: Records,
    items: Records,
    sources: Sources,
    end_ns: int,
) -> Passed:
    """The way of all items of a run that ended at `end_ns`.

    `releases` and `completions` are of all tasks and have exact times, `items` are the guests'
    records of items and drops. FailedError where a guest did something else.
    """
    return _Way(system, releases, completions.copy(), items, end_ns).passed(sources)


class _Way:
    def __init__(
        self,
        system: System,
        releases: Records,
        completions: Records,
        items: Records,
        end_ns: int,
    ) -> None:
        self.flows = system.flows
        self.hops = hops_of(system)
        self.rings = [system.ring_of(flow) for flow in system.flows]
        self.deadlines = [placed.task.deadline_ns or 0 for placed in tasks_of(system)]
        self.came: list[Sequence[int]] = []
        self.end_ns = end_ns
        self.releases = releases
        self.completions = completions
        self.released = dict(zip(_jobs(releases), releases["time_ns"].tolist(), strict=True))
        self.done = {job: at for at, job in enumerate(_jobs(completions))}
        self.carriers: dict[Item, _Job] = {}
        self.dropped: list[set[int]] = [set() for _ in self.flows]
        self.by_ring: list[set[int]] = [set() for _ in self.flows]
        at_hops = items[items["kind"] == Kind.ITEM]
        for job, value in zip(_jobs(at_hops), at_hops["value"].tolist(), strict=True):
            if job in self.released:
                self.carriers[item_of(value)] = job
        drops = items[items["kind"] == Kind.DROP]
        for value, task in zip(drops["value"].tolist(), drops["task"].tolist(), strict=True):
            item = item_of(value)
            self.dropped[item.flow].add(item.number)
            if task != NONE:
                self.by_ring[item.flow].add(item.number)

    def passed(self, sources: Sources) -> Passed:
        """The releases, completions and items of the run, with what no guest recorded."""
        for item, job in self.carriers.items():
            if item.hop > 0:
                self._reached(item, self.released[job])
        for flow in range(len(self.flows)):
            left = self.completions["time_ns"][self._left(flow)]
            self.came.append(sources(flow, sorted(left.tolist())))
        for flow in range(len(self.flows)):
            self._require_drawn(flow)
            self._put_off_leaving(flow)
        missing = [*self._missing_at_sources()]
        missing += self._missing_between_hops()
        more = self._add(sorted(missing))
        return Passed(np.concatenate([self.releases, more]), self.completions, self._items())

    def _reached(self, item: Item, release_ns: int) -> None:
        """An item at a further hop was done at the one before, then or a little earlier."""
        before = self.carriers.get(item._replace(hop=item.hop - 1))
        at = None if before is None else self.done.get(before)
        name = self.flows[item.flow].name
        if at is None or int(self.completions["time_ns"][at]) > release_ns:
            raise FailedError(
                f"item {item.number} of flow {name} was at hop {item.hop} at {release_ns} ns"
                " and not done before"
            )
        self._put_off(at, release_ns)

    def _put_off(self, at: int, time_ns: int) -> None:
        """A job is done at `time_ns`, where it was said to be done earlier."""
        later_ns = time_ns - int(self.completions["time_ns"][at])
        self.completions["time_ns"][at] += np.uint64(later_ns)
        self.completions["value"][at] += np.uint64(later_ns)

    def _source_ns(self, flow: int, number: int) -> int | None:
        """When the draws say that an item comes; None: not before the end."""
        release = number // self.flows[flow].source.burst
        return self.came[flow][release] if release < len(self.came[flow]) else None

    def _entered(self, flow: int) -> list[int]:
        """The numbers of the items that its guest recorded at the first hop."""
        return sorted(item.number for item in self.carriers if item[:2] == (flow, 0))

    def _require_drawn(self, flow: int) -> None:
        """Items came one after the other, at the times that the draws say."""
        entered = self._entered(flow)
        name = self.flows[flow].name
        for place, number in enumerate(sorted([*entered, *self.dropped[flow]])):
            if number != place and self.flows[flow].via is not None:
                raise FailedError(
                    f"packet {place} of flow {name} was lost: where it came, more than"
                    f" {NETWORK_FRAMES} waited for a driver without time even to drop them"
                )
            if number != place:
                raise FailedError(f"a guest has item {number} of flow {name} in place {place}")
        for number in entered:
            said_ns = self.released[self.carriers[Item(flow, 0, number)]]
            drawn_ns = self._source_ns(flow, number)
            # A client that hears late that its item has left may send when others have, after it.
            late = self.flows[flow].source.clients is not None and said_ns > (drawn_ns or said_ns)
            if said_ns != drawn_ns and not late:
                raise FailedError(
                    f"a guest released item {number} of flow {name} at {said_ns} ns;"
                    f" the draws say {drawn_ns} ns"
                )

    def _left(self, flow: int) -> list[int]:
        """The completions with which items left, in their order."""
        last = len(self.hops[flow]) - 1
        found = (self.carriers.get(Item(flow, last, number)) for number in self._entered(flow))
        return [self.done[job] for job in found if job in self.done]

    def _put_off_leaving(self, flow: int) -> None:
        """A source that does not know yet of an item that left may drop one too many.

        A ring does know: who drops for it is who takes items out of it.
        """
        left = self._left(flow)
        entered = self._entered(flow)
        for number in sorted(self.dropped[flow] - self.by_ring[flow]):
            time_ns = self._source_ns(flow, number)
            if time_ns is None:
                continue
            gone = bisect_right(left, time_ns, key=lambda at: int(self.completions["time_ns"][at]))
            spare = self.flows[flow].queue - (bisect_right(entered, number) - gone)
            for at in left[max(0, gone - max(0, spare)) : gone]:
                self._put_off(at, time_ns + 1)

    def _unseen(self, flow: int) -> Iterator[tuple[int, int, int]]:
        """What came after all that its guest had time for: when, its flow and its number."""
        number = len(self._entered(flow)) + len(self.dropped[flow])
        while (time_ns := self._source_ns(flow, number)) is not None:
            yield time_ns, flow, number
            number += 1

    def _missing_at_sources(self) -> Iterator[_New]:
        """What of the unseen the queues and rings let in."""
        flows = range(len(self.flows))
        left = [self.completions["time_ns"][self._left(flow)].tolist() for flow in flows]
        under_way = [len(self._entered(flow)) for flow in flows]
        first = [hops[0] for hops in self.hops]
        entered = Counter(self.carriers[item].task for item in self.carriers if item.hop == 0)
        received = {
            task: sorted(self.completions["time_ns"][self.completions["task"] == task].tolist())
            for task in first
        }
        for time_ns, flow, number in merge(*map(self._unseen, flows)):
            task, ring = first[flow], self.rings[flow]
            in_ring = entered[task] - bisect_right(received[task], time_ns)
            on_their_way = under_way[flow] - bisect_right(left[flow], time_ns)
            if on_their_way < self.flows[flow].queue and (ring is None or in_ring < ring):
                under_way[flow] += 1
                entered[task] += 1
                yield _New(time_ns, Item(flow, 0, number))
            else:
                self.dropped[flow].add(number)

    def _missing_between_hops(self) -> Iterator[_New]:
        """What was done at a hop and that nobody has seen at the next one."""
        for item, job in self.carriers.items():
            after = item._replace(hop=item.hop + 1)
            at = self.done.get(job)
            if at is None or after in self.carriers or after.hop == len(self.hops[item.flow]):
                continue
            time_ns = int(self.completions["time_ns"][at])
            if time_ns < self.end_ns:
                yield _New(time_ns, after)

    def _add(self, missing: Sequence[_New]) -> Records:
        """Releases for the items that nobody recorded, behind those of their tasks."""
        more = new_records(len(missing), Kind.RELEASE, 0)
        latest: dict[int, tuple[int, int]] = {}
        for job, time_ns in self.released.items():
            latest[job.task] = max(latest.get(job.task, (0, 0)), (time_ns, job.number + 1))
        for row, (own_ns, item) in zip(more, missing, strict=True):
            task = self.hops[item.flow][item.hop]
            before_ns, number = latest.get(task, (0, 0))
            time_ns = max(own_ns, before_ns)
            latest[task] = (time_ns, number + 1)
            self.carriers[item] = job = _Job(task, number)
            self.released[job] = time_ns
            row["task"], row["job"], row["time_ns"] = task, number, time_ns
            row["value"] = time_ns + self.deadlines[task]
            if item.hop > 0:
                self._reached(item, time_ns)
        return more

    def _items(self) -> Records:
        """All items at their hops, and those that were dropped."""
        found = new_records(len(self.carriers), Kind.ITEM, 0)
        for row, (item, job) in zip(found, self.carriers.items(), strict=True):
            row["time_ns"] = self.released[job]
            row["task"], row["job"] = job
            row["value"] = _packed(item)
        gone = [
            (time_ns, Item(flow, 0, number))
            for flow, numbers in enumerate(self.dropped)
            for number in sorted(numbers)
            if (time_ns := self._source_ns(flow, number)) is not None
        ]
        dropped = new_records(len(gone), Kind.DROP, 0)
        for row, (time_ns, item) in zip(dropped, gone, strict=True):
            row["time_ns"] = time_ns
            row["value"] = _packed(item)
        return np.concatenate([dropped, found])


def _jobs(records: Records) -> Iterator[_Job]:
    return map(_Job, records["task"].tolist(), records["job"].tolist())


def _packed(item: Item) -> int:
    return item.flow << 48 | item.hop << 32 | item.number
