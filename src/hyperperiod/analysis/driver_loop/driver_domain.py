# SPDX-License-Identifier: BSD-2-Clause
"""A driver domain and the real-time domains behind it: what `sedf`, `sedf_prime` and `psedf` share.

Paper: Masrur, Drössler, Pfeuffer and Chakraborty, "VM-based real-time services for automotive
control applications", RTCSA 2010 (the PSEDF paper), section IV.

A packet arrives for a real-time domain, passes through the driver domain, is answered by the one
task in the real-time domain, and the answer passes through the driver domain on its way out.
Packets of one domain are at least p_i apart, its answer is due d_i <= p_i after the packet.

The driver domain cannot tell packets apart and serves them as they come, each in at most e_N. At
most k are with it at any instant: so many domains communicate, each answers a packet before its
next one comes, and a slice of k e_N lets the driver serve all that it finds.

All three rules are slices: in each of its periods a vcpu gets at most its slice, a period begins
with a wake at or after the end of the one before, or at that end. They differ in what a wake
inside a period finds (`sedf`: nothing until the next one) and in the order. Each says how long a
packet takes through the driver (`DriverDelay`) and to its answer (`Answer`); `parts_of` puts them
together.

Times are integers in nanoseconds (any unit will do, if it is the same everywhere).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hyperperiod.analysis.driver_loop.account import Account
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget, Order, format_time


@dataclass(frozen=True)
class Service:
    """A real-time domain: p_i, d_i and e_i of the paper."""

    name: str
    period_ns: int
    deadline_ns: int
    wcet_ns: int

    def __post_init__(self) -> None:
        if not 0 < self.wcet_ns <= self.deadline_ns <= self.period_ns:
            found = ", ".join(map(format_time, (self.wcet_ns, self.deadline_ns, self.period_ns)))
            raise ValueError(
                f"{self.name}: needs 0 < wcet <= deadline <= least time between packets, and has"
                f" {found}"
            )


@dataclass(frozen=True)
class Plant:
    """All services behind one driver domain, e_N, and k."""

    services: tuple[Service, ...]
    packet_ns: int
    packets: int

    def __post_init__(self) -> None:
        if not self.services or self.packet_ns <= 0:
            raise ValueError("a plant has services, and its packets take time")
        if self.packets < len(self.services):
            raise ValueError(f"{self.packets} packets for {len(self.services)} services")

    @property
    def shortest_ns(self) -> int:
        """Returns the shortest deadline of all services, the paper's d_min."""
        return min(service.deadline_ns for service in self.services)

    @property
    def slice_ns(self) -> int:
        """Returns the driver's slice as the paper has it, s_N = k e_N."""
        return self.packets * self.packet_ns


@dataclass(frozen=True)
class Slice:
    """The slice s and the period p of one vcpu, as the paper names them."""

    period_ns: int
    slice_ns: int

    def __post_init__(self) -> None:
        if not 0 < self.slice_ns <= self.period_ns:
            raise ValueError(f"a slice of {self.slice_ns} in a period of {self.period_ns}")


@dataclass(frozen=True)
class Configuration:
    """The driver domain's slice and those of the services, in their order."""

    driver: Slice
    services: tuple[Slice, ...]


@dataclass(frozen=True)
class PlacedPlant:
    """A plant on its machine: each server and the group that it shares a pcpu with.

    `account` is of its overheads, if there are any.
    """

    plant: Plant
    driver: Server
    driver_group: Group
    services: tuple[tuple[Server, Group], ...]
    account: Account | None = None

    def slices_suffice(self) -> Verdict:
        """Whether one slice holds what is there at once: k packets, or one job."""
        if self.driver.budget_ns < self.plant.slice_ns:
            return Verdict.unknown(
                f"{self.driver.name}: its slice of {format_time(self.driver.budget_ns)} does not"
                f" hold {self.plant.packets} packets of {format_time(self.plant.packet_ns)}"
            )
        for service, (server, _) in zip(self.plant.services, self.services, strict=True):
            if server.budget_ns < service.wcet_ns:
                return Verdict.unknown(
                    f"{server.name}: its slice of {format_time(server.budget_ns)} is below its"
                    f" task's wcet of {format_time(service.wcet_ns)}"
                )
        return Verdict.yes()


class DriverDelay(NamedTuple):
    """The longest time (ns) of a packet with the driver, and of one that finds enough slice."""

    longest_ns: int
    within_ns: int


class Answer(NamedTuple):
    """The time (ns) to an answer: beyond its packet's longest way in, and from its own wake."""

    late_ns: int
    wake_ns: int


class Delays(NamedTuple):
    """Bounds on the time in which a vcpu spends an amount of its slice, with overheads.

    `at_start` of a period, and at `any_time` with work from there on; a verdict with the bound.
    `round_trip`, if there is one, is from a packet's arrival to its answer in one piece, or None
    above the deadline: of a service (by its number), each of whose wakes begins a period or may
    not. `chains`: the argument on chains of periods holds.
    """

    at_start: Callable[[PlacedPlant, Server, Group, int], Verdict]
    any_time: Callable[[PlacedPlant, Server, Group, int], Verdict]
    round_trip: Callable[[PlacedPlant, int, bool], int | None] | None = None
    chains: bool = False


class SliceRule(NamedTuple):
    """The bounds that one of the policies has for its slices; a verdict is a refusal.

    `covers` are the rules of policies that it is about, `paper_holds` the published verdict on each
    service, `hops` the driver's periods in the paper's inequality if that sums periods. `way` is
    through the driver, `answer` that of a service (by its number) whose packets reach it up to so
    late. `round_trip`, if there is one, is from a packet's arrival to its answer in one piece, or
    None above the deadline: of a service (number, server and answer) whose packets reach it up to
    so late, with all waits for the driver's slice. `delays` are for loops with overheads, if
    anything is proved of those.
    """

    name: str
    covers: tuple[tuple[Budget, Order], ...]
    paper_holds: Callable[[Plant, Configuration], list[bool]]
    way: Callable[[PlacedPlant], DriverDelay | Verdict]
    answer: Callable[[PlacedPlant, int, int], Answer | Verdict]
    round_trip: Callable[[PlacedPlant, int, Server, Answer, int, int], int | None] | None = None
    hops: int | None = None
    delays: Delays | None = None


@dataclass(frozen=True)
class BoundParts:
    """A bound and what it consists of; `wake_ns` bounds the answer from its own wake.

    `round_trip_ns` is a bound of all three together, which may be less than their sum.
    """

    in_ns: int
    answer_ns: int
    out_ns: int
    wake_ns: int
    round_trip_ns: int | None = None

    @property
    def sum_ns(self) -> int:
        return self.in_ns + self.answer_ns + self.out_ns

    @property
    def total_ns(self) -> int:
        return self.sum_ns if self.round_trip_ns is None else min(self.sum_ns, self.round_trip_ns)


def parts_of(placed: PlacedPlant, rule: SliceRule) -> list[BoundParts] | Verdict:
    """The bound of each service, if all deadlines are met; or why there is none.

    In and out cost the longest way each; the answer counts from the end of the longest way in.
    Where no packet waits for a slice twice (`waits_once`), one of the two ways is one that found
    enough of the slice, and the answer then counts from its wake. Loops with overheads have bounds
    of their own (`with_overheads`).
    """
    assert placed.account is None, "there are no overheads"
    suffice = placed.slices_suffice()
    if not suffice.holds:
        return suffice
    way = rule.way(placed)
    if isinstance(way, Verdict):
        return way
    answers: list[Answer] = []
    for number in range(len(placed.services)):
        answer = rule.answer(placed, number, way.longest_ns)
        if isinstance(answer, Verdict):
            return answer
        answers.append(answer)
    once = round_trips(placed, rule, way, answers, 1)
    if waits_once(placed, way, answers, once):
        return [one_wait(way, *both) for both in zip(answers, once, strict=True)]
    twice = round_trips(placed, rule, way, answers, 2)
    return [two_waits(way, *both) for both in zip(answers, twice, strict=True)]


def two_waits(way: DriverDelay, answer: Answer, round_trip_ns: int | None) -> BoundParts:
    """The bound with a wait for the slice on both ways."""
    return BoundParts(way.longest_ns, answer.late_ns, way.longest_ns, answer.wake_ns, round_trip_ns)


def one_wait(way: DriverDelay, answer: Answer, round_trip_ns: int | None) -> BoundParts:
    """The bound with a wait on one of the ways only."""
    sharp = BoundParts(way.longest_ns, answer.wake_ns, way.within_ns, answer.wake_ns, round_trip_ns)
    return min(sharp, two_waits(way, answer, round_trip_ns), key=lambda parts: parts.sum_ns)


def round_trips(
    placed: PlacedPlant, rule: SliceRule, way: DriverDelay, answers: Sequence[Answer], waits: int
) -> list[int | None]:
    """From arrival to answer in one piece, with so many waits for the driver's slice."""
    if rule.round_trip is None:
        return [None] * len(placed.services)
    wait_ns = waits * (placed.driver.period_ns - placed.driver.budget_ns)
    return [
        rule.round_trip(placed, number, server, answers[number], way.longest_ns, wait_ns)
        for number, (server, _) in enumerate(placed.services)
    ]


def place(
    plant: Plant,
    configuration: Configuration,
    *,
    others: Sequence[Server] = (),
    beside: Sequence[Server] | None = None,
) -> PlacedPlant:
    """All on one pcpu with `others`; or the driver domain on a pcpu with those `beside` it only.

    Priorities are those of section VI: the driver domain first, then deadline monotonic; equal
    deadlines are equal priorities.
    """
    ranks = sorted({service.deadline_ns for service in plant.services})
    driver = Server(
        0, "driver", configuration.driver.period_ns, configuration.driver.slice_ns, priority=0
    )
    servers = [
        Server(
            number, service.name, one.period_ns, one.slice_ns, 1 + ranks.index(service.deadline_ns)
        )
        for number, (service, one) in enumerate(
            zip(plant.services, configuration.services, strict=True), start=1
        )
    ]
    if beside is None:
        driven = group = Group((driver, *servers, *others))
    else:
        driven, group = Group((driver, *beside)), Group((*servers, *others))
    return PlacedPlant(plant, driver, driven, tuple((server, group) for server in servers))


def period_over(service: Service, server: Server, late_ns: int) -> bool:
    """Whether each wake of a service surely begins a new period, if packets reach it up to so late.

    The job before was woken at the begin of its period. One that used its whole slice has moved
    its vcpu to the period after that already: then two periods have to be over.
    """
    periods = 1 if server.budget_ns > service.wcet_ns else 2
    return periods * server.period_ns + late_ns <= service.period_ns


def waits_once(
    placed: PlacedPlant, way: DriverDelay, answers: Sequence[Answer], once: Sequence[int | None]
) -> bool:
    """Whether no packet can find the driver's slice used up both on its way in and on its way out.

    Let there be k flows and no other packets, and let A be the packet that is the first to find the
    slice used up a second time. The first time was in a period P of the driver, which begins at b,
    on A's way in: P served k e_N without A. A is then the driver's work at the end of P, so another
    period begins there, and A's way in is done in it, `within` after its begin. A is answered by

        t = b + p_N + within + wake,

    or by b + p_N + longest + late, for A came before the end of P. The second time is in a later
    period Q: it serves k e_N before A's answer, of which A's way in is e_N at the most. Packets are
    served as they come, so all that P and Q serve there had come to the driver by t.

    That is (2 k - 1) e_N of other packets. With one packet each, the k - 1 other flows have no more
    than 2 (k - 1) e_N. So one of them has two that are served from b on, or A's own flow has one
    that is served after b and before A comes. Either way two packets of one flow: the later one
    came to the driver by t, and the earlier one is served at or after b. That had not found the
    slice used up twice by then, since A was the first, so it came no earlier than `longest` +
    wake + `within` before b (nor 2 `longest` + late, nor its round trip with one wait, `once`; nor
    its deadline, for all is about the time before a first deadline is missed). A flow whose packets
    are further apart than from there to t does not have both.
    """
    plant, period_ns = placed.plant, placed.driver.period_ns
    if plant.packets != len(plant.services):
        return False
    latest_ns = period_ns + max(answer_time(way, one) for one in answers)
    return all(
        service.period_ns > latest_ns + packet_age_bound(service, way, answer, round_trip_ns)
        for service, answer, round_trip_ns in zip(plant.services, answers, once, strict=True)
    )


def answer_time(way: DriverDelay, answer: Answer) -> int:
    """From the end of the period in which a packet found the slice used up to its answer."""
    return min(way.within_ns + answer.wake_ns, way.longest_ns + answer.late_ns)


def packet_age_bound(
    service: Service, way: DriverDelay, answer: Answer, round_trip_ns: int | None
) -> int:
    """Returns how old (ns) a packet is at most that has found the slice used up once so far."""
    longest_ns = min(way.longest_ns + answer_time(way, answer), service.deadline_ns)
    return longest_ns if round_trip_ns is None else min(longest_ns, round_trip_ns)


def slice_response(placed: PlacedPlant, own: Server, group: Group, amount_ns: int) -> Verdict:
    """Fixed priority, slices kept over a block: the time for `amount` <= slice with budget at hand.

    R = amount + sum over others of equal or higher priority of ceil((R + p_k - s_k) / p_k) s_k:
    those may spend one slice at the end of a period and another at the start of the next, as
    deferrable servers do (`deferrable_fp`). A service runs no longer than its jobs do, either:
    those that came up to d_k before the window or in it, ceil((R + d_k) / P_k) e_k with P_k
    between packets, since all deadlines so far were met; and with overheads, the picks that grant
    it there. Held to the server's own period; null beyond it.
    """
    jobs = dict(zip((server for server, _ in placed.services), placed.plant.services, strict=True))
    above = [(other, jobs.get(other)) for other in group.before(own)]
    response_ns = amount_ns
    while response_ns <= own.period_ns:
        demand_ns = amount_ns + group.lost_ns(response_ns)
        demand_ns += sum(_spent(placed, other, service, response_ns) for other, service in above)
        if demand_ns == response_ns:
            return Verdict.yes(response_ns)
        response_ns = demand_ns
    return Verdict.unknown(
        f"{own.name}: {format_time(amount_ns)} of its slice may take {format_time(response_ns)},"
        f" above its period of {format_time(own.period_ns)}"
    )


def _spent(placed: PlacedPlant, server: Server, service: Service | None, window_ns: int) -> int:
    """Returns the most (ns) that one of higher priority takes of a window."""
    late_ns = server.period_ns - server.budget_ns
    by_slices_ns = -(-(window_ns + late_ns) // server.period_ns) * server.budget_ns
    if service is None:
        return by_slices_ns
    by_jobs_ns = -(-(window_ns + service.deadline_ns) // service.period_ns) * service.wcet_ns
    if placed.account is not None:
        by_jobs_ns += placed.account.loss_ns(server, window_ns, with_wakes=True)
    return min(by_slices_ns, by_jobs_ns)


def hold_by_hops(plant: Plant, configuration: Configuration, hops: int) -> list[bool]:
    """Whether hops p_N + p_i <= d_i, the inequality of sections IV and V, for each service."""
    return [
        hops * configuration.driver.period_ns + own.period_ns <= service.deadline_ns
        for service, own in zip(plant.services, configuration.services, strict=True)
    ]


def verdicts_of(placed: PlacedPlant, found: list[BoundParts] | Verdict) -> list[Verdict]:
    """One verdict for each service from the parts of the bounds, or from why there are none.

    That at most k packets are with the driver rests on every deadline being met. So one bound that
    is missing or above its deadline takes the ground from all of them.
    """
    services = placed.plant.services
    if isinstance(found, Verdict):
        return [Verdict.unknown(found.reason)] * len(services)
    late = [
        too_late(service, parts)
        for service, parts in zip(services, found, strict=True)
        if parts.total_ns > service.deadline_ns
    ]
    if late:
        return [Verdict(None, late[0], parts.total_ns) for parts in found]
    return [Verdict.yes(parts.total_ns) for parts in found]


def too_late(service: Service, parts: BoundParts) -> str:
    """Both sides of the inequality that does not hold."""
    sides = [parts.in_ns, parts.answer_ns, parts.out_ns, parts.sum_ns]
    way_in, answer, way_out, total = map(format_time, sides)
    return (
        f"{service.name}: in {way_in} + answer {answer} + out {way_out} = {total},"
        f" above its deadline of {format_time(service.deadline_ns)}"
    )
