# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems whose tasks could be threads of a machine: periods of all kinds, some jitter."""

from __future__ import annotations

import random
from fractions import Fraction

from hyperperiod.model import Domain, Interface, System, Task, parse_policy

MS = 1_000_000


def drawn(number: int) -> System:
    """Two pcpus of two domains each, half a pcpu for each in pieces of half a millisecond."""
    draw = random.Random(f"observed {number}")
    return System(
        name=f"drawn{number}",
        policy=parse_policy("ds"),
        pcpus=2,
        domains=tuple(
            Domain(
                name=f"process{index}",
                pcpu=index // 2,
                interface=Interface(period_ns=MS, budget_ns=MS // 2),
                tasks=tuple(drawn_task(draw, f"thread{index}{one}") for one in range(2)),
            )
            for index in range(4)
        ),
    )


def drawn_task(draw: random.Random, name: str) -> Task:
    """Periods are round, or not at all: whole nanoseconds, those of a screen, those of audio."""
    period_ns = draw.choice(
        [
            draw.randint(8, 60) * MS,
            draw.randint(8 * MS, 60 * MS),
            16_666_667,
            10_666_667,
            12_500_000,
        ]
    )
    jitter_ns = draw.choice([0, 0, period_ns // 100, period_ns // 8])
    wcet_ns = draw.randint(period_ns // 50, period_ns // 10)
    offset_ns = draw.randint(0, period_ns)
    return Task(
        name=name,
        period_ns=period_ns,
        wcet_ns=wcet_ns,
        jitter_ns=jitter_ns,
        offset_ns=offset_ns,
        etf=draw.choice([Fraction(1, 2), Fraction(1)]),
    )
