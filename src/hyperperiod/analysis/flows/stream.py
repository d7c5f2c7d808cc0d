# SPDX-License-Identifier: BSD-2-Clause
"""How often a task can be released: arrival bounds of tasks and of the hops of flows.

Papers: Tindell and Clark, "Holistic schedulability analysis for distributed hard real-time
systems", Microprocessing and Microprogramming 1994, for periods with jitter; Richter,
"Compositional scheduling analysis using standard event models", TU Braunschweig 2005, for bounds
on windows. The bound by the queue is our own; its proof is below.

A stream is bounded in two ways, and what holds is the smaller one. In any half-open window of
length w > 0 there are at most

    burst * ceil((w + jitter) / period)     releases, if each is within [x, x + jitter] of a nominal
                                            time plus a constant, nominal times a period apart
    queue * ceil(w / spacing)               releases at one hop of a flow, where at most `queue`
                                            items are on their way and all hops together take at
                                            least `spacing`

Proof of the second. Items of a flow stay in order, so item i + queue enters only when item i has
left: at least what the hops from here on take after item i was released here, and item i + queue
is then released here no sooner than the hops before it take. Together that is `spacing`. So any
window of that length holds at most `queue` releases.

Units: any integer unit, the same everywhere; nanoseconds in this package. Errors: none.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Stream(NamedTuple):
    """Releases of `wcet` each. `jitter` None: not bounded; then there must be a queue.

    `queue` 0: it bounds nothing, and `spacing` is not looked at.
    """

    wcet: int
    period: int
    jitter: int | None = 0
    burst: int = 1
    queue: int = 0
    spacing: int = 1

    def count(self, window: int) -> int:
        """The most releases in a half-open window of this length."""
        if window <= 0:
            return 0
        bounds = []
        if self.jitter is not None:
            bounds.append(-(-(window + self.jitter) // self.period) * self.burst)
        if self.queue:
            bounds.append(-(-window // self.spacing) * self.queue)
        return min(bounds)

    def next_growth(self, offset: int) -> int:
        """The first offset after this one at which a closed window can hold more."""
        steps = []
        if self.jitter is not None:
            steps.append(((offset + self.jitter) // self.period + 1) * self.period - self.jitter)
        if self.queue:
            steps.append((offset // self.spacing + 1) * self.spacing)
        return min(steps)

    @property
    def rate(self) -> Fraction:
        """Work per time in the long run."""
        rates = []
        if self.jitter is not None:
            rates.append(Fraction(self.burst * self.wcet, self.period))
        if self.queue:
            rates.append(Fraction(self.queue * self.wcet, self.spacing))
        return min(rates)
