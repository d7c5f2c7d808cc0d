# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on two pcpus: what each test accepts of five random tasks.

Utilizations are cut from the pcpus at random, none above 1; periods are 12 to 60 ticks; deadlines
are periods here, and in `global_edf_constrained` lie anywhere above three quarters of them. A set
survives if no run misses a deadline: releases together, aligned, at random, and with gaps.
"""

from __future__ import annotations

import random

import numpy as np
from bench.acceptance import Family
from tests.support.global_world import World, play

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.bcl import bcl
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl

PCPUS, TASKS = 2, 5
PERIODS = (12, 16, 20, 24, 30, 36, 40, 48, 60)
RUNS, TICKS = 48, 240


def cut(generator: random.Random, total: float, most: float) -> list[float]:
    """Random shares of a total, none above `most`."""
    while True:
        cuts = sorted(generator.random() for _ in range(TASKS - 1))
        pairs = zip([0.0, *cuts], [*cuts, 1.0], strict=True)
        shares = [total * (right - left) for left, right in pairs]
        if max(shares) <= most:
            return shares


def draw(generator: random.Random, load: float, least_deadline: float = 1.0) -> list[Load]:
    """Tasks whose utilization is about this share of the pcpus."""
    loads = []
    for share in cut(generator, load * PCPUS, 1.0):
        period = generator.choice(PERIODS)
        wcet = min(period, max(1, round(share * period)))
        earliest = max(wcet, round(least_deadline * period))
        loads.append(Load(wcet, period, generator.randint(earliest, period)))
    return loads


def survives(loads: list[Load]) -> bool:
    """No run that was tried misses a deadline."""
    width = np.full((1, 1, 1), PCPUS, np.int32)
    played = play(World.of([loads]), width, random.Random(str(loads)), RUNS, TICKS)
    return not played.missed[0]


TESTS = {
    "GFB": lambda loads: gfb(loads, PCPUS).holds is True,
    "Baker": lambda loads: baker(loads, PCPUS).holds is True,
    "BCL": lambda loads: bcl(loads, PCPUS).holds is True,
    "iterative BCL": lambda loads: iterative_bcl(loads, PCPUS).whole.holds is True,
}

FAMILY = Family(
    name="global_edf",
    title="Global EDF, five tasks on two pcpus",
    axis="utilization / pcpus",
    loads=tuple(step / 20 for step in range(2, 21)),
    draw=draw,
    tests=TESTS,
    survives=survives,
)
