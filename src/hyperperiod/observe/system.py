# SPDX-License-Identifier: BSD-2-Clause
"""The system file of what was observed: domains, tasks, and where each number comes from.

Interfaces are left open, and so is which pcpu a domain is on: `fit` chooses them. Where all threads
of a domain have priorities of real time, they are those of its tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from hyperperiod.model import Domain, System, Task, to_toml
from hyperperiod.model.errors import InputError
from hyperperiod.model.limits import PCPU_LIMIT
from hyperperiod.model.policy import parse_policy
from hyperperiod.model.units import format_time
from hyperperiod.model.words import Scheduler, TaskKind
from hyperperiod.observe.result import ObservationResult, ObservedThread

POLICY = "ds"
_REAL_TIME = range(100)
"""Priorities in Linux's events: below 0 are deadlines, from 100 on ordinary threads."""
_NUMBER = re.compile(r"(period|wcet|jitter) = ")


def system_text(result: ObservationResult) -> str:
    """Returns the file of a system whose tasks are those threads, with what was measured beside
    each number; InputError if there are none, or more than a system may have."""
    inside: dict[str, list[ObservedThread]] = {}
    for thread in result.threads:
        if thread.domain is not None:
            inside.setdefault(thread.domain, []).append(thread)
    if not inside:
        allowed = f"one with {result.least} activations whose execution time fits its period"
        raise InputError(result.trace, None, "", "no thread that becomes a task", allowed)
    span = format_time(result.span_ns)
    try:
        system = System(
            name=result.observed,
            description=f"Observed for {span}: measured, not proved",
            policy=parse_policy(POLICY),
            pcpus=min(len(result.cpus), PCPU_LIMIT),
            domains=tuple(_domain(name, threads) for name, threads in inside.items()),
        )
    except InputError as error:
        allowed = f"{error.allowed}: --only leaves threads out, --domain puts them together"
        raise InputError(result.trace, None, "", error.found, allowed) from None
    head = (
        f"# Observed by hyperperiod observe in {result.trace}, for {span}. Every number below was\n"
        "# measured, not proved: a job that was never seen may run longer, or come earlier.\n"
    )
    threads = chain.from_iterable(inside.values())
    return head + "".join(_commented(to_toml(system), threads, result))


def _commented(
    text: str, threads: Iterator[ObservedThread], result: ObservationResult
) -> Iterator[str]:
    """Yields the lines of a file whose tasks are these threads, each number with its comment."""
    said: dict[str, str] = {}
    for line in text.splitlines():
        if line == "[[domain.task]]":
            said = _sources(next(threads), result)
        number = _NUMBER.match(line)
        yield f"{line}  # measured, not proved: {said[number[1]]}\n" if number else f"{line}\n"


def _sources(thread: ObservedThread, result: ObservationResult) -> dict[str, str]:
    """Returns where the numbers of a task come from, by their keys."""
    what = "bursts" if thread.kind == "bursty" else "jobs"
    seen = f"{thread.jobs} {what} in {format_time(result.span_ns)}"
    period = f"least gap of {seen}"
    if thread.fitted_period_ns is not None:
        period = f"the grid of {seen}"
        if thread.fitted_period_ns != thread.period_ns:
            period += f", {thread.fitted_period_ns:.12g}ns before it was rounded"
    longest = format_time(thread.cost_max_ns)
    return {
        "period": period,
        "wcet": f"{longest} is the longest of {seen}, with {100 * result.margin:g} % more",
        "jitter": f"against that grid, of {seen}",
    }


def _domain(name: str, threads: list[ObservedThread]) -> Domain:
    is_real_time = all(one.priority in _REAL_TIME for one in threads)
    return Domain(
        name=name,
        scheduler=Scheduler.FP if is_real_time else Scheduler.RM,
        tasks=tuple(_task(one, has_priority=is_real_time) for one in threads),
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
