# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on m pcpus: the iterative BCL test, with slack.

Paper: Bertogna, Cirinei and Lipari, "Schedulability analysis of global scheduling algorithms on
multiprocessor platforms", IEEE Trans. Parallel and Distributed Systems 2009, section 5. As `bcl`,
but what was found for one load helps the others: if every job of i ends S_i before its deadline,
then less of it is carried into a window,
  W_i = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - S_i)),
and from the sum I_k of min(W_i, D_k - C_k + 1) over the others follows a new slack
  S_k = D_k - C_k - floor(I_k / m)   where that is not negative.
From S = 0, this is repeated until all are confirmed or nothing changes.

Why slack may be used before every deadline is proved. Take the first deadline missed, at t. Up to
t all were met, so the first slacks hold for every job due before t, with those the second ones,
and so on; and only jobs due before t are carried into the window of the job that missed.

Assumptions: those of `bcl`. In fine units slack may creep upwards in ever smaller steps; the test
gives up after a thousand rounds, which is safe: what is not confirmed is null.

Inputs: loads in one unit of time below 2^62, the number of pcpus. Result: one verdict for all of
them; if it holds, `bounds` are response-time bounds. Errors: ValueError without a pcpu, for longer
times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import Verdict


@dataclass(frozen=True)
class Confirmed:
    """The verdict for all loads, and if it holds a response-time bound for each."""

    whole: Verdict
    bounds: tuple[int, ...] = ()


def iterative_bcl(loads: Sequence[Load], pcpus: int) -> Confirmed:
    """The verdict, and a bound on every response if it holds."""
    sporadic = as_sporadic(loads, pcpus)
    if isinstance(sporadic, Verdict):
        return Confirmed(sporadic)
    bounds = _analysis.iterative_bcl(sporadic, pcpus)
    if bounds is not None:
        return Confirmed(Verdict.yes(), tuple(bounds))
    return Confirmed(
        Verdict.unknown("iterative BCL is only sufficient, and does not confirm all loads")
    )
