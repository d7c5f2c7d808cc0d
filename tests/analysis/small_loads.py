# SPDX-License-Identifier: BSD-2-Clause
"""Drawn components so small that every window of them can be looked at."""

from __future__ import annotations

import random

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Load, NamedLoad
from hyperperiod.analysis.domains.supply_bound import Supply


def drawn_loads(draw: random.Random) -> tuple[list[NamedLoad], Supply]:
    """A few small loads, and a supply that may or may not do."""
    period = draw.randrange(2, 9)
    shape = draw.choice([Shape.GENERAL, Shape.GENERAL, Shape.POLLING, Shape.HARMONIC])
    supply = Supply(shape, period, draw.randrange(1, period + 1))
    sources = []
    for index in range(draw.randrange(1, 4)):
        own = draw.randrange(4, 40)
        load = Load(
            draw.randrange(1, 4),
            own,
            draw.randrange(2, 2 * own),
            draw.choice([0, 0, draw.randrange(own)]),
            draw.choice([0, 0, draw.randrange(1, 4)]),
        )
        sources.append(NamedLoad(f"t{index}", load))
    return sources, supply
