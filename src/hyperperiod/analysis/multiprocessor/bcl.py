# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on m pcpus: the BCL test.

Paper: Bertogna, Cirinei and Lipari, "Improved schedulability analysis of EDF on multiprocessor
platforms", ECRTS 2005. All deadlines are met if for every k
  sum over i != k of min(W_i, D_k - C_k + 1) < m (D_k - C_k + 1)   in the smallest time unit,
  W_i = floor(D_k / T_i) C_i + min(C_i, D_k mod T_i).
This is the paper's Theorem 7 for integer time. (In real time it asks for the sum of
min(W_i, D_k - C_k) to be below m (D_k - C_k), with a case of its own for equality.)

Why. Take the first deadline missed, by a job of k. For at least D_k - C_k + 1 units between its
release and its deadline all m pcpus run others with deadlines no later. In those units alone, i
runs for at most D_k - C_k + 1 and at most W_i: most fits in if one of its jobs is due just when
the window ends and those before it a period apart, each as late as its deadline lets it.

How it goes wrong elsewhere: a published tool computes the first part of W_i as (D_k / T_i) C_i,
without rounding down. Nothing is then left for D_k mod T_i, and a long period makes W_i almost
nothing. Three tasks with C, D, T = 5, 6, 100 on two pcpus pass there; released together, the
third ends at 10.

Assumptions: sporadic tasks with deadlines within periods; jitter as in `sporadic`; releases and
execution times in whole units.

Inputs: loads in one unit of time below 2^62, the number of pcpus. Result: a verdict per load, null
where the test does not confirm it; it proves something only if all of them hold. Errors: ValueError
without a pcpu, for longer times.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import Verdict, all_of


def bcl(loads: Sequence[Load], pcpus: int) -> Verdict:
    """Whether all loads meet their deadlines under global EDF: one verdict."""
    sporadic = as_sporadic(loads, pcpus)
    if isinstance(sporadic, Verdict):
        return sporadic
    rooms = [load.deadline - load.wcet + 1 for load in sporadic]
    return all_of(
        Verdict.yes() if confirmed else _unconfirmed(index)
        for index, confirmed in enumerate(_analysis.bcl(sporadic, rooms, pcpus))
    )


def _unconfirmed(index: int) -> Verdict:
    return Verdict.unknown(f"load {index + 1}: BCL is only sufficient, and does not confirm it")
