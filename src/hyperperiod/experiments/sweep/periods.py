# SPDX-License-Identifier: BSD-2-Clause
"""Ways to draw the period of a task, in whole steps.

- uniform: each multiple of the step in the range is as likely as any other;
- log-uniform (Emberson, Stafford, Davis, WATERS 2010): the logarithm is uniform from that of the
  least period to that of the greatest and one step more, and the period is rounded down: every
  factor of ten has as many tasks;
- harmonic: the least period times a power of two, each power in the range as likely, so that any
  two periods divide one another;
- automotive (Kramer, Ziegenbein, Hamann: Real world automotive benchmarks for free, WATERS 2015,
  Table III): 1 to 1000 ms as engine control has them. Of the table's 100 %, 15 % are tasks that
  follow the engine's angle and have no period; the others are scaled to 100 %.

Times are nanoseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import StrEnum
from itertools import accumulate
from math import exp, log
from typing import NamedTuple

NS_PER_MS = 1_000_000

AUTOMOTIVE_SHARES = {1: 3, 2: 2, 5: 2, 10: 25, 20: 25, 50: 3, 100: 20, 200: 1, 1000: 4}
"""Runnables by period (ms), in percent of all; what is missing to 100 is angle-synchronous."""
_PERIODS_NS = tuple(period * NS_PER_MS for period in AUTOMOTIVE_SHARES)
_SUMS = tuple(accumulate(AUTOMOTIVE_SHARES.values()))


class Periods(StrEnum):
    """How periods are drawn."""

    UNIFORM = "uniform"
    LOG_UNIFORM = "log-uniform"
    HARMONIC = "harmonic"
    AUTOMOTIVE = "automotive"


class Range(NamedTuple):
    """From the least to the greatest period, in multiples of the step."""

    min_ns: int
    max_ns: int
    step_ns: int


def uniform(draw: random.Random, within: Range) -> int:
    """A multiple of the step in the range."""
    first, last = _multiples(within)
    return (first + int(draw.random() * (last - first + 1))) * within.step_ns


def log_uniform(draw: random.Random, within: Range) -> int:
    """A multiple of the step, small ones more often."""
    first, last = _multiples(within)
    low, high = log(first), log(last + 1)
    return min(last, int(exp(low + draw.random() * (high - low)))) * within.step_ns


def harmonic(draw: random.Random, within: Range) -> int:
    """The least period times a power of two."""
    powers = (within.max_ns // within.min_ns).bit_length()
    return within.min_ns << int(draw.random() * powers)


def automotive(draw: random.Random, within: Range) -> int:  # noqa: ARG001
    """A period of the table; the range is the table's own."""
    at = draw.random() * _SUMS[-1]
    return next(period for period, up_to in zip(_PERIODS_NS, _SUMS, strict=True) if at < up_to)


DRAW_PERIOD: dict[Periods, Callable[[random.Random, Range], int]] = {
    Periods.UNIFORM: uniform,
    Periods.LOG_UNIFORM: log_uniform,
    Periods.HARMONIC: harmonic,
    Periods.AUTOMOTIVE: automotive,
}


def _multiples(within: Range) -> tuple[int, int]:
    """The range in steps."""
    return -(-within.min_ns // within.step_ns), within.max_ns // within.step_ns
