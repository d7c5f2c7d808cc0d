# SPDX-License-Identifier: BSD-2-Clause
"""What a hierarchical scheduler's handlers run for, counted in runs of servers on cores.

The ExSched HSF paper measures how long its handlers ran: those that release servers, those that
deplete them, and the callbacks of tasks. A handler's time is a machine's; how often it runs is the
schedule's, and that is counted here:

- *refill runs*, instants at which servers of a pcpu are released, several at one instant together;
- *preemptions*, unfinished jobs that another server displaces;
- *picks*, decisions of the scheduler: at releases, depletions and completions.

On Linux and on Xen the handlers' times are measured as well (`server_handlers`).

Each server has one task that asks for its whole budget in each of its periods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod.model import PRESETS, Domain, Interface, System, Task
from hyperperiod.papers.experiment import run_on

POLICIES = ("hsf-fp", "partitioned-hsf-fp")


class ServerEvents(NamedTuple):
    """What was counted in one run, on all pcpus together, and what handlers took where they take
    time."""

    refill_runs: int
    preemptions: int
    picks: int
    decide_ns: int | None = None
    wake_ns: int | None = None
    sleep_ns: int | None = None
    switch_ns: int | None = None

    @property
    def overhead_ns(self) -> int | None:
        """What all handlers took."""
        times = (self.decide_ns, self.wake_ns, self.sleep_ns, self.switch_ns)
        known = [one for one in times if one is not None]
        return sum(known) if known else None


def two_level_system(name: str, servers: Sequence[Interface], pcpus: Sequence[int]) -> System:
    """Servers on the pcpus given for each, with rate-monotonic priorities; pcpus count from 0.

    Of servers with the same period the one that comes first has the higher priority.
    """
    by_period = sorted(range(len(servers)), key=lambda number: servers[number].period_ns)
    policy = POLICIES[max(pcpus) > 0]
    return System(
        name=name,
        policy=PRESETS[policy],
        pcpus=max(pcpus) + 1,
        domains=tuple(
            Domain(
                name=f"S{number}",
                pcpu=pcpu,
                priority=by_period.index(number),
                interface=server,
                tasks=(Task(name="task", period_ns=server.period_ns, wcet_ns=server.budget_ns),),
            )
            for number, (server, pcpu) in enumerate(zip(servers, pcpus, strict=True))
        ),
    )


def count_events(system: System, horizon_ns: int, seed: int) -> ServerEvents:
    """The events of a run in the simulator. KeyboardInterrupt if Ctrl-C ended it."""
    found = run_on("sim", system, horizon_ns, seed)
    return ServerEvents(
        refill_runs(system, horizon_ns),
        found.preemptions,
        sum(pcpu.picks for pcpu in found.pcpus),
    )


def refill_runs(system: System, horizon_ns: int) -> int:
    """How many instants before the horizon there are at which a pcpu's servers are released."""
    instants = {
        (domain.pcpu, time_ns)
        for domain in system.domains
        if domain.interface is not None
        for time_ns in range(0, horizon_ns, domain.interface.period_ns)
    }
    return len(instants)
