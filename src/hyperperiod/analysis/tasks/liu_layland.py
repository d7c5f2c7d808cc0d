# SPDX-License-Identifier: BSD-2-Clause
"""Rate monotonic on a pcpu of its own: the bound of Liu and Layland on utilizations.

Paper: Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time
environment", Journal of the ACM 1973, theorem 5: n tasks meet all deadlines if their utilizations
sum to at most n (2^(1/n) - 1): 1, 0.828, 0.780, 0.757, ..., ln 2.

Assumptions: as for `hyperbolic`, which accepts more.

Inputs: loads in one integer unit, in any order. Result: one verdict for all of them; "no" is null,
unless they ask for more than a pcpu. U <= n (2^(1/n) - 1) is compared as (1 + U/n)^n <= 2, which
is exact with fractions.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.hyperbolic import NOT_IMPLICIT, implicit
from hyperperiod.analysis.tasks.response_time import OVERLOAD, utilization
from hyperperiod.analysis.verdict import Verdict


def liu_layland(loads: Sequence[Load]) -> Verdict:
    """Whether the sum of utilizations is within Liu and Layland's bound for so many tasks."""
    total, count = utilization(loads), len(loads)
    if total > 1:
        return Verdict.no(OVERLOAD)
    if not implicit(loads):
        return Verdict.unknown(NOT_IMPLICIT)
    if not loads or (1 + total / count) ** count <= 2:
        return Verdict.yes()
    return Verdict.unknown(
        f"utilizations sum to {float(total):.6g}, above Liu and Layland's bound of"
        f" {count * (2 ** (1 / count) - 1):.6g}, which is only sufficient"
    )
