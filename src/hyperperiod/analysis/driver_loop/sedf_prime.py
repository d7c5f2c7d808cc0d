# SPDX-License-Identifier: BSD-2-Clause
"""SEDF': a slice may be resumed after a block. The paper's inequality, and a sound bound.

Paper: the PSEDF paper (`driver_domain`), section V. Without short unblocking, it says, the driver
domain reacts to a packet within p_N, so that 2 p_N + p_i <= d_i is enough.

It is not. A packet that finds the slice used up waits for the next period, up to p_N - s_N, and
EDF may serve it as late as p_N after that. Nor is the sum of bandwidths a test any more: a slice
that is kept may be spent at the end of a period and again at the start of the next, as by a
deferrable server (`deferrable_edf`, which holds for slices as well: it only asks that periods of
one vcpu do not overlap and that each holds at most one slice).

The bound. A packet comes at t; q of the driver's slice are left and its period ends at d. At
least s - q were used since d - p, so d - t <= p - s + q. Before d the driver gets g of what is
left, at the least min(q, y - W(y)) for every y <= d - t, where W(y) is what the others can spend
with deadlines up to d in the last y of it. The next period is whole: a - g more are served by
d + p - s + (a - g). Together, with a = k e_N of packets to serve,

    D = 2 (p - s) + a + max over q of (q - g),        alone on its pcpu D = p - s + a.

With nothing lost before deadlines (q = g for all q), a packet that does not run into the end of a
slice is served after D_1 = p - s + a, alone on the pcpu a. Where no packet can run into it twice
(`waits_once`) one D is such a D_1.

A real-time domain that begins a new period at each wake (`period_over`) is done within it; for
any other the same bound D holds with its own slice. The whole is
2 D and that.

Inputs: a placed plant. Results: per service a verdict with the bound in nanoseconds, null above
the deadline. Errors: none.
"""

from __future__ import annotations

from hyperperiod.analysis.driver_loop import psedf
from hyperperiod.analysis.driver_loop.driver_domain import (
    Answer,
    Configuration,
    Delays,
    DriverDelay,
    PlacedPlant,
    Plant,
    Service,
    SliceRule,
    hold_by_hops,
    period_over,
)
from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf, max_work
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget, Order

HOPS = 2
"""Periods of the driver domain in the paper's inequality."""

MAX_STEPS = 10_000


def paper_holds(plant: Plant, configuration: Configuration) -> list[bool]:
    """Returns for each service whether the paper's 2 p_N + p_i <= d_i holds."""
    return hold_by_hops(plant, configuration, HOPS)


def way(placed: PlacedPlant) -> DriverDelay | Verdict:
    """Returns how long a packet is with the driver: D, and D_1 where that is shorter."""
    got = gets_its_slice(placed.driver, placed.driver_group)
    if not got.holds:
        return got
    return way_of(placed.driver, placed.driver_group, placed.plant.slice_ns)


def way_of(driver: Server, group: Group, amount_ns: int) -> DriverDelay:
    """Returns how long so much work is with the driver if every vcpu gets its slices."""
    longest_ns = kept_delay(driver, group, amount_ns)
    if _alone(group):
        return DriverDelay(longest_ns, amount_ns)
    if _lost_before_deadline(driver, group):
        return DriverDelay(longest_ns, longest_ns)
    return DriverDelay(longest_ns, driver.period_ns - driver.budget_ns + amount_ns)


def answer(placed: PlacedPlant, number: int, way_ns: int) -> Answer | Verdict:
    """Within its period if one begins at the wake, else D of its own."""
    service, (server, group) = placed.plant.services[number], placed.services[number]
    got = gets_its_slice(server, group)
    return timing(service, server, group, way_ns) if got.holds else got


def timing(service: Service, server: Server, group: Group, way_ns: int) -> Answer:
    """Returns how late a service answers if every vcpu gets its slices."""
    own_ns = service.wcet_ns if _alone(group) else server.period_ns
    if not period_over(service, server, way_ns):
        own_ns = kept_delay(server, group, service.wcet_ns)
    return Answer(own_ns, own_ns)


def kept_delay(own: Server, group: Group, amount_ns: int) -> int:
    """D: from work that comes at any time to `amount` <= slice served, under EDF."""
    gap_ns = own.period_ns - own.budget_ns
    if _alone(group):
        return gap_ns + amount_ns
    return 2 * gap_ns + amount_ns + _lost_before_deadline(own, group)


def _alone(group: Group) -> bool:
    return len(group.servers) == 1 and not group.lost


def gets_its_slice(own: Server, group: Group) -> Verdict:
    """In each of its periods in which it has work throughout."""
    if _alone(group):
        return Verdict.yes()
    found = deferrable_edf(group)[group.servers.index(own)]
    return found if found.holds else Verdict.unknown(found.reason)


def _lost_before_deadline(own: Server, group: Group) -> int:
    """The most that a kept slice of q can lose to others before its deadline: max of q - g.

    y - W(y) is straight between the points where another's slice begins or ends; the largest of
    it so far stands still up to where it is passed again, and there q - g is largest. With very
    many such points the whole slice is given up, which is always safe.
    """
    others = [other for other in group.servers if other is not own]
    steps = sum(2 * (own.period_ns // other.period_ns + 1) for other in others)
    if steps > MAX_STEPS or group.lost:
        return own.budget_ns
    marks = {own.period_ns} | {
        mark
        for other in others
        for start in range(0, own.period_ns, other.period_ns)
        for mark in (start, start + other.budget_ns)
        if mark < own.period_ns
    }
    first_ns = own.period_ns - own.budget_ns
    best_ns = worst_ns = here_ns = free_ns = 0
    for mark in sorted(marks):
        then_ns, before_ns = here_ns, free_ns
        here_ns, free_ns = mark, mark - sum(max_work(other, mark) for other in others)
        rising = free_ns - before_ns == here_ns - then_ns
        if rising and before_ns <= best_ns <= free_ns:
            passed_ns = then_ns + (best_ns - before_ns)
            worst_ns = max(worst_ns, passed_ns - first_ns - best_ns)
        best_ns = max(best_ns, free_ns)
        worst_ns = max(worst_ns, here_ns - first_ns - best_ns)
    return min(worst_ns, own.budget_ns)


def spent_from_start(placed: PlacedPlant, own: Server, group: Group, amount_ns: int) -> Verdict:
    """Within its period, with overheads, if a slice holds it; R alone on its pcpu."""
    if len(group.servers) == 1 or amount_ns > own.budget_ns:
        return psedf.spent_from_start(placed, own, group, amount_ns)
    got = gets_its_slice(own, group)
    return Verdict.yes(own.period_ns) if got.holds else got


def spent_from_anywhere(placed: PlacedPlant, own: Server, group: Group, amount_ns: int) -> Verdict:
    """D, with overheads: this slice and the last may have begun with a debt."""
    assert placed.account is not None, "there are overheads"
    if len(group.servers) == 1:
        return psedf.spent_from_anywhere(placed, own, group, amount_ns)
    got = gets_its_slice(own, group)
    if not got.holds:
        return got
    before_ns = (amount_ns - 1) // own.budget_ns * (own.period_ns - own.budget_ns)
    kept_ns = kept_delay(own, group, amount_ns) + before_ns
    return Verdict.yes(kept_ns + 2 * placed.account.debt_ns(own))


RULE = SliceRule(
    "sedf_prime",
    ((Budget.SLICE, Order.EDF),),
    paper_holds,
    way,
    answer,
    hops=HOPS,
    delays=Delays(spent_from_start, spent_from_anywhere),
)
