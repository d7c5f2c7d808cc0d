# SPDX-License-Identifier: BSD-2-Clause
"""Drawn streams of items, and supplies of servers."""

from __future__ import annotations

import random

from hyperperiod import _analysis
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.flows.stream import Queue, Stream


def draw_stream(rng: random.Random, scale: int) -> Stream:
    """Any kind of stream: with or without period, jitter and queue."""
    by_source = rng.random() < 0.85
    by_queue = not by_source or rng.random() < 0.5
    size, early = rng.randint(1, 4), rng.randint(0, 30) * scale
    return Stream(
        rng.randint(1, 4 * scale),
        rng.randint(4 * scale, 90 * scale) if by_source else None,
        None if by_queue and rng.random() < 0.3 else rng.choice((0, 0, rng.randint(0, 99))) * scale,
        rng.choice((1, 1, 1, 2, 3)),
        Queue(size, early, rng.randint(4 * scale, 90 * scale)) if by_queue else None,
    )


def draw_supply(rng: random.Random, scale: int) -> Supply:
    period = rng.randint(2, 20) * scale
    shape = rng.choice(list(_analysis.Shape))
    budget = rng.choice((period, rng.randint(1, period)))
    explicit = shape is _analysis.Shape.GENERAL and rng.random() < 0.3
    return Supply(shape, period, budget, rng.randint(budget, period) if explicit else None)
