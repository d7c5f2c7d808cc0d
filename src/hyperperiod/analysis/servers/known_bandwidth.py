# SPDX-License-Identifier: BSD-2-Clause
"""How long a hard constant bandwidth server waits beside others that are known, on one pcpu.

Under EDF with bandwidths that sum to at most 1, and under fixed priority. Papers: Abeni and
Buttazzo, "Integrating multimedia applications in hard real-time systems", RTSS 1998, for the rule;
the demand within a deadline and the time in which it can be asked for are taken together as in
Spuri, "Analysis of deadline scheduled real-time systems", INRIA 1996. The bound is proved here.

**A period** of a server begins at a refill, or at an arrival that the rule gives a new deadline; it
has the whole budget then. Let U_k = B_k / P_k. Let nobody who counts have work and budget just
before t0, and let server k have used u since then, with q left and deadline d. Then
  u + q <= U_k (d - t0):                                                              (1)
true at its first arrival from t0 on, since a budget that is kept fits the bandwidth; use changes
nothing, a refill at d or later adds B_k and P_k. A new period at an arrival at t: it begins because
q > U_k (d - t), or because d <= t, so that u <= U_k (t - t0), and then both sides grow by B_k.
If a period begins at t, u <= U_k (t - t0) holds before it in each of these cases.       (2)

**Others.** In [t0, t0 + t) server k uses at most
  I_k(t) = U_k (P_k - B_k + t):
by (2) at the last period that begins there, at e after t0, no more than U_k e, and then B_k or
t - e, whichever is less; if none begins, no more than B_k or t. Under EDF only what it uses with
deadlines by D after t0 counts, by (1) at most U_k D. Under fixed priority those of a lower priority
count for nothing.

**R(y)**, for 0 < y <= B of one's own budget: the least whole t >= y with t >= y + J(t),
  EDF:            J(t) = floor of the sum of U_k min(P, P_k - B_k + t) over all others,
  fixed priority: J(t) = floor of the sum of U_k (P_k - B_k + t) over those not below.
J grows slower than t, so there is one t from which on this holds; and R(y) - y does not fall.
Under EDF R(B) <= U P <= P; under fixed priority R(B) <= P is the test.

**One period.** Let server i have work and q > 0 left from s on, v = B - q used of this period, and
let d be its deadline. Then x <= q of it is done by s + R(v + x) - v. For d - s <= P - v: equal to P
when a period begins with v = 0, both sides fall alike while it runs, and time alone is on our side.
Let t0 = s - z be the last instant not after s before which nobody who counts had work and budget
(under EDF: with a deadline by d). From t0 until x is done the pcpu runs those who count. Own use
from t0 to s is h <= z, and by (1) h <= U_i (d - t0) - q. So x is done by t0 + t for the least
t >= x + h + J_z(t), where J_z is J with P + z - v in place of P, as D = d - t0 <= z + P - v.
- z <= v: h <= z and P + z - v <= P, so t <= R(x + z), and R(x + z) - z <= R(x + v) - v.
- z = v + w, w > 0: h <= U_i (P + w) - B + v = U_i w + v, and D <= P + w. One more for w and for t
  adds at most U_i + sum U_k <= 1 to the right side and 1 to the left, so the least t grows by no
  more than w: t <= R(x + v) + w, as for w = 0.

**Supply.** With work from s on, what a period has left is used by s + R(B) - v <= s + P - v, and
its deadline is no later. So the next one begins by s + P - v, and each that follows within P of
the one before: it begins at the deadline, or later when the last of its budget is used, and then
its deadline is nearer by as much. Server i gets q by then, (k - 1) B + y more by
  s + P - v + (k - 1) P + R(y),    0 < y <= B.                                           (3)
If it was v' >= v instead, this were no earlier: by R(y) - y the same within a period, and where one
more period is needed, by R(y) <= P - B + y. So a bound for v holds for all that used less; the one
for v = B, where nothing is left at s, holds always. It is that of `known_servers.within_periods`.

Who knows that no more than `v` was used has more: `domains.budget_in_hand`, with (3).

Assumptions: no overheads, no quantum, one pcpu, bandwidths that sum to at most 1; slack rules that
run nobody while somebody with work has budget. Inputs: a group, its order, a server of it. Results:
(amount, wait) steps in nanoseconds. Errors: NotKnown if a budget may take longer than a period.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from math import floor
from typing import NamedTuple

from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.servers.server_table import NOT_GUARANTEED, NotKnown
from hyperperiod.model import Order

MAX_STEPS = 96
"""In how many parts of a period a budget is looked at; a part has the wait of its end."""


class LinePiece(NamedTuple):
    """From `start_ns` on others take fixed + slope * t of a window of t."""

    start_ns: int
    fixed: Fraction
    slope: Fraction

    def taken(self, window_ns: int) -> int:
        """Returns how much (ns) others take of a window (ns) of this piece."""
        return floor(self.fixed + self.slope * window_ns)


def waits_by_bandwidth(group: Group, order: Order, own: Server) -> list[tuple[int, int]]:
    """R(y) - y by y as (amount, wait) steps, whatever own and other work there was before."""
    pieces = _pieces(group, order, own)
    (whole_ns,) = _responses(pieces, [own.budget_ns])
    if whole_ns > own.period_ns:
        raise NotKnown(NOT_GUARANTEED)
    ends = _ends(own)
    steps = []
    amount_ns = 0
    for end_ns, response_ns in zip(ends, _responses(pieces, ends), strict=True):
        wait_ns = min(response_ns - end_ns, own.period_ns - own.budget_ns)
        steps.append((amount_ns, wait_ns))
        amount_ns = end_ns
    return steps


def _ends(own: Server) -> list[int]:
    """Returns the ends (ns) of the period's parts, up to the one in which the budget ends.

    They do not depend on the budget, so that more of it does not make waits longer.
    """
    count = min(own.period_ns, MAX_STEPS)
    ends = [-(-own.period_ns * part // count) for part in range(1, count + 1)]
    return ends[: bisect_left(ends, own.budget_ns) + 1]


def _pieces(group: Group, order: Order, own: Server) -> list[LinePiece]:
    """J piece by piece: under EDF a server takes no more of longer windows once it has U_k P."""
    fixed = slope = Fraction(0)
    full: list[tuple[int, Server]] = []
    for other in group.servers:
        if other is own or (order is not Order.EDF and other.priority > own.priority):
            continue
        late_ns = other.period_ns - other.budget_ns
        full_ns = own.period_ns - late_ns
        if order is Order.EDF and full_ns <= 0:
            fixed += other.bandwidth * own.period_ns
            continue
        fixed += other.bandwidth * late_ns
        slope += other.bandwidth
        if order is Order.EDF:
            full.append((full_ns, other))
    pieces = [LinePiece(0, fixed, slope)]
    for full_ns, other in sorted(full, key=lambda one: one[0]):
        fixed += other.bandwidth * full_ns
        slope -= other.bandwidth
        pieces.append(LinePiece(full_ns, fixed, slope))
    return pieces


def _responses(pieces: list[LinePiece], amounts: list[int]) -> Iterator[int]:
    """R of each amount (ns), which are in order; a period and more where there is no end."""
    number = 0
    for amount_ns in amounts:
        while number + 1 < len(pieces):
            following = pieces[number + 1]
            if following.start_ns >= amount_ns + following.taken(following.start_ns):
                break
            number += 1
        yield _min_window(pieces[number], amount_ns)


def _min_window(piece: LinePiece, amount_ns: int) -> int:
    """The least whole t in which the amount is left: t + 1 > amount + fixed + slope * t."""
    return max(amount_ns, floor((amount_ns + piece.fixed - 1) / (1 - piece.slope)) + 1)
