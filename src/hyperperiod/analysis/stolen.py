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
table of proofs does not say to cover them is unknown. Beside overheads they are: a pick delays a
theft, and each return of a pcpu is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from hyperperiod.analysis.component import Load
from hyperperiod.model import System


def stolen_loads(system: System, pcpus: Iterable[int]) -> tuple[Load, ...]:
    """What windows on these pcpus together lose to thefts: from one, or from several that share."""
    return tuple(
        Load(theft.duration_ns, theft.period_ns, theft.period_ns)
        for pcpu in pcpus
        for theft in system.stolen
        if theft.takes(pcpu)
    )
