# SPDX-License-Identifier: BSD-2-Clause
"""How long a hierarchical scheduler's handlers ran on Linux: as the ExSched HSF paper measures it.

The paper adds up how long its handlers run that release and deplete servers, and the callbacks of
tasks. Here they are the programs of the scheduler in the kernel, and the kernel itself measures how
long each of them runs. On a machine that counts instructions, one takes a nanosecond:

- *decisions*, in which servers are released and depleted, and who runs next is picked;
- *wakes*, a task's release, and *sleeps*, its completion;
- *switches*, at which the scheduler notes who runs.

What the kernel takes for itself is left out, as in the paper: interrupts, timers, the switch.

A partitioned policy decides each cpu for itself. So servers on two cores are two runs, one for each
core, and their times are added up: what two cpus do to one another is not measured. Tasks ask for
a little less than their server's budget, since on Linux a job takes time beside its own execution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hyperperiod.experiments.reproduce.server_events import Events, refill_runs
from hyperperiod.hosts.linux.run import Order, RunOptions, Spent, run_all, run_counted
from hyperperiod.model import PRESETS, Domain, System

LEFT_NS = 200_000
"""What a task leaves of its server's budget: the kernel's work at its release and completion."""

HANDLERS: Mapping[str, tuple[str, ...]] = {
    "decide_ns": ("hyperperiod_dispatch",),
    "wake_ns": ("hyperperiod_select_cpu", "hyperperiod_enqueue"),
    "sleep_ns": ("hyperperiod_quiescent",),
    "switch_ns": ("hyperperiod_switch", "hyperperiod_running"),
}
"""The programs of each handler."""
NEVER = Spent(0, 0)


def measured(systems: Sequence[System], horizon_ns: int, seed: int) -> list[Events]:
    """The events of a run of each system and what handlers took in it, all on one machine.

    MissingError where there is none.
    """
    parts = [cores(system) for system in systems]
    orders = [Order(core, horizon_ns, seed) for part in parts for core in part]
    done = iter(run_counted(orders, options=RunOptions(counts=True)))
    found = []
    for system, part in zip(systems, parts, strict=True):
        each = [next(done) for _ in part]
        picks = sum(pcpu.picks for result, _ in each for pcpu in result.pcpus)
        preemptions = sum(result.preemptions for result, _ in each)
        times = {
            handler: sum(spent.get(name, NEVER).ns for _, spent in each for name in names)
            for handler, names in HANDLERS.items()
        }
        found.append(Events(refill_runs(system, horizon_ns), preemptions, picks, **times))
    return found


def traced(system: System, horizon_ns: int, seed: int, folder: Path) -> list[Path]:
    """Traces of a run of each core of the system, files of the folder."""
    parts = cores(system)
    paths = [folder / f"{number}.hpt" for number in range(len(parts))]
    orders = [Order(core, horizon_ns, seed, path) for core, path in zip(parts, paths, strict=True)]
    run_all(orders)
    return paths


def cores(system: System) -> list[System]:
    """A system of one pcpu for each of the system's, with the domains that are pinned there."""
    return [
        system.replace(
            policy=PRESETS["hsf-fp"],
            pcpus=1,
            domains=tuple(
                _eased(domain.replace(pcpu=0)) for domain in system.domains if domain.pcpu == pcpu
            ),
        )
        for pcpu in range(system.pcpus)
    ]


def _eased(domain: Domain) -> Domain:
    """The domain whose tasks leave some of its budget."""
    assert domain.interface is not None, "every server here has one"
    wcet_ns = domain.interface.budget_ns - LEFT_NS
    tasks = tuple(task.replace(wcet_ns=wcet_ns) for task in domain.tasks)
    return domain.replace(tasks=tasks)
