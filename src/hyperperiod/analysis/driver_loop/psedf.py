# SPDX-License-Identifier: BSD-2-Clause
"""PSEDF: real-time domains by fixed priority; the paper's response times, and sound ones.

Paper: the PSEDF paper (`driver_domain`), section VI. The driver domain comes first, then the
real-time domains by deadline. s_N = k e_N, p_N = d_min - s_N (from s_N + p_N <= d_min), for the
others the packets' own period and s_i = e_i. Response times by deadline-monotonic analysis,

    r_i = s_i + sum over HP(i) of ceil(r_i / p_j) s_j <= d_i.

Three things are wrong with that (`docs/papers.md`):
- the driver keeps what is left of its slice, and so interferes as a deferrable server: with
  p_N = 0.3, s_N = 0.08 and s_i = 0.06 ms a domain can take 0.22 ms where r_i is 0.14;
- r_i is the time in the real-time domain alone; the way in and out through the driver is missing;
- s_N + p_N <= d_min covers that way only if the packet finds a fresh slice on its way in and the
  real-time domain finishes before the driver's next period.

The sound bound. With a slice at hand `amount` takes R(amount) (`slice_response`: the back-to-back
effect of all of equal or higher priority). A packet that finds the driver with q of its slice left
waits at most p - s + q for the next one, and g of the packets are served before that. Since
R(a - q) + q <= R(a), all a = k e_N are served after

    D = p_N - s_N + R_N(a).

One that does not run into the end of a slice takes R_N(a); where none can twice (`waits_once`),
one of the two ways through the driver is such a one.

Packets reach the real-time domain up to D late. If its period is over at each wake
(`period_over`) it needs R_i. Else D of its own slice, p_i^x - s_i^x + R_i, always holds. And with
p_i^x <= p_i a wake finds the slice used up only by the job before, which was itself woken less
than R_i before a period's end: let a chain of periods begin with a wake; period m of it begins
at T. A job that runs in it although woken before T was woken after T - R_i, or waited for T since
it found no slice, and then by induction its packet came after T - D - R_i. So the packet of the
job behind it comes after T + p_i^x - D - R_i, and has a slice D + R_i after that at the latest:
the whole is 2 D + 2 R_i. All this is proved by machine for k flows, with R from slices alone and no
overheads: psedf_answers in proofs/psedf.v.

All in one piece (`round_trip`). At each instant from a packet's arrival to its answer, on the pcpu
where it is, one of these runs, or its own vcpu has no slice left:
- itself: 2 e_N and e_i in all;
- the driver, for other packets, or a domain of no lower priority that answers one. Packets of flow
  j that are there at some time in a window r came in it or up to d_j before: ceil((r + d_j) / p_j);
- another vcpu of no lower priority: ceil((r + p - s) / p) s.
The driver's slice is used up no earlier than s_N after its period began, so each wait for the next
is p_N - s_N at most; and there is one on each way at most, for the next slice holds the at most k
packets that wait at its begin, this one among them. The real-time domain waits for its own slice
once, p_i^x - s_i at most, and not if its wake begins a period. The least r that holds all that is a
bound, if it is within the deadline (d_j was used, so all of this is up to a first miss). Where a
wake may not begin a period this is asked only with D + R_i <= p_i: then shorter periods with less
bandwidth would do as well, and `fit` need not try larger slices.

Inputs: a placed plant. Results: per service a verdict with the bound in nanoseconds, null above
the deadline. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable

from hyperperiod.analysis.driver_loop.driver_domain import (
    Answer,
    Configuration,
    Delays,
    DriverDelay,
    PlacedPlant,
    Plant,
    Service,
    Slice,
    SliceRule,
    period_over,
    slice_response,
)
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget, Order


def paper_response(plant: Plant, configuration: Configuration) -> list[int | None]:
    """r_i of section VI for each service; None above its deadline. As published: not sound."""
    return [
        _fixed_point(
            configuration.services[own].slice_ns,
            [
                configuration.driver,
                *(
                    configuration.services[number]
                    for number, other in enumerate(plant.services)
                    if number != own and other.deadline_ns <= service.deadline_ns
                ),
            ],
            service.deadline_ns,
        )
        for own, service in enumerate(plant.services)
    ]


def paper_holds(plant: Plant, configuration: Configuration) -> list[bool]:
    """The paper's verdict: s_N + p_N <= d_min, and r_i <= d_i for each service."""
    driver = configuration.driver
    way_fits = driver.slice_ns + driver.period_ns <= plant.shortest_ns
    return [way_fits and found is not None for found in paper_response(plant, configuration)]


def _fixed_point(own_ns: int, above: list[Slice], limit_ns: int) -> int | None:
    response_ns = own_ns
    while response_ns <= limit_ns:
        demand_ns = own_ns + sum(-(-response_ns // s.period_ns) * s.slice_ns for s in above)
        if demand_ns == response_ns:
            return response_ns
        response_ns = demand_ns
    return None


def way(placed: PlacedPlant) -> DriverDelay | Verdict:
    """Returns how long a packet is with the driver: D, or R_N if it finds enough of the slice."""
    own = placed.driver
    served = slice_response(placed, own, placed.driver_group, placed.plant.slice_ns)
    if served.bound_ns is None:
        return served
    return DriverDelay(own.period_ns - own.budget_ns + served.bound_ns, served.bound_ns)


def answer(placed: PlacedPlant, number: int, way_ns: int) -> Answer | Verdict:
    """R_i if a period begins at the wake; else D of its own from there, or 2 R_i all in all."""
    service, (server, group) = placed.plant.services[number], placed.services[number]
    served = slice_response(placed, server, group, service.wcet_ns)
    if served.bound_ns is None:
        return served
    return timing(service, server, served.bound_ns, way_ns)


def timing(service: Service, server: Server, response_ns: int, way_ns: int) -> Answer:
    """The answer of a service that takes so long with its slice at hand."""
    if period_over(service, server, way_ns):
        return Answer(response_ns, response_ns)
    wake_ns = server.period_ns - server.budget_ns + response_ns
    chained = server.period_ns <= service.period_ns
    return Answer(min(2 * response_ns, wake_ns) if chained else wake_ns, wake_ns)


def round_trip(
    placed: PlacedPlant, number: int, server: Server, answer: Answer, way_ns: int, wait_ns: int
) -> int | None:
    """From arrival to answer, with all waits for the driver's slice; None: no bound."""
    plant, service = placed.plant, placed.plant.services[number]
    if plant.packets != len(plant.services):
        return None
    base_ns = wait_ns + 2 * plant.packet_ns + service.wcet_ns
    if not period_over(service, server, way_ns):
        gap_ns = server.period_ns - server.budget_ns
        if answer.wake_ns - gap_ns + way_ns > service.period_ns:
            return None
        base_ns += gap_ns
    groups = {placed.driver_group.servers: placed.driver_group}
    group = placed.services[number][1]
    groups[group.servers] = group

    def lost_ns(window_ns: int) -> int:
        return sum(one.lost_ns(window_ns) for one in groups.values())

    return _in_one_piece(placed, number, base_ns, lost_ns)


def round_trip_with_overheads(placed: PlacedPlant, number: int, starts_period: bool) -> int | None:
    """From arrival to answer, if slices hold their work with the picks of a period."""
    account, plant, driver = placed.account, placed.plant, placed.driver
    assert account is not None, "there are overheads"
    service, (own, group) = plant.services[number], placed.services[number]
    for server, work_ns in ((driver, plant.slice_ns), (own, service.wcet_ns)):
        if work_ns + account.loss_ns(server, server.period_ns) > server.budget_ns:
            return None
    wait_ns = driver.period_ns - driver.budget_ns + account.debt_ns(driver)
    base_ns = 2 * wait_ns + 2 * plant.packet_ns + service.wcet_ns
    if not starts_period:
        base_ns += own.period_ns - own.budget_ns + account.debt_ns(own)
    before = _before(placed, number)
    granted = {driver, own, *(server for server, _ in placed.services if server in before)}

    def lost_ns(window_ns: int) -> int:
        picks_ns = sum(account.loss_ns(one, window_ns, with_wakes=True) for one in granted)
        stays_ns = 4 * placed.driver_group.lost_ns(window_ns) + 2 * group.lost_ns(window_ns)
        return picks_ns + stays_ns

    return _in_one_piece(placed, number, base_ns, lost_ns)


def _in_one_piece(
    placed: PlacedPlant, number: int, base_ns: int, lost_ns: Callable[[int], int]
) -> int | None:
    """The least r that holds all that may run between arrival and answer; None: no bound."""
    plant, service = placed.plant, placed.plant.services[number]
    before = _before(placed, number)
    flows = [
        (one, 2 * plant.packet_ns + (one.wcet_ns if own in before else 0))
        for place, (one, (own, _)) in enumerate(zip(plant.services, placed.services, strict=True))
        if place != number
    ]
    others = before - {placed.driver, *(own for own, _ in placed.services)}
    round_trip_ns = base_ns
    while round_trip_ns <= service.deadline_ns:
        demand_ns = base_ns + lost_ns(round_trip_ns)
        demand_ns += sum(
            -(-(round_trip_ns + one.deadline_ns) // one.period_ns) * each_ns
            for one, each_ns in flows
        )
        demand_ns += sum(
            -(-(round_trip_ns + one.period_ns - one.budget_ns) // one.period_ns) * one.budget_ns
            for one in others
        )
        if demand_ns == round_trip_ns:
            return round_trip_ns
        round_trip_ns = demand_ns
    return None


def _before(placed: PlacedPlant, number: int) -> set[Server]:
    """Returns the servers that may run while a packet of a service waits on its way."""
    own, group = placed.services[number]
    found = {one for one in group.servers if one.priority <= own.priority}
    driver = placed.driver
    found |= {one for one in placed.driver_group.servers if one.priority <= driver.priority}
    return found - {placed.services[number][0]}


def spent_from_start(placed: PlacedPlant, own: Server, group: Group, amount_ns: int) -> Verdict:
    """Returns R with overheads, for work of no more than a slice from the start of a period."""
    if amount_ns > own.budget_ns:
        return Verdict.unknown(f"{own.name}: a slice does not hold its work with the overheads")
    return slice_response(placed, own, group, amount_ns)


def spent_from_anywhere(placed: PlacedPlant, own: Server, group: Group, amount_ns: int) -> Verdict:
    """D, with overheads: a slice may have begun with a debt, and some may be used up before."""
    assert placed.account is not None, "there are overheads"
    slices = (amount_ns - 1) // own.budget_ns
    whole = slice_response(placed, own, group, own.budget_ns)
    last = slice_response(placed, own, group, amount_ns - slices * own.budget_ns)
    if last.bound_ns is None:
        return last
    gap_ns = own.period_ns - own.budget_ns + placed.account.debt_ns(own)
    if slices == 0:
        return Verdict.yes(gap_ns + last.bound_ns)
    if whole.bound_ns is None:
        return whole
    return Verdict.yes(max(gap_ns, whole.bound_ns) + slices * own.period_ns + last.bound_ns)


RULE = SliceRule(
    "psedf",
    ((Budget.SLICE, Order.FP), (Budget.SLICE, Order.FP_EDF)),
    paper_holds,
    way,
    answer,
    round_trip,
    delays=Delays(spent_from_start, spent_from_anywhere, round_trip_with_overheads, chains=True),
)
