# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with executors in place of most schedulers."""

from __future__ import annotations

import random

from tests.support.supplied import Server, some_loads

from hyperperiod.analysis.component import Load
from hyperperiod.model import Domain, Scheduler, System


def as_executor(one: Domain) -> Domain:
    """The domain with its tasks as callbacks."""
    tasks = tuple(task.replace(priority=None) for task in one.tasks)
    return one.replace(scheduler=Scheduler.EXECUTOR, tasks=tasks)


def some_callbacks(rng: random.Random, server: Server) -> list[Load]:
    """One to three callbacks that have a chance on this server, some with blocking."""
    return [
        load._replace(blocking=rng.choice([0, 0, rng.randint(1, server.period)]))
        for load in some_loads(rng, server)
    ]


def with_executors(rng: random.Random, one: System) -> System:
    """The system with executors in place of most schedulers, of the first domain in any case."""
    first, *rest = one.domains
    others = [as_executor(each) if rng.random() < 0.7 else each for each in rest]
    return one.replace(domains=(as_executor(first), *others))
