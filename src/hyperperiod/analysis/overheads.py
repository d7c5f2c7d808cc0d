# SPDX-License-Identifier: BSD-2-Clause
"""What the hypervisor's own work takes: from the pcpu beside the budgets, and from each budget.

Papers: Brandenburg, "Scheduling and locking in multiprocessor real-time operating systems",
PhD thesis 2011, chapter 3, for the kinds of costs and for charging each to whoever causes or
bears it; the counts are those of the semantics (Overheads): every pick takes time at the start of
the grant that it makes, and whoever pays for the grant pays for that time.

**On a pcpu of its own** (partitioned policies). All costs lie in grants, so budgets bound them
as they bound all use, but for three things:
- a pick cannot be interrupted: who becomes first waits for one, of at most `longest_pick_ns`;
- a budget may end within a pick, and is then overdrawn by at most as much, once in any window,
  because debts are paid back;
- a pick before idling is paid by nobody, and only delays as any pick does.
So beside the budgets a window loses one pick and one for each server (`overhead_loads`).
What the tasks of a server miss of its budget is the time of picks that grant it (`budget_loss_ns`).
Such a pick goes on with it, because somebody arrived who goes behind it, something was refilled or
a turn ended; or it comes back to it, and then an arrival, a refill or the end of a turn took the
pcpu away before. So there are no more than arrivals of others, refills and ends of turns in the
period, the first one, and one in progress when it begins: as long as the server has work. Where an
item goes on from one task of the domain to the next its vcpu may depart and arrive at one instant,
which is a pick with a wake that the budget pays for; what holds across such instants (`flows`)
counts the domain's own arrivals as well. Arrivals and refills are paid for at the next pick, once
each. One longest pick for a debt from the period before and one for what
is in progress come on top. With a quantum turns to pay and turns to run are counted apart, and a
server that does not always both pay and run has two that end in every quantum.
Sporadic and cbs servers have periods of their own, which may begin at any time and be delayed by
one more: events are counted in two periods. Under EDF a cbs server may be late by all that is lost
beside the budgets, x; a budget less by x / 2 has a bound of supply that is later by x, or more.
Proved by machine, of one vcpu for each domain, best effort or not, without quantum: that periodic,
polling and deferrable servers get their budgets with that load (overhead_fixed_priority and others
in proofs/), and that picks take no more of a periodic one's, where nothing is lent
(overhead_supply).

**On shared pcpus** (global policies) an event may make several pcpus pick. There every event
is charged at its most expensive, one interrupt, one wake, one replenishment, two picks, context
switches and migrations, to every pcpu and to every budget. Where there is one pcpu nobody migrates.

Assumptions: costs are upper bounds. Inputs: the system, the domains that share the pcpu, with
their interfaces as far as known. Results: loads whose request bound is the time lost, empty
without overheads; nanoseconds of a budget. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.stolen import longest_absence_ns, stolen_loads
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.model import (
    Budget,
    Domain,
    Flow,
    Order,
    Overheads,
    Policy,
    Scope,
    Slack,
    System,
    Task,
)

# A period that no window exceeds: what comes once.
_ONCE_NS = 2**61


class _Periods(NamedTuple):
    """The positions of a server's periods under a budget rule.

    `windows`: its events are counted in so many of its own periods. `late`: by so many periods of
    theirs refills of others come closer than a period. `pieces`: refills that a budget falls into.
    """

    windows: int
    late: int
    pieces: int


_IN_ORDER = _Periods(windows=1, late=0, pieces=1)
# A period may begin at any time, and be delayed by one more; a queue of refills has eight entries.
# Under slice a period begins at any time too, but never before the one in front of it has ended.
_PERIODS = {
    Budget.PERIODIC: _IN_ORDER,
    Budget.DEFERRABLE: _IN_ORDER,
    Budget.POLLING: _IN_ORDER,
    Budget.SLICE: _IN_ORDER,
    Budget.SLICE_ONCE: _IN_ORDER,
    Budget.CBS: _Periods(windows=2, late=1, pieces=1),
    Budget.SPORADIC: _Periods(windows=2, late=1, pieces=8),
}
# A rule that no row above is about costs as much as the dearest.
_UNKNOWN = _Periods(windows=2, late=1, pieces=8)
# Picks that end a loan, for each refill and each server.
_LOANS = {
    Slack.NONE: 0,
    Slack.LEND: 1,
    Slack.RECLAIM: 0,
    Slack.SPARE: 0,
    Slack.EXTRA: 0,
    Slack.WEIGHTS: 0,
}


def _periods_of(policy: Policy) -> _Periods:
    return _PERIODS.get(policy.budget, _UNKNOWN)


def overhead_loads(system: System, domains: Sequence[Domain]) -> tuple[Load, ...]:
    """Returns as loads what windows on the pcpu of these domains lose beside the budgets."""
    if not any(vars(system.overheads).values()):
        return ()
    if system.policy.scope is Scope.GLOBAL:
        cost_ns = event_cost_ns(system.overheads, system.pcpus)
        return tuple(
            Load(event.times * cost_ns, event.period_ns, event.period_ns, event.late_ns)
            for event in _all_events(system, domains)
            if cost_ns
        )
    total_ns = _beside_budgets_ns(system, domains)
    return (Load(total_ns, _ONCE_NS, _ONCE_NS),) if total_ns else ()


def budget_loss_ns(
    system: System,
    domains: Sequence[Domain],
    own: Domain,
    period_ns: int | None = None,
    *,
    across_hops: bool = False,
) -> int:
    """Returns the most (ns) that overheads take of one budget of the domain, one of these.

    Inner servers lose what the domain around them loses in a period of theirs. The server has
    work throughout, or `across_hops` but for instants at which an item goes on inside the domain.
    """
    if period_ns is None:
        period_ns = own.interface.period_ns if own.interface else 0
    if not period_ns or not any(vars(system.overheads).values()):
        return 0
    if system.policy.scope is Scope.GLOBAL:
        return rbf(overhead_loads(system, domains), period_ns)
    window_ns = _periods_of(system.policy).windows * period_ns
    late_ns = 0
    if system.policy.budget is Budget.CBS and system.policy.order is Order.EDF:
        late_ns = -(-_beside_budgets_ns(system, domains) // 2)
    picks_ns = _picks_of_one_ns(system, domains, own, window_ns, across_hops=across_hops)
    return picks_ns + 2 * longest_pick_ns(system, domains) + late_ns


def event_cost_ns(overheads: Overheads, pcpus: int) -> int:
    """The most that one event takes from a shared pcpu, one of so many; nobody migrates on one."""
    migration_ns = overheads.migration_ns if pcpus > 1 else 0
    switch_ns = overheads.pick_ns + overheads.context_switch_ns + migration_ns
    once_ns = overheads.interrupt_ns + overheads.wake_ns + overheads.replenish_ns
    return once_ns + 2 * switch_ns


def longest_pick_ns(system: System, domains: Sequence[Domain]) -> int:
    """A pick that pays for an arrival of everybody, and for two refills of every server.

    One was caught up when its work arrived, the other came due where the pick is. On pcpus that are
    shared the vcpu may come from another one.
    """
    cost = system.overheads
    servers = sum(domain.vcpus for domain in domains if not domain.best_effort)
    vcpus = sum(domain.vcpus for domain in domains)
    pieces = _periods_of(system.policy).pieces
    refills = servers * (1 + pieces) + (system.policy.slack is Slack.SPARE)
    fixed_ns = cost.pick_ns + cost.interrupt_ns + cost.context_switch_ns
    if system.policy.scope is Scope.GLOBAL:
        fixed_ns += cost.migration_ns
    return fixed_ns + (vcpus + 1) * cost.wake_ns + refills * cost.replenish_ns


def _beside_budgets_ns(system: System, domains: Sequence[Domain]) -> int:
    servers = sum(domain.vcpus for domain in domains if not domain.best_effort)
    return (servers + 1) * longest_pick_ns(system, domains)


def _picks_of_one_ns(
    system: System, domains: Sequence[Domain], own: Domain, window_ns: int, *, across_hops: bool
) -> int:
    """Picks that grant one server of the domain in a window, and what is paid for at them."""
    cost = system.overheads
    turns = _number(turns_of(system), window_ns)
    returns = _number(_returns_of(system, domains), window_ns)
    wakes = refills = servers = 0
    for domain in domains:
        servers += 0 if domain.best_effort else domain.vcpus
        refills += _number(_server_events(system, domain), window_ns)
        # A vcpu beside the domain's own one counts as another's, with all its tasks.
        if domain is not own or domain.vcpus > 1 or across_hops:
            wakes += _number(list(jobs_of(system, domain)), window_ns)
    # A loan ends with the budget of the one that lends, which may date from before the window;
    # and with a quantum with its turn, once more for each that takes its place for a while.
    loans = _LOANS.get(system.policy.slack, 1) * (refills + servers)
    ends = loans * (1 if system.quantum_ns is None else 2)
    picks = turns + returns + wakes + refills + ends + 2
    pick_ns = cost.pick_ns + cost.interrupt_ns + cost.context_switch_ns
    return picks * pick_ns + wakes * cost.wake_ns + refills * cost.replenish_ns


class Event(NamedTuple):
    """So many events at most once in each period (ns), up to `late_ns` closer."""

    times: int
    period_ns: int
    late_ns: int = 0


def _returns_of(system: System, domains: Sequence[Domain]) -> list[Event]:
    """Returns how often the pcpu of these domains may come back after a theft."""
    if not system.stolen:
        return []
    pcpus = {domain.pcpu for domain in domains if domain.pcpu is not None}
    thefts = stolen_loads(system, pcpus, longest_pick_ns(system, domains))
    absence_ns = longest_absence_ns(thefts)
    return [Event(1, theft.period, absence_ns) for theft in thefts]


def _number(events: Sequence[Event], window_ns: int) -> int:
    return sum(event.times * -(-(window_ns + event.late_ns) // event.period_ns) for event in events)


def turns_of(system: System) -> list[Event]:
    """Returns the ends of turns, and the refills of the spare and the ends of its budget."""
    events = []
    if system.quantum_ns is not None:
        events.append(Event(_turns_apart(system.policy), system.quantum_ns))
    if system.policy.slack is Slack.SPARE:
        # While its period is unknown: it will be the hyperperiod, no shorter than any period.
        periods = [domain.interface.period_ns for domain in system.domains if domain.interface]
        period_ns = system.spare.period_ns if system.spare else max(periods, default=_ONCE_NS)
        events.append(Event(2, period_ns))
    return events


def _turns_apart(policy: Policy) -> int:
    """Ends of turns in a quantum: a vcpu may have those to pay and to run at different instants."""
    together = policy.scope is Scope.PARTITIONED and policy.slack is not Slack.SPARE
    return 1 if together and not policy.budget.pays_idle else 2


def _server_events(system: System, domain: Domain) -> list[Event]:
    """Returns the refills of a domain's servers as events; their budgets end as often."""
    if domain.interface is None:
        return []
    period_ns = domain.interface.period_ns
    periods = _periods_of(system.policy)
    return [Event(domain.vcpus * periods.pieces, period_ns, periods.late * period_ns)]


def _jobs(system: System, domain: Domain, task: Task) -> list[Event]:
    """Returns the releases of a task as events, each of which may wake a vcpu."""
    hop = f"{domain.name}.{task.name}"
    visits = [flow for flow in system.flows for other in flow.hops if other == hop]
    if visits:
        return [event for flow in visits for event in _items(system, flow)]
    if task.period_ns is not None:
        return [Event(1, task.period_ns, task.jitter_ns)]
    return [Event(1, task.bcet_ns or _ONCE_NS, task.bcet_ns or 0)]


def _items(system: System, flow: Flow) -> list[Event]:
    """The events of a hop: its item was on its way when the window began, or came in it.

    Clients send one each before any of them can send another one.
    """
    source = flow.source
    if source.period_ns is None:
        least = {f"{d.name}.{t.name}": t.bcet_ns or 1 for d in system.domains for t in d.tasks}
        # A task whose jobs move between vcpus is on none of the parts.
        shortest_ns = sum(least.get(hop, 1) for hop in flow.hops)
        return [Event(source.clients or 0, shortest_ns + source.think_range_ns[0])]
    waiting = [Event(flow.queue, _ONCE_NS)] if flow.queue else []
    return [Event(source.burst, source.period_ns, source.jitter_ns), *waiting]


def _all_events(system: System, domains: Sequence[Domain]) -> Iterator[Event]:
    """Yields the events that may make shared pcpus pick, each once more for those under way."""
    for event in turns_of(system):
        yield _in_progress(event)
    for domain in domains:
        for refills in _server_events(system, domain):
            yield _in_progress(refills._replace(times=2 * refills.times, late_ns=0))
            if domain.extra and system.policy.slack is Slack.EXTRA and domain.interface:
                budget_ns = domain.interface.budget_ns
                yield Event(domain.vcpus, budget_ns, budget_ns)
        for job in jobs_of(system, domain):
            yield _in_progress(job._replace(times=2 * job.times))


def _in_progress(event: Event) -> Event:
    """Returns the event happening once more: it may have begun just before a window."""
    return event._replace(late_ns=event.late_ns + event.period_ns)


def jobs_of(system: System, domain: Domain) -> Iterator[Event]:
    """Returns the releases of a domain, and of those in it; each may wake a vcpu of it."""
    for task in domain.tasks:
        yield from _jobs(system, domain, task)
    for inner in domain.domains:
        if inner.interface is not None:
            yield Event(1, inner.interface.period_ns)
        yield from jobs_of(system, inner)
