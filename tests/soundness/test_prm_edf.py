# SPDX-License-Identifier: BSD-2-Clause
"""EDF on a periodic resource: no supply makes a job late that the test lets pass, and what is
refused for a window misses a deadline under the worst supply: the test is exact."""

from __future__ import annotations

import random

from tests.support.campaign import Trial, hunt, sizes
from tests.support.supplied import broken, refuted, some_loads, some_server

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict

LONGEST = 400  # longer windows are not run


def trial(draw: random.Random) -> Trial:
    server = some_server(draw)
    loads = some_loads(draw, server)
    found, window = _analysis.judge(
        Local.EDF, loads, (Shape.GENERAL, server.period, server.budget, 0)
    )
    if found is Verdict.HOLDS:
        bounds = [load.deadline for load in loads]
        return Trial(True, broken(draw, Local.EDF, loads, server, bounds))
    plain = all(load.jitter == 0 for load in loads)
    if plain and found is Verdict.MISSES and 0 < window < LONGEST:
        return refuted(Local.EDF, loads, server, server.budget + window + 1)
    return Trial(accepted=False)


@sizes(250)
def test_no_counterexample(systems: int) -> None:
    hunt("prm edf", systems, trial)
