# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF as in `global_edf`, with deadlines of three quarters of a period or more."""

from __future__ import annotations

import random

from bench.acceptance import Family, global_edf

from hyperperiod.analysis.component import Load


def draw(generator: random.Random, load: float) -> list[Load]:
    return global_edf.draw(generator, load, 0.75)


FAMILY = Family(
    name="global_edf_constrained",
    title="Global EDF, five tasks with constrained deadlines on two pcpus",
    axis="utilization / pcpus",
    loads=global_edf.FAMILY.loads,
    draw=draw,
    tests=global_edf.TESTS,
    survives=global_edf.survives,
)
