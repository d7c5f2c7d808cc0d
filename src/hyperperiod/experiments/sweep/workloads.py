# SPDX-License-Identifier: BSD-2-Clause
"""Drawn workloads: the tasks of every domain, by the keys of `[draw]` and a seed.

`tasks` splits the utilization among so many tasks (`utilizations`), draws a period for each
(`periods`) and deals the tasks to the domains in turn. Three others draw as was published: `csa`
(section IV.B of the CSA paper; `model.generate`), `ertds` (Experiments A to C of the ERTDS paper:
three tasks in each VM, cut at random from the VM's share) and `automotive` (Kramer, Ziegenbein,
Hamann, WATERS 2015).

**automotive.** Runnables are drawn until their utilizations reach what is asked for, and the last
one is cut so that they sum to it. A runnable has a period by the shares of Table III and an
execution time in the limits and with the average of Table IV, times a factor that is uniform in the
limits of Table V, which makes it a worst case. The paper fits Weibull distributions and prints no
parameters; with shape 1, which is near all of its averages and limits, that is the exponential one
above the least value, drawn again above the greatest; for 1000 ms, where the limits are close
together, the uniform one. Each runnable falls into a domain at random, and runnables of
one period in one domain are one task.

The same seed gives the same tasks everywhere: only `random.Random.random` is drawn from. Execution
times are rounded up to whole steps.
"""

from __future__ import annotations

import random
from enum import StrEnum
from fractions import Fraction
from math import ceil, log
from typing import NamedTuple

from hyperperiod.experiments.sweep import utilizations
from hyperperiod.experiments.sweep.periods import (
    DRAW_PERIOD,
    NS_PER_MS,
    Periods,
    Range,
    automotive,
)
from hyperperiod.model.generate import csa_tasks, ertds_tasks


class Generator(StrEnum):
    """How the tasks are drawn; the first four say how their utilizations are."""

    UUNIFAST = "uunifast"
    UUNIFAST_DISCARD = "uunifast-discard"
    DIRICHLET_RESCALE = "dirichlet-rescale"
    RANDFIXEDSUM = "randfixedsum"
    CSA = "csa"
    ERTDS = "ertds"
    AUTOMOTIVE = "automotive"


class DrawRequest(NamedTuple):
    """What is to be drawn."""

    generator: Generator
    domains: int
    tasks: int
    utilization: Fraction
    max_share: Fraction
    periods: Periods
    within: Range
    min_deadline: Fraction
    wcet_step_ns: int


class DrawnTask(NamedTuple):
    """A task: the domain that it is in, and its times (ns)."""

    domain: int
    period_ns: int
    wcet_ns: int
    deadline_ns: int


class Runnable(NamedTuple):
    """Tables IV and V for one period: execution times in ns, and the factors of worst cases."""

    min_ns: int
    mean_ns: int
    max_ns: int
    min_factor: float
    max_factor: float


RUNNABLES = {
    1: Runnable(340, 5_000, 30_110, 1.30, 29.11),
    2: Runnable(320, 4_200, 40_690, 1.54, 19.04),
    5: Runnable(360, 11_040, 83_380, 1.13, 18.44),
    10: Runnable(210, 10_090, 309_870, 1.06, 30.03),
    20: Runnable(250, 8_740, 291_420, 1.06, 15.61),
    50: Runnable(290, 17_560, 92_980, 1.13, 7.76),
    100: Runnable(210, 10_530, 420_430, 1.02, 8.88),
    200: Runnable(220, 2_560, 21_950, 1.03, 4.90),
    1000: Runnable(370, 430, 460, 1.84, 4.75),
}
"""By period in ms."""
NARROW_MS = 1000
"""The period whose limits are too close together for anything but a uniform draw."""


def draw_tasks(asked: DrawRequest, seed: int) -> list[DrawnTask]:
    """The tasks of a system, by domain; a domain may come out without any."""
    draw = random.Random(seed)
    if asked.generator is Generator.CSA:
        return _csa(draw, asked)
    if asked.generator is Generator.ERTDS:
        return _ertds(draw, asked)
    if asked.generator is Generator.AUTOMOTIVE:
        return _automotive(draw, asked)
    period = DRAW_PERIOD[asked.periods]
    return [
        _task(draw, asked, number % asked.domains, period(draw, asked.within), share)
        for number, share in enumerate(_shares(draw, asked))
    ]


def _shares(draw: random.Random, asked: DrawRequest) -> list[float]:
    total, most = float(asked.utilization), float(asked.max_share)
    if asked.generator is Generator.UUNIFAST:
        return utilizations.uunifast(draw, asked.tasks, total)
    bounded = {
        Generator.UUNIFAST_DISCARD: utilizations.uunifast_discard,
        Generator.DIRICHLET_RESCALE: utilizations.dirichlet_rescale,
        Generator.RANDFIXEDSUM: utilizations.randfixedsum,
    }[asked.generator]
    return bounded(draw, asked.tasks, total, most)


def _task(
    draw: random.Random, asked: DrawRequest, domain: int, period_ns: int, share: float
) -> DrawnTask:
    """A task of this share, with a deadline in the limits."""
    wcet_ns = _whole_steps(share * period_ns, asked.wcet_step_ns)
    least_ns = max(wcet_ns, int(asked.min_deadline * period_ns))
    if asked.min_deadline == 1:
        return DrawnTask(domain, period_ns, wcet_ns, period_ns)
    most_ns = max(least_ns, period_ns)
    deadline_ns = least_ns + int(draw.random() * (most_ns - least_ns + 1))
    return DrawnTask(domain, period_ns, wcet_ns, deadline_ns)


def _csa(draw: random.Random, asked: DrawRequest) -> list[DrawnTask]:
    within_ms = (asked.within.min_ns // NS_PER_MS, asked.within.max_ns // NS_PER_MS)
    return [
        DrawnTask(domain, task.period_ns or 0, task.wcet_ns or 0, task.period_ns or 0)
        for domain, tasks in enumerate(csa_tasks(draw, asked.utilization, within_ms, asked.domains))
        for task in tasks
    ]


def _ertds(draw: random.Random, asked: DrawRequest) -> list[DrawnTask]:
    """As much in each VM; the experiments have VMs of given shares, which files of theirs name."""
    share = 100 * asked.utilization / asked.domains
    return [
        DrawnTask(domain, task.period_ns or 0, task.wcet_ns or 0, task.period_ns or 0)
        for domain in range(asked.domains)
        for task in ertds_tasks(draw, share)
    ]


def _automotive(draw: random.Random, asked: DrawRequest) -> list[DrawnTask]:
    """Runnables, gathered to one task for each period and domain."""
    wcets: dict[tuple[int, int], float] = {}
    left = float(asked.utilization)
    while left > 0:
        period_ns = automotive(draw, asked.within)
        wcet_ns = min(runnable_ns(draw, period_ns // NS_PER_MS), left * period_ns)
        left -= wcet_ns / period_ns
        home = (int(draw.random() * asked.domains), period_ns)
        wcets[home] = wcets.get(home, 0.0) + wcet_ns
        if left * period_ns < 1:
            break
    return [
        _task(draw, asked, domain, period_ns, wcet_ns / period_ns)
        for (domain, period_ns), wcet_ns in sorted(wcets.items())
    ]


def runnable_ns(draw: random.Random, period_ms: int, row: Runnable | None = None) -> float:
    """The worst-case execution time of a runnable, by the table or by another row."""
    row = row or RUNNABLES[period_ms]
    if period_ms == NARROW_MS:
        average_ns = row.min_ns + draw.random() * (row.max_ns - row.min_ns)
    else:
        average_ns = row.max_ns + 1.0
        while average_ns > row.max_ns:
            average_ns = row.min_ns - log(1 - draw.random()) * (row.mean_ns - row.min_ns)
    return average_ns * (row.min_factor + draw.random() * (row.max_factor - row.min_factor))


def _whole_steps(time_ns: float, step_ns: int) -> int:
    """The time rounded up to whole steps, at least one; dust of floating point is no step."""
    return max(1, ceil(time_ns / step_ns - 1e-9)) * step_ns
