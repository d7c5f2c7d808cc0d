# SPDX-License-Identifier: BSD-2-Clause
"""The system file of what was observed: domains, tasks, and where each number comes from.

Interfaces are left open, and so is which pcpu a domain is on: `fit` chooses them. Where all threads
of a domain have priorities of real time, they are those of its tasks. Where callbacks of ROS 2 were
observed, a domain is an executor, and a chain of them, each woken by the one before, is a flow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, pairwise

from hyperperiod.model import Domain, Flow, Source, System, Task, to_toml
from hyperperiod.model.errors import InputError
from hyperperiod.model.limits import PCPU_LIMIT
from hyperperiod.model.policy import parse_policy
from hyperperiod.model.units import format_time
from hyperperiod.model.words import Scheduler, SourceKind, TaskKind
from hyperperiod.observe.result import ObservationResult, ObservedThread

POLICY = "ds"
_REAL_TIME = range(100)
"""Priorities in Linux's events: below 0 are deadlines, from 100 on ordinary threads."""
_NUMBER = re.compile(r"(period|wcet|jitter|source|deadline|queue) = ")
_OF_FLOWS = {
    "source": "measured, not proved: as its first callback comes",
    "deadline": "chosen, for nobody said one: a period for each callback",
    "queue": "chosen: one for each period of the deadline",
}


def system_text(result: ObservationResult) -> str:
    """Returns the file of a system whose tasks are those threads, with what was measured beside
    each number; InputError if there are none, or more than a system may have."""
    inside: dict[str, list[ObservedThread]] = {}
    for thread in result.threads:
        if thread.domain is not None:
            inside.setdefault(thread.domain, []).append(thread)
    if not inside:
        allowed = f"one with {result.least} activations whose execution time fits its period"
        found = "no thread that becomes a task"
        if result.damaged:
            found += f", and damaged lines: {result.damaged}"
        raise InputError(result.trace, None, "", found, allowed)
    span = format_time(result.span_ns)
    chains = _chains(result) if result.executors else []
    heads = {one.name: callbacks[0] for callbacks in chains for one in callbacks}
    try:
        system = System(
            name=result.observed,
            description=f"Observed for {span}: measured, not proved",
            policy=parse_policy(POLICY),
            pcpus=min(len(result.cpus), PCPU_LIMIT),
            domains=tuple(
                _executor(name, threads, heads) if result.executors else _domain(name, threads)
                for name, threads in inside.items()
            ),
            flows=tuple(map(_flow, chains)),
        )
    except InputError as error:
        allowed = f"{error.allowed}: --only leaves threads out, --domain puts them together"
        raise InputError(result.trace, None, "", error.found, allowed) from None
    head = (
        f"# Observed by hyperperiod observe in {result.trace}, for {span}. Every number below was\n"
        "# measured, not proved: a job that was never seen may run longer, or come earlier.\n"
    )
    threads = chain.from_iterable(inside.values())
    sources = (_sources(one, heads.get(one.name), result) for one in threads)
    return head + "".join(_commented(to_toml(system), sources))


def _commented(text: str, sources: Iterator[dict[str, str]]) -> Iterator[str]:
    """Yields the lines of a file with comments on its numbers; `sources` has those of each task."""
    said: dict[str, str] = {}
    for line in text.splitlines():
        if line == "[[domain.task]]":
            said = next(sources)
        elif line == "[[flow]]":
            said = _OF_FLOWS
        number = _NUMBER.match(line)
        yield f"{line}  # {said[number[1]]}\n" if number else f"{line}\n"


def _sources(
    thread: ObservedThread, head: ObservedThread | None, result: ObservationResult
) -> dict[str, str]:
    """Returns where the numbers of a task come from, by their keys; `head`: of its chain."""
    what = "bursts" if thread.kind == "bursty" else "jobs"
    seen = f"{thread.jobs} {what} in {format_time(result.span_ns)}"
    period = f"least gap of {seen}"
    if thread.fitted_period_ns is not None:
        period = f"the grid of {seen}"
        if thread.fitted_period_ns != thread.period_ns:
            period += f", {thread.fitted_period_ns:.12g}ns before it was rounded"
    if head is not None:
        period = f"that of {head.name}, which its chain begins with"
    elif thread.kind == "timer":
        period = "what its timer was made with"
    longest = format_time(thread.cost_max_ns)
    said = {
        "period": period,
        "wcet": f"{longest} is the longest of {seen}, with {100 * result.margin:g} % more",
        "jitter": f"against that grid, of {seen}",
    }
    return {key: f"measured, not proved: {text}" for key, text in said.items()}


def _domain(name: str, threads: list[ObservedThread]) -> Domain:
    is_real_time = all(one.priority in _REAL_TIME for one in threads)
    return Domain(
        name=name,
        scheduler=Scheduler.FP if is_real_time else Scheduler.RM,
        tasks=tuple(_task(one, has_priority=is_real_time) for one in threads),
    )


def _chains(result: ObservationResult) -> list[list[ObservedThread]]:
    """Returns the longest chains of callbacks that are tasks, none of which is in two."""
    tasks = {one.name: one for one in result.threads if one.task}
    found: list[list[ObservedThread]] = []
    used: set[str] = set()
    for thread in sorted(tasks.values(), key=lambda one: -len(one.chain)):
        callbacks = [tasks[name] for name in thread.chain if name in tasks]
        # One message for each job, or fewer: a hop passes an item on once.
        often = [one.activations for one in callbacks]
        one_each = all(after <= before + 1 for before, after in pairwise(often))
        if len(callbacks) == len(thread.chain) > 1 and one_each and used.isdisjoint(thread.chain):
            used |= set(thread.chain)
            found.append(callbacks)
    return found


def _executor(
    name: str, threads: list[ObservedThread], heads: Mapping[str, ObservedThread]
) -> Domain:
    tasks = tuple(_callback(one, heads.get(one.name)) for one in threads)
    return Domain(name=name, scheduler=Scheduler.EXECUTOR, tasks=tasks)


def _callback(thread: ObservedThread, head: ObservedThread | None) -> Task:
    """Returns the task of a callback; `head`: of the chain that it is in, if any."""
    assert thread.task is not None, "a task is made of the callback"
    if head is not None:
        kind, first, jitter_ns = TaskKind.EVENT, head, 0
    elif thread.kind == "timer":
        kind, first, jitter_ns = TaskKind.PERIODIC, thread, 0
    else:
        kind, first, jitter_ns = TaskKind.SPORADIC, thread, thread.jitter_ns
    return Task(
        name=thread.task,
        kind=kind,
        period_ns=first.period_ns,
        wcet_ns=thread.wcet_ns,
        jitter_ns=jitter_ns,
    )


def _flow(callbacks: list[ObservedThread]) -> Flow:
    """Returns the flow of a chain, with a deadline of a period for each callback."""
    head = callbacks[0]
    assert head.period_ns is not None, "a task has a period"
    is_timer = head.kind == "timer"
    source = Source(
        kind=SourceKind.PERIODIC if is_timer else SourceKind.SPORADIC,
        period_ns=head.period_ns,
        jitter_ns=0 if is_timer else head.jitter_ns,
    )
    return Flow(
        name=f"{head.domain}-{head.task}",
        source=source,
        hops=tuple(f"{one.domain}.{one.task}" for one in callbacks),
        deadline_ns=len(callbacks) * head.period_ns,
        queue=len(callbacks),
    )


def _task(thread: ObservedThread, *, has_priority: bool) -> Task:
    assert thread.task is not None, "a task is made of the thread"
    is_periodic = thread.fitted_period_ns is not None
    return Task(
        name=thread.task,
        kind=TaskKind.PERIODIC if is_periodic else TaskKind.SPORADIC,
        period_ns=thread.period_ns,
        wcet_ns=thread.wcet_ns,
        jitter_ns=thread.jitter_ns,
        priority=thread.priority if has_priority else None,
    )
