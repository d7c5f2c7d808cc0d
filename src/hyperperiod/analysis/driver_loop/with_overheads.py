# SPDX-License-Identifier: BSD-2-Clause
"""Driver loops where the hypervisor's own work takes time: bounds for SEDF' and PSEDF.

Picks take time at the start of the grant that they make, and whoever pays for the grant pays for
them (`analysis.overheads`, with O for the longest pick of a pcpu). What is *spent* of a slice is
work and picks, and only the work serves packets. Three things differ from the loop without them.

1. *What has to be spent.* Let a vcpu be without a break in its work from t on, and let `loss(W)`
   be what picks may take of its slices in a window W, with the debt of the slice before and the
   pick in progress at t. Then `work` is done when

       A = work + loss(W)

   is spent since t, if that is within W. A slice is overdrawn by less than O, and the next one
   begins with that debt: from the begin d of a period on, j periods spend j s less the debt at d,
   for the debts in between are paid by one and were spent by the other. The debt at d is counted in
   A. So the last of m = ceil(A / s) slices has what A needs beyond (m - 1) s.

2. *How long that takes.* From t on with the slice at hand an amount a takes R(a), the response
   time of `slice_response` with all that is lost beside the budgets (each of them overdrawn once,
   and one pick that cannot be interrupted). A domain that answers may count there with its jobs and
   the picks that grant it: one comes with each of its wakes, and any other goes on with it or comes
   back to it within work without a break. With R(s) <= p each period spends its slice. Under EDF
   each does if the host level says so.

   At any other time: let q be left of the slice, whose period ends at d. It had s - O at the least,
   so d - t <= p - s + q + O. If q is spent by d, the last slice takes R(a - q) <= R(a) - q with
   a = A - (m - 1) s. If it is not, the slice was at hand all along: m = 1 takes R(A), and for
   m > 1 d comes within R(s). So A is spent after

       D = p - s + O + R(A),                                                    (PSEDF, m = 1)
       D = max(p - s + O, R(s)) + (m - 1) p + R(A - (m - 1) s).                  (PSEDF, m > 1)

   Under EDF g of what is left is spent by d. The m-th period from there begins with a debt at the
   most, and has spent x of its slice by its end less s - O - x. With q - g <= s

       D = 2 (p - s) + 2 O + A + s + (m - 1) (p - s).                                   (SEDF')

   Alone on its pcpu nobody takes from a vcpu what is left: that is as under PSEDF.

3. *The window.* D grows with W and W is to be D: the least W with D(A(W)) <= W is sought from
   below. Were the work not done at t + W, A would have been spent by then, of which loss(W) at most
   on picks: it was done.

The way through the driver is D with k e_N; that at most k packets are there rests on all deadlines
being met, as ever, and that a slice holds them all is not asked for. A real-time domain whose wake
begins a period (`period_over`) has its slice at hand: with A <= s it takes R(A), or p under EDF.
Its job may use up the slice only if A = s; with A < s one period has to be over at the next wake,
else two. Where a wake may not begin a period, D of its own slice holds. The whole is 2 D and that,
or less by one of these.

4. *All in one piece* (PSEDF, `psedf.life_with_overheads`). Let the driver's slice hold k e_N with
   the picks of a period, `loss(p)`, and that of the domain its job. Then a packet waits for a slice
   of the driver once on each way, p - s + O at the most, for the next one holds all that are there
   as it begins; and for one of its own domain once, or not at all where its wake begins a period.
   All else that runs from its arrival to its answer, where it is: the work that `psedf.round_trip`
   counts; picks that grant the driver, its domain or another one that answers, in the whole window
   and with their wakes; and what is lost beside the budgets, in each stretch of time with the slice
   at hand anew. The driver's pcpu has four of those, two visits and two waits, that of the domain
   two.

5. *Chains of periods* (PSEDF). With p <= P of the packets and A <= s, so that any slice holds a job
   and R its time with the slice at hand, all is done R + R after the longest way in. Let a job find
   its period, from T on, with less of its slice than it needs: the job before ran in that period.
   That was woken after T; or less than R before T; or it waited for T itself, and by induction its
   packet came D + R before T at the most. Its packet came after T - D - R in any case, that of the
   job in question after T + p - D - R; so the slice at T + p comes D + R after it, and R later it
   is done. A slice that begins with a debt holds a job as well, for the debt is counted in A.

Not proved with overheads, and not used: that no packet waits twice (`waits_once`), a quantum, and
SEDF, where a block may lose a slice.

Inputs: a placed plant with its account, and what the policy says of slices. Results: the parts of
the bound of each service (ns), or why there is none. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hyperperiod.analysis.driver_loop.driver_domain import (
    BoundParts,
    Delays,
    PlacedPlant,
    Service,
)
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import format_time

Delay = Callable[[PlacedPlant, Server, Group, int], Verdict]


class SliceUse(NamedTuple):
    """The slice (ns) that is spent until some work is done, A, and the time (ns) it takes."""

    amount_ns: int
    delay_ns: int


def parts_with_overheads(placed: PlacedPlant, delays: Delays) -> list[BoundParts] | Verdict:
    """The bound of each service, if all deadlines are met; or why there is none."""
    if placed.driver_group.turns:
        return Verdict.unknown("with overheads nothing is proved of loops with a quantum")
    plant, driver = placed.plant, (placed.driver, placed.driver_group)
    way = _spent(placed, *driver, plant.slice_ns, delays.any_time, plant.shortest_ns)
    if isinstance(way, Verdict):
        return way
    found = []
    for number in range(len(placed.services)):
        answer = _answer(placed, number, delays, way.delay_ns)
        if isinstance(answer, Verdict):
            return answer
        round_trip_ns = (
            None
            if delays.round_trip is None
            else delays.round_trip(placed, number, answer.starts_period)
        )
        in_ns = out_ns = way.delay_ns
        found.append(BoundParts(in_ns, answer.late_ns, out_ns, answer.wake_ns, round_trip_ns))
    return found


class Reply(NamedTuple):
    """The time (ns) to an answer: beyond its packet's longest way in, and from its own wake.

    `starts_period`: each of its wakes begins a period.
    """

    late_ns: int
    wake_ns: int
    starts_period: bool


def _answer(placed: PlacedPlant, number: int, delays: Delays, way_ns: int) -> Reply | Verdict:
    """The answer of a service, if packets reach it up to so late."""
    service, (server, group) = placed.plant.services[number], placed.services[number]
    asked = (placed, server, group, service.wcet_ns)
    fresh = _spent(*asked, delays.at_start, service.deadline_ns)
    if not isinstance(fresh, Verdict) and _period_over(service, server, fresh.amount_ns, way_ns):
        return Reply(fresh.delay_ns, fresh.delay_ns, starts_period=True)
    later = _spent(*asked, delays.any_time, service.deadline_ns + server.period_ns)
    if isinstance(later, Verdict):
        return later
    late_ns = later.delay_ns
    if delays.chains and not isinstance(fresh, Verdict) and server.period_ns <= service.period_ns:
        late_ns = min(late_ns, 2 * fresh.delay_ns)
    return Reply(late_ns, later.delay_ns, starts_period=False)


def _period_over(service: Service, server: Server, amount_ns: int, late_ns: int) -> bool:
    """Whether each wake begins a new period, if packets reach the service up to so late."""
    periods = 1 if amount_ns < server.budget_ns else 2
    return periods * server.period_ns + late_ns <= service.period_ns


def _spent(
    placed: PlacedPlant, own: Server, group: Group, work_ns: int, delay: Delay, limit_ns: int
) -> SliceUse | Verdict:
    """The least A and W that agree with each other, up to a limit of W."""
    assert placed.account is not None, "there are overheads"
    window_ns = work_ns
    while window_ns <= limit_ns:
        amount_ns = work_ns + placed.account.loss_ns(own, window_ns)
        found = delay(placed, own, group, amount_ns)
        if found.bound_ns is None:
            return Verdict.unknown(found.reason)
        if found.bound_ns <= window_ns:
            return SliceUse(amount_ns, found.bound_ns)
        window_ns = found.bound_ns
    return Verdict.unknown(
        f"{own.name}: with overheads {format_time(work_ns)} of work may take more than"
        f" {format_time(limit_ns)}"
    )
