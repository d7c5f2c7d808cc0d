# SPDX-License-Identifier: BSD-2-Clause
"""Sporadic servers under fixed priority on one pcpu: the response-time test of periodic ones.

Papers: Sprunt, Sha and Lehoczky, "Aperiodic task scheduling for hard-real-time systems",
Real-Time Systems 1989; Stanovich, Baker, Wang and Harbour, "Defects of the POSIX sporadic
server and how to correct them", RTAS 2010. The test is that of `fp_response_time`; here is why
it covers the rule that is scheduled (semantics: Sporadic), with at most eight refills.

**Nominal times.** Let a unit that is used while the head stands at time *s* have the nominal
time *s*. The head moves with use and not with the clock, so (1) nominal times of one server
strictly increase and a unit is never used before its nominal time. It comes back at *s* + P or
later - joining a tail, a full queue and an activation only make it later - so (2) any nominal
window of length P holds at most B units. A head is set to the present by an arrival or a
renewal, or is a refill that waited for its time while the vcpu had work; so (3) a server that
uses a unit at *t* had work and budget throughout [*s*, *t*].

**Interference.** Let nobody of priority *i* or above have work and budget just before *t*. By
(3) whatever they use from *t* on has a nominal time from *t* on; by (1) what is used in
[*t*, *t* + L) has its nominal time there; by (2) that is at most ceil(L / P_k) B_k of server
*k*. If the fixed point R of B_i + sum ceil(R / P_k) B_k is at most P_i, then such an instant,
or one at which every budget of the window is used up to the last unit, which is as good, comes
again within R. So when the head of server *i* becomes usable, the amount that it has then is
used within R, if there is work for it.

**What its own vcpu gets.** Look at any window in which it has work, from *t* on. All of the
budget is in refills that begin before *t* + P, since what was used last was used before *t*.
Each is used within R <= P of its beginning and is there again one period later. Where all
wait for the last instant as one refill, as they do if the queue was full, nothing may come
until *t* + 2 P - B: the blackout of a polling server, and every period brings B after that.
The shorter blackout of periodic servers, 2 (P - B), does not hold: seven uses of one unit each
fill the queue, and the eighth takes the unused rest of the budget with it to its own, later
refill.

Assumptions: none about the others but their rule. Slack rules are behind every budget. A "no"
is exact as it is for periodic servers: servers that always have work behave like those.

Inputs: a group on one pcpu. Results: per server a verdict with R, the longest time from the
beginning of a refill, or an activation, to its use, in nanoseconds. Errors: none.
"""

from __future__ import annotations

from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict


def sporadic_fp(group: Group) -> list[Verdict]:
    """One verdict per server, in the order of the group."""
    return fp_response_time(group)
