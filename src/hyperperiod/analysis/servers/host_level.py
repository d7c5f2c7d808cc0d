# SPDX-License-Identifier: BSD-2-Clause
"""Which host-level test fits a policy, and what it says.

| budget | order | one pcpu | several pcpus together |
| --- | --- | --- | --- |
| periodic, polling | fp | `fp_response_time` | none |
| periodic, polling | edf | `edf_utilization` | `gfb`, else `deferrable_edf` |
| deferrable | fp | `deferrable_fp` | none |
| deferrable | edf | `deferrable_edf` | `deferrable_edf` |
| cbs | edf | `edf_utilization` | `gfb` |
| cbs | fp | only alone | none |
| sporadic | any | only alone | |

Slack rules change none of this. Under lend and reclaim the payer is a server that would have
been charged anyway; spare and extra time are background, below every server with budget. As
many pcpus as servers are never too few. A deferrable or periodic server under a global
`deferrable_edf` test is promised its budget for the same reason; polling is never global.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf
from hyperperiod.analysis.servers.deferrable_fp import deferrable_fp
from hyperperiod.analysis.servers.edf_utilization import edf_utilization
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Budget, Order, Policy


@dataclass(frozen=True)
class HostVerdict:
    """One verdict per server of the group, the test that gave them, and all of them together."""

    test: str
    servers: tuple[Verdict, ...]

    @property
    def whole(self) -> Verdict:
        return all_of(self.servers)


def host_level(policy: Policy, group: Group) -> HostVerdict:
    """The verdicts of the test that fits."""
    count = len(group.servers)
    if count <= group.pcpus and not group.overhead:
        return HostVerdict("a pcpu for every server", (Verdict.yes(),) * count)
    if group.pcpus == 1:
        name, test = _one_pcpu(policy)
    else:
        name, test = _several_pcpus(policy)
    verdicts = tuple(test(group))
    if group.overloaded:
        # Some server does not get its budget whatever the test at hand can show.
        reason = f"bandwidths sum to {float(group.bandwidth):.6g}, above {group.pcpus}"
        proven = any(verdict.holds is False for verdict in verdicts)
        if not proven:
            verdicts = (Verdict.no(reason),) * count
    return HostVerdict(name, verdicts)


_Test = Callable[[Group], list[Verdict]]


def _one_pcpu(policy: Policy) -> tuple[str, _Test]:
    if policy.budget is Budget.SPORADIC:
        return "none", _uncovered("sporadic servers have no test that we trust yet")
    if policy.budget is Budget.CBS and policy.order is Order.FP:
        return "none", _uncovered("no test covers constant bandwidth servers under priorities")
    if policy.budget is Budget.DEFERRABLE:
        if policy.order is Order.FP:
            return "deferrable response time", deferrable_fp
        return "deferrable edf", deferrable_edf
    if policy.order is Order.FP:
        return "response time", fp_response_time
    if policy.budget is Budget.CBS:
        return "edf utilization", _cbs_on_one_pcpu
    return "edf utilization", _for_all(edf_utilization)


def _several_pcpus(policy: Policy) -> tuple[str, _Test]:
    if policy.order is Order.FP:
        return "none", _uncovered("no test covers global fixed priority")
    if policy.budget is Budget.DEFERRABLE:
        return "deferrable edf", deferrable_edf
    if policy.budget is Budget.CBS:
        return "gfb", _for_all(gfb)
    return "gfb, deferrable edf", _gfb_or_deferrable_edf


def _for_all(test: Callable[[Group], Verdict]) -> _Test:
    return lambda group: [test(group)] * len(group.servers)


def _uncovered(reason: str) -> _Test:
    return lambda group: [Verdict.unknown(reason)] * len(group.servers)


def _cbs_on_one_pcpu(group: Group) -> list[Verdict]:
    """Deadlines begin with arrivals, so windows of any length matter: overheads do not fit."""
    if group.overhead and not group.overloaded:
        return _uncovered("no test covers constant bandwidth servers with overheads")(group)
    return _for_all(edf_utilization)(group)


def _gfb_or_deferrable_edf(group: Group) -> list[Verdict]:
    whole = gfb(group)
    return [whole] * len(group.servers) if whole.holds is not None else deferrable_edf(group)
