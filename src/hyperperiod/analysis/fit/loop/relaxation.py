# SPDX-License-Identifier: BSD-2-Clause
"""What no choice in a box can do better: periods of the driver from one to another, slices open.

The box. The driver's period is between `low` and `high`; each service has one or two slices to
choose from, and periods up to an upper bound. Where the bound is to be the one without a second
wait for a slice (`waits_once`) a third thing is open: M, from `low_m` to `high_m`, is no less than
any answer takes beyond the latest arrival of its packet, and `waits_once` is asked with M.

The relaxation. Everything in the bounds gets better, or stays, when
- the driver's way is taken with its shortest period, what it takes from others with its longest;
- the periods of the other vcpus are longer (they take less in every window) at the same slice, and
  their slices smaller;
- M is at its low end where it lengthens the distance that packets must have, and at its high end
  where it limits answers.
So given upper bounds of all others, the longest period that a service may have is an upper bound
for it: whatever meets every condition with others at or below their bounds meets its own with them
at the bounds. Lowering them in turn until nothing moves ends above every choice in the box. If one
service is left without a period nothing in the box will do; else the sum of slice / upper bound is
a lower bound of the bandwidth. In a box of one point (one period of the driver, one slice each, no
M) everything above is exact, and the upper bounds are the choice with the least bandwidth.

A service's own conditions, in its own period x: deadlines only get harder with x, so the longest x
is found by halving. That it gets its slice is asked afterwards: R_i <= x (PSEDF) fails for good if
it fails at that x, and so does a full pcpu (SEDF); the test of deferrable servers under EDF may
hold for a shorter x again, which is looked for downwards (`_shorter`).

Inputs: a setting, a box. Results: upper bounds and a lower one of the bandwidth, or a refusal that
names both sides of what failed. Times are integers in nanoseconds. Errors: none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from hyperperiod.analysis.driver_loop import psedf, sedf, sedf_prime
from hyperperiod.analysis.driver_loop.driver_domain import (
    Answer,
    BoundParts,
    DriverDelay,
    PlacedPlant,
    Service,
    answer_time,
    one_wait,
    packet_age_bound,
    slice_response,
    too_late,
    two_waits,
)
from hyperperiod.analysis.fit.loop.problem import LoopSetting, VcpuSlot
from hyperperiod.analysis.servers.deferrable_edf import max_work
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import format_time


class Refusal(NamedTuple):
    """The reason for which no choice in a box meets the inequalities."""

    reason: str


class MRange(NamedTuple):
    """The range in which M lies (see above)."""

    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class ChoiceBox:
    """Choices: the driver's period by places from `low` to `high`, upper bounds by slice, M."""

    low: int
    high: int
    upper_bounds: tuple[dict[int, int], ...]
    spread: MRange | None = None

    @property
    def point(self) -> bool:
        return self.low == self.high and self.settled

    @property
    def settled(self) -> bool:
        """Returns whether each service has one slice only."""
        return all(len(upper) == 1 for upper in self.upper_bounds)

    def best(self) -> list[tuple[int, int]]:
        """For each service its slice of least bandwidth, and that slice's upper bound."""
        return [
            min(upper.items(), key=lambda pair: (Fraction(pair[0], pair[1]), pair[0]))
            for upper in self.upper_bounds
        ]


@dataclass(frozen=True)
class Relaxed:
    """What is left of a box, the least bandwidth in it, and the latest answers there."""

    box: ChoiceBox
    bandwidth: Fraction
    latest_ns: int


class Relaxation:
    """Computes what no choice in a box can do better, for boxes of one setting."""

    def __init__(self, setting: LoopSetting) -> None:
        self.setting = setting
        self.services = setting.loop.plant.services
        self.given = sum((one.bandwidth for one in setting.others), Fraction(0))

    def whole(self, spread: MRange | None = None) -> ChoiceBox | Refusal:
        """Returns the box of everything that may be chosen, or why there is nothing."""
        for slot in (self.setting.driver, *self.setting.slots):
            if not slot.periods.count:
                first = format_time(slot.periods.first_ns)
                return Refusal(f"domain {slot.name}: no period of at least {first} may be chosen")
        upper_bounds = tuple(
            dict.fromkeys(slot.slices, slot.periods.at(slot.periods.count - 1))
            for slot in self.setting.slots
        )
        return ChoiceBox(0, self.setting.driver.periods.count - 1, upper_bounds, spread)

    def look(self, box: ChoiceBox) -> Relaxed | Refusal:
        """Returns what is left of a box once its upper bounds are lowered until nothing moves."""
        driver = self.setting.driver
        slice_ns = driver.slices[0]
        near = driver.server(driver.periods.at(box.low), slice_ns)
        far = driver.server(driver.periods.at(box.high), slice_ns)
        while True:
            found = self._round(box, near, far)
            if isinstance(found, Refusal):
                return found
            lowered, latest_ns, placed = found
            if lowered == box:
                break
            box = lowered
        refused = self._groups(placed, near)
        if refused is not None:
            return refused
        lowest = [Fraction(slice_ns, upper) for slice_ns, upper in box.best()]
        return Relaxed(box, sum(lowest, self.given + far.bandwidth), latest_ns)

    def _round(
        self, box: ChoiceBox, near: Server, far: Server
    ) -> tuple[ChoiceBox, int, PlacedPlant] | Refusal:
        """Every service once, the others where they are by then."""
        upper_bounds = list(box.upper_bounds)
        latest_ns = 0
        placed = self._placed(far, upper_bounds)
        for number, slot in enumerate(self.setting.slots):
            way = self._way(placed, near)
            if isinstance(way, Refusal):
                return way
            asked = _Asked(self, placed, number, way, near, box.spread)
            kept: dict[int, int] = {}
            refused: Refusal | None = None
            for slice_ns, upper_ns in upper_bounds[number].items():
                found = asked.longest(slot, slice_ns, upper_ns)
                if isinstance(found, Refusal):
                    refused = refused or found
                    continue
                kept[slice_ns] = found
            if not kept:
                assert refused is not None, "something was asked"
                return refused
            reached = [answer_time(way, asked.answer(*pair)) for pair in kept.items()]
            latest_ns = max(latest_ns, *reached)
            upper_bounds[number] = kept
            placed = self._placed(far, upper_bounds)
        return replace(box, upper_bounds=tuple(upper_bounds)), latest_ns, placed

    def _placed(self, driver: Server, upper_bounds: list[dict[int, int]]) -> PlacedPlant:
        return self.setting.placed(
            driver,
            [
                slot.server(max(upper.values()), min(upper))
                for slot, upper in zip(self.setting.slots, upper_bounds, strict=True)
            ],
        )

    def _way(self, placed: PlacedPlant, near: Server) -> DriverDelay | Refusal:
        """The shortest way of any driver in the box."""
        way = self._shortest(placed, near)
        if isinstance(way, Refusal):
            return way
        limit_ns = self.setting.loop.way_ns
        if way.longest_ns > limit_ns:
            return Refusal(
                f"domain {near.name}: a packet may be {format_time(way.longest_ns)} with it, above"
                f" its task's deadline of {format_time(limit_ns)}"
            )
        return way

    def _shortest(self, placed: PlacedPlant, near: Server) -> DriverDelay | Refusal:
        amount_ns = placed.plant.slice_ns
        suffice = placed.slices_suffice()
        if not suffice.holds:
            return Refusal(f"domain {suffice.reason}")
        group = replaced(placed.driver_group, placed.driver, near)
        if self.setting.rule is sedf.RULE:
            return sedf.way_of(near, group)
        if self.setting.rule is sedf_prime.RULE:
            return sedf_prime.way_of(near, group, amount_ns)
        served = slice_response(placed, placed.driver, placed.driver_group, amount_ns)
        if served.bound_ns is None:
            return Refusal(f"domain {served.reason}")
        return DriverDelay(near.period_ns - near.budget_ns + served.bound_ns, served.bound_ns)

    def _groups(self, placed: PlacedPlant, near: Server) -> Refusal | None:
        """Returns what fails on the pcpus: the driver's slice, those of others, no overload."""
        servers = [placed.driver, *(server for server, _ in placed.services)]
        groups = self.setting.groups(servers)
        for pcpu, group in sorted(groups.items()):
            if self.setting.rule is sedf.RULE and not sedf.fits(group).holds:
                return Refusal(f"pcpu {pcpu}: {total_text(group)} <= 1 does not hold")
            for other in group.servers:
                if other in self.setting.others:
                    verdict = host_level(self.setting.system.policy, group).servers[
                        group.servers.index(other)
                    ]
                    if not verdict.holds:
                        return Refusal(f"domain {verdict.reason}")
        if self.setting.rule is sedf_prime.RULE:
            return _unserved(placed.driver, placed.driver_group, near.period_ns)
        return None


class _Asked:
    """Asks for the periods that one service may have while all others have theirs."""

    def __init__(
        self,
        relaxation: Relaxation,
        placed: PlacedPlant,
        number: int,
        way: DriverDelay,
        near: Server,
        spread: MRange | None,
    ) -> None:
        self.setting = relaxation.setting
        self.placed, self.number, self.way, self.near = placed, number, way, near
        self.spread = spread
        self.service: Service = placed.plant.services[number]
        self.server, self.group = placed.services[number]
        self.own_limit_ns = self.setting.loop.answers_ns[number]
        self.response = Verdict.yes()
        if self.setting.rule is psedf.RULE:
            # Held to the upper bound: a longer response is one too many for every period below it.
            self.response = slice_response(placed, self.server, self.group, self.service.wcet_ns)

    @property
    def response_ns(self) -> int:
        return self.response.bound_ns or 0

    def longest(self, slot: VcpuSlot, slice_ns: int, upper_ns: int) -> int | Refusal:
        """The longest period up to the upper bound."""
        if slice_ns < self.service.wcet_ns:
            return Refusal(
                f"domain {slot.name}: its slice of {format_time(slice_ns)} is below its task's"
                f" wcet of {format_time(self.service.wcet_ns)}"
            )
        if not self.response.holds:
            return Refusal(f"domain {self.response.reason}")
        found = self._longest_in_time(slot, slice_ns, upper_ns)
        if found is None:
            return self._refusal(slot, slice_ns)
        if self.response_ns > found:
            return Refusal(
                f"domain {slot.name}: its slice may take {format_time(self.response_ns)}, and its"
                f" deadlines allow periods up to {format_time(found)}"
            )
        if self.setting.rule is sedf_prime.RULE:
            return self._shorter(slot, slice_ns, found)
        return found

    def _longest_in_time(self, slot: VcpuSlot, slice_ns: int, upper_ns: int) -> int | None:
        """By halving: what is in time with a period is in time with every shorter one."""
        longest_ns = slot.periods.up_to(upper_ns)
        if longest_ns is None or self._in_time(slice_ns, longest_ns):
            return longest_ns
        low, high = -1, (longest_ns - slot.periods.first_ns) // slot.periods.step_ns
        while high - low > 1:
            middle = (low + high) // 2
            if self._in_time(slice_ns, slot.periods.at(middle)):
                low = middle
            else:
                high = middle
        return None if low < 0 else slot.periods.at(low)

    def answer(self, slice_ns: int, period_ns: int) -> Answer:
        """The answer with that slice and period, if it gets its slices."""
        server = self.server._replace(period_ns=period_ns, budget_ns=slice_ns)
        way_ns = self.way.longest_ns
        if self.setting.rule is psedf.RULE:
            return psedf.timing(self.service, server, self.response_ns, way_ns)
        group = replaced(self.group, self.server, server)
        timing = sedf.timing if self.setting.rule is sedf.RULE else sedf_prime.timing
        return timing(self.service, server, group, way_ns)

    def _round_trip(self, slice_ns: int, period_ns: int, answer: Answer, waits: int) -> int | None:
        """Returns the bound from arrival to answer in one piece; None if the policy has none."""
        round_trip = self.setting.rule.round_trip
        if round_trip is None:
            return None
        server = self.server._replace(period_ns=period_ns, budget_ns=slice_ns)
        wait_ns = waits * (self.near.period_ns - self.near.budget_ns)
        return round_trip(self.placed, self.number, server, answer, self.way.longest_ns, wait_ns)

    def _parts(self, slice_ns: int, period_ns: int) -> BoundParts:
        """Returns the parts of the bound, with one wait for the slice or with two."""
        answer = self.answer(slice_ns, period_ns)
        if self.spread is None:
            return two_waits(self.way, answer, self._round_trip(slice_ns, period_ns, answer, 2))
        return one_wait(self.way, answer, self._round_trip(slice_ns, period_ns, answer, 1))

    def _in_time(self, slice_ns: int, period_ns: int) -> bool:
        answer = self.answer(slice_ns, period_ns)
        service = self.service
        if self.setting.rule is sedf.RULE and period_ns > service.period_ns:
            return False
        if answer.wake_ns > self.own_limit_ns:
            return False
        if self._parts(slice_ns, period_ns).total_ns > service.deadline_ns:
            return False
        if self.spread is None:
            return True
        own_ns = answer_time(self.way, answer)
        old_ns = packet_age_bound(
            service, self.way, answer, self._round_trip(slice_ns, period_ns, answer, 1)
        )
        apart_ns = self.near.period_ns + max(self.spread.low_ns, own_ns) + old_ns
        return own_ns <= self.spread.high_ns and service.period_ns > apart_ns

    def _refusal(self, slot: VcpuSlot, slice_ns: int) -> Refusal:
        """Says what fails even with the shortest period that the service may have."""
        min_ns = max(slot.periods.first_ns, slice_ns)
        answer, parts = self.answer(slice_ns, min_ns), self._parts(slice_ns, min_ns)
        if parts.total_ns > self.service.deadline_ns:
            return Refusal(f"domain {slot.name}, flow {too_late(self.service, parts)}")
        if answer.wake_ns > self.own_limit_ns:
            return Refusal(
                f"domain {slot.name}: an answer may take {format_time(answer.wake_ns)}, above its"
                f" task's deadline of {format_time(self.own_limit_ns)}"
            )
        if min_ns > self.service.period_ns:
            return Refusal(
                f"domain {slot.name}: its period is at least {format_time(min_ns)}, above the"
                f" {format_time(self.service.period_ns)} between its packets"
            )
        return Refusal(
            f"flow {self.service.name}: its packets, {format_time(self.service.period_ns)} apart,"
            " may come too soon after one another"
        )

    def _shorter(self, slot: VcpuSlot, slice_ns: int, period_ns: int) -> int | Refusal:
        """The longest period from here down with which a kept slice is got (`deferrable_edf`).

        x - s >= sum of W_k(x) is asked. Each W_k falls by at most 1 where x falls by 1, so what is
        missing now is missing still before x has fallen by missing / (others - 1).
        """
        others = [one for one in self.group.servers if one is not self.server]
        step_ns = slot.periods.step_ns
        here_ns: int | None = period_ns
        refused = ""
        while here_ns is not None and here_ns >= slice_ns:
            work_ns = sum(max_work(one, here_ns) for one in others)
            missing_ns = work_ns - (here_ns - slice_ns)
            if missing_ns <= 0:
                return here_ns
            refused = refused or (
                f"domain {slot.name}: others may take {format_time(work_ns)} of its period of"
                f" {format_time(here_ns)}, which has {format_time(here_ns - slice_ns)} beside its"
                " slice"
            )
            if len(others) < 2:
                break
            down_ns = max(step_ns, missing_ns // (len(others) - 1))
            here_ns = slot.periods.up_to(here_ns - down_ns)
        return Refusal(refused)


def replaced(group: Group, server: Server, by: Server) -> Group:
    """The group with another server in the place of one."""
    return replace(group, servers=tuple(by if one is server else one for one in group.servers))


def _unserved(far: Server, group: Group, shortest_ns: int) -> Refusal | None:
    """Why a kept slice is not got under EDF by any driver in a box (`deferrable_edf`)."""
    work_ns = sum(max_work(one, shortest_ns) for one in group.servers if one is not far)
    free_ns = far.period_ns - far.budget_ns
    if work_ns <= free_ns:
        return None
    return Refusal(
        f"domain {far.name}: others may take {format_time(work_ns)} of its period, which has"
        f" {format_time(free_ns)} beside its slice"
    )


def total_text(group: Group) -> str:
    parts = [f"{format_time(one.budget_ns)}/{format_time(one.period_ns)}" for one in group.servers]
    return f"{' + '.join(parts)} = {float(group.bandwidth):.6g}"
