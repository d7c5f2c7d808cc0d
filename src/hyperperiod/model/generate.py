# SPDX-License-Identifier: BSD-2-Clause
"""Synthetic workloads by the rules of two papers.

**CSA** (RTAS 2012, section IV.B). Tasks are drawn until their utilizations reach the wanted sum:
each utilization is uniform between 0.2 % and 5 %, each period uniform in a range of whole
milliseconds; then the tasks are spread over the domains at random. The sum is reached from below
by the last task, so it ends at most 5 % above what was asked for, as in the paper.

**ERTDS** (Experiments A to C). The share of a VM is cut into three at random, and each part is a
task whose period is uniform in 20 to 200 ms; the paper says that tasks are random, and no more.

The same seed gives the same system everywhere: only `random.Random.random` is used, whose
sequence Python promises to keep, and it is turned into integers (execution times are whole
microseconds, rounded up).
"""

from __future__ import annotations

import random
from fractions import Fraction

from hyperperiod.model.domain import Domain
from hyperperiod.model.policy import Policy
from hyperperiod.model.system import System
from hyperperiod.model.task import Task

# The ranges of task periods that the paper compares, in ms.
CSA_PERIOD_RANGES_MS = ((550, 650), (350, 850), (100, 1100))
CSA_DOMAINS = 5
# Tasks of a VM, and the range of their periods in ms.
ERTDS_TASKS = 3
ERTDS_PERIODS_MS = (20, 200)

# Utilizations in parts per million.
_MIN_PPM, _MAX_PPM = 2_000, 50_000
_NS_PER_MS = 1_000_000
_NS_PER_US = 1_000


def csa_system(
    name: str,
    policy: Policy,
    *,
    seed: int,
    utilization: Fraction,
    periods_ms: tuple[int, int] = CSA_PERIOD_RANGES_MS[1],
    domains: int = CSA_DOMAINS,
) -> System:
    """A system of the paper: `domains` domains on one pcpu whose interfaces are to be computed.

    Domains that the draw leaves without a task get none and are left out, since a domain
    without tasks has no interface.
    """
    inside = csa_tasks(random.Random(seed), utilization, periods_ms, domains)
    return System(
        name=name,
        description=(
            f"CSA section IV.B: U_W = {float(utilization):g}, periods {periods_ms[0]} to "
            f"{periods_ms[1]} ms, seed {seed}"
        ),
        policy=policy,
        quantum_ns=_NS_PER_MS,
        domains=tuple(
            Domain(name=f"domain{index + 1}", tasks=tuple(tasks))
            for index, tasks in enumerate(inside)
            if tasks
        ),
    )


def csa_tasks(
    draw: random.Random, utilization: Fraction, periods_ms: tuple[int, int], domains: int
) -> list[list[Task]]:
    """The tasks of each domain; a domain may come out without any."""
    inside: list[list[Task]] = [[] for _ in range(domains)]
    for number, task in enumerate(_tasks(draw, utilization, periods_ms)):
        home = inside[_between(draw, 0, domains - 1)]
        home.append(task.replace(name=f"task{number:02d}"))
    return inside


def ertds_tasks(draw: random.Random, percent: Fraction | int) -> list[Task]:
    """Tasks of a VM that together ask for `percent` of a pcpu, to the nanosecond's rounding."""
    cuts = sorted(draw.random() for _ in range(ERTDS_TASKS - 1))
    tasks = []
    for number, (begin, end) in enumerate(zip([0.0, *cuts], [*cuts, 1.0], strict=True)):
        period_ns = _between(draw, *ERTDS_PERIODS_MS) * _NS_PER_MS
        wcet_ns = max(1, int(period_ns * percent * (end - begin)) // 100)
        tasks.append(Task(name=f"task{number}", period_ns=period_ns, wcet_ns=wcet_ns))
    return tasks


def _tasks(draw: random.Random, utilization: Fraction, periods_ms: tuple[int, int]) -> list[Task]:
    tasks: list[Task] = []
    total = Fraction(0)
    while total < utilization:
        period_ns = _between(draw, *periods_ms) * _NS_PER_MS
        share_ppm = _between(draw, _MIN_PPM, _MAX_PPM)
        wcet_ns = -(-period_ns * share_ppm // (1_000_000 * _NS_PER_US)) * _NS_PER_US
        tasks.append(Task(name="drawn", period_ns=period_ns, wcet_ns=wcet_ns))
        total += Fraction(wcet_ns, period_ns)
    return tasks


def _between(draw: random.Random, low: int, high: int) -> int:
    """Uniform among the whole numbers low..high."""
    return low + int(draw.random() * (high - low + 1))
