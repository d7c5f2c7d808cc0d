# SPDX-License-Identifier: BSD-2-Clause
"""Hard constant bandwidth servers under fixed priority on one pcpu: a sufficient test.

Paper: none for priorities; Abeni and Buttazzo, "Integrating multimedia applications in hard
real-time systems", RTSS 1998, for the rule. The argument is by its virtual time. With q left
and deadline d let V = d - q P / B, and U = B / P.

V grows by P / B with each unit used; at an arrival that starts a new period it is set to the
present, which it was behind; a refill leaves it as it is. So a server uses at most U (V(b) -
V(a)) from *a* to *b*. A period begins with V no later than the present, and B units take B at
least, so V(t) <= t + P - B always.

**Interference.** Let nobody of priority *i* or above have work and budget just before *t*. The
next unit of each is used after an arrival or a refill from *t* on, with V >= t then. So in
[t, t + L) server *k* uses at most U_k (L + P_k - B_k): more than a periodic server, because an
arrival may start a new period early, and less than a deferrable one.

**Test.** With H the sum of U_k over those of higher or equal priority, and the response
  R = (B_i + sum U_k (P_k - B_k)) / (1 - H),
server *i* gets its supply if R <= P_i and H + U_i <= 1. R(n), the same with n for B_i, bounds
the time to n own units from such an instant t0. Let its vcpu have work from *t* on; m units
later, at t0, it is depleted with V = d. With q left at *t*, V(t) <= t + (1 - q / B)(P - B), so
unit m + n comes by V(t) + m P / B + R(n), where R(n) <= P - B + n for n <= B, because R(B) <= P
and R grows faster than n; and R(n) <= n P / B beyond, because 1 / (1 - H) <= P / B. That is in
time for blackout 2 (P - B) and B in every period after it. The same holds if t0 is before *t*.

What is not promised is the budget by each deadline: an arrival that keeps a deadline may come
too late for that. It is not lost, and the supply bound holds.

"No" is null, or false where the test for periodic servers fails (servers that always have work
are periodic ones).

Inputs: a group on one pcpu. Results: per server a verdict with R rounded up, in nanoseconds.
Errors: none.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from hyperperiod.analysis.servers.fp_response_time import unless_refused
from hyperperiod.analysis.servers.server import Group, Server, total_bandwidth
from hyperperiod.analysis.verdict import Verdict


def cbs_fp(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    return unless_refused(group, _judge)


def _judge(group: Group, own: Server) -> Verdict:
    above = group.before(own)
    lost = sum((Fraction(load.wcet, load.period) for load in group.lost), Fraction(0))
    left = 1 - total_bandwidth(above) - lost
    if own.bandwidth <= left:
        response = (own.budget_ns + _bursts(group, above)) / left
        if response <= own.period_ns:
            return Verdict.yes(ceil(response))
    return Verdict.unknown(
        f"{own.name}: the test for constant bandwidth servers under priorities is only"
        " sufficient, and does not confirm it"
    )


def _bursts(group: Group, above: list[Server]) -> Fraction:
    """Returns what the others take (ns) beyond their share of a window of any length."""
    servers = [other.bandwidth * (other.period_ns - other.budget_ns) for other in above]
    overhead = [
        Fraction(load.wcet * (load.jitter + load.period), load.period) for load in group.lost
    ]
    return sum([*servers, *overhead], Fraction(0))
