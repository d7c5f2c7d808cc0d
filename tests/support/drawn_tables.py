# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with a table of windows, so small that a nanosecond is a tick, and a naive model.

The naive model goes from tick to tick: in a window of a partition the first of its jobs runs, and
in no other tick does any.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from hyperperiod.analysis.component import NamedLoad, component_of_tasks
from hyperperiod.model import (
    Domain,
    Flow,
    Scheduler,
    Source,
    System,
    Task,
    TaskKind,
    TimeWindow,
)

LOCAL_SCHEDULERS = (Scheduler.RM, Scheduler.DM, Scheduler.FP, Scheduler.EDF, Scheduler.FIFO)


def some_table(draw: random.Random, *, plain: bool = False) -> System:
    """Up to three partitions on each of up to two pcpus; some ticks of a frame are in no window.

    Plain ones have no jitter, blocking, busy tasks and flows.
    """
    frame = draw.choice([4, 6, 8, 12, 24])
    pcpus = draw.choice([1, 1, 2])
    domains = []
    for pcpu in range(pcpus):
        cuts = sorted(draw.sample(range(frame + 1), draw.randint(2, min(8, frame))))
        owners = [draw.randrange(3) for _ in cuts[1:]]
        for number in sorted(set(owners)):
            windows = [
                TimeWindow(start_ns=start, duration_ns=end - start)
                for start, end, owner in zip(cuts, cuts[1:], owners, strict=False)
                if owner == number
            ]
            draw.shuffle(windows)
            domains.append(_partition(draw, f"d{pcpu}{number}", pcpu, windows, frame, plain))
    flows = () if plain or draw.random() < 0.6 else _flow(draw, domains)
    return System(
        name="drawn",
        policy="table",
        pcpus=pcpus,
        major_frame_ns=frame,
        domains=tuple(domains),
        flows=flows,
    )


def _flow(draw: random.Random, domains: list[Domain]) -> tuple[Flow, ...]:
    """A flow through the first tasks of up to three of the domains, which become its hops."""
    way = draw.sample(range(len(domains)), min(len(domains), draw.randint(1, 3)))
    period = max(domains[index].tasks[0].period_ns or 0 for index in way)
    for index in way:
        first, *rest = domains[index].tasks
        cleared = {"deadline_ns": 9 * period, "jitter_ns": 0, "blocking_ns": 0}
        hop = first.replace(kind=TaskKind.EVENT, period_ns=period, **cleared)
        domains[index] = domains[index].replace(tasks=(hop, *rest))
    source = Source(period_ns=period, jitter_ns=draw.choice([0, draw.randint(0, period)]))
    hops = tuple(f"{domains[index].name}.{domains[index].tasks[0].name}" for index in way)
    return (Flow(name="f", source=source, hops=hops, deadline_ns=9 * period),)


def _partition(
    draw: random.Random,
    name: str,
    pcpu: int,
    windows: list[TimeWindow],
    frame: int,
    plain: bool,
) -> Domain:
    scheduler = draw.choice(LOCAL_SCHEDULERS)
    may_block = scheduler is not Scheduler.FIFO
    share = sum(one.duration_ns for one in windows) / frame
    tasks = []
    for number in range(draw.randint(1, 3)):
        period = draw.choice([frame // 2, frame, 2 * frame, 3 * frame, draw.randint(3, 40)])
        wcet = max(1, int(period * share * draw.uniform(0.05, 0.6)))
        tasks.append(
            Task(
                name=f"t{number}",
                period_ns=period,
                wcet_ns=wcet,
                deadline_ns=draw.choice([period, period, draw.randint(max(wcet, 2), 2 * period)]),
                jitter_ns=0 if plain else draw.choice([0, 0, draw.randint(0, period)]),
                blocking_ns=0 if plain or not may_block else draw.choice([0, 0, 0, 1, 3]),
                priority=number if scheduler is Scheduler.FP else None,
            )
        )
    if not plain and draw.random() < 0.1:
        lowest = 9 if scheduler is Scheduler.FP else None
        tasks.append(Task(name="busy", kind=TaskKind.BUSY, priority=lowest))
    return Domain(name=name, pcpu=pcpu, scheduler=scheduler, windows=windows, tasks=tuple(tasks))


def with_offsets(draw: random.Random, system: System) -> System:
    """The same with tasks that are released first at any instant of two periods, or together."""
    together = draw.randrange(60) if draw.random() < 0.5 else None

    def later(one: Task | Source) -> Task | Source:
        if one.kind in (TaskKind.BUSY, TaskKind.EVENT) or one.period_ns is None:
            return one
        drawn = draw.randrange(2 * one.period_ns) if together is None else together
        return one.replace(offset_ns=drawn)

    domains = (one.replace(tasks=tuple(map(later, one.tasks))) for one in system.domains)
    flows = (one.replace(source=later(one.source)) for one in system.flows)
    return system.replace(domains=tuple(domains), flows=tuple(flows))


def owner_at(domain: Domain, frame: int, tick: int) -> bool:
    """Whether the tick is in a window of the domain."""
    return any(one.start_ns <= tick % frame < one.end_ns for one in domain.windows)


@dataclass
class _Job:
    task: int
    release: int
    deadline: int
    left: int


def naive_responses(domain: Domain, frame: int, ticks: int) -> dict[str, list[int]]:
    """The responses of all jobs of each task, without jitter, that finish within so many ticks."""
    ranks = {one.name: at for at, one in enumerate(_ranked(domain))}
    found: dict[str, list[int]] = {task.name: [] for task in domain.tasks}
    waiting: list[_Job] = []
    last = None

    def order(job: _Job) -> tuple[int, bool, int, int]:
        task = domain.tasks[job.task]
        urgency = ranks[task.name]
        if domain.scheduler is Scheduler.EDF:
            urgency = job.deadline
        if domain.scheduler is Scheduler.FIFO:
            urgency = job.release
        return urgency, job is not last, job.task, job.release

    for tick in range(ticks):
        for number, task in enumerate(domain.tasks):
            assert task.period_ns is not None
            assert task.deadline_ns is not None
            assert task.wcet_ns is not None
            if tick >= task.offset_ns and (tick - task.offset_ns) % task.period_ns == 0:
                waiting.append(_Job(number, tick, tick + task.deadline_ns, task.wcet_ns))
        if waiting and owner_at(domain, frame, tick):
            last = min(waiting, key=order)
            last.left -= 1
            if last.left == 0:
                waiting.remove(last)
                found[domain.tasks[last.task].name].append(tick + 1 - last.release)
    return found


def _ranked(domain: Domain) -> list[NamedLoad]:
    return list(component_of_tasks(domain.scheduler, domain.tasks).sources)
