# SPDX-License-Identifier: BSD-2-Clause
"""A system on real Xen: one guest per domain, the result object and trace of every host.

Guests get ready first; the run begins at the epoch, an instant of the machine's counter that all
of them know. At the horizon the hypervisor says so, the machine stops, and the rings are read.
What a run needs in memory is estimated from the system: rings hold the whole run.

On one pcpu the machine counts instructions, and a run repeats exactly. On several it runs as fast
as this machine allows: the schedule is real, but its times are those of a busy host, and the
result says so (`timing`).
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hyperperiod.hosts.counts import count_domains, count_pcpus, count_tasks
from hyperperiod.hosts.header import make_header
from hyperperiod.hosts.prepare import complete, guaranteed, refuse
from hyperperiod.hosts.result import Counts, make_result
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.hosts.xen import bootline, rings
from hyperperiod.hosts.xen.images import executive, hypervisor
from hyperperiod.hosts.xen.machine import MIB, PATIENCE_S, Guest, Machine, Running, boot
from hyperperiod.hosts.xen.merge import jobs_of, lateness_ns, merge
from hyperperiod.hosts.xen.replay import Replayed, replay
from hyperperiod.model import FailedError, Overheads, Slack, System, Task, TaskKind, tasks_of
from hyperperiod.trace.format import RECORD, Records, write_header

HOST = "xen"
HORIZON_REACHED = r"hyperperiod: horizon reached"
LARGEST_RING_BYTES = 256 * MIB
"""Xen takes no more; it is eight million calls, which a run must not exceed."""

COMPLAINT = re.compile(
    r"hyperperiod: (?!ring of pcpu|horizon reached).*|\(d\d+\) (?:executive|guest): .*"
)
"""What Xen and guests say about what they do not understand, or when they are late."""

MS = 1_000_000
BOOT_NS = 100 * MS
BOOT_PER_GUEST_NS = 10 * MS
"""Until the epoch on a machine that counts: booting takes 14 ms, and 3 ms for each guest."""
HOST_BOOT_NS = 4_000 * MS
HOST_BOOT_PER_GUEST_NS = 500 * MS
"""The same in real time, for a host that has other things to do."""

GUESTS_END_S = 3.0
"""Wall time for guests to notice the horizon. One that never runs never does."""


@dataclass(frozen=True)
class Options:
    """How to run, other than the system says.

    `folder` keeps the console's log. `icount`: on one pcpu unless said otherwise.
    """

    hypervisor: Path | None = None
    folder: Path | None = None
    icount: bool | None = None
    ring_bytes: int | None = None
    patience_s: float = PATIENCE_S


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
    options: Options | None = None,
) -> dict[str, Any]:
    """Run `system` from 0 to `horizon_ns` and return the result object.

    Raises InputError for what this host cannot run, MissingError for what is not built or
    installed, FailedError when the machine does not come to its end or when its decisions are
    not those of the core.
    """
    options = options or Options()
    refuse(system, horizon_ns, seed)
    bootline.refuse(system)
    system = complete(system)
    machine = plan(system, horizon_ns, seed, options)
    with _console(options.folder) as console, boot(machine, console) as running:
        recorded = _record(running, machine, horizon_ns, progress, options.patience_s)
    replayed = [replay(ring, recorded.end_ns) for ring in recorded.hypervisor]
    drawn = _drawn_releases(system, seed, recorded.end_ns)
    jobs = jobs_of(system, recorded.guests, drawn, recorded.end_ns)
    records = merge(system, replayed, jobs, recorded.end_ns)
    if trace_path is not None:
        _write_trace(trace_path, system, horizon_ns, seed, records, lateness_ns(replayed))
    result = _result(system, seed, recorded, replayed, records)
    _require_life(recorded, result)
    return result if machine.icount else {**result, "timing": "host"}


def plan(system: System, horizon_ns: int, seed: int, options: Options) -> Machine:
    """The machine for a system whose interfaces are known."""
    icount = system.pcpus == 1 if options.icount is None else options.icount
    start_ns = epoch_ns(len(system.domains), icount=icount)
    ring_bytes = options.ring_bytes or hypervisor_ring_bytes(system, horizon_ns)
    arguments = bootline.xen_arguments(
        system, epoch_ns=start_ns, horizon_ns=horizon_ns, ring_bytes=ring_bytes
    )
    guests = []
    for number in range(len(system.domains)):
        memory_bytes = guest_memory_bytes(system, number, horizon_ns)
        words = bootline.guest_words(
            system,
            number,
            epoch_ns=start_ns,
            horizon_ns=horizon_ns,
            seed=seed,
            memory_bytes=memory_bytes,
            rate=bootline.ICOUNT_RATE if icount else 0,
        )
        line, rest = bootline.split_words(words)
        vcpus = system.domains[number].vcpus
        guests.append(Guest(executive(), line, memory_bytes, vcpus=vcpus, ramdisk=rest))
    return Machine(
        hypervisor=options.hypervisor or hypervisor(),
        arguments=f"guest_loglvl=all {arguments}",
        guests=tuple(guests),
        pcpus=system.pcpus,
        icount=icount,
        heap_bytes=256 * MIB + 3 * ring_bytes * system.pcpus,
    )


def epoch_ns(guests: int, *, icount: bool) -> int:
    """When a run begins on the machine's counter: once all guests are ready."""
    if icount:
        return BOOT_NS + guests * BOOT_PER_GUEST_NS
    return HOST_BOOT_NS + guests * HOST_BOOT_PER_GUEST_NS


def guest_memory_bytes(system: System, number: int, horizon_ns: int) -> int:
    """Memory of a guest: below its ring, and a ring with five records for each job."""
    jobs = sum(_jobs(task, horizon_ns) for task in system.domains[number].tasks)
    ring_bytes = rings.HEADER.itemsize + RECORD.itemsize * (6 * jobs + 1024)
    return rings.GUEST_RING_OFFSET + _round_up(ring_bytes, 4 * MIB)


def hypervisor_ring_bytes(system: System, horizon_ns: int) -> int:
    """Room for all calls of a run, with as much again to spare (Xen may use half of it).

    A job arrives and departs and makes at most a few picks; a server is refilled and depleted
    once a period, under the sporadic rule in up to eight parts; turns and extra time end as often
    as they can.
    """
    calls = 4096.0
    policies = [system.policy, *(swap.policy for swap in system.swaps)]
    for domain in system.domains:
        calls += 6 * sum(_jobs(task, horizon_ns) for task in domain.tasks)
        if domain.interface is not None:
            per_period = 20 if any(policy.budget == "sporadic" for policy in policies) else 6
            calls += per_period * domain.vcpus * horizon_ns / domain.interface.period_ns
            if domain.extra and any(policy.slack is Slack.EXTRA for policy in policies):
                calls += 3 * domain.vcpus * horizon_ns / domain.interface.budget_ns
    if sum(domain.vcpus for domain in system.domains if domain.best_effort) > 1:
        calls += 2 * system.pcpus * horizon_ns / MS
    if system.quantum_ns is not None:
        calls += 2 * system.pcpus * horizon_ns / system.quantum_ns
    return min(_round_up(4 * int(calls) * RECORD.itemsize, MIB), LARGEST_RING_BYTES)


def _jobs(task: Task, horizon_ns: int) -> int:
    """So many jobs, and no more, have a task's records to be kept for."""
    apart_ns = task.bcet_ns if task.kind is TaskKind.BUSY else task.period_ns
    return 1 if apart_ns is None else 2 + horizon_ns // apart_ns


@contextlib.contextmanager
def _console(folder: Path | None) -> Iterator[Path]:
    """Where the console's log goes: to stay, or for as long as the run."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder / "console.log"
        return
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        yield Path(name) / "console.log"


def _record(
    running: Running,
    machine: Machine,
    horizon_ns: int,
    progress: Callable[[int], None] | None,
    patience_s: float,
) -> Recorded:
    """Let the machine run to the horizon, or to Ctrl-C, and read what it recorded."""

    def look() -> int | None:
        addresses = rings.announced(running.console())
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
    console = running.console()
    complaints = COMPLAINT.findall(console)
    if complaints:
        raise FailedError("Xen or a guest does not run this system", "\n".join(complaints))
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


def _wait_for_guests(running: Running) -> None:
    """A guest writes what was due before the horizon when it next runs, and then its end."""
    until = time.monotonic() + GUESTS_END_S
    waiting = _guest_rings(running)
    while waiting and time.monotonic() < until:
        headers = {address: rings.read_header(running.read, address) for address in waiting}
        waiting = [at for at, header in headers.items() if header is None or not header.ended]
        time.sleep(0.02)


def _guest_rings(running: Running) -> list[int]:
    return [place.memory + rings.GUEST_RING_OFFSET for place in running.places]


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


def _drawn_releases(system: System, seed: int, end_ns: int) -> list[list[int]]:
    """By task, when its jobs are released as far as the draws alone say."""
    scenario = make_scenario(system, end_ns, seed)
    return [scenario.releases(placed.id, end_ns) for placed in tasks_of(system)]


def _write_trace(
    path: Path, system: System, horizon_ns: int, seed: int, records: Records, late_ns: int
) -> None:
    """The overheads of the file are the simulator's; here the real ones show as lateness."""
    plain = system.model_copy(update={"overheads": Overheads()})
    header = make_header(plain, HOST, horizon_ns, seed, guarantees=guaranteed(system))
    write_header(path, {**header, "lateness_ns": late_ns})
    with path.open("ab") as file:
        file.write(records.tobytes())


def _require_life(recorded: Recorded, result: dict[str, Any]) -> None:
    """FailedError for a guest that was given time and did nothing with it."""
    for domain, ring in zip(result["domains"], recorded.guests, strict=True):
        if domain["supply_ns"] > MS and len(ring.records) == 0 and not ring.header.ended:
            raise FailedError(f"the guest of domain {domain['name']} had time and recorded nothing")


def _result(
    system: System,
    seed: int,
    recorded: Recorded,
    replayed: list[Replayed],
    records: Records,
) -> dict[str, Any]:
    picks = [count for part in replayed for count in part.picks(recorded.end_ns)]
    counts = Counts(
        host=HOST,
        end_ns=recorded.end_ns,
        seed=seed,
        interrupted=recorded.interrupted,
        response_error=0.0,
        tasks=count_tasks(system, records, recorded.end_ns),
        domains=count_domains(system, records),
        pcpus=count_pcpus(system, records, picks),
    )
    return cast("dict[str, Any]", make_result(system, counts))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
