# SPDX-License-Identifier: BSD-2-Clause
"""Time to compute the interface of a component of ten tasks: 100 components, tests/data/peers.

The minimal budget for a given period, half the shortest task's, and the best interface of all in
whole milliseconds (Algorithm 1), under rate monotonic and EDF, through the front end and exact to
the nanosecond. Medians, as the time is all in a few components whose least bandwidth is within a
hair of their utilization.
"""

import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

from bench.environment import TOP
from bench.results import Row
from bench.simulators import load

from hyperperiod.analysis import resolve

COMPONENTS = TOP / "tests" / "data" / "peers" / "comp100_10tasks.json"


def component(tasks: list[dict[str, Any]], scheduler: str, period_us: int | None) -> str:
    """A system with one domain, whose interface is to be computed."""
    period = f'interface_period = "{period_us}us"\n' if period_us else ""
    lines = [
        f'[[domain.task]]\nname = "t{task["id"]}"\nperiod = "{task["T"]}us"\n'
        f'wcet = "{task["C"]}us"\ndeadline = "{task["D"]}us"\n'
        for task in tasks
    ]
    domain = f'[[domain]]\nname = "c"\nscheduler = "{scheduler}"\n{period}'
    return 'name = "component"\npolicy = "ptps"\n' + domain + "".join(lines)


def milliseconds(scheduler: str, *, search: bool) -> float:
    """Median CPU milliseconds for one component."""
    components = json.loads(COMPONENTS.read_text())["sets"]
    spent: list[float] = []
    for tasks in (entry["tasks"] for entry in components):
        period_us = None if search else min(task["T"] for task in tasks) // 2
        system = load(component(tasks, scheduler, period_us))
        begin = time.process_time()
        resolve(system)
        spent.append(time.process_time() - begin)
    return statistics.median(spent) * 1e3


def measure() -> Iterator[Row]:
    """Median milliseconds for one component."""
    for scheduler in ("rm", "edf"):
        for title, search in (("given period", False), ("best period", True)):
            value = milliseconds(scheduler, search=search)
            yield Row(f"interface of 10 tasks, {scheduler}, {title}", value, "CPU ms")
