# SPDX-License-Identifier: BSD-2-Clause
"""What a server's windows lose to the hypervisor's own work, counted over the whole window.

Papers: Tindell, Burns and Wellings, "An extendible approach for analyzing fixed priority hard
real-time tasks", Real-Time Systems 1994, for counting what interrupts over a busy window as a load
above all tasks; Brandenburg, PhD thesis 2011, chapter 3, for the kinds of costs.

`overheads.budget_loss_ns` takes from every budget the most that one period can lose. Here the
budget stays whole, and a window in which the vcpu has work without a gap loses what can happen in a
window of its length. Both are sound; a domain is judged by both, and what one of them shows holds.

Let [s, s + t) be such a window of a server with budget B and period P, and O the longest pick. A
*cost* is time of a pick that grants the server at its own expense. The tasks get what the server is
charged in the window, less the costs in it.

**Picks.** Between two picks that grant the server one of these happened: a refill that a timer was
set for; an arrival that made the pcpu pick; the end of a turn. For a pick that goes on with the
server was made by one of them. A pick that comes back to it follows the end of an earlier grant,
which ended by one of them, or with the budget, and then the server's own refill lies between. No
two picks have the same one: each made one pick, or ended one grant. Completions in the window end
no grant, as the vcpu has work. Refills at one instant make one pick, and where servers are refilled
at multiples of their periods since time 0, those of a period that another one divides are among the
instants of that. So there are no more picks than such instants, arrivals that count, and ends of
turns in the window, and one: the first that grants the server.

**Arrivals that count.** Under the periodic rule who pays does not depend on work, and who runs on
its own budget does not either: none. Where work decides, under fixed priority without a quantum,
another vcpu that is not of higher priority does not take the pcpu (among equals the last one goes
on, and best effort is behind all), and if its period is a multiple of P its next refill is no
earlier than the server's own, for which the timer is set: it makes nobody pick. Every other arrival
counts, and each costs a wake at the next pick whether it counts or not.

**Refills** are each paid for once, at multiples of the period in the window. One more of each
server may be noted in the window, or wait to be paid for when it begins: what was caught up when
its work arrived.

**What is under way at s.** A pick may be in progress, and another one due at its end. Both are over
after 2 O: the window is looked at from there on, s'. What they have not paid for is an arrival of
each vcpu, and of each server the refill that was caught up with it; other refills make a pick at
their instant, or when the pick in progress then is over.

**Debts.** A budget may end within a pick, and is then overdrawn by at most O; the next refill
brings less. Let the period with s' in it have begun with the debt d, and be left with the debt e.
In any number of whole periods the server is charged their budgets, less the debt in front, plus the
one at their end; so only those two matter.
- If e was made after s', the time of it was charged in the window, and makes up for what is missing
  later. What is left at s' is no less than what a server without debts would have after being
  served from the beginning of its period to s' - d. From there on supply comes as late as it can:
  the supply in a window shorter by d, since no supply grows faster than time. The first pick that
  grants the server costs no more than O.
- If e was made before s', the server was charged its budget less d, and e, so d at most later than
  without a debt; then budgets follow of which the first is less by e, at most O. It is depleted at
  s', so that the first pick after it comes with its own refill, and is counted there.
So the window has the supply of a window shorter by 3 O, loses O once, what waited to be paid for at
s', and what happens in it. A shorter window is the same as releases that are spread by as much
more, and deadlines that are as much earlier.

**Pcpus that are shared.** One event may make several pcpus pick, and a vcpu may pay for two picks
because of it: one that takes it off a pcpu late, one that grants it another. There every event in
the window, and once more each that may be under way at s, is counted with all that it can cost
(`overheads.overhead_loads`), the server's own ones too. That takes the place of the counts above.
The rest of the argument is about one vcpu, which has one pick at a time, and one account: O is the
longest pick with a migration.

For which rules that is a proof is in the tables below: for refills at
multiples of the period (a system without changes, swaps and stolen time), if nobody runs at
another's expense while that one pays with it (lend), and for a domain without extra time of its
own, where the budget could begin within a pick that is under way. Picks are shorter than the
shortest period. Where one of this is missing there is no account by windows, and the one by budgets
counts alone.

Assumptions: costs are upper bounds; the server is charged its budget in every period
(`host_level`). Inputs: the system, the domains that share the pcpus, with their interfaces, and one
of them. Result: None, or loads whose request bound is the time lost, what is lost once and the
delay, in nanoseconds. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.overheads import jobs_of, longest_pick_ns, overhead_loads, turns_of
from hyperperiod.model import Budget, Domain, Order, Scope, Slack, System, priorities_in

NEVER_DUE_NS = 2**60
"""The deadline of a load that has none."""

# Whether a server with work and budget of its own can lose the pcpu to work that arrives.
_WORK_DECIDES = {Budget.PERIODIC: False, Budget.DEFERRABLE: True, Budget.POLLING: True}
# Slack rules under which whoever runs on its own budget pays for it alone.
_PAYS_ALONE = (Slack.NONE, Slack.RECLAIM, Slack.SPARE, Slack.EXTRA)
_ORDERS = (Order.FP, Order.EDF)


class WindowLoss(NamedTuple):
    """A window loses `once_ns` and the request bound of `loads`; supply is late by `late_ns`."""

    loads: tuple[Load, ...]
    once_ns: int
    late_ns: int


def window_loss(
    system: System, domains: Sequence[Domain], own: Domain, *, across_hops: bool = False
) -> WindowLoss | None:
    """Returns the loss of windows of a server of `own`, one of these; None without a proof.

    The vcpu has work throughout, or `across_hops` but for instants at which an item goes on inside
    the domain: then its own arrivals count as well.
    """
    if not _is_proved(system, domains, own):
        return None
    cost = system.overheads
    servers = [domain for domain in domains if domain.interface is not None]
    refills = sum(domain.vcpus for domain in servers) + (system.policy.slack is Slack.SPARE)
    vcpus = sum(domain.vcpus for domain in domains)
    longest_ns = longest_pick_ns(system, domains)
    if system.policy.scope is Scope.GLOBAL:
        return WindowLoss(overhead_loads(system, domains), longest_ns, 3 * longest_ns)
    loads = [
        *_of_refills(system, servers),
        *_of_turns(system),
        *_of_arrivals(system, domains, own, across_hops=across_hops),
    ]
    return WindowLoss(
        tuple(load for load in loads if load.wcet),
        longest_ns + vcpus * cost.wake_ns + refills * cost.replenish_ns,
        3 * longest_ns,
    )


def _is_proved(system: System, domains: Sequence[Domain], own: Domain) -> bool:
    policy = system.policy
    periods = [domain.interface.period_ns for domain in domains if domain.interface]
    known = all(domain.best_effort or domain.interface is not None for domain in domains)
    return (
        any(vars(system.overheads).values())
        and policy.budget in _WORK_DECIDES
        and policy.slack in _PAYS_ALONE
        and policy.order in _ORDERS
        and not (policy.slack is Slack.EXTRA and own.extra)
        and not (policy.slack is Slack.SPARE and system.spare is None)
        and not system.changes
        and not system.swaps
        and not system.stolen
        and known
        and own.interface is not None
        and longest_pick_ns(system, domains) < min(periods)
    )


def _pick_ns(system: System) -> int:
    cost = system.overheads
    return cost.pick_ns + cost.interrupt_ns + cost.context_switch_ns


def _of_refills(system: System, servers: Sequence[Domain]) -> Iterator[Load]:
    """Yields what refills cost: a pick for each instant of some, and the work of each."""
    periods = {domain.interface.period_ns for domain in servers if domain.interface}
    for period_ns in sorted(periods):
        if not any(period_ns % other_ns == 0 for other_ns in periods if other_ns < period_ns):
            yield Load(_pick_ns(system), period_ns, NEVER_DUE_NS)
    for domain in servers:
        if domain.interface is not None:
            each_ns = domain.vcpus * system.overheads.replenish_ns
            yield Load(each_ns, domain.interface.period_ns, NEVER_DUE_NS)


def _of_turns(system: System) -> Iterator[Load]:
    """Yields what the ends of turns cost, and what the spare's refills and ends do."""
    for event in turns_of(system):
        yield Load(event.times * _pick_ns(system), event.period_ns, NEVER_DUE_NS)
    if system.policy.slack is Slack.SPARE and system.spare is not None:
        yield Load(system.overheads.replenish_ns, system.spare.period_ns, NEVER_DUE_NS)


def _of_arrivals(
    system: System, domains: Sequence[Domain], own: Domain, *, across_hops: bool
) -> Iterator[Load]:
    """Yields what arrivals cost: a wake each, and a pick for those that count (see above)."""
    for domain in domains:
        # A vcpu beside the domain's own one counts as another's, with all its tasks.
        if domain is own and domain.vcpus == 1 and not across_hops:
            continue
        pick_ns = _pick_ns(system) if _makes_pick(system, domain, own) else 0
        for event in jobs_of(system, domain):
            each_ns = event.times * (pick_ns + system.overheads.wake_ns)
            yield Load(each_ns, event.period_ns, NEVER_DUE_NS, event.late_ns)


def _makes_pick(system: System, other: Domain, own: Domain) -> bool:
    """Whether an arrival there can make a pick that grants a server of `own`."""
    if other is own or system.quantum_ns is not None:
        return True
    if other.best_effort or not _WORK_DECIDES[system.policy.budget]:
        return False
    if system.policy.order is not Order.FP:
        return True
    assert own.interface is not None, "it has a server"
    assert other.interface is not None, "it has a server"
    priority_of = priorities_in(system)
    own_ns, other_ns = own.interface.period_ns, other.interface.period_ns
    higher = priority_of(other.priority, other_ns) < priority_of(own.priority, own_ns)
    return higher or other_ns % own_ns != 0
