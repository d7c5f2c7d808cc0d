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
from functools import partial
from typing import Final

import numpy as np

from hyperperiod.hosts import rings
from hyperperiod.hosts.channels import channels_of
from hyperperiod.hosts.costs import TICK_PERIOD_NS, longest_ns
from hyperperiod.hosts.merge import lateness_ns
from hyperperiod.hosts.qemu import console_log
from hyperperiod.hosts.recorded_run import (
    Complaints,
    RunRecording,
    RunRequest,
    recorded_jobs,
    recorded_until,
    require_room,
    result_of,
    until_ready,
)
from hyperperiod.hosts.refuse import refuse, refuse_executors, require_interfaces
from hyperperiod.hosts.replay import replay
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.stock import result_under
from hyperperiod.hosts.xen import command_line, stock
from hyperperiod.hosts.xen.changes import changes_made
from hyperperiod.hosts.xen.machine import HORIZON_REACHED, RunningXen, XenMachine, boot
from hyperperiod.hosts.xen.plan import MS, XenOptions, plan
from hyperperiod.hosts.xen.trace_buffers import read_buffers
from hyperperiod.measured import XEN
from hyperperiod.measured import read as read_measured
from hyperperiod.model import FailedError, tasks_of
from hyperperiod.trace.format import Header

HOST: Final = "xen"
XENTRACE: Final = "run.xentrace"
"""What Xen's own trace buffers had, as `xentrace` writes it."""
COMPLAINTS: Final = Complaints(
    re.compile(
        r"hyperperiod: (?!ring of pcpu|horizon reached).*|\(d\d+\) (?:executive|guest): .*"
        r"|(?:linux-guest:|Kernel panic).*"
    ),
    "a guest",
    "Xen or a guest",
)
"""What Xen and guests say about what they do not understand, or when they are late."""

BOOT_TIMES: Final = (1, 2, 4)
"""How many times longer booting may take, one try after the other."""
JOB_OVERHEAD_NS: Final = 1_000
"""What a guest's own work takes per job, at most; it leaves that much out of the job's loop."""
ITEM_OVERHEAD_NS: Final = 3_000
"""The same where there are flows: with a message to another domain, which the hypervisor brings."""
GUESTS_END_S: Final = 3.0
"""Wall time for guests to notice the horizon. One that never runs never does."""
TOO_LATE_NS: Final = 20_000_000
"""On several pcpus: a pick later than this by the host's fault explains what is missing."""


class BusyError(FailedError):
    """This host had too little time for the machine's pcpus."""


def run(
    request: RunRequest,
    progress: Callable[[int], None] | None = None,
    options: XenOptions | None = None,
) -> RunResult:
    """The result object of a run.

    Raises InputError for what this host cannot run, MissingError for what is not built or
    installed, FailedError when the machine does not come to its end or when its decisions are
    not those of the core.
    """
    options = options or XenOptions()
    system = request.system
    refuse(system, request.horizon_ns, request.seed)
    refuse_executors(system)
    command_line.refuse(system)
    if options.scheduler is not None:
        stock.refuse(system, options.scheduler)
    require_interfaces(system)

    def attempt(boot_times: int) -> RunRecording:
        machine = plan(request, options, boot_times=boot_times)
        with console_log(options.folder) as console, boot(machine, console) as running:
            return _record(running, machine, request, progress, options)

    return _result(request, until_ready(BOOT_TIMES, attempt), options)


def _result(request: RunRequest, recording: RunRecording, options: XenOptions) -> RunResult:
    jobs, allow = recorded_jobs(request, recording), partial(_allow, request, recording)
    if options.scheduler is None:
        replayed = [replay(ring, recording.end_ns) for ring in recording.decisions]
        result, _ = result_of(HOST, request, recording, replayed, jobs, allow)
        _require_records(recording, result, 0 if recording.icount else lateness_ns(replayed))
        return result
    return result_under(
        options.scheduler,
        request,
        recording,
        lambda host, run, decided: result_of(host, run, recording, decided, jobs, allow)[0],
    )


def _record(
    running: RunningXen,
    machine: XenMachine,
    request: RunRequest,
    progress: Callable[[int], None] | None,
    options: XenOptions,
) -> RunRecording:
    """Let the machine run to the horizon, or to Ctrl-C, and read what it recorded."""
    horizon_ns = request.horizon_ns
    where = _reached if options.scheduler is None else _reached_by_guests

    def look() -> int | None:
        COMPLAINTS.require_none(running.console())
        reached = where(running)
        if reached is not None and progress is not None:
            progress(min(reached, horizon_ns))
        return reached

    interrupted = False
    try:
        if options.scheduler is None:
            running.wait_for(HORIZON_REACHED, patience_s=options.patience_s, look=look)
            wait_for_guests(running)
        else:
            # Xen knows of no horizon. All guests come to it, since others sleep from then on.
            running.wait_until(
                lambda _: not _at_work(running) or None,
                "its guests did",
                patience_s=options.patience_s,
                look=look,
            )
    except KeyboardInterrupt:
        interrupted = True
    running.stop()
    COMPLAINTS.require_none(running.console())
    if interrupted and None in _headers(running).values():
        # Ctrl-C came before all guests had begun: there is nothing yet.
        raise KeyboardInterrupt
    every = running.guest_rings()
    require_room((f"guest {number}", ring) for number, ring in enumerate(every))
    guests = [ring for ring, it in zip(every, machine.guests, strict=True) if it.pcpu is None]
    if options.scheduler is None:
        decisions = running.own_rings()
        if not decisions:
            raise FailedError(f"{machine.hypervisor} announces no ring", running.console())
    else:
        trace = read_buffers(running.read, machine.hypervisor, machine.pcpus)
        if options.folder is not None:
            (options.folder / XENTRACE).write_bytes(trace)
        decisions = [stock.switches(request.system, trace, guests[0].header)]
    end_ns = recorded_until(decisions, horizon_ns) if interrupted else horizon_ns
    return RunRecording(decisions, guests, end_ns, interrupted, machine.icount)


def _reached(running: RunningXen) -> int | None:
    """The latest instant (ns) in a ring of the hypervisor's; None while there is none."""
    addresses = rings.announced(running.console())
    return rings.last_time(running.read, min(addresses.values())) if addresses else None


def _reached_by_guests(running: RunningXen) -> int | None:
    """The latest instant (ns) in the ring of a guest; None while there is none."""
    found = [
        int(rings.ticks_to_ns(np.array([ticks], np.uint64), header)[0])
        for at, header in _headers(running).items()
        if header is not None and (ticks := rings.last_time(running.read, at)) is not None
    ]
    return max(found, default=None)


def _headers(running: RunningXen) -> dict[int, rings.RingHeader | None]:
    """The rings of guests, by where they are; None of a guest that has not begun."""
    return {place.ring: rings.read_header(running.read, place.ring) for place in running.places}


def _at_work(running: RunningXen) -> list[int]:
    """The rings of guests that have not seen the horizon."""
    headers = _headers(running).items()
    return [at for at, header in headers if header is None or not header.ended]


def wait_for_guests(running: RunningXen) -> None:
    """A guest writes what was due before the horizon when it next runs, and then its end."""
    until = time.monotonic() + GUESTS_END_S
    while _at_work(running) and time.monotonic() < until:
        time.sleep(0.02)


def pick_allowance(pcpus: int) -> tuple[int, int]:
    """Returns what Xen takes at most after a pick (ns), from what was measured, up to 100 ns more.

    First until the vcpu that had the pcpu goes on: the gap `still` of measure.py without its
    interrupt. Then how much more if another vcpu had the pcpu: the gap `turn` without `still`, and
    on several pcpus that the vcpu may have had another one: the gap `move` without `depart`.
    """
    numbers = read_measured()[XEN].numbers
    still, turn = numbers["gap still"].value, numbers["gap turn"].value
    moved = numbers["gap move"].value - numbers["gap depart"].value if pcpus > 1 else 0
    resume, switch = still - numbers["cost interrupt"].value, turn - still + moved
    return 100 * math.ceil(resume / 100), 100 * math.ceil(switch / 100)


def _allow(request: RunRequest, recording: RunRecording, header: Header) -> None:
    """Adds to a header what its reader must allow for, as it was on this machine.

    A guest that moves jobs does not know which of its vcpus have a pcpu: the order of a global
    guest, of which all hosts are told otherwise, is not what it has.
    """
    system = request.system
    header.pop("global_guests", None)
    header["changes"] = changes_made(header, recording.decisions)
    if not recording.icount:
        return
    header["resume_ns"], header["switch_ns"] = pick_allowance(system.pcpus)
    header["job_overhead_ns"] = ITEM_OVERHEAD_NS if channels_of(system) else JOB_OVERHEAD_NS
    for entry, placed in zip(header["tasks"], tasks_of(system), strict=True):
        if placed.domain.guest.is_linux:
            # With several vcpus one may wait for a lock of another that has no pcpu.
            guest, alone = placed.domain.guest, placed.domain.vcpus == 1
            entry["kernel_ns"] = longest_ns(guest, "job", "preempt", "tick") if alone else None
            entry["kernel_period_ns"] = TICK_PERIOD_NS


def _require_records(recording: RunRecording, result: RunResult, late_ns: int) -> None:
    """FailedError for a guest that was given time and did nothing with it.

    On several pcpus the machine's time is that of this host, which may have passed without an
    instruction of the guest: then picks came late, too, and the message says so.
    """
    for domain, ring in zip(result.domains, recording.guests, strict=True):
        if domain.supply_ns > MS and len(ring.records) == 0 and not ring.header.ended:
            message = f"the guest of domain {domain.name} had time and recorded nothing"
            if late_ns > TOO_LATE_NS:
                raise BusyError(
                    f"{message}: this host is too busy, a pick came {late_ns / MS:.0f} ms late"
                )
            raise FailedError(message)
