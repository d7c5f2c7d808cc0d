# SPDX-License-Identifier: BSD-2-Clause
"""Deferrable (or periodic) servers under fixed priority, refilled on one grid: sufficient.

Papers: as `deferrable_fp` (Strosnider, Lehoczky and Sha 1995; Davis and Burns 2005); the phases
are those of servers that are all refilled at multiples of their periods since time 0. Proved by
machine, without overheads: deferrable_on_one_grid in proofs/deferrable.v.

Seen from the beginning of a period of server i, the next refill of server k is r away, where r
is a multiple of g = gcd(P_i, P_k) in g..P_k. Until then k spends at most min(B_k, r), and B_k in
each period after it. That is most for one of two r: the least that is no smaller than B_k, or
the greatest that is. (That may be 0, which is as P_k: the same is spent.) Server i gets its budget
if for some window L <= P_i, all others together spend at most L - B_i in it. Where periods are
harmonic (P_k divides P_i) this is the test of periodic servers; where they are coprime it is that
of `deferrable_fp`.

Assumptions: origins are 0, as they are for servers in a file without changes; budgets are
enforced, nothing else is assumed about the others. Overheads come on top at any time.

Inputs: a group on one pcpu. Results: per server a verdict; "no" is null, or false if even the
test for periodic servers fails. Errors: none.
"""

from __future__ import annotations

from math import gcd

from hyperperiod.analysis.servers.fp_response_time import unless_refused
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict

STEPS = 10_000
"""How many steps the iteration has; without an end after so many the verdict is null."""


def deferrable_grid(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    return unless_refused(group, _judge)


def max_spent(other: Server, own_period_ns: int, window_ns: int) -> tuple[int, int]:
    """Returns the most (ns) that another spends in a window from the begin of one's own period.

    The second number is how much longer it may go on without a pause.
    """
    period_ns, budget_ns = other.period_ns, other.budget_ns
    step_ns = gcd(period_ns, own_period_ns)
    refills = {budget_ns // step_ns * step_ns, -(-budget_ns // step_ns) * step_ns}
    return max(_spent(other, refill_ns, window_ns) for refill_ns in refills)


def _spent(other: Server, refill_ns: int, window_ns: int) -> tuple[int, int]:
    """Returns what `max_spent` does, for another whose next refill is `refill_ns` away."""
    first_ns = min(other.budget_ns, refill_ns)
    if window_ns < refill_ns:
        spent_ns = min(first_ns, window_ns)
        return spent_ns, first_ns - spent_ns
    periods, rest_ns = divmod(window_ns - refill_ns, other.period_ns)
    spent_ns = min(other.budget_ns, rest_ns)
    return first_ns + periods * other.budget_ns + spent_ns, other.budget_ns - spent_ns


def _judge(group: Group, own: Server) -> Verdict:
    above = group.before(own)
    window_ns = own.budget_ns
    for _ in range(STEPS):
        spent = [max_spent(other, own.period_ns, window_ns) for other in above]
        needed_ns = own.budget_ns + group.lost_ns(window_ns) + sum(one for one, _ in spent)
        if needed_ns <= window_ns:
            return Verdict.yes(window_ns)
        # While one of the others goes on, the window grows no faster than what is spent in it.
        window_ns = max([needed_ns, *(window_ns + more_ns for _, more_ns in spent)])
        if window_ns > own.period_ns:
            break
    return Verdict.unknown(
        f"{own.name}: the test for deferrable servers on one grid is only sufficient,"
        " and does not confirm it"
    )
