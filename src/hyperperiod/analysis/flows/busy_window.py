# SPDX-License-Identifier: BSD-2-Clause
"""The response time of jobs that share one queue, below others, on a supply that is shared.

Papers: Lehoczky, "Fixed priority scheduling of periodic task sets with arbitrary deadlines", RTSS
1990; Tindell and Clark 1994 for jitter; Shin and Lee, RTSS 2003, for the supply in place of time.

Jobs of `own` are served in the order of their release; those of `above` are first whenever they
are there. Let a job be released `offset` into a window in which work of both was pending without a
gap since its begin. Of own work only what was released in the closed window [0, offset] is before
the job or is it, so it is done at the least w with

    supply in w  >=  blocking + own work released in [0, offset] + work of above released in [0, w)

and its response is at most w - offset. The bound is the largest of these over all offsets at which
own work can be released, up to the end of the window.

How long can work be pending without a gap? Up to the least w > 0 whose supply covers all work
that is released in the closed window [0, w]: then nothing is left, and nothing comes at that
instant. The window is closed because an item that is done at one task may be released at the next
one at that very instant, where the windows above end. So whatever is pending without a gap at or
above a level, one job or an item that goes from task to task of that level, is done within this w.

Where the releases of own work know no bound but how many can be pending at once - clients that send
again as soon as they may - own work can be pending for ever, and yet nobody waits for ever: at the
release of a job, no more than `backlog` of own work is pending, that job included, and no later job
of own work is before it. Let work of above be pending without a gap from s until that release, or s
be the release itself. From s until the job is done nothing runs but work of above that is released
from s on, this backlog (none of which ran before the release: above was first) and `blocking`. So
the response is at most the least w with

    supply in w  >=  blocking + backlog + work of above released in [0, w)

Assumptions: the supply bound is sound while work is pending; releases are within the bounds of
their streams; `blocking` is the most that anything else runs in such a window.

Inputs: streams, a supply, blocking. Result: a bound in the unit of the inputs, None where there is
none (long-run work above the bandwidth) or none was found within many steps. The kernels search
(`kernels/busy_window.cpp`). Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod import _analysis
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.flows.stream import Stream

LIMIT = 2**60
"""No window is as long; one that would be has no end."""


def response_bound(
    own: Sequence[Stream], above: Sequence[Stream], supply: Supply | Staircase, blocking: int = 0
) -> int | None:
    """The longest response of a job of `own`."""
    found = _analysis.response_bound(own, above, supply.numbers, blocking)
    return None if found is None else found[0]


def backlog_bound(
    backlog: int, above: Sequence[Stream], supply: Supply | Staircase, blocking: int = 0
) -> int | None:
    """The longest response of a job of own work of which never more than `backlog` is pending."""
    if backlog > LIMIT:
        return None
    return _analysis.backlog_bound(backlog, above, supply.numbers, blocking)


def busy_window(
    streams: Sequence[Stream], supply: Supply | Staircase, blocking: int = 0
) -> int | None:
    """The longest time without a gap in which work of these streams is pending."""
    return _analysis.busy_window(streams, supply.numbers, blocking)
