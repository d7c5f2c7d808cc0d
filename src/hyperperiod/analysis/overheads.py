# SPDX-License-Identifier: BSD-2-Clause
"""How much of any window a pcpu can lose to overheads: a safe, simple account.

Paper: none; this is plain counting, so that "schedulable" stays true on the real machine.
Sharper accounts exist (Brandenburg, "Scheduling and locking in multiprocessor real-time
operating systems", 2011, chapter 3) and would accept more.

Every cost on a pcpu is caused by an event: a release or a completion (which makes a vcpu arrive
or depart, and may switch tasks), a replenishment or a depletion, the end of a turn. One event
costs at most one interrupt, one wake, one replenishment, and two picks, context switches and
migrations: to what it starts and back to what it stopped. So in a window of length w a pcpu
loses at most cost * (number of events in w), where something that happens at most once in a
period p, up to its jitter closer, happens at most ceil((w + jitter) / p) times, and once more
for what began just before the window.

How it is used. Host level: all of it interferes, above every server. Inside a domain: a server
gets at least its budget less everything the pcpu can lose in one of its periods, wherever the
cost is charged. On shared pcpus every event may hit every pcpu.

Assumptions: costs are upper bounds; a depletion at an extra level comes after a whole budget
there. Inputs: the system, the domains that share the pcpu. Result: loads (`component.Load`)
whose request bound is the time lost; empty without overheads. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hyperperiod.analysis.component import Load
from hyperperiod.model import Budget, Domain, Flow, Overheads, Slack, System, Task

# A period that no window exceeds: an event that comes once.
_ONCE_NS = 2**61


def event_cost_ns(overheads: Overheads) -> int:
    """The most that one event takes from a pcpu."""
    switch_ns = overheads.pick_ns + overheads.context_switch_ns + overheads.migration_ns
    once_ns = overheads.interrupt_ns + overheads.wake_ns + overheads.replenish_ns
    return once_ns + 2 * switch_ns


def overhead_loads(system: System, domains: Sequence[Domain]) -> tuple[Load, ...]:
    """What the pcpu that these domains share can lose."""
    cost_ns = event_cost_ns(system.overheads)
    if cost_ns == 0:
        return ()
    return tuple(
        Load(count * cost_ns, period_ns, period_ns, jitter_ns + period_ns)
        for count, period_ns, jitter_ns in _events(system, domains)
    )


def _events(system: System, domains: Sequence[Domain]) -> Iterator[tuple[int, int, int]]:
    """(count, period, jitter): `count` events at most once in each period."""
    if system.quantum_ns is not None:
        yield 1, system.quantum_ns, 0
    if system.policy.slack is Slack.SPARE:
        yield from _spare_events(system)
    for domain in domains:
        yield from _server_events(system, domain)
        for task in domain.tasks:
            visits = [
                flow
                for flow in system.flows
                for hop in flow.hops
                if hop == f"{domain.name}.{task.name}"
            ]
            if visits:
                yield from _item_events(visits)
            else:
                yield from _task_events(task)
        yield from _inner_events(domain)


def _spare_events(system: System) -> Iterator[tuple[int, int, int]]:
    """While its period is unknown: it will be the hyperperiod, no shorter than any period."""
    periods = [domain.interface.period_ns for domain in system.domains if domain.interface]
    if system.spare is not None:
        yield 2, system.spare.period_ns, 0
    elif periods:
        yield 2, max(periods), 0


def _server_events(system: System, domain: Domain) -> Iterator[tuple[int, int, int]]:
    if domain.interface is None:
        return
    # A sporadic server's budget may come back in eight pieces; the others have one refill.
    pieces = 8 if system.policy.budget is Budget.SPORADIC else 1
    yield 2 * pieces * domain.vcpus, domain.interface.period_ns, 0
    if domain.extra and system.policy.slack is Slack.EXTRA:
        yield domain.vcpus, domain.interface.budget_ns, 0


def _inner_events(domain: Domain) -> Iterator[tuple[int, int, int]]:
    for inner in domain.domains:
        if inner.interface is not None:
            yield 2, inner.interface.period_ns, 0
        for task in inner.tasks:
            yield from _task_events(task)
        yield from _inner_events(inner)


def _item_events(visits: Sequence[Flow]) -> Iterator[tuple[int, int, int]]:
    """Of a hop: an item was on its way when the window began, or came from the source in it."""
    for flow in visits:
        yield 2 * flow.source.burst, flow.source.period_ns, flow.source.jitter_ns
        yield 2 * flow.queue, _ONCE_NS, 0


def _task_events(task: Task) -> Iterator[tuple[int, int, int]]:
    if task.period_ns is not None:
        yield 2, task.period_ns, task.jitter_ns
    elif task.bcet_ns is not None:
        yield 2, task.bcet_ns, 0
    else:
        yield 1, _ONCE_NS, 0
