# SPDX-License-Identifier: BSD-2-Clause
"""Analysis of large systems: hundreds of tasks in a domain, a thousand vcpus on a host.

Domains are drawn with log-uniform periods of 10 ms to 1 s; a number is the median of some seeds,
through the front end, in CPU time. Deadlines lie between half the period and the period where they
are shorter. The host has 1,024 servers on 64 pcpus under one EDF queue, four of them so heavy that
the sum of densities does not decide.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.environment import BUILD
from bench.results import Row
from bench.simulators import load

from hyperperiod.analysis import analyze
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import System

SEEDS = range(5)
SERVERS, PCPUS, HEAVY = 1024, 64, 4


@dataclass(frozen=True)
class Case:
    """A drawn domain whose interface is computed, for a given period or for the best of all."""

    tasks: int
    scheduler: str
    utilization: float
    given: bool

    @property
    def title(self) -> str:
        """The name of this measurement's row in the table of speeds."""
        search = "given" if self.given else "best"
        deadlines = "deadlines below periods" if self.scheduler == "edf" else "deadlines = periods"
        share = f"{self.utilization:.0%}"
        return f"{search} period, {self.scheduler}, {self.tasks} tasks of {share}, {deadlines}"

    def domain(self, seed: int) -> str:
        """The system file."""
        draw = random.Random(seed)
        shares = [draw.expovariate(1) for _ in range(self.tasks)]
        period = 'interface_period = "5ms"\n' if self.given else ""
        lines = [f'[[domain]]\nname = "d"\nscheduler = "{self.scheduler}"\n{period}']
        for number, share in enumerate(shares):
            lines.append(f'[[domain.task]]\nname = "t{number}"\n')
            lines.append(self.times(draw, self.utilization * share / sum(shares)))
        return 'name = "many"\npolicy = "ptps"\n' + "".join(lines)

    def times(self, draw: random.Random, share: float) -> str:
        """The times of one task."""
        period = int(10_000_000 * 100 ** draw.random())
        wcet = max(1, int(share * period))
        shorter = max(wcet, int(draw.uniform(0.5, 1) * period))
        deadline = shorter if self.scheduler == "edf" else period
        return f'period = "{period}ns"\nwcet = "{wcet}ns"\ndeadline = "{deadline}ns"\n'


CASES = (
    Case(200, "edf", 0.8, given=True),
    Case(800, "edf", 0.8, given=True),
    Case(800, "rm", 0.7, given=True),
    Case(800, "edf", 0.7, given=False),
    Case(800, "rm", 0.7, given=False),
    Case(1000, "rm", 0.99, given=False),
    Case(1000, "edf", 0.99, given=False),
    Case(100, "fifo", 0.5, given=False),
)


def host(seed: int) -> str:
    """A host with many servers under periodic+edf."""
    draw = random.Random(seed)
    lines = [f'name = "host"\npolicy = "periodic+edf+none+global"\npcpus = {PCPUS}\n']
    for number in range(SERVERS):
        period = draw.choice((10, 20, 25, 40, 50, 100))
        share = 0.9 if number < HEAVY else draw.uniform(0.01, 0.08)
        lines.append(
            f'[[domain]]\nname = "d{number}"\n'
            f'interface = {{ period = "{period}ms", budget = "{int(period * share * 1000)}us" }}\n'
            f'[[domain.task]]\nname = "t"\nperiod = "{4 * period}ms"\nwcet = "1us"\n'
        )
    return "".join(lines)


def milliseconds(text: Callable[[int], str], work: Callable[[System], object]) -> float:
    """Median CPU milliseconds over the seeds."""
    BUILD.mkdir(parents=True, exist_ok=True)
    spent = []
    for seed in SEEDS:
        system = load(text(seed))
        begin = time.process_time()
        work(system)
        spent.append(time.process_time() - begin)
    return statistics.median(spent) * 1e3


def measure() -> Iterator[Row]:
    """Median milliseconds for domains of many tasks and for a host of many vcpus."""
    for case in CASES:
        yield Row(case.title, milliseconds(case.domain, resolve_what_can_be), "CPU ms")
    title = f"analyze {SERVERS:,} vcpus on {PCPUS} pcpus, periodic+edf"
    yield Row(title, milliseconds(host, analyze), "CPU ms")
