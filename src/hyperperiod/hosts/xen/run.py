# SPDX-License-Identifier: BSD-2-Clause
"""A system on real Xen: one guest per domain, the result object and trace of every host.

Guests get ready first; the run begins at the epoch, an instant of the machine's counter that all
of them know. At the horizon the hypervisor says so, the machine stops, and the rings are read.

The machine counts instructions, and a run repeats exactly. Where several pcpus cannot be kept in
step (images.py) it runs as fast as this machine allows: the schedule is real, but its times are
those of a busy host, and the result says so (`timing`). Where booting took longer than thought, it
is tried again with more time.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hyperperiod.hosts import rings
from hyperperiod.hosts.counts import count_flows, count_pcpus, count_tasks, count_vcpus
from hyperperiod.hosts.header import make_header
from hyperperiod.hosts.merge import Drawn, jobs_of, lateness_ns, merge
from hyperperiod.hosts.qemu import console_log
from hyperperiod.hosts.refuse import refuse, require_interfaces
from hyperperiod.hosts.replay import Replayed, replay
from hyperperiod.hosts.result import Counts, RunResult, make_result
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.hosts.xen import command_line
from hyperperiod.hosts.xen.changes import changes_made
from hyperperiod.hosts.xen.machine import Machine, Running, boot
from hyperperiod.hosts.xen.plan import MS, RunOptions, plan
from hyperperiod.measured import LINUX, XEN
from hyperperiod.measured import read as read_measured
from hyperperiod.model import FailedError, GuestKind, Overheads, Scheduler, System, tasks_of
from hyperperiod.trace.format import Header, Records, write_header, writing

__all__ = ["RunOptions", "run"]

HOST = "xen"
HORIZON_REACHED = r"hyperperiod: horizon reached"
LATE_GUEST = "the epoch has passed already"
COMPLAINT = re.compile(
    r"hyperperiod: (?!ring of pcpu|horizon reached).*|\(d\d+\) (?:executive|guest): .*"
    r"|DOM\d+: .*(?:linux-guest:|Kernel panic).*"
)
"""What Xen and guests say about what they do not understand, or when they are late."""

BOOT_TIMES = (1, 2, 4)
"""How many times longer booting may take, one try after the other."""
JOB_OVERHEAD_NS = 1_000
"""What a guest's own work takes per job, at most; it leaves that much out of the job's loop."""
ITEM_OVERHEAD_NS = 3_000
"""The same where there are flows: with a message to another domain, which the hypervisor brings."""
KERNEL_TICK_NS = 4_000_000
"""Between two ticks of the Linux guest's kernel (CONFIG_HZ=250)."""
GUESTS_END_S = 3.0
"""Wall time for guests to notice the horizon. One that never runs never does."""


TOO_LATE_NS = 20_000_000
"""On several pcpus: a pick later than this by the host's fault explains what is missing."""


class LateError(FailedError):
    """A guest was not ready at the epoch."""


class BusyError(FailedError):
    """This host had too little time for the machine's pcpus."""


@dataclass(frozen=True)
class Recorded:
    """What was read from a machine at the end of a run."""

    hypervisor: list[rings.Ring]
    guests: list[rings.Ring]
    end_ns: int
    interrupted: bool


def run(
    system: System,
    horizon_ns: int,
    seed: int = 1,
    trace_path: Path | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    guarantees: bool = False,
    options: RunOptions | None = None,
) -> RunResult:
    """Run `system`, whose interfaces are known, from 0 to `horizon_ns`; the result object.

    `guarantees` says in the trace that the servers are guaranteed their budgets, so that its
    readers check that.

    Raises InputError for what this host cannot run, MissingError for what is not built or
    installed, FailedError when the machine does not come to its end or when its decisions are
    not those of the core.
    """
    options = options or RunOptions()
    refuse(system, horizon_ns, seed)
    command_line.refuse(system)
    require_interfaces(system)
    machine, recorded = _recorded(system, horizon_ns, seed, progress, options)
    replayed = [replay(ring, recorded.end_ns) for ring in recorded.hypervisor]
    drawn = _drawn(system, seed, recorded.end_ns)
    jobs = jobs_of(system, recorded.guests, drawn, recorded.end_ns)
    records = merge(system, replayed, jobs, recorded.end_ns)
    if trace_path is not None:
        header = make_header(_plain(system), HOST, horizon_ns, seed, guarantees=guarantees)
        _allow(header, system, machine, recorded, lateness_ns(replayed))
        with writing(trace_path):
            write_header(trace_path, header)
            with trace_path.open("ab") as file:
                file.write(records.tobytes())
    timing = None if machine.icount else "host"
    result = make_result(system, _counts(system, seed, recorded, replayed, records, timing))
    _require_records(recorded, result, 0 if machine.icount else lateness_ns(replayed))
    return result


def _recorded(
    system: System,
    horizon_ns: int,
    seed: int,
    progress: Callable[[int], None] | None,
    options: RunOptions,
) -> tuple[Machine, Recorded]:
    """Boot and run, again with more time to boot if a guest was late."""
    for boot_times in BOOT_TIMES:
        machine = plan(system, horizon_ns, seed, options, boot_times=boot_times)
        try:
            with console_log(options.folder) as console, boot(machine, console) as running:
                return machine, _record(running, machine, horizon_ns, progress, options.patience_s)
        except LateError:
            if boot_times == BOOT_TIMES[-1]:
                raise
    raise AssertionError("the last try returns or raises")


def _record(
    running: Running,
    machine: Machine,
    horizon_ns: int,
    progress: Callable[[int], None] | None,
    patience_s: float,
) -> Recorded:
    """Let the machine run to the horizon, or to Ctrl-C, and read what it recorded."""

    def look() -> int | None:
        console = running.console()
        require_no_complaint(console)
        addresses = rings.announced(console)
        reached = rings.last_time(running.read, min(addresses.values())) if addresses else None
        if reached is not None and progress is not None:
            progress(min(reached, horizon_ns))
        return reached

    interrupted = False
    try:
        running.wait_for(HORIZON_REACHED, patience_s=patience_s, look=look)
        _wait_for_guests(running)
    except KeyboardInterrupt:
        interrupted = True
    running.stop()
    require_no_complaint(running.console())
    hypervisor_rings = _hypervisor_rings(running, machine)
    if interrupted:
        horizon_ns = min(horizon_ns, _reached(hypervisor_rings))
        if horizon_ns == 0:
            raise KeyboardInterrupt
    guests = [
        rings.read_ring(running.read, address, f"the guest of domain {number}")
        for number, address in enumerate(_guest_rings(running))
    ]
    for number, ring in enumerate(guests):
        if ring.lost:
            raise FailedError(f"the ring of guest {number} is full; take a shorter horizon")
    return Recorded(hypervisor_rings, guests, horizon_ns, interrupted)


def require_no_complaint(console: str) -> None:
    """FailedError if Xen or a guest has said that it is late or does not take what it was told.

    A line that is still being printed says nothing yet.
    """
    complaints = COMPLAINT.findall(console[: console.rfind("\n") + 1])
    if any(LATE_GUEST in complaint for complaint in complaints):
        raise LateError("a guest was not ready at the epoch", "\n".join(complaints))
    if complaints:
        raise FailedError("Xen or a guest does not run this system", "\n".join(complaints))


def _wait_for_guests(running: Running) -> None:
    """A guest writes what was due before the horizon when it next runs, and then its end."""
    until = time.monotonic() + GUESTS_END_S
    waiting = _guest_rings(running)
    while waiting and time.monotonic() < until:
        headers = {address: rings.read_header(running.read, address) for address in waiting}
        waiting = [at for at, header in headers.items() if header is None or not header.ended]
        time.sleep(0.02)


def _guest_rings(running: Running) -> list[int]:
    return [place.ring for place in running.places]


def _hypervisor_rings(running: Running, machine: Machine) -> list[rings.Ring]:
    """One for each lock domain, in the order of pcpus."""
    addresses = rings.announced(running.console())
    if not addresses:
        raise FailedError(f"{machine.hypervisor} announces no ring", running.console())
    return [
        rings.read_ring(running.read, addresses[pcpu], f"pcpu {pcpu}") for pcpu in sorted(addresses)
    ]


def _reached(found: list[rings.Ring]) -> int:
    """The instant up to which all lock domains have records."""
    return min(int(ring.records["time_ns"][-1]) if len(ring.records) else 0 for ring in found)


def _drawn(system: System, seed: int, end_ns: int) -> Drawn:
    """When jobs and items are released as far as the draws say, whoever is first in a domain."""
    domains = (domain.replace(scheduler=Scheduler.FIFO) for domain in system.domains)
    scenario = make_scenario(system.replace(domains=tuple(domains)), end_ns, seed)
    return Drawn(
        [scenario.releases(placed.id, end_ns) for placed in tasks_of(system)],
        (lambda flow, left: scenario.source_releases(flow, left, end_ns)) if system.flows else None,
    )


class Allowance(NamedTuple):
    """What Xen takes at most after a pick, from what was measured of it, rounded up to 100 ns."""

    resume_ns: int
    """Until the vcpu that had the pcpu goes on: the gap `still` of measure.py without its
    interrupt."""
    switch_ns: int
    """How much more if another vcpu had the pcpu: the gap `turn` without `still`, and on several
    pcpus that the vcpu may have had another one: the gap `move` without `depart`."""

    @classmethod
    def measured(cls, pcpus: int) -> Allowance:
        """From the numbers in `measured.toml`."""
        numbers = read_measured()[XEN].numbers
        still, turn = numbers["gap still"].value, numbers["gap turn"].value
        moved = numbers["gap move"].value - numbers["gap depart"].value if pcpus > 1 else 0
        spans = (still - numbers["cost interrupt"].value, turn - still + moved)
        return cls(*(100 * math.ceil(span / 100) for span in spans))


class KernelAllowance(NamedTuple):
    """What the kernel of a Linux guest takes of its jobs at most, from what was measured of it."""

    event_ns: int
    """Where something happens: a tick, a wake, a switch; rounded up to 100 ns."""
    tick_period_ns: int

    @classmethod
    def measured(cls) -> KernelAllowance:
        """From the numbers in `measured.toml`."""
        numbers = read_measured()[LINUX].numbers
        longest = max(numbers[name].value for name in ("job", "preempt", "tick"))
        return cls(100 * math.ceil(longest / 100), KERNEL_TICK_NS)


def _plain(system: System) -> System:
    """The system without the overheads of its file, which are the simulator's."""
    return system.replace(overheads=Overheads())


def _allow(
    header: Header, system: System, machine: Machine, recorded: Recorded, late_ns: int
) -> None:
    """Adds to a header what its reader must allow for, as it was on this machine.

    A guest that moves jobs does not know which of its vcpus have a pcpu: the order of a global
    guest, of which all hosts are told otherwise, is not what it has.
    """
    header.pop("global_guests", None)
    header["changes"] = changes_made(header, recorded.hypervisor)
    header["lateness_ns"] = late_ns
    if not machine.icount:
        header["timing"] = "host"
        return
    header["resume_ns"], header["switch_ns"] = Allowance.measured(machine.pcpus)
    header["job_overhead_ns"] = ITEM_OVERHEAD_NS if machine.channels else JOB_OVERHEAD_NS
    for entry, placed in zip(header["tasks"], tasks_of(system), strict=True):
        if placed.domain.guest is GuestKind.LINUX:
            entry["kernel_ns"], entry["kernel_period_ns"] = KernelAllowance.measured()
            if placed.domain.vcpus > 1:
                entry["kernel_ns"] = None  # one may wait for a lock of another that has no pcpu


def _require_records(recorded: Recorded, result: RunResult, late_ns: int) -> None:
    """FailedError for a guest that was given time and did nothing with it.

    On several pcpus the machine's time is that of this host, which may have passed without an
    instruction of the guest: then picks came late, too, and the message says so.
    """
    for domain, ring in zip(result.domains, recorded.guests, strict=True):
        if domain.supply_ns > MS and len(ring.records) == 0 and not ring.header.ended:
            message = f"the guest of domain {domain.name} had time and recorded nothing"
            if late_ns > TOO_LATE_NS:
                raise BusyError(
                    f"{message}: this host is too busy, a pick came {late_ns / MS:.0f} ms late"
                )
            raise FailedError(message)


def _counts(
    system: System,
    seed: int,
    recorded: Recorded,
    replayed: list[Replayed],
    records: Records,
    timing: str | None,
) -> Counts:
    picks = [count for part in replayed for count in part.picks(recorded.end_ns)]
    return Counts(
        host=HOST,
        end_ns=recorded.end_ns,
        seed=seed,
        interrupted=recorded.interrupted,
        response_error=0.0,
        tasks=count_tasks(system, records, recorded.end_ns),
        vcpus=count_vcpus(system, records, replayed),
        pcpus=count_pcpus(system, records, picks),
        flows=count_flows(system, records, recorded.end_ns),
        timing=timing,
    )
