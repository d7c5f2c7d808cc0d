# SPDX-License-Identifier: BSD-2-Clause
"""Deferrable servers under fixed priority on one pcpu: a sufficient test.

Papers: Strosnider, Lehoczky and Sha, IEEE Trans. Computers 1995, for the back-to-back effect;
Davis and Burns, "Hierarchical fixed priority pre-emptive scheduling", RTSS 2005, for the form:
the least fixed point of R = B_i + sum over others of equal or higher priority
ceil((R + P_k - B_k) / P_k) B_k must be at most P_i. Proved by machine, without overheads:
deferrable_fixed_priority in proofs/deferrable.v; of slices, whose periods begin with their work,
slices_fixed_priority in proofs/slices_supply.v.

Assumptions: a deferrable server may idle first, spend its budget at the end of one period and
again at the start of the next; hence the jitter P_k - B_k of those above. What is promised: a
server with work during a whole period of its own gets its budget in it; so its own jitter is
not added.

Two classes (slices under fp-edf, PSEDF): servers with a priority are above all ordinary ones, and
so do not depend on them. An ordinary one waits for no more than what all others can run in the
window, whatever deadlines say, so it counts them all; and it runs no more than a deferrable one
does. Who of the ordinary is first at time 0 is for deadlines to say: a "no" leaves them out.

Inputs: a group on one pcpu. Results: per server a verdict. "No" of this test is null; if even
the test for periodic servers fails (all of them always busy is a legal behaviour), it is false.
Errors: none.
"""

from __future__ import annotations

from dataclasses import replace

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.servers.fp_response_time import respond, unless_refused
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict


def deferrable_fp(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    return unless_refused(group, _judge)


def two_classes(group: Group) -> list[Verdict]:
    """One verdict per server where those of the last priority are ordered by deadline."""
    return deferrable_fp(replace(group, turns=True))


def _judge(group: Group, own: Server) -> Verdict:
    verdict = respond(own, [*group.lost, *map(interference, group.before(own))])
    if verdict.holds is False:
        return Verdict.unknown(
            f"{own.name}: the test for deferrable servers is only sufficient,"
            " and does not confirm it"
        )
    return verdict


def interference(server: Server) -> Load:
    """A server that may spend a budget at the end of a period and the next one right after it."""
    late_ns = server.period_ns - server.budget_ns
    return Load(server.budget_ns, server.period_ns, server.period_ns, late_ns)
