# SPDX-License-Identifier: BSD-2-Clause
"""What the kernel of a Linux guest takes for itself, measured on a vcpu that nobody disturbs.

One machine is booted, in which Linux has the pcpu for itself and two threads: a short one, and a
longer one below it, whose jobs are a little shorter than the time between two ticks. Of each gap
the longest counts.

    wake      a release while the vcpu sleeps, up to the job's first instruction
    job       a job that nobody disturbs, from its release to its completion, less what it executes
    preempt   a release while the longer thread runs, until that goes on, less the short job
    tick      what a job of the longer thread that nobody preempts takes more than it executes
    sleep     a completion, until the vcpu has nothing to do any more

All but the last contain what Xen does meanwhile. Under icount these are numbers of instructions.

The run is long enough that Linux's own timers fall into a tick of a longer job in any build: some
come only every two seconds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hyperperiod.hosts import rings
from hyperperiod.hosts.xen.build.source import VERSION
from hyperperiod.hosts.xen.images import QEMU
from hyperperiod.hosts.xen.machine import boot
from hyperperiod.hosts.xen.plan import RunOptions, plan
from hyperperiod.measured import LINUX, Number, Section, command, version
from hyperperiod.model import (
    Domain,
    FailedError,
    GuestKind,
    Interface,
    Scheduler,
    System,
    Task,
    parse_policy,
)
from hyperperiod.trace.format import NONE, Kind, Records

HORIZON_NS: Final = 8_000_000_000
SHORT: Final = Task(
    name="short", period_ns=7_000_000, wcet_ns=300_000, offset_ns=500_000, priority=0
)
LONGER: Final = Task(
    name="longer", period_ns=20_000_000, wcet_ns=3_900_000, offset_ns=2_000_000, priority=1
)
TASKS: Final = (SHORT, LONGER)
GAPS: Final = ("wake", "job", "preempt", "tick", "sleep")


def measure() -> Section:
    """Boot, look, and say what was found, as a section of measured numbers.

    Raises MissingError when a tool or an image is not there, FailedError when the machine does not
    do what it should.
    """
    hypervisor, guest = _record()
    longest: dict[str, int] = {}
    found = [*_gaps(guest.since_epoch()), *_sleeps(hypervisor.records, guest.since_epoch())]
    for name, span_ns in found:
        longest[name] = max(span_ns, longest.get(name, 0))
    missing = [name for name in GAPS if name not in longest]
    if missing:
        raise FailedError(f"nothing was seen of: {', '.join(missing)}")
    numbers = {name: Number(longest[name], "ns") for name in GAPS}
    ready_ns = guest.header.reserved * 1_000_000_000 // guest.header.frequency_hz
    numbers["ready"] = Number(ready_ns, "ns")
    on = f"Debian's 6.12 on Xen {VERSION} in {version(QEMU)}, an instruction takes a nanosecond"
    return Section(command(LINUX), on, numbers)


def _system() -> System:
    interface = Interface(period_ns=10_000_000, budget_ns=10_000_000)
    alone = Domain(
        name="linux",
        guest=GuestKind.LINUX,
        scheduler=Scheduler.FP,
        interface=interface,
        tasks=TASKS,
    )
    return System(name="measured", policy=parse_policy("ds"), domains=(alone,))


def _record() -> tuple[rings.Ring, rings.Ring]:
    """The rings of the hypervisor and of the guest after a run."""
    machine = plan(_system(), HORIZON_NS, 1, RunOptions())
    with (
        tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder,
        boot(machine, Path(folder) / "console") as running,
    ):
        running.wait_for("hyperperiod: horizon reached")
        running.stop()
        addresses = rings.announced(running.console())
        return (
            rings.read_ring(running.read, addresses[0], "the hypervisor"),
            rings.read_ring(running.read, running.places[0].ring, "Linux"),
        )


def _gaps(records: Records) -> Iterator[tuple[str, int]]:
    """What the guest's records show: each job's first instruction, and what came in between."""
    runs = records[records["kind"] == Kind.RUN]
    runs = runs[runs["time_ns"].argsort(kind="stable")]
    done = records[records["kind"] == Kind.COMPLETE]
    for number, task in enumerate(TASKS):
        assert task.period_ns is not None, "the tasks here are periodic"
        assert task.wcet_ns is not None, "the tasks here end"
        for row in done[done["task"] == number]:
            release_ns = task.offset_ns + int(row["job"]) * task.period_ns
            end_ns = int(row["time_ns"])
            inside = runs[(runs["time_ns"] >= release_ns) & (runs["time_ns"] < end_ns)]
            before = runs[runs["time_ns"] < release_ns]
            asleep = len(before) == 0 or not _under_way(before[-1], done, release_ns)
            if not asleep and number == 0:
                resumed = runs[runs["time_ns"] > end_ns]
                yield "preempt", int(resumed[0]["time_ns"]) - release_ns - task.wcet_ns
            if not asleep or len(inside) != 1:
                continue
            start_ns = int(inside[0]["time_ns"])
            yield "wake", start_ns - release_ns
            if number == 0:
                yield "job", end_ns - release_ns - task.wcet_ns
            else:
                yield "tick", end_ns - start_ns - task.wcet_ns


def _under_way(run: Records, done: Records, time_ns: int) -> bool:
    """Whether the job that this record says to run has not ended by then."""
    same = (done["task"] == run["task"]) & (done["job"] == run["job"])
    return not (done["time_ns"][same] < time_ns).any()


def _sleeps(hypervisor: Records, guest: Records) -> Iterator[tuple[str, int]]:
    """From each completion to the departure of the vcpu, if no job is left then."""
    departs = hypervisor["time_ns"][hypervisor["kind"] == Kind.DEPART]
    events = guest[(guest["kind"] == Kind.RUN) & (guest["task"] != NONE)]["time_ns"]
    for end_ns in guest["time_ns"][guest["kind"] == Kind.COMPLETE]:
        later = departs[departs > end_ns]
        if len(later) and not ((events > end_ns) & (events < later[0])).any():
            yield "sleep", int(later[0] - end_ns)
