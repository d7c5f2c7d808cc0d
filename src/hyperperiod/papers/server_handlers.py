# SPDX-License-Identifier: BSD-2-Clause
"""How long a hierarchical scheduler's handlers ran on Linux and on Xen: as the ExSched HSF paper
measures it.

The paper adds up how long its handlers run that release and deplete servers, and the callbacks of
tasks. On Linux they are the programs of the scheduler in the kernel, and the kernel itself measures
how long each of them runs; on Xen what the hypervisor calls of the scheduler, whose instructions a
plugin of QEMU's counts. On a machine that counts instructions, one takes a nanosecond:

- *decisions*, in which servers are released and depleted, and who runs next is picked;
- *wakes*, a task's release, and *sleeps*, its completion (on Xen a vcpu that blocks is part of the
  decision about who comes next);
- *switches*, at which the scheduler notes who runs.

What the host takes for itself is left out, as in the paper: interrupts, timers, the switch.

A partitioned policy decides each cpu for itself. So servers on two cores are two runs, one for each
core, and their times are added up: what two cpus do to one another is not measured. Tasks ask for
a little less than their server's budget, since on a real host a job takes time beside its own
execution.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.linux.run import run_all, run_counted
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.xen.handlers import Counter
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.model import PRESETS, Domain, System
from hyperperiod.papers.server_events import ServerEvents, refill_runs
from hyperperiod.runs import run_on_xen

if TYPE_CHECKING:
    from hyperperiod.hosts.result import RunResult
    from hyperperiod.papers.experiment import Host

LEFT_NS = 200_000
"""What a task leaves of its server's budget: the host's work at its release and completion."""

HANDLERS: Mapping[Host, Mapping[str, tuple[str, ...]]] = {
    "linux": {
        "decide_ns": ("hyperperiod_dispatch",),
        "wake_ns": ("hyperperiod_select_cpu", "hyperperiod_enqueue"),
        "sleep_ns": ("hyperperiod_quiescent",),
        "switch_ns": ("hyperperiod_switch", "hyperperiod_running", "hyperperiod_update_idle"),
    },
    "xen": {
        "decide_ns": ("schedule",),
        "wake_ns": ("wake",),
        "sleep_ns": ("sleep",),
        "switch_ns": ("context_saved",),
    },
}
"""The functions of each handler; one that never ran is not among those that were measured."""


class HandlerTime(Protocol):
    """What a function took in a run."""

    @property
    def ns(self) -> int: ...


def measured(
    host: Host, systems: Sequence[System], horizon_ns: int, seed: int
) -> Iterator[ServerEvents]:
    """The events of a run of each system and what handlers took in it.

    MissingError where there is no machine for them. KeyboardInterrupt if Ctrl-C ended a run.
    """
    parts = [cores(system) for system in systems]
    every = [core for part in parts for core in part]
    run_each = _on_linux if host == "linux" else _on_xen
    runs = run_each(every, horizon_ns, seed)
    for system, part in zip(systems, parts, strict=True):
        each = list(islice(runs, len(part)))
        times = {
            handler: sum(spent[name].ns for _, spent in each for name in names if name in spent)
            for handler, names in HANDLERS[host].items()
        }
        yield ServerEvents(
            refill_runs(system, horizon_ns),
            sum(result.preemptions for result, _ in each),
            sum(pcpu.picks for result, _ in each for pcpu in result.pcpus),
            **times,
        )


def _on_linux(
    systems: Sequence[System], horizon_ns: int, seed: int
) -> Iterator[tuple[RunResult, Mapping[str, HandlerTime]]]:
    """All on one machine, one after the other."""
    requests = [RunRequest(system, horizon_ns, seed) for system in systems]
    yield from run_counted(requests, options=LinuxOptions(counts=True))


def _on_xen(
    systems: Sequence[System], horizon_ns: int, seed: int
) -> Iterator[tuple[RunResult, Mapping[str, HandlerTime]]]:
    """Each on a machine of its own."""
    for system in systems:
        with tempfile.TemporaryDirectory() as folder:
            counter = Counter(Path(folder))
            options = counter.options(XenOptions())
            result = run_on_xen(system, horizon_ns, seed, options=options)
            if result.interrupted:
                raise KeyboardInterrupt
            yield result, counter.counted()


def traced(host: Host, system: System, horizon_ns: int, seed: int, folder: Path) -> list[Path]:
    """Traces of a run of each core of the system, files of the folder."""
    parts = cores(system)
    paths = [folder / f"{number}.hpt" for number in range(len(parts))]
    if host == "linux":
        run_all(
            [
                RunRequest(core, horizon_ns, seed, path)
                for core, path in zip(parts, paths, strict=True)
            ]
        )
        return paths
    for core, path in zip(parts, paths, strict=True):
        if run_on_xen(core, horizon_ns, seed, path).interrupted:
            raise KeyboardInterrupt
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
