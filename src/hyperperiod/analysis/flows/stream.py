# SPDX-License-Identifier: BSD-2-Clause
"""How often a task can be released: arrival bounds of tasks and of the hops of flows.

Papers: Tindell and Clark, "Holistic schedulability analysis for distributed hard real-time
systems", Microprocessing and Microprogramming 1994, for periods with jitter; Richter,
"Compositional scheduling analysis using standard event models", TU Braunschweig 2005, for bounds
on windows. The bound by the queue is our own; its proof is below.

A stream is bounded in three ways, and what holds is the least. In any half-open window of length
w > 0 there are at most

    burst * ceil((w + jitter) / period)     releases, if each is within [x, x + jitter] of a nominal
                                            time plus a constant, nominal times a period apart
    queue + burst * ceil((w + s) / period)  releases at one hop of a flow where at most `queue`
                                            items are on their way, s the jitter of its source
    queue * ceil(w / spacing)               of these, if all hops together take at least `spacing`

A closed source has no period, so only the third is left, with as many items as clients. There the
time for which a client thinks at least counts as spacing as well.

Proof of the second. An item that is released at a hop in the window was on its way when the window
began, as at most `queue` were, or came from the source in it; and an item is there only once.

Proof of the third. Items of a flow stay in order, so item i + queue enters only when item i has
left: at least what the hops from here on take after item i was released here, and item i + queue
is then released here no sooner than the hops before it take. Together that is `spacing`. So any
window of that length holds at most `queue` releases.

These are the streams as the kernels take them (`kernels/busy_window.hpp`), which count by them.
Units: any integer unit, the same everywhere; nanoseconds in this package. Errors: none.
"""

from __future__ import annotations

from typing import NamedTuple


class Queue(NamedTuple):
    """A bound on a hop whatever the responses: `size` items, the source's jitter, spacing."""

    size: int
    source_jitter: int
    spacing: int


class Stream(NamedTuple):
    """Releases of `wcet` each. `period` or `jitter` None: not bounded, so there is a queue."""

    wcet: int
    period: int | None
    jitter: int | None = 0
    burst: int = 1
    queue: Queue | None = None
