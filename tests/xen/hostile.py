# SPDX-License-Identifier: BSD-2-Clause
"""A real-time guest beside a hostile one, on our scheduler and on Xen's own.

The real-time guest is told its tasks like any other and records its jobs. The hostile one does
one thing as fast as it can, from the same epoch to the same horizon. Xen's own schedulers know
neither: there the machine runs until the real-time guest says that it has come to the end.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.on_xen import need_xen

from hyperperiod.hosts.guests import guest_words
from hyperperiod.hosts.rings import GUEST_RING_OFFSET, Ring, read_header
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.hosts.xen.images import executive
from hyperperiod.hosts.xen.machine import MIB, Guest, RunningXen, XenMachine, boot
from hyperperiod.model import Domain, FailedError, Interface, System, Task, parse_policy
from hyperperiod.trace.format import Kind

HOSTILE = ("spin", "yield-storm", "wake-storm", "hypercall-storm", "timer-storm")

EPOCH_NS = 200_000_000
HORIZON_NS = 500_000_000
GUEST_BYTES = 8 * MIB
PATIENCE_S = 60.0

_US = 1_000
_MS = 1_000_000
SERVER = Interface(period_ns=10 * _MS, budget_ns=4 * _MS)
"""What stock RTDS gives to every vcpu."""

VICTIM = Domain(
    name="victim",
    interface=SERVER,
    priority=0,
    tasks=(
        Task(
            name="fast",
            period_ns=10 * _MS,
            wcet_ns=1500 * _US,
            deadline_ns=5 * _MS,
            offset_ns=1 * _MS,
        ),
        Task(
            name="slow",
            period_ns=20 * _MS,
            wcet_ns=2 * _MS,
            deadline_ns=10 * _MS,
            offset_ns=3300 * _US,
        ),
    ),
)


@dataclass(frozen=True)
class Responses:
    """The response times of the victim's jobs by (task, job), and its misses."""

    by_job: dict[tuple[int, int], int]
    misses: int
    hostile_actions: int

    def longest(self, task: int) -> int:
        """The longest response time of a task."""
        return max(span for (its, _), span in self.by_job.items() if its == task)

    def moved(self, other: Responses) -> int:
        """The most by which a job's response time differs from the one in another run."""
        assert self.by_job.keys() == other.by_job.keys()
        return max(abs(span - other.by_job[job]) for job, span in self.by_job.items())


def ours(policy: str, hostile: str | None, *, server: bool = False) -> Responses:
    """Under our scheduler; the hostile guest is best effort or has a server below the victim's."""
    rest = {"interface": SERVER, "priority": 1} if server else {"best_effort": True}
    busy = Task.of({"name": "busy", "kind": "busy"})
    domains = (VICTIM, Domain.of({"name": "hostile", "task": (busy,), **rest}))
    system = System(name="isolation", policy=parse_policy(policy), domains=domains)
    return _run(_arguments(system), hostile)


def ours_with_item(policy: str, hostile: str, item: str) -> Responses:
    """The same with an item for the hostile guest that no system file could say."""
    domains = (VICTIM, Domain.of({"name": "hostile", "best_effort": True}))
    system = System(name="isolation", policy=parse_policy(policy), domains=domains)
    arguments = _arguments(system)
    assert "d2=best-effort" in arguments
    return _run(arguments.replace("d2=best-effort", item), hostile)


def _arguments(system: System) -> str:
    return xen_arguments(system, epoch_ns=EPOCH_NS, horizon_ns=HORIZON_NS)


def xens_own(scheduler: str, hostile: str | None) -> Responses:
    """Under one of Xen's own schedulers."""
    return _run(f"sched={scheduler}", hostile)


def _run(arguments: str, hostile: str | None) -> Responses:
    image = need_xen()
    alone = System(name="victim", policy=parse_policy("ds"), domains=(VICTIM,))
    words = guest_words(
        alone,
        0,
        epoch_ns=EPOCH_NS,
        horizon_ns=HORIZON_NS,
        seed=1,
        memory_bytes=GUEST_BYTES,
    )
    told = [words]
    if hostile is not None:
        common = [word for word in words if not word.startswith(("task=", "workload=", "domain="))]
        told.append([f"workload={hostile}", "domain=1", *common])
    guests = tuple(Guest(executive(), " ".join(each), GUEST_BYTES) for each in told)
    machine = XenMachine(image, arguments, guests)
    with (
        tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder,
        boot(machine, Path(folder) / "console") as running,
    ):
        _wait_for_end(running)
        running.stop()
        rings = running.guest_rings()
    return _responses(rings)


def _wait_for_end(running: RunningXen) -> None:
    """Until the victim has come to the horizon."""
    until = time.monotonic() + PATIENCE_S
    address = running.places[0].memory + GUEST_RING_OFFSET
    while time.monotonic() < until:
        header = read_header(running.read, address)
        if header is not None and header.ended:
            return
        time.sleep(0.05)
    raise FailedError("the real-time guest does not come to an end", running.console())


def _responses(rings: list[Ring]) -> Responses:
    victim = rings[0].since_epoch()
    by_job: dict[tuple[int, int], int] = {}
    misses = 0
    for row in victim[victim["kind"] == Kind.COMPLETE]:
        task, job = int(row["task"]), int(row["job"])
        its = VICTIM.tasks[task]
        assert its.period_ns is not None
        span_ns = int(row["time_ns"]) - its.offset_ns - job * its.period_ns
        by_job[task, job] = span_ns
        misses += span_ns > _deadline_ns(its)
    for task, its in enumerate(VICTIM.tasks):
        assert its.period_ns is not None
        due = range(-(-(HORIZON_NS - its.offset_ns - _deadline_ns(its)) // its.period_ns))
        misses += sum((task, job) not in by_job for job in due)
    return Responses(by_job, misses, rings[1].header.reserved if len(rings) > 1 else 0)


def _deadline_ns(task: Task) -> int:
    assert task.deadline_ns is not None
    return task.deadline_ns
