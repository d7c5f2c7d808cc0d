# SPDX-License-Identifier: BSD-2-Clause
"""What the ERTDS paper says about deferrable servers under EDF, beside what holds.

Paper: "Enhanced real-time deferrable server scheduler" (ERTDS), Theorems 2 to 5, Lemmas 3, 4.
Theorem 2 (one pcpu): every vcpu is guaranteed its budget in every period if and only if the
bandwidths sum to at most 1; Theorem 5 (m pcpus): if and only if they sum to at most
m - (m - 1) max U; with a spare server, its bandwidth is part of the sum.

These do not hold for deferrable servers, which may save their budget for the end of a period:
with (budget, period) = (5, 10) and (1.95, 3.9), the second idle until 9.75, the first gets 4.4
in [10, 20). They are computed and shown, and never count (`deferrable_edf` does). Lemma 4's
largest spare budget is (m - (m - 1) max U - sum U) P*, P* the hyperperiod. The paper's
Experiment C sets 8415 where its own formula gives 2790 (it took max U from Experiment B). The
spare is background, below every server with budget, so no spare budget takes anything from a
guarantee. What a spare is itself sure to find idle, all servers busy, is (1 - sum U / m) P*: of
each hyperperiod m P* - sum U P* pcpu time is left, and at most m pcpus are idle at once.

Inputs: a group; for the spare, policies whose servers refill at multiples of their periods.
Results: verdicts and budgets in nanoseconds. Errors: none; hyperperiods are Python integers and
may be of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm

from hyperperiod.analysis.servers.global_edf import gfb_bound
from hyperperiod.analysis.servers.server import Group


@dataclass(frozen=True)
class PaperVerdict:
    """The paper's own verdict, to stand beside ours."""

    theorem: str
    schedulable: bool
    total: Fraction
    bound: Fraction


def paper_verdict(group: Group, spare_bandwidth: Fraction | None) -> PaperVerdict:
    """Returns the verdict of the paper's theorem on a group: 2 or 4, with a spare 3 or 5."""
    total = group.bandwidth + (spare_bandwidth or 0)
    bound = gfb_bound(group)
    if group.pcpus == 1:
        theorem = "ERTDS paper, Theorem 2" if spare_bandwidth is None else "ERTDS paper, Theorem 3"
    else:
        theorem = "ERTDS paper, Theorem 4" if spare_bandwidth is None else "ERTDS paper, Theorem 5"
    return PaperVerdict(theorem, total <= bound, total, bound)


def hyperperiod_ns(groups: Sequence[Group]) -> int:
    """The least common multiple of all server periods."""
    return lcm(*(server.period_ns for group in groups for server in group.servers))


def paper_spare_ns(group: Group, period_ns: int) -> int:
    """Lemma 3 or 4: the largest spare budget by the paper's formula, at least 0."""
    return max(0, floor((gfb_bound(group) - group.bandwidth) * period_ns))


def default_spare_ns(group: Group, period_ns: int) -> int:
    """The paper's formula held to one pcpu: the spare runs on one at a time."""
    return min(period_ns, paper_spare_ns(group, period_ns))


def certain_spare_ns(group: Group, period_ns: int) -> int:
    """Returns how long (ns) the pcpus are surely idle in each period of the spare."""
    return max(0, floor((1 - group.bandwidth / group.pcpus) * period_ns))
