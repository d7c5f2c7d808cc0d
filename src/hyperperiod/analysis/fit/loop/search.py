# SPDX-License-Identifier: BSD-2-Clause
"""The least bandwidth that the sound bounds of a driver loop accept, by branch and bound.

Boxes of choices (`relaxation`) wait in a heap by their lower bounds. The first is looked at: a
choice is taken out of it and judged as it is by the tests of `analyze`, then the box is cut in two
- the driver's periods, then the slices of one service, then M. What a relaxation refuses, or what
cannot be better than the best so far, is dropped. When nothing is left the best is the optimum, or
there is none; when time is up the bounds that are left say how far the best may be from it.

With several placements all of them are searched together. Each has two roots: with the bound in
which a packet may wait for a slice on both ways, and with M, in which it waits once.

Inputs: settings. Result: the best choice, what nothing can be better than, and, without a choice,
why the one that came nearest fails. Ctrl-C ends the search and leaves the best so far.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

from hyperperiod.analysis.driver_loop import sedf
from hyperperiod.analysis.driver_loop.driver_domain import BoundParts, parts_of, too_late
from hyperperiod.analysis.fit.loop.problem import LoopSetting
from hyperperiod.analysis.fit.loop.relaxation import ChoiceBox, MRange, Refusal, Relaxation, Relaxed
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import format_time


@dataclass(frozen=True)
class FoundSlices:
    """Slices that hold: where, and with what bandwidth."""

    setting: LoopSetting
    driver: Server
    services: tuple[Server, ...]
    bandwidth: Fraction


@dataclass
class Searched:
    """The best, a lower bound of all, whether the search came to its end; `reason` without one."""

    best: FoundSlices | None = None
    bound: Fraction | None = None
    done: bool = False
    interrupted: bool = False
    reason: str = ""
    looked_at: int = 0


Listener = Callable[[Fraction | None, Fraction | None], None]
_Waiting = tuple[Fraction, int, Relaxation, ChoiceBox]


def search(settings: Iterable[LoopSetting], seconds: float, listen: Listener) -> Searched:
    """Searches all settings together for so many seconds; returns the best that was found."""
    return _LoopSearch(seconds, listen).run(settings)


class _LoopSearch:
    def __init__(self, seconds: float, listen: Listener) -> None:
        self.until = time.process_time() + seconds
        self.listen = listen
        self.heap: list[_Waiting] = []
        self.order = count()
        self.result = Searched()
        self.nearest: tuple[Fraction, str] | None = None
        self.first_refusal = ""

    def run(self, settings: Iterable[LoopSetting]) -> Searched:
        result = self.result
        try:
            for setting in settings:
                for box in _roots(Relaxation(setting)):
                    self._push(*box)
            self._empty()
        except KeyboardInterrupt:
            result.interrupted = True
        left = self.heap[0][0] if self.heap else None
        result.done = not result.interrupted and not self._worth()
        if result.best is not None:
            result.bound = result.best.bandwidth
            if left is not None and left < result.bound:
                result.bound = left
        elif left is not None:
            result.bound = left
        if result.best is None:
            near = self.nearest[1] if self.nearest else ""
            result.reason = near or self.first_refusal
        return result

    def _worth(self) -> bool:
        """Whether the first box could hold something better."""
        best = self.result.best
        return bool(self.heap) and (best is None or self.heap[0][0] < best.bandwidth)

    def _empty(self) -> None:
        while self._worth() and time.process_time() < self.until:
            bound, _, relaxation, box = heapq.heappop(self.heap)
            self.result.looked_at += 1
            if self.result.looked_at % 32 == 0:
                best = self.result.best
                self.listen(best.bandwidth if best else None, bound)
            try:
                self._cut(relaxation, box, bound)
            except KeyboardInterrupt:
                heapq.heappush(self.heap, (bound, next(self.order), relaxation, box))
                raise

    def _push(self, relaxation: Relaxation, box: ChoiceBox | Refusal) -> Relaxed | None:
        """The box into the heap, if something better may be in it."""
        found = box if isinstance(box, Refusal) else relaxation.look(box)
        if isinstance(found, Refusal):
            self.first_refusal = self.first_refusal or found.reason
            return None
        best = self.result.best
        if best is not None and found.bandwidth >= best.bandwidth:
            return None
        heapq.heappush(self.heap, (found.bandwidth, next(self.order), relaxation, found.box))
        return found

    def _cut(self, relaxation: Relaxation, box: ChoiceBox, bound: Fraction) -> None:
        if self._try(relaxation, box, bound):
            return
        for part in _parts(relaxation, box):
            self._push(relaxation, part)

    def _try(self, relaxation: Relaxation, box: ChoiceBox, bound: Fraction) -> bool:
        """Judge a choice out of the box; true if nothing else in it is worth a look."""
        for place in dict.fromkeys((box.high, (box.low + box.high) // 2)):
            best = tuple({slice_ns: upper} for slice_ns, upper in box.best())
            found = relaxation.look(replace(box, low=place, high=place, upper_bounds=best))
            if isinstance(found, Refusal):
                continue
            holds = self._judge(relaxation.setting, found)
            if box.low == box.high and holds and found.bandwidth <= bound:
                return True
        return box.point and box.spread is None

    def _judge(self, setting: LoopSetting, found: Relaxed) -> bool:
        """The choice at the upper bounds as it is; kept if it holds and is the best so far."""
        driver = setting.driver.server(
            setting.driver.periods.at(found.box.low), setting.driver.slices[0]
        )
        services = tuple(
            slot.server(upper_ns, slice_ns)
            for slot, (slice_ns, upper_ns) in zip(setting.slots, found.box.best(), strict=True)
        )
        failed = why_not(setting, driver, services)
        if failed is not None:
            if self.nearest is None or failed[0] < self.nearest[0]:
                self.nearest = failed[0], f"{failed[1]} ({_slices(driver, services)})"
            return False
        best = self.result.best
        if best is None or found.bandwidth < best.bandwidth:
            self.result.best = FoundSlices(setting, driver, services, found.bandwidth)
        return True


def _roots(relaxation: Relaxation) -> Iterator[tuple[Relaxation, ChoiceBox | Refusal]]:
    """Yields the boxes to begin with: all choices with two waits for the slice, and with one."""
    yield relaxation, relaxation.whole()
    if relaxation.setting.rule is not sedf.RULE:
        longest_ns = max(one.period_ns for one in relaxation.services)
        yield relaxation, relaxation.whole(MRange(0, longest_ns))


def _parts(relaxation: Relaxation, box: ChoiceBox) -> Iterator[ChoiceBox]:
    """Yields the two halves of a box; nothing if there is only one choice in it."""
    if box.low < box.high:
        middle = (box.low + box.high) // 2
        yield replace(box, high=middle)
        yield replace(box, low=middle + 1)
        return
    for number, upper in enumerate(box.upper_bounds):
        if len(upper) > 1:
            for slice_ns, upper_ns in upper.items():
                upper_bounds = (
                    *box.upper_bounds[:number],
                    {slice_ns: upper_ns},
                    *box.upper_bounds[number + 1 :],
                )
                yield replace(box, upper_bounds=upper_bounds)
            return
    found = relaxation.look(box)
    if box.spread is None or isinstance(found, Refusal):
        return
    high_ns = min(box.spread.high_ns, found.latest_ns)
    if box.spread.low_ns < high_ns:
        middle = (box.spread.low_ns + high_ns) // 2
        yield replace(box, spread=MRange(box.spread.low_ns, middle))
        yield replace(box, spread=MRange(middle + 1, high_ns))


def why_not(
    setting: LoopSetting, driver: Server, services: tuple[Server, ...]
) -> tuple[Fraction, str] | None:
    """Returns the condition that fails worst, by how much, with both sides; None if all hold."""
    loop = setting.loop
    placed = setting.placed(driver, services)
    found = parts_of(placed, setting.rule)
    if isinstance(found, Verdict):
        return Fraction(1000), found.reason
    failed = [
        (
            Fraction(parts.total_ns, service.deadline_ns),
            f"domain {domain.name}, flow {too_late(service, parts)}",
        )
        for service, domain, parts in zip(loop.plant.services, loop.replies, found, strict=True)
        if parts.total_ns > service.deadline_ns
    ]
    failed += _own_deadlines(setting, found)
    failed += [
        (Fraction(1000), f"domain {verdict.reason}")
        for group in setting.groups([driver, *services]).values()
        for server, verdict in zip(
            group.servers, host_level(setting.system.policy, group).servers, strict=True
        )
        if server in setting.others and not verdict.holds
    ]
    return max(failed, default=None)


def _own_deadlines(setting: LoopSetting, found: list[BoundParts]) -> Iterator[tuple[Fraction, str]]:
    """Yields by how much tasks on the packets' way may miss deadlines of their own, and whose."""
    loop = setting.loop
    asked = [(found[0].in_ns, loop.way_ns, loop.driver.name)]
    asked += [
        (parts.wake_ns, deadline_ns, domain.name)
        for parts, deadline_ns, domain in zip(found, loop.answers_ns, loop.replies, strict=True)
    ]
    for bound_ns, deadline_ns, name in asked:
        if bound_ns > deadline_ns:
            yield (
                Fraction(bound_ns, deadline_ns),
                (
                    f"domain {name}: {format_time(bound_ns)} is above its task's deadline of"
                    f" {format_time(deadline_ns)}"
                ),
            )


def _slices(driver: Server, services: tuple[Server, ...]) -> str:
    shown = ", ".join(
        f"{one.name} {format_time(one.budget_ns)} in {format_time(one.period_ns)}"
        for one in (driver, *services[:4])
    )
    return shown + (", ..." if len(services) > 4 else "")
