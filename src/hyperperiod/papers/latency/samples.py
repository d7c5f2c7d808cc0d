# SPDX-License-Identifier: BSD-2-Clause
"""The clock-tick test: what a busy loop takes, given when the vcpu ran.

The test runs loops of known length one after the other and reads the clock between them. A guest
like the paper's has a clock tick every millisecond that takes 8 us of it; a tick that falls into a
time in which the vcpu does not run is handled when it runs again, several of them as one. So a
loop takes its length, the ticks that hit it, and the times in which the vcpu was away. What
happens at the very end of a loop belongs to the next one.

The tick is laid over the execution time of a job (a job of 7 ms is 7 ms of loops and ticks); it
does not wake an idle VM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Tick:
    """The guest's clock tick: how often, and what it takes. A cost of 0: there is none."""

    every_ns: int
    cost_ns: int


# RT-Xen evaluation, 5.2.1: 1000 Hz, and a loop of 68 us took 76 us when a tick hit it.
PAPER_TICK = Tick(1_000_000, 8_000)
NO_TICK = Tick(1_000_000, 0)


@dataclass(frozen=True)
class Samples:
    """The busy loops of one run: when each began and how long it took."""

    start_ns: Times
    length_ns: Times

    @property
    def executed_ns(self) -> int:
        """The time (ns) from the start of the first loop to the end of the last."""
        if len(self.start_ns) == 0:
            return 0
        return int(self.start_ns[-1] + self.length_ns[-1] - self.start_ns[0])


def sample(starts: Times, ends: Times, loop_ns: int, tick: Tick) -> Samples:
    """The loops of a job that ran in the spans [starts, ends), which are in order."""
    lengths = ends - starts
    before = np.concatenate(([0], np.cumsum(lengths)))
    ticks = _tick_places(starts, ends, before, tick)
    loops = max(0, int(before[-1] - tick.cost_ns * len(ticks)) // loop_ns)
    progress = np.arange(loops + 1, dtype=np.int64) * loop_ns
    executed = progress + tick.cost_ns * np.searchsorted(ticks, progress, side="left")
    away = np.concatenate(([0], np.cumsum(starts[1:] - ends[:-1])))
    clock = starts[0] + executed + away[np.searchsorted(before[1:-1], executed, side="left")]
    return Samples(clock[:-1], np.diff(clock))


def _tick_places(starts: Times, ends: Times, before: Times, tick: Tick) -> Times:
    """How much of the loops was done when each tick was handled."""
    if tick.cost_ns == 0:
        return np.empty(0, np.int64)
    first = -(-int(starts[0]) // tick.every_ns)
    times = np.arange(first, -(-int(ends[-1]) // tick.every_ns), dtype=np.int64) * tick.every_ns
    span = np.searchsorted(starts, times, side="right") - 1
    places = np.unique(before[span] + np.minimum(times, ends[span]) - starts[span])
    done = places - tick.cost_ns * np.arange(len(places))
    return np.maximum.accumulate(np.maximum(done, 0)) if len(done) else done
