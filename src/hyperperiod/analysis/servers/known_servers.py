# SPDX-License-Identifier: BSD-2-Clause
"""What servers supply when it is known who else is on their pcpus.

A supply bound of the interface alone assumes that a budget may come at the very end of a period, as
if others took all the rest. Others take no more than their own budgets. After Davis and Burns,
"Hierarchical fixed priority pre-emptive scheduling", RTSS 2005 (the last period of a window holds
only the known servers above); the form, and what holds beyond fixed priority, is proved
here. Periodic servers on one pcpu are known better still (`server_table`).

**Interference.** All servers of a file refill at multiples of their periods. Seen from a refill of
server i, the next one of server k is r away, r in 1..P_k; these distances come again after the
hyperperiod. In [0, t) server k spends at most W_k(t): min(B_k, r) until r, at once at rate 1, and
B_k from each refill on. Under fixed priority only servers of the same or a higher priority can be
ahead of i, under EDF only budgets whose deadline, the next refill, is at or before P_i. While i has
work and budget and does not run, m pcpus run such servers: if that takes J of [0, t), then
m J <= sum of min(W_k(t), J), so J is at most I(t), the least over c = 0..m-1 of the sum of all but
the c largest W_k(t), over m - c. (On one pcpu, their sum.) So with work throughout, i has got x by
the first time R(x) with t - I(t) >= x; I does not fall, so neither does R(x) - x. The bound needs
R(B) <= P after every refill; R is the largest of all of these.

**Supply** (`within_periods`). Let work come at s after a refill and stay. Let c be what i has spent
by then: c <= s. Take a deferrable server.
(1) Of the rest of this budget it gets x, x + s <= B, by R(x + s): of [s, t) others take no more
than I(t), so t - s - I(t) >= x is left at t = R(x + s). So it gets at least B - s in this period.
(2) In the k-th period after this one it gets x by R(x), since it has work throughout.
So it gets (k - 1) B + x, 0 < x <= B, within (P - B) + (k - 1) P + R(x) of s:
- if s >= B: that much comes in the periods that follow, the first of which begins P - s later;
- s < B, x > B - s: with what (1) gives, x + s - B is left for the k-th period, and
  R(x + s - B) <= R(x) - (B - s);
- s < B, x <= B - s, k > 1: x + s is left for the period before, and R(x + s) - (x + s) <= P - B;
- s < B, x <= B - s, k = 1: by (1) at R(x + s) - s <= P - B + x.
This is a staircase: R(x) - x takes steps. A window that begins while there is work is one that
begins at s, too. So does one in which a hop of a flow ends at the instant at which the next begins:
no rule charges for an instant, a deferrable server keeps what it has, a polling one loses budget
only without work after all arrivals of the instant, and others are ahead no longer than I says,
however ties end (`Cover.HOPS`).
A periodic server pays c by s, with work or without, and waits no longer: the same. On one pcpu R is
read from its table, which holds under lend as well, unless equals above it lose budgets there. A
polling server may have lost its budget at s; then the next one comes within P: P in place of P - B,
less the one nanosecond at least by which work came too late for the last one; of the cases above
the first is left.
Proved by machine, but for the ends of hops and for budget in hand: known_servers,
known_servers_on_several and known_supply in proofs/known_supply.v.

**Hard constant bandwidth servers** have no grid of refills: `known_bandwidth`, which gives an R of
its own for within_periods.

Assumptions: no overheads, no quantum; all vcpus of the group have interfaces; the start, as ever.
Inputs: a policy and a group. Results: a bound per server, in the order of the group, or why there
is none. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import lcm
from typing import NamedTuple

from hyperperiod.analysis.domains.budget_in_hand import CarriedBudget
from hyperperiod.analysis.domains.supply_bound import Staircase, stairs_of
from hyperperiod.analysis.proofs import RefinementTest, Rules, find_refinement
from hyperperiod.analysis.servers.host_tests import rules_of
from hyperperiod.analysis.servers.known_bandwidth import waits_by_bandwidth
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.servers.server_table import (
    MAX_RUNS,
    NOT_GUARANTEED,
    TOO_LONG,
    LostInATie,
    NotKnown,
    supply_by_table,
    waits_by_table,
)
from hyperperiod.model import Budget, Order, Policy
from hyperperiod.model.units import TIME_LIMIT_NS

_PAPERS = {
    RefinementTest.TABLE: "",
    RefinementTest.INTERFERENCE: "after Davis and Burns 2005",
    RefinementTest.BANDWIDTH: "after Abeni and Buttazzo 1998",
}


Waits = list[tuple[int, int]]
"""What is waited for (ns) beyond each amount (ns) of a budget."""


class Known(NamedTuple):
    """A bound for the servers of one domain, in the order of its vcpus, or why there is none.

    `source` is the paper behind the test, where there is one. Of servers that keep what is not
    used it says `in_hand` how long the rest takes (`domains.budget_in_hand`).
    """

    test: str
    source: str
    supplies: tuple[Staircase, ...] = ()
    in_hand: tuple[CarriedBudget, ...] = ()
    refused: str = ""


def known_supply(
    policy: Policy, group: Group, domain_index: int, refused: str = ""
) -> Known | None:
    """Returns the refined supplies of a domain's servers; None where nothing is proved.

    `refused` is why the group as it stands is not all that there will be.
    """
    rules = rules_of(policy, group.pcpus)
    proof = find_refinement(rules)
    if proof is None:
        return None
    known = Known(proof.claim.value, _PAPERS[proof.claim])
    reason = refused or _not_covered(group)
    if reason:
        return known._replace(refused=reason)
    own = [group.servers[number] for number in group.numbers_of(domain_index)]
    try:
        supplies = tuple(_supply(proof.claim, rules, group, server) for server in own)
    except NotKnown as error:
        return known._replace(refused=str(error))
    if rules.budget not in (Budget.DEFERRABLE, Budget.CBS):
        return known._replace(supplies=supplies)
    in_hand = map(partial(_in_hand, rules, group), own, supplies)
    return known._replace(supplies=supplies, in_hand=tuple(in_hand))


def _not_covered(group: Group) -> str:
    if group.lost:
        return "servers that are known: the proof does not cover overheads"
    if group.turns:
        return "servers that are known: the proof does not cover a quantum"
    if group.overloaded:
        return "bandwidths sum to more than the pcpus"
    return ""


def _supply(claim: RefinementTest, rules: Rules, group: Group, own: Server) -> Staircase:
    if claim is RefinementTest.TABLE:
        # Ties may make the first hyperperiod one that never comes again. Then stands what holds in
        # each period by itself.
        with suppress(NotKnown):
            return _countable(supply_by_table(group, rules.order, own))
    first_ns = own.period_ns - (1 if rules.budget is Budget.POLLING else own.budget_ns)
    waits = _waits_of(rules, group)(group, rules.order, own)
    return _countable(within_periods(own, first_ns, waits))


def _countable(supply: Staircase) -> Staircase:
    """The same staircase; NotKnown where a round of it takes longer than any time of a system."""
    if max(supply.period_ns, supply.stairs[-1][1]) >= TIME_LIMIT_NS:
        raise NotKnown(TOO_LONG)
    return supply


def _waits_of(rules: Rules, group: Group) -> Callable[[Group, Order, Server], Waits]:
    """Returns the function that gives the waits (ns) in a period, as proved of the rules."""
    if rules.budget is Budget.CBS:
        return waits_by_bandwidth
    if group.pcpus == 1 and rules.budget in (Budget.PERIODIC, Budget.POLLING):
        return _waits_on_one_pcpu
    return waits_by_interference


def _waits_on_one_pcpu(group: Group, order: Order, own: Server) -> Waits:
    """By the table, or by interference where equals may save what they lose in the table."""
    try:
        return waits_by_table(group, order, own)
    except LostInATie:
        return waits_by_interference(group, order, own)


def within_periods(own: Server, first_ns: int, waits: Waits) -> Staircase:
    """Nothing for `first_ns`, then in every period what is waited for as these steps say."""
    stairs = [(amount_ns, first_ns + wait_ns) for amount_ns, wait_ns in stairs_of(waits)]
    return Staircase(own.period_ns, own.budget_ns, tuple(stairs))


def waits_by_interference(group: Group, order: Order, own: Server) -> Waits:
    """R(x) - x by x as (amount, wait) steps, after every refill of a hyperperiod."""
    if order is Order.EDF:
        _need_few(own, group.periods_ns, len(group.servers) - 1)
    others = _ahead(group, order, own)
    periods_ns = [other.period_ns for other in others]
    length_ns = _need_few(own, periods_ns, len(others))
    refills = length_ns // own.period_ns
    if refills * sum(2 + own.period_ns // period_ns for period_ns in periods_ns) > MAX_RUNS:
        raise NotKnown(TOO_LONG)
    steps: Waits = []
    for refill_ns in range(0, length_ns, own.period_ns):
        spending = [_spending(other, refill_ns, own, order) for other in others]
        waits, got_ns = _waits(own, spending, group.pcpus)
        if got_ns < own.budget_ns:
            raise NotKnown(NOT_GUARANTEED)
        steps += waits
    return steps


def _need_few(own: Server, periods_ns: Iterable[int], others: int) -> int:
    """The hyperperiod; NotKnown if so many others spend in too many periods of one's own."""
    length_ns = lcm(own.period_ns, *periods_ns)
    if 2 * others * (length_ns // own.period_ns) > MAX_RUNS:
        raise NotKnown(TOO_LONG)
    return length_ns


def _ahead(group: Group, order: Order, own: Server) -> list[Server]:
    """Returns the servers that may run before this one while it has budget."""
    if order is Order.EDF:
        return [other for other in group.servers if other is not own]
    return group.before(own)


class Burst(NamedTuple):
    """From when (ns) after a refill, and how much, a server may spend at rate 1."""

    start_ns: int
    amount_ns: int


def _spending(other: Server, refill_ns: int, own: Server, order: Order) -> list[Burst]:
    """W_k after a refill of one's own, up to the end of that period."""
    period_ns, budget_ns = other.period_ns, other.budget_ns
    away_ns = period_ns - refill_ns % period_ns
    bursts = [(0, min(budget_ns, away_ns), away_ns)]
    bursts += [(t, budget_ns, t + period_ns) for t in range(away_ns, own.period_ns, period_ns)]
    return [
        Burst(start_ns, amount_ns)
        for start_ns, amount_ns, deadline_ns in bursts
        if order is not Order.EDF or deadline_ns <= own.period_ns
    ]


def _waits(own: Server, spending: Sequence[Sequence[Burst]], pcpus: int) -> tuple[Waits, int]:
    """The steps of R(x) - x from one instant on, and how much of a budget is got in a period.

    Between two instants at which a burst begins or ends, what is got for sure rises at rate 1 up to
    its value at the second, if at all: exact on one pcpu, where it may only rise so, and safe on
    several.
    """
    instants = {own.period_ns}
    for bursts in spending:
        for burst in bursts:
            instants |= {burst.start_ns, burst.start_ns + burst.amount_ns}
    steps = []
    got_ns = 0
    for time_ns in sorted(t for t in instants if 0 < t <= own.period_ns):
        wait_ns = _interference(spending, time_ns, pcpus)
        if time_ns - wait_ns > got_ns:
            steps.append((got_ns, wait_ns))
            got_ns = time_ns - wait_ns
        if got_ns >= own.budget_ns:
            break
    return steps, min(got_ns, own.budget_ns)


def _in_hand(rules: Rules, group: Group, own: Server, supply: Staircase) -> CarriedBudget:
    """Returns the waits (ns) of a server that has budget left, from any instant on."""
    period_ns, budget_ns = own.period_ns, own.budget_ns
    if rules.budget is Budget.CBS:
        stairs = stairs_of(waits_by_bandwidth(group, rules.order, own))
        late_ns = 0 if rules.order is Order.EDF else budget_ns + stairs[-1][1]
        amid_ns = period_ns + late_ns
        return CarriedBudget(period_ns, amid_ns, budget_ns, budget_ns, stairs, supply, kept=True)
    spending = [_at_worst(other, period_ns) for other in _ahead(group, rules.order, own)]
    steps, got_ns = _waits(own, spending, group.pcpus)
    stairs = stairs_of(steps or [(0, 0)])
    return CarriedBudget(period_ns, period_ns, budget_ns, got_ns, stairs, supply)


def _at_worst(other: Server, window_ns: int) -> list[Burst]:
    """The most that a server may spend from an instant on: one budget just before its refill."""
    period_ns, budget_ns = other.period_ns, other.budget_ns
    refills = range(budget_ns, window_ns, period_ns)
    return [Burst(0, budget_ns), *(Burst(t, budget_ns) for t in refills)]


def _interference(spending: Sequence[Sequence[Burst]], time_ns: int, pcpus: int) -> int:
    """I(t): for how long all pcpus may run others."""
    spent_ns = sorted(
        sum(max(0, min(burst.amount_ns, time_ns - burst.start_ns)) for burst in bursts)
        for bursts in spending
    )
    return min(sum(spent_ns[: len(spent_ns) - above]) // (pcpus - above) for above in range(pcpus))
