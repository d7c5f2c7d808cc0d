# SPDX-License-Identifier: BSD-2-Clause
"""Deferrable (or periodic) servers under global fixed priority on m pcpus: sufficient.

Paper: Bertogna, Cirinei and Lipari, "New schedulability tests for real-time task sets scheduled
by deadline monotonic on multiprocessors", OPODIS 2005, for the argument; applied here to
servers that may spend their budget at any time of their periods.

Server i gets its budget in every period of its own in which it has work throughout if
  sum over k of higher or equal priority of min(W_k, P_i - B_i + 1) < m (P_i - B_i + 1)
in the smallest time unit, with W_k the most that k can spend in a window of length P_i that
begins with a period of i (`deferrable_grid`). If i did not get its budget, then for P_i - B_i +
1 units of its period it had budget and work while all m pcpus ran others that go first.

Assumptions: servers refill at multiples of their periods; nothing about when the others have
work. Overheads count as time in which the pcpu ran another.

Inputs: a group. Results: per server a verdict that only those of higher or equal priority
decide; "no" is null. Errors: none.
"""

from __future__ import annotations

from hyperperiod.analysis.servers.deferrable_edf import spare_in
from hyperperiod.analysis.servers.deferrable_grid import max_spent
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict


def global_fp(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    return [_judge(group, server) for server in group.servers]


def _judge(group: Group, own: Server) -> Verdict:
    spare_ns = spare_in(group, own, own.period_ns)
    others_ns = sum(
        min(max_spent(other, own.period_ns, own.period_ns)[0], spare_ns)
        for other in group.before(own)
    )
    if spare_ns > 0 and others_ns < group.pcpus * spare_ns:
        return Verdict.yes()
    return Verdict.unknown(
        f"{own.name}: the test for servers under global priorities is only sufficient,"
        " and does not confirm it"
    )
