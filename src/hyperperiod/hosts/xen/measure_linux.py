# SPDX-License-Identifier: BSD-2-Clause
"""What the kernel of a Linux guest takes for itself, measured on a vcpu that nobody disturbs.

One machine is booted, in which Linux has the pcpu for itself and the two threads of `hosts.gaps`,
whose gaps are looked at, and one more:

    sleep     a completion, until the vcpu has nothing to do any more

All but that contain what Xen does meanwhile. Under icount these are numbers of instructions.

The run is long enough that Linux's own timers fall into a tick of a longer job in any build: some
come only every two seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hyperperiod.hosts.gaps import TASKS, gaps
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.xen.build.source import VERSION
from hyperperiod.hosts.xen.images import QEMU
from hyperperiod.hosts.xen.machine import rings_at_horizon
from hyperperiod.hosts.xen.plan import XenOptions, plan
from hyperperiod.measured import Number, Section, command, version
from hyperperiod.model import (
    Domain,
    FailedError,
    GuestKind,
    Interface,
    Scheduler,
    System,
    parse_policy,
)
from hyperperiod.trace.format import NONE, Kind, Records

HORIZON_NS: Final = 8_000_000_000
GAPS: Final = ("wake", "job", "preempt", "tick", "sleep")


def measure(guest: GuestKind) -> Section:
    """Boot, look, and say what was found of that kernel, as a section of measured numbers.

    Raises MissingError when a tool or an image is not there, FailedError when the machine does not
    do what it should.
    """
    machine = plan(RunRequest(_system(guest), HORIZON_NS), XenOptions())
    (hypervisor,), (ring,) = rings_at_horizon(machine)
    longest: dict[str, int] = {}
    found = [*gaps(ring.since_epoch()), *_sleeps(hypervisor.records, ring.since_epoch())]
    for name, span_ns in found:
        longest[name] = max(span_ns, longest.get(name, 0))
    missing = [name for name in GAPS if name not in longest]
    if missing:
        raise FailedError(f"nothing was seen of: {', '.join(missing)}")
    numbers = {name: Number(longest[name], "ns") for name in GAPS}
    ready_ns = ring.header.reserved * 1_000_000_000 // ring.header.frequency_hz
    numbers["ready"] = Number(ready_ns, "ns")
    on = f"Debian's 6.12 on Xen {VERSION} in {version(QEMU)}, an instruction takes a nanosecond"
    return Section(command(guest), on, numbers)


def _system(guest: GuestKind) -> System:
    interface = Interface(period_ns=10_000_000, budget_ns=10_000_000)
    alone = Domain(
        name="linux",
        guest=guest,
        scheduler=Scheduler.FP,
        interface=interface,
        tasks=TASKS,
    )
    return System(name="measured", policy=parse_policy("ds"), domains=(alone,))


def _sleeps(hypervisor: Records, guest: Records) -> Iterator[tuple[str, int]]:
    """From each completion to the departure of the vcpu, if no job is left then."""
    departs = hypervisor["time_ns"][hypervisor["kind"] == Kind.DEPART]
    events = guest[(guest["kind"] == Kind.RUN) & (guest["task"] != NONE)]["time_ns"]
    for end_ns in guest["time_ns"][guest["kind"] == Kind.COMPLETE]:
        later = departs[departs > end_ns]
        if len(later) and not ((events > end_ns) & (events < later[0])).any():
            yield "sleep", int(later[0] - end_ns)
