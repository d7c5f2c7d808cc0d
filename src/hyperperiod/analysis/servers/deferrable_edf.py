# SPDX-License-Identifier: BSD-2-Clause
"""Deferrable (or periodic) servers under EDF on m pcpus: a sufficient test.

Paper: Bertogna, Cirinei and Lipari, "Improved schedulability analysis of EDF on multiprocessor
platforms", ECRTS 2005 (BCL), for the bound on work with deadlines inside a period; applied here
to servers that may spend their budget at any time of their periods.

Server i gets its budget in every period of its own in which it has work throughout if
  sum over k != i of min(W_k, P_i - B_i + 1) < m (P_i - B_i + 1)   in the smallest time unit,
  W_k = floor(P_i / P_k) B_k + min(B_k, P_i mod P_k).
If i did not get its budget, then for at least P_i - B_i + 1 units of its period all m pcpus ran
others with deadlines no later than its own. Those others spend at most W_k there: budget is
enforced, unused budget does not outlive its period, and the window ends where the last of those
periods may end. Nothing is assumed about when or whether the others have work. Proved by machine
for one pcpu, without overheads, where it says B_i + sum W_k <= P_i: deferrable_edf in
proofs/deferrable.v; of slices, whose periods begin with their work, slices_edf in
proofs/slices_supply.v.

Assumptions: periods and budgets in whole time units; servers refill at multiples of their
periods. Overheads count as time in which the pcpu ran another.

Inputs: a group. Results: per server a verdict, whatever becomes of the others; "no" is null.
Errors: none.
"""

from __future__ import annotations

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict


def deferrable_edf(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    loads = [Load(s.budget_ns, s.period_ns, s.period_ns) for s in group.servers]
    spare_ns = [spare_in(group, one, one.period_ns) for one in group.servers]
    holds = _analysis.bcl(loads, [max(0, spare) for spare in spare_ns], group.pcpus)
    return [
        Verdict.yes() if confirmed else _unconfirmed(server)
        for confirmed, server in zip(holds, group.servers, strict=True)
    ]


def max_work(other: Server, window_ns: int, slack_ns: int = 0) -> int:
    """W_k: what the other can spend, with deadlines inside, in a window of this length.

    `slack_ns`: each of its budgets is spent so long before its deadline.
    """
    periods, rest_ns = divmod(window_ns, other.period_ns)
    return periods * other.budget_ns + min(other.budget_ns, max(0, rest_ns - slack_ns))


def spare_in(group: Group, own: Server, window_ns: int) -> int:
    """L - B_i + 1, less what overheads take, for a window L; above 0 only if there is some room."""
    return window_ns - own.budget_ns - group.lost_ns(window_ns) + 1


def _unconfirmed(server: Server) -> Verdict:
    return Verdict.unknown(
        f"{server.name}: the test for deferrable servers under EDF is only sufficient,"
        " and does not confirm it"
    )
