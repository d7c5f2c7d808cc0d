# SPDX-License-Identifier: BSD-2-Clause
"""Sporadic servers under EDF on one pcpu: bandwidths sum to at most 1.

Papers: Ghazalie and Baker, "Aperiodic servers in a deadline scheduling environment", Real-Time
Systems 1995, for sporadic servers with deadlines; Stanovich et al., RTAS 2010, for the rule of
refills. Why it covers the rule that is scheduled, in the words of `sporadic_fp`:

A unit belongs to the refill, or what was left of it at an activation, that was usable when it
was used: one with the beginning T has the deadline T + P. Let U = B / P.

**Demand.** Refills with beginning and deadline in [t, t + L), L = q P + x with 0 <= x < P, ask
for at most U L. The last of them begins by t + (q - 1) P + x and holds A <= B units, which
follow one another; so all their nominal times lie in a window of length (q - 1) P + x + A. At
most B units lie in each period of it; if x + A <= P that makes q B. Else a rest of x + A - P
comes on top, which is at most x B / P, since x (1 - B / P) <= P - B <= P - A. Both are <= U L.

**Sum.** A server that uses a unit had work and budget, with a deadline no later, since the
beginning of its refill. So if a refill is late, the pcpu was busy with refills that begin in
and are due in some window of length L: more than L, against the sum of U L.

**What its own vcpu gets**: the supply of a polling server, blackout 2 P - B. From *t* on, let
unit *k* be in a refill that begins at T, and t0 <= T be the last instant before which no work
due by T + P waited. What is done in [t0, ...) up to unit *k* is own work since t0 and at most
(1 - U)(T + P - t0) of the others, and refills begin by t + P - 1, t + 2 P - 1, and so on.

Assumptions: none about the others but their rule. Exact: servers that always have work ask for
the sum. Overheads are added as demand of their own (`edf_utilization`), since
a refill is due a whole period after it begins.

Inputs: a group on one pcpu. Result: one verdict for all its servers. Errors: none.
"""

from __future__ import annotations

from hyperperiod.analysis.servers.edf_utilization import edf_utilization
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict


def sporadic_edf(group: Group) -> Verdict:
    """Whether the bandwidths of all servers sum to at most 1, exactly; one verdict for all."""
    return edf_utilization(group)
