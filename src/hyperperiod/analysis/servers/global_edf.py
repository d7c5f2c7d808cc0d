# SPDX-License-Identifier: BSD-2-Clause
"""Servers under global EDF that behave as sporadic tasks: which tests are about them.

Papers: those of the tests in `analysis.multiprocessor`.

- A periodic server is charged as time passes, whether it has work or not: it is a periodic task
  (budget, period, deadline = period), and every test of such tasks is about it.
- A hard constant bandwidth server holds at every arrival a deadline and an amount that a pcpu of
  speed budget / period would finish by then. That is all that GFB asks of a set of jobs. The
  other tests look at windows between a release and a deadline one period later, and such a server
  may keep a deadline that is nearer: they are not about it.
- Deferrable servers are neither (`deferrable_edf`).

Inputs: a group on several pcpus. Results: a verdict for all its servers, or one for each; "no" is
null unless bandwidths sum to more than m. Overheads are not covered: null. Errors: none.
"""

from __future__ import annotations

from fractions import Fraction

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.gfb import density_bound, gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict


def gfb_of_servers(group: Group) -> Verdict:
    """GFB, for periodic and constant bandwidth servers."""
    return _without_test(group) or gfb(_loads(group), group.pcpus)


def baker_of_servers(group: Group) -> Verdict:
    """Baker's test, for periodic servers."""
    return _without_test(group) or baker(_loads(group), group.pcpus)


def iterative_bcl_of_servers(group: Group) -> list[Verdict]:
    """Iterative BCL, for periodic servers; with bounds on when each budget is spent.

    It accepts whatever BCL accepts, so that BCL itself need not be asked.
    """
    said = _without_test(group)
    if said is None:
        found = iterative_bcl(_loads(group), group.pcpus)
        if found.whole.holds:
            return [Verdict.yes(bound) for bound in found.bounds]
        said = found.whole
    return [said] * len(group.servers)


def gfb_bound(group: Group) -> Fraction:
    """The largest sum of bandwidths that GFB accepts."""
    return density_bound([server.bandwidth for server in group.servers], group.pcpus)


def _loads(group: Group) -> list[Load]:
    return [Load(s.budget_ns, s.period_ns, s.period_ns) for s in group.servers]


def _without_test(group: Group) -> Verdict | None:
    if group.overloaded:
        return Verdict.no(f"bandwidths sum to {float(group.bandwidth):.6g}, above {group.pcpus}")
    if group.lost:
        return Verdict.unknown("the tests of global edf do not cover overheads")
    return None
