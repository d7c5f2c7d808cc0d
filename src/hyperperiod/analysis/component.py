# SPDX-License-Identifier: BSD-2-Clause
"""What one vcpu has to serve, in the form that the tests take it.

A `Load` is work that comes again and again; a `Component` is the loads of one vcpu in order of
priority under a local scheduler. From tasks to loads:
- periodic: as it stands. An offset is left out, because releasing everything at once is the
  worst case; the test is then sufficient, no longer exact. Jitter lets releases come closer.
- blocking: work of lower priority that runs although the task waits (a lock, a section that
  cannot be preempted), at its longest, once while the task's level is busy; sufficient as well.
- sporadic and event: at least the period apart (an event task's next release comes its period
  after the previous job *finished*).
- busy: never a load. Below every other task it takes nothing from them: under rm and dm it
  comes after all others, under edf it has no deadline and so does too, under fp its number
  decides. Whatever is below an always busy task is not schedulable.
Equal keys keep the order of the file. Inner domains are loads too: (budget, period, deadline =
period) for each of their vcpus, because their servers are periodic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import NamedTuple

from hyperperiod._analysis import Local
from hyperperiod.model import Domain, Scheduler, Task, TaskKind, format_time


class Load(NamedTuple):
    """Work `wcet` at least `period` apart, up to `jitter` closer; `deadline` from the release.

    `blocking` is the most that work behind it can run while the load's level is busy.
    """

    wcet: int
    period: int
    deadline: int
    jitter: int = 0
    blocking: int = 0


class NamedLoad(NamedTuple):
    """A load and what it stands for."""

    name: str
    load: Load
    offset_ns: int = 0
    in_phase: bool = True  # releases at multiples of the period (plus offset and jitter)

    @property
    def exact(self) -> bool:
        """Whether the worst case that the tests assume is one that can happen."""
        return self.offset_ns == 0 and self.load.jitter == 0 and self.load.blocking == 0

    @property
    def too_long(self) -> str:
        """Returns why no supply is enough for this work, even alone; empty if one may be."""
        wcet, period, deadline = self.load.wcet, self.load.period, self.load.deadline
        if wcet > deadline:
            limit = f"deadline, {format_time(deadline)}"
        elif wcet > period:
            limit = f"period, {format_time(period)}"
        else:
            return ""
        return f"the wcet of {self.name}, {format_time(wcet)}, is above its {limit}"


@dataclass(frozen=True)
class Component:
    """The sources of one vcpu, highest priority first, and names of those beside them."""

    local: Local
    sources: tuple[NamedLoad, ...]
    busy: tuple[str, ...] = ()  # busy tasks, which have no deadline
    starved: tuple[str, ...] = ()  # tasks below a busy one
    fifo_with_busy: bool = False

    def with_last(self, index: int) -> Component:
        """Returns the same under fixed priority, with one source below all others.

        So it is with a callback of an executor at worst, whatever order the others are in. What
        blocks one of them makes the others wait, so its blocking is the longest of all.
        """
        others = (*self.sources[:index], *self.sources[index + 1 :])
        own = self.sources[index]
        load = own.load._replace(blocking=max(load.blocking for load in self.loads))
        sources = (*others, own._replace(load=load))
        return replace(self, local=Local.FIXED_PRIORITY, sources=sources)

    def with_wcet(self, index: int, wcet: int) -> Component:
        """Returns the same with another WCET of one source."""
        own = self.sources[index]
        changed = own._replace(load=own.load._replace(wcet=wcet))
        return replace(self, sources=(*self.sources[:index], changed, *self.sources[index + 1 :]))

    @property
    def loads(self) -> list[Load]:
        return [source.load for source in self.sources]

    @property
    def utilization(self) -> Fraction:
        return sum((Fraction(load.wcet, load.period) for load in self.loads), Fraction(0))

    @property
    def exact(self) -> bool:
        return all(source.exact for source in self.sources)


LOCALS = {
    Scheduler.RM: Local.FIXED_PRIORITY,
    Scheduler.DM: Local.FIXED_PRIORITY,
    Scheduler.FP: Local.FIXED_PRIORITY,
    Scheduler.EDF: Local.EDF,
    Scheduler.FIFO: Local.FIFO,
    Scheduler.EXECUTOR: Local.EXECUTOR,
}
"""On one vcpu global schedulers are the same; on several see `domains.mpr` and `guests`."""


def source_of_task(task: Task) -> NamedLoad:
    """The source of the jobs of a task with a period: its load under its name."""
    assert task.wcet_ns is not None, "a busy task is no load"
    assert task.period_ns is not None, "a busy task is no load"
    assert task.deadline_ns is not None, "the model fills deadlines in"
    return NamedLoad(
        task.name,
        Load(task.wcet_ns, task.period_ns, task.deadline_ns, task.jitter_ns, task.blocking_ns),
        task.offset_ns,
        task.kind is TaskKind.PERIODIC,
    )


def component_of_tasks(scheduler: Scheduler, tasks: Sequence[Task]) -> Component:
    """The tasks of one vcpu under the scheduler of their domain."""
    ranked = sorted(tasks, key=_rank_of(scheduler))
    busy = tuple([task.name for task in ranked if task.kind is TaskKind.BUSY])
    if scheduler is Scheduler.FIFO or not busy:
        return Component(
            LOCALS[scheduler.local],
            tuple(source_of_task(task) for task in ranked if task.kind is not TaskKind.BUSY),
            busy,
            fifo_with_busy=bool(busy),
        )
    first_busy = next(i for i, task in enumerate(ranked) if task.kind is TaskKind.BUSY)
    below = ranked[first_busy:]
    return Component(
        LOCALS[scheduler.local],
        tuple(source_of_task(task) for task in ranked[:first_busy]),
        busy,
        tuple(task.name for task in below if task.kind is not TaskKind.BUSY),
    )


def component_of_domains(scheduler: Scheduler, domains: Sequence[Domain]) -> Component:
    """Inner domains, all of them with an interface, under the scheduler of the outer one."""
    ranked = sorted(domains, key=lambda inner: _inner_rank(scheduler, domains, inner))
    return Component(
        LOCALS[scheduler.local],
        tuple(
            NamedLoad(inner.name, _load_of_domain(inner))
            for inner in ranked
            for _ in range(inner.vcpus)
        ),
    )


def _load_of_domain(inner: Domain) -> Load:
    assert inner.interface is not None, "interfaces are filled in from the inside"
    period_ns = inner.interface.period_ns
    return Load(inner.interface.budget_ns, period_ns, period_ns)


def _rank_of(scheduler: Scheduler) -> Callable[[Task], float]:
    """Lower is first; sorting is stable, so equals keep the order of the file."""
    if scheduler.takes_priorities:
        return lambda task: task.priority or 0
    if scheduler.local is Scheduler.DM:
        return lambda task: inf if task.kind is TaskKind.BUSY else task.deadline_ns or 0
    return lambda task: inf if task.kind is TaskKind.BUSY else task.period_ns or 0


def _inner_rank(scheduler: Scheduler, domains: Sequence[Domain], inner: Domain) -> int:
    """The rank of an inner domain: its given number under fp if all have one, else its period."""
    numbered = all(domain.priority is not None for domain in domains)
    if scheduler.takes_priorities and numbered and inner.priority is not None:
        return inner.priority
    assert inner.interface is not None, "interfaces are filled in from the inside"
    return inner.interface.period_ns
