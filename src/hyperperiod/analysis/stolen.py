# SPDX-License-Identifier: BSD-2-Clause
"""Stolen time: how much of any window on a pcpu is not there to be granted.

Source: this text; request bounds as in Joseph and Pandya 1986. A theft of C at most begins every T
at least and runs at once, but behind one that is under way. Claim: of any window of length t the
thefts take at most A(t) = sum of ceil(t / T) C.

Let the pcpu have been stolen without a pause for y when the window begins; y = 0 if it is not then.
Thefts that began since then take at most A(u) + (t + y - u) up to the end of the window, for any u
in 0..t + y: those before u in full, and no more than all of the time after u. Without the y before
the window that is A(u) + t - u. If t >= y, u = t gives A(t). If t < y, the pcpu was stolen for all
of the first t of those y, by thefts that had begun within them: so A(t) >= t, and t is all that a
window has.

So thefts are loads above all servers, like overheads but for that no budget pays for them and none
is lost in a pick: a server that gets its budget in each period in which it has work, by a test that
counts these loads, has the supply of its interface, and tasks are judged by that as ever. What the
table of proofs does not say to cover them is unknown.

**Beside overheads**, on a pcpu of its own: a pick cannot be interrupted, so a theft may wait for
one of at most O; and each return of the pcpu makes a pick. Let y be as above, but with the time for
which a theft has waited. At most O of y is a pick, its beginning, since none begins while a theft
waits or runs. If y <= O, thefts that begin in t + y take at most A(t + O). If not, the same A(u) +
(t + y - u) less what was taken before the window, at least y - O, is A(t + O) with u = t + O. So
thefts are loads with a jitter of O. The pick of a return is paid for by the budget that it grants,
as all are: it is counted there (`overheads`). A theft ends at most L after it would have begun,
where L is the least solution of L = O + sum of ceil(L / T) C; so a window of t has at most sum of
ceil((t + L) / T) returns. No pick costs more for that, if L is below all periods: between two picks
a server is then refilled once at most beside the refill that was caught up. Where L is longer
nothing is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.model import System

FOR_EVER_NS = 2**61
"""How long a pcpu is away if no end is known."""
STEPS = 10_000
"""How many steps the iteration to the end of an absence has."""


def stolen_loads(system: System, pcpus: Iterable[int], wait_ns: int = 0) -> tuple[Load, ...]:
    """Returns as loads what windows on these pcpus, one or several that share, lose to thefts.

    A theft may have to wait so long for a pick to be over.
    """
    return tuple(
        Load(theft.duration_ns, theft.period_ns, theft.period_ns, wait_ns)
        for pcpu in pcpus
        for theft in system.stolen
        if theft.takes(pcpu)
    )


def longest_absence_ns(thefts: Sequence[Load]) -> int:
    """L: at most so long after a theft should have begun the pcpu is back."""
    wait_ns = max((theft.jitter for theft in thefts), default=0)
    at_once = [theft._replace(jitter=0) for theft in thefts]
    if sum((Fraction(theft.wcet, theft.period) for theft in thefts), Fraction(0)) >= 1:
        return FOR_EVER_NS
    absence_ns = wait_ns + sum(theft.wcet for theft in thefts)
    for _ in range(STEPS):
        longer_ns = wait_ns + rbf(at_once, absence_ns)
        if longer_ns == absence_ns:
            return absence_ns
        absence_ns = longer_ns
    return FOR_EVER_NS
