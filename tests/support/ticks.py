# SPDX-License-Identifier: BSD-2-Clause
"""A pcpu in whole ticks, written to be checked by reading: tasks, releases, and what happens.

One tick after the other: who has work, who is first, one unit of it is done if the pcpu is there.
A job may have a section that is not preempted. Nothing of the analysis is used here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hyperperiod.analysis.component import Load

Releases = list[list[int]]  # of each task, in order of time


@dataclass(frozen=True)
class Section:
    """The units `first` up to `first + length` of a job are executed without preemption."""

    first: int
    length: int


@dataclass
class Job:
    task: int
    release: int
    deadline: int
    done: int = 0


def fixed_priority(job: Job) -> tuple[int, int]:
    return job.task, job.release


def edf(job: Job) -> tuple[int, int, int]:
    return job.deadline, job.task, job.release


def responses(
    loads: Sequence[Load],
    releases: Releases,
    order: Callable[[Job], tuple[int, ...]],
    supply: Sequence[bool] | None = None,
    sections: Sequence[Section] | None = None,
) -> list[int]:
    """The longest response of each task; what never gets done counts as endless."""
    arriving: dict[int, list[Job]] = {}
    for task, times in enumerate(releases):
        for time in times:
            job = Job(task, time, time + loads[task].deadline)
            arriving.setdefault(time, []).append(job)
    left = sum(map(len, arriving.values()))
    worst = [0] * len(loads)
    pending: list[Job] = []
    inside: Job | None = None
    time = 0
    while left and (supply is None or time < len(supply)):
        pending += arriving.get(time, ())
        if pending and (supply is None or supply[time]):
            job = inside or min(pending, key=order)
            job.done += 1
            inside = job if sections and _within(sections[job.task], job.done) else None
            if job.done == loads[job.task].wcet:
                pending.remove(job)
                left -= 1
                worst[job.task] = max(worst[job.task], time + 1 - job.release)
        time += 1
    for job in pending:
        worst[job.task] = 10**9
    return worst


def _within(section: Section, done: int) -> bool:
    return section.first < done < section.first + section.length


def misses(loads: Sequence[Load], worst: Sequence[int]) -> bool:
    return any(longest > load.deadline for load, longest in zip(loads, worst, strict=True))


def worst_releases(loads: Sequence[Load], horizon: int) -> Releases:
    """All at once, each as late as its jitter allows, and from then on as early as it allows."""
    return [
        [
            max(0, job * load.period - load.jitter)
            for job in range((horizon + load.jitter) // load.period + 1)
            if max(0, job * load.period - load.jitter) < horizon
        ]
        for load in loads
    ]


def random_releases(
    draw: random.Random, loads: Sequence[Load], horizon: int, *, sporadic: bool
) -> Releases:
    """Random phases, random jitter, and for sporadic tasks random gaps."""
    releases: Releases = []
    for load in loads:
        nominal, times = draw.randint(0, load.period - 1), []
        while nominal < horizon:
            times.append(nominal + draw.choice([0, load.jitter, draw.randint(0, load.jitter)]))
            nominal += load.period
            if sporadic and draw.random() < 0.3:
                nominal += draw.randint(1, load.period)
        releases.append(sorted(times))
    return releases


def phased_releases(loads: Sequence[Load], phases: Sequence[int], horizon: int) -> Releases:
    """Periodic releases from given phases on."""
    return [
        list(range(phase, horizon, load.period)) for load, phase in zip(loads, phases, strict=True)
    ]


def random_supply(draw: random.Random, period: int, budget: int, horizon: int) -> list[bool]:
    """A periodic server's budget anywhere in each period, in pieces; the first comes at once."""
    slots = [tick < budget for tick in range(period)]
    while len(slots) < horizon:
        kind = draw.random()
        if kind < 0.6:  # as late as possible: the worst after an early one
            slots += [tick >= period - budget for tick in range(period)]
        else:
            chosen = set(draw.sample(range(period), budget))
            slots += [tick in chosen for tick in range(period)]
    return slots
