# SPDX-License-Identifier: BSD-2-Clause
"""Tasks under FIFO on a periodic resource: a sufficient test.

Paper: none; the argument is short. A job released a into a busy window waits only for jobs
released no later, so it is done when the supply bound covers all work released in [0, a]:
time_for(sum of (floor((a + jitter) / period) + 1) wcet) - a after its release. The largest of
these over the busy window bounds every response. It needs no order among equals. Blocking is added
once, at its longest.

Assumptions: releases at least a period apart, up to the jitter closer; no busy task in the
domain (with one, a job waits behind work whose length the bound does not count).

Inputs: a component, a supply. Result: one response-time bound in nanoseconds for all tasks, or
null; a utilisation above the bandwidth is false. Errors: none.
"""

from __future__ import annotations

from hyperperiod import _analysis
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.verdict import Verdict


def fifo(component: Component, supply: Supply | Staircase) -> list[Verdict]:
    """One verdict per source of a component under fifo, in its order."""
    if component.fifo_with_busy:
        return [Verdict.unknown("fifo behind a busy task: no test covers it")] * len(
            component.sources
        )
    if component.utilization > supply.bandwidth:
        return [Verdict.no("the tasks ask for more than the bandwidth of the interface")] * len(
            component.sources
        )
    found, bound_ns = supply.judge(_analysis.Local.FIFO, component.loads)
    if found is _analysis.Verdict.UNKNOWN:
        bound_ns = 0
    return [
        Verdict.yes(bound_ns)
        if bound_ns and bound_ns <= source.load.deadline
        else Verdict.unknown("the test for fifo is only sufficient, and does not confirm it")
        for source in component.sources
    ]
