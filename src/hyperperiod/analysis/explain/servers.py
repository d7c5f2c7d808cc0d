# SPDX-License-Identifier: BSD-2-Clause
"""Why a server gets its budget or not: who takes the pcpu in one of its periods.

The tests are those of `host_level`, each shown as demand against the time of the pcpu:
- fixed priority: the server as a task below those of higher or equal priority; deferrable ones
  may come late by period - budget, and then twice in a row;
- edf, periodic, polling and cbs: budgets as work that is due at the end of its period;
- edf, deferrable, and everything global: the budget after the most that the others can spend in
  a period of the server with deadlines inside (`deferrable_edf`), shared by all pcpus.

Inputs: policy, group, the server. Result: an account, or None where no test of these kinds
covers the policy. Errors: none.
"""

from __future__ import annotations

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Load, Source
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.explain import edf, fixed_priority
from hyperperiod.analysis.explain.account import (
    Account,
    Provision,
    Role,
    Share,
    Window,
    staircase,
    supply_corners,
)
from hyperperiod.analysis.servers.deferrable_edf import most_work
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Budget, Order, Policy, format_time

# The pcpu itself: whoever asks gets all of it.
WHOLE = Supply(Shape.GENERAL, 1, 1)
PCPU = Provision(WHOLE, WHOLE)
# Corners of a demand that does not grow in jumps.
SAMPLES = 400


def account(policy: Policy, group: Group, own: Server) -> Account | None:
    """The account of one server of the group."""
    if group.pcpus > 1:
        return _shared(group, own) if policy.order is Order.EDF else None
    if policy.order is Order.FP:
        return _fixed(policy, group, own)
    if policy.budget is Budget.DEFERRABLE:
        return _shared(group, own)
    return _due(policy, group, own)


def _fixed(policy: Policy, group: Group, own: Server) -> Account | None:
    if policy.budget is Budget.CBS:
        return None
    late = policy.budget is Budget.DEFERRABLE
    others = [
        other for other in group.servers if other is not own and other.priority <= own.priority
    ]
    sources = [Source("overheads", load) for load in group.overhead]
    roles = [Role.OVERHEAD] * len(sources)
    for other in sorted(others, key=lambda one: (one.priority, one.order)):
        jitter_ns = other.period_ns - other.budget_ns if late else 0
        load = Load(other.budget_ns, other.period_ns, other.period_ns, jitter_ns)
        sources.append(Source(other.name, load))
        roles.append(Role.EQUAL if other.priority == own.priority else Role.HIGHER)
    sources.append(Source(own.name, Load(own.budget_ns, own.period_ns, own.period_ns)))
    return fixed_priority.account(sources, [*roles, Role.OWN], PCPU, servers=True)


def _due(policy: Policy, group: Group, own: Server) -> Account | None:
    if group.overhead and policy.budget is Budget.CBS:
        return None
    shortest_ns = min(server.period_ns for server in group.servers)
    sources = [
        Source(one.name, Load(one.budget_ns, one.period_ns, one.period_ns)) for one in group.servers
    ]
    sources += [
        Source("overheads", load._replace(deadline=shortest_ns, jitter=load.jitter + shortest_ns))
        for load in group.overhead
    ]
    return edf.account(sources, own.name, PCPU)


def _shared(group: Group, own: Server) -> Account:
    """The most that others can spend beside the server, against what it can wait."""
    period_ns = own.period_ns
    window = Window("period", period_ns, period_ns, tuple(_shares(group, own, period_ns)))
    end_ns = period_ns * 108 // 100 + 1
    samples = [*range(0, end_ns, max(1, end_ns // SAMPLES)), period_ns]
    return Account(
        test="deferrable edf",
        critical_instant=(
            f"{own.name} has work from its refill on, all others spend as much as they can with"
            " deadlines inside its period"
        ),
        windows=(window,),
        story=(_shared_story(group, own, window),),
        deadline_ns=period_ns,
        demand=staircase([samples], lambda at: _asked(group, own, at), end_ns),
        supply=supply_corners(WHOLE, end_ns),
        stairs=False,
        end_ns=end_ns,
    )


def _shares(group: Group, own: Server, period_ns: int) -> list[Share]:
    """Each other's part of the time that the server may have to wait; they sum to the demand.

    On several pcpus none counts for more than the time that is not the server's own: more of it
    would run beside others. On one pcpu that changes no verdict, and hides how much is missing.
    """
    lost_ns = group.lost_ns(period_ns)
    spare_ns = max(0, period_ns - own.budget_ns - lost_ns + 1)
    shares = [Share("overheads", Role.OVERHEAD, lost_ns)] if lost_ns else []
    # The sum is rounded down once; what each adds to it is told, so that the shares sum to it.
    sum_ns = 0
    for other in group.servers:
        if other is own:
            continue
        before_ns = sum_ns // group.pcpus
        work_ns = most_work(other, period_ns)
        sum_ns += work_ns if group.pcpus == 1 else min(work_ns, spare_ns)
        shares.append(Share(other.name, Role.OTHER, sum_ns // group.pcpus - before_ns))
    return [*shares, Share(own.name, Role.OWN, own.budget_ns)]


def _asked(group: Group, own: Server, window_ns: int) -> int:
    return sum(share.time_ns for share in _shares(group, own, window_ns))


def _shared_story(group: Group, own: Server, window: Window) -> str:
    period = format_time(own.period_ns)
    pcpus = f"all {group.pcpus} pcpus" if group.pcpus > 1 else "the pcpu"
    if window.short_ns > 0:
        return (
            f"In {period} the others can keep {pcpus} so long that"
            f" {format_time(window.short_ns)} of the budget have no place. The test is only"
            " sufficient: it does not say that this happens."
        )
    return (
        f"In {period} the others can keep {pcpus}, and"
        f" {format_time(-window.short_ns)} are left beside the budget."
    )
