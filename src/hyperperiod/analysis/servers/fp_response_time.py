# SPDX-License-Identifier: BSD-2-Clause
"""Periodic servers under fixed priority on one pcpu: the exact response-time test.

Papers: Joseph and Pandya, "Finding response times in a real-time system", The Computer Journal
1986; Audsley et al., 1993. Server i gets its budget in every period if the least fixed point of
R = B_i + sum over others of equal or higher priority ceil(R / P_k) B_k is at most P_i. Proved by
machine, for periodic and polling servers: servers_fixed_priority in proofs/host.v.

Assumptions: servers refill together at time 0 and are charged as tasks that always run
(periodic rule), whatever slack rule hands their time on: under lend and reclaim the payer is
the one of the plain rule, or one that only pays earlier. Polling servers behave no worse: such
a server either has work at its refill and runs like a task released there, or loses its budget
and does not run in that period at all; it never suspends and comes back with budget left.
Servers of equal priority take turns or keep the pcpu by history, so each counts as interfering
with the other. With equal priorities the test is therefore only sufficient. What surely happens
at time 0, when there is no history, is that those earlier in the file go first, unless a quantum
makes them take turns; a "no" that needs more than that is null.

Inputs: a group on one pcpu. Results: per server a verdict with the latest time after a refill at
which its budget is spent, in nanoseconds. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict


def fp_response_time(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    return [_judge(group, server) for server in group.servers]


def unless_refused(group: Group, judge: Callable[[Group, Server], Verdict]) -> list[Verdict]:
    """One verdict per server: its "no" if it always had work, else what `judge` says."""
    return [
        verdict if verdict.holds is False else judge(group, server)
        for server, verdict in zip(group.servers, fp_response_time(group), strict=True)
    ]


def _judge(group: Group, own: Server) -> Verdict:
    above = [as_load(other) for other in group.servers if other.priority < own.priority]
    equal = [
        other for other in group.servers if other.priority == own.priority and other is not own
    ]
    verdict = respond(own, [*group.lost, *above, *map(as_load, equal)])
    if verdict.holds is not False:
        return verdict
    if group.lost:
        return Verdict.unknown("with overheads the test is only sufficient")
    earlier = [] if group.turns else [o for o in equal if o.order < own.order]
    if equal and respond(own, [*above, *map(_first_job, earlier)]).holds is not False:
        return Verdict.unknown(f"{own.name} may wait for servers of equal priority")
    return verdict


def _first_job(server: Server) -> Load:
    """Only the budget of time 0: what comes later may find itself behind."""
    return Load(server.budget_ns, 2**61, server.period_ns)


def as_load(server: Server) -> Load:
    """A server that is charged as a task that always runs."""
    return Load(server.budget_ns, server.period_ns, server.period_ns)


def respond(own: Server, above: list[Load]) -> Verdict:
    """Whether the server spends its budget within its period below these loads."""
    found, bound_ns = WHOLE_PCPU.last_response([*above, as_load(own)])
    if found is _analysis.Verdict.HOLDS:
        return Verdict.yes(bound_ns)
    if found is _analysis.Verdict.UNKNOWN:
        return Verdict.unknown(f"{own.name}: undecided after millions of steps")
    return Verdict.no(f"{own.name} may not get its budget within its period")
