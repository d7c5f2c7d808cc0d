# SPDX-License-Identifier: BSD-2-Clause
"""Tasks under EDF on a periodic resource.

Papers: Shin and Lee, RTSS 2003: schedulable if and only if dbf(t) <= sbf(t) for all t. Baruah,
Rosier and Howell 1990 for dbf. Zhang and Burns, "Schedulability analysis for real-time systems
with EDF scheduling", IEEE Trans. Computers 2009 (QPA), for the order in which windows are
looked at. Proved by machine, without blocking: edf_on_server in proofs/tasks.v.

Assumptions: preemptive, independent tasks; releases at least a period apart, up to the jitter
closer; absolute deadlines count from the release. Exact for the interface; with offsets, jitter
or blocking only sufficient, and "no" becomes null. Blocking: a window holds, beside its demand,
the longest blocking of a task that can be due in it (Baker, "Stack-based scheduling of realtime
processes", Real-Time Systems 1991; Zhang and Burns, section 6).

No hyperperiod is enumerated. Windows are bounded by where a line above the demand and one below
the supply cross, and by the busy window; far out only windows near coinciding deadlines are
looked at. Where utilisation equals bandwidth the hyperperiod bounds them, if it is small.

Inputs: a component, a supply. Result: one verdict for the set, since EDF does not say which
task is late; if it holds, each task's deadline is its response-time bound. Errors: none; what
takes too many steps to decide is null.
"""

from __future__ import annotations

from hyperperiod import _analysis
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.prm_fixed_priority import NOT_EXACT, TOO_HARD
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import format_time


def edf(component: Component, supply: Supply | Staircase) -> Verdict:
    """Whether every window of the supply holds the demand in it."""
    found, window_ns = supply.judge(_analysis.Local.EDF, component.loads)
    if found is _analysis.Verdict.HOLDS:
        return Verdict.yes()
    if found is _analysis.Verdict.UNKNOWN:
        return Verdict.unknown(TOO_HARD)
    if component.utilization > supply.bandwidth:
        return Verdict.no("the tasks ask for more than the bandwidth of the interface")
    if not component.exact:
        return Verdict.unknown(NOT_EXACT)
    where = f" of {format_time(window_ns)}" if window_ns else ""
    return Verdict.no(f"in a window{where} more is due than the interface surely supplies")
