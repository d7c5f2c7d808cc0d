# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of global EDF take: sporadic loads with constrained deadlines.

All of them ask for releases at least a period apart and for deadlines within periods, so that a
job is done, or already late, when the next one of its task comes. Jitter lets releases come
`period - jitter` apart for a while: a load is then taken as one that always comes that close,
which is safe and far from sharp. What does not fit is refused by name.

Two facts make a "no" exact, whatever the scheduler: a load that asks for more than its deadline,
and loads that ask for more than there are pcpus.

Inputs: loads in one unit of time, the number of pcpus. Results: the loads without jitter, or the
verdict that ends the matter. Errors: ValueError without a pcpu.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.verdict import Verdict


def as_sporadic(loads: Sequence[Load], pcpus: int) -> list[Load] | Verdict:
    """The loads as the tests take them, or what can be said without one."""
    if pcpus < 1:
        raise ValueError(f"{pcpus} pcpus")
    impossible = _impossible(loads, pcpus)
    if impossible is not None:
        return impossible
    apart = [load._replace(period=load.period - load.jitter, jitter=0) for load in loads]
    for number, load in enumerate(apart, start=1):
        if load.period < load.deadline:
            return Verdict.unknown(
                f"load {number}: its next release may come before its deadline,"
                " which no test of global edf covers"
            )
        if load.blocking:
            return Verdict.unknown(f"load {number}: no test of global edf covers blocking")
    return apart


def _impossible(loads: Sequence[Load], pcpus: int) -> Verdict | None:
    for number, load in enumerate(loads, start=1):
        if load.wcet > load.deadline:
            return Verdict.no(f"load {number} asks for more than its deadline")
    total = sum((Fraction(load.wcet, load.period) for load in loads), Fraction(0))
    if total > pcpus:
        return Verdict.no(f"bandwidths sum to {float(total):.6g}, above {pcpus}")
    return None
