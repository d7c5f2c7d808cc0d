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

Inputs: streams, a supply (anything with `time_for` and `bandwidth`), blocking. Result: a bound in
the unit of the inputs, None where there is none (long-run work above the bandwidth) or none was
found within many steps. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

from hyperperiod.analysis.flows.stream import Stream

STEPS = 10_000
"""Evaluations of the work in a window before giving up; far more jobs than a busy window has."""

STEPS_AT_FULL_LOAD = 500

LIMIT = 2**60
"""No window is as long; one that would be has no end."""


class Supplied(Protocol):
    """What a vcpu surely gets."""

    @property
    def bandwidth(self) -> Fraction: ...
    def time_for(self, amount_ns: int, /) -> int: ...


def response_bound(
    own: Sequence[Stream], above: Sequence[Stream], supply: Supplied, blocking: int = 0
) -> int | None:
    """The longest response of a job of `own`."""
    rate = sum((stream.rate for stream in (*own, *above)), Fraction(0))
    if rate > supply.bandwidth:
        return None
    # A window under full load may have no end.
    steps = STEPS if rate < supply.bandwidth else STEPS_AT_FULL_LOAD
    worst = offset = finish = 0
    for _ in range(steps):
        ahead = blocking + sum(stream.wcet * stream.count(offset + 1) for stream in own)
        done = _finish(ahead, above, supply, finish)
        if done is None:
            return None
        finish = done
        worst = max(worst, finish - offset)
        offset = min(stream.next_growth(offset) for stream in own)
        if offset >= finish:
            return worst
    return None


def backlog_bound(
    backlog: int, above: Sequence[Stream], supply: Supplied, blocking: int = 0
) -> int | None:
    """The longest response of a job of own work of which never more than `backlog` is pending."""
    if sum((stream.rate for stream in above), Fraction(0)) > supply.bandwidth:
        return None
    return _finish(blocking + backlog, above, supply, 0)


def busy_window(streams: Sequence[Stream], supply: Supplied, blocking: int = 0) -> int | None:
    """The longest time without a gap in which work of these streams is pending."""
    if sum((stream.rate for stream in streams), Fraction(0)) > supply.bandwidth:
        return None
    return _least_window(
        lambda window: blocking + sum(stream.wcet * stream.count(window + 1) for stream in streams),
        supply,
        1,
    )


def _finish(ahead: int, above: Sequence[Stream], supply: Supplied, start: int) -> int | None:
    """The least window from `start` on whose supply covers what is ahead and above."""
    return _least_window(
        lambda window: ahead + sum(stream.wcet * stream.count(window) for stream in above),
        supply,
        max(start, supply.time_for(ahead)),
    )


def _least_window(work_in: Callable[[int], int], supply: Supplied, start: int) -> int | None:
    """The least window from `start` on whose supply covers the work in it."""
    window = start
    for _ in range(STEPS):
        if window > LIMIT:
            return None
        needed = supply.time_for(work_in(window))
        if needed <= window:
            return window
        window = needed
    return None
