# SPDX-License-Identifier: BSD-2-Clause
"""A system on Linux: servers in the kernel, a process of threads for each domain, the result object
and trace of every host.

The run begins at the epoch, an instant of the kernel's clock. The kernel is Debian's, booted in
QEMU, or the one of this machine (`LinuxOptions.here`). With one pcpu the machine in QEMU counts
instructions, and a run repeats exactly. With several, and on this machine itself, it runs as fast
as it can: the schedule is real, but its times are those of a busy host, and the result says so
(`timing`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hyperperiod.hosts import Stock, rings
from hyperperiod.hosts.costs import TICK_PERIOD_NS, longest_ns
from hyperperiod.hosts.guests import counted_flows
from hyperperiod.hosts.linux import commands, here, live, script, stock
from hyperperiod.hosts.linux.attend import LinuxOptions, RunFiles, run_until_done
from hyperperiod.hosts.linux.build import MACHINES, Images, images, programs_folder
from hyperperiod.hosts.linux.commands import Programs
from hyperperiod.hosts.linux.machine import LinuxMachine, RunningLinux, boot
from hyperperiod.hosts.linux.outside import EVENT_LIMIT, Outsider, outside, theft_count
from hyperperiod.hosts.merge import Jobs
from hyperperiod.hosts.recorded_run import (
    CallTime,
    RunRecording,
    RunRequest,
    recorded_jobs,
    recorded_until,
    require_room,
)
from hyperperiod.hosts.recorded_run import result_of as shared_result_of
from hyperperiod.hosts.refuse import refuse, refuse_executors, require_interfaces
from hyperperiod.hosts.replay import Replayed, replay
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.stock import result_under
from hyperperiod.measured import LINUX_KERNEL
from hyperperiod.model import FailedError, InputError, System, tasks_of
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.trace.format import NONE, SPARE, Header, Kind, Records

HOST = "linux"
KERNEL = "Linux"
PCPU_LIMIT = 8
VCPU_LIMIT = 64
TASK_LIMIT = 256
"""The most vcpus of a lock domain, and tasks; each may have four threads, all of them 1,024."""


def run(
    request: RunRequest,
    progress: Callable[[int], None] | None = None,
    options: LinuxOptions | None = None,
) -> RunResult:
    """The result object of a run.

    Raises InputError for what this host cannot run, MissingError for what is not built or
    installed, FailedError when the machine does not come to its end or when its decisions are
    not those of the core.
    """
    return run_all([request], progress, options)[0]


def run_all(
    requests: Sequence[RunRequest],
    progress: Callable[[int], None] | None = None,
    options: LinuxOptions | None = None,
) -> list[RunResult]:
    """The result objects of runs one after the other on one machine, which takes time to boot.

    Ctrl-C ends a single run with a result, and breaks several off (KeyboardInterrupt). Errors are
    those of `run`.
    """
    return [result for result, _ in run_counted(requests, progress, options)]


def run_counted(
    requests: Sequence[RunRequest],
    progress: Callable[[int], None] | None = None,
    options: LinuxOptions | None = None,
) -> list[tuple[RunResult, Mapping[str, CallTime]]]:
    """The same, with what each program of the scheduler took, where the options ask for that."""
    options = options or LinuxOptions()
    if not options.thefts:
        requests = [one._replace(system=one.system.replace(stolen=())) for one in requests]
    every = record(requests, options, progress)
    _keep_printed(requests, every, options.folder)
    spent = _spent([json.loads(recording.files["status"])["programs"] for recording in every])
    return [
        (_result(request, recording, options.scheduler), taken)
        for request, recording, taken in zip(requests, every, spent, strict=True)
    ]


def _result(request: RunRequest, recording: RunRecording, scheduler: Stock | None) -> RunResult:
    jobs = recorded_jobs(request, recording)
    if scheduler is None:
        return result_of(request, recording, jobs)[0]
    return result_under(
        scheduler,
        request,
        recording,
        lambda host, run, decided: _shared_result(host, run, recording, decided, jobs)[0],
    )


def record(
    requests: Sequence[RunRequest],
    options: LinuxOptions,
    progress: Callable[[int], None] | None = None,
) -> list[RunRecording]:
    """What is recording in such runs. Errors are those of `run`."""
    for request in requests:
        refuse_request(request)
        if options.scheduler is not None:
            stock.refuse(request.system, options.scheduler)
    built = None if options.here else images(options.kernel)
    programs = [
        commands.find(request.system, built.busybox, MACHINES[built.architecture])
        if built
        else commands.find(request.system, None)
        for request in requests
    ]
    several = any(request.system.pcpus > 1 for request in requests)
    icount = not (several or options.here) if options.icount is None else options.icount
    watch = _watch(max(request.horizon_ns for request in requests), options.patience_s, progress)
    begin = (
        _beginning_here(requests, programs, options)
        if built is None
        else _booting(requests, programs, built, options, icount=icount)
    )
    left = run_until_done(begin, watch, options, alone=len(requests) == 1)
    return [
        read_recorded(request, left, number, icount=icount)
        for number, request in enumerate(requests)
    ]


def _watch(
    horizon_ns: int, patience_s: float, progress: Callable[[int], None] | None
) -> Callable[[str, int], None]:
    """What shows how far the latest run is, and finds out if it does not end."""

    def watch(console: str, now_s: int) -> None:
        begun = re.findall(rf"{script.BEGUN} (\d+)", console)
        if not begun:
            return
        # The kernel's clock begins a moment after the machine's: it is less than a second.
        since_ns = now_s * NS_PER_UNIT["s"] - int(begun[-1])
        if since_ns > horizon_ns + patience_s * NS_PER_UNIT["s"]:
            raise FailedError("the run does not come to its end", console)
        if progress is not None:
            progress(max(0, min(since_ns, horizon_ns)))

    return watch


def refuse_request(request: RunRequest) -> None:
    """InputError for what this host cannot run."""
    refuse(request.system, request.horizon_ns, request.seed)
    _refuse(request.system, request.horizon_ns)
    require_interfaces(request.system)


def result_of(
    request: RunRequest, recording: RunRecording, jobs: Jobs
) -> tuple[RunResult, Records]:
    """The result and the records of a run whose jobs are known; writes its trace."""
    system = request.system
    replayed = [
        _begun(_renumbered(replay(ring, recording.end_ns, KERNEL), vcpus))
        for ring, vcpus in zip(recording.decisions, script.lock_domains(system), strict=True)
    ]
    return _shared_result(HOST, request, recording, replayed, jobs)


def _shared_result(
    host: str,
    request: RunRequest,
    recording: RunRecording,
    replayed: Sequence[Replayed],
    jobs: Jobs,
) -> tuple[RunResult, Records]:
    came_to = partial(commands.came_to, request.system, recording.files)
    allow = partial(_allow, icount=recording.icount)
    return shared_result_of(host, request, recording, replayed, jobs, allow, came_to)


def _keep_printed(
    requests: Sequence[RunRequest], every: Sequence[RunRecording], folder: Path | None
) -> None:
    """Keeps what commands have printed in a folder of the run's; of several runs, in one each."""
    if folder is None:
        return
    kept = folder / commands.FOLDER
    shutil.rmtree(kept, ignore_errors=True)
    for number, (request, recording) in enumerate(zip(requests, every, strict=True)):
        place = kept if len(requests) == 1 else kept / str(number)
        commands.keep_printed(request.system, recording.files, place)


def _wrong(system: System, key: str, found: str, allowed: str) -> InputError:
    return InputError(system.name, None, key, found, f"{allowed} on Linux")


def _refuse(system: System, horizon_ns: int) -> None:
    """InputError for what the simulator can run and this host cannot."""
    wrong = partial(_wrong, system)
    _refuse_outside(system, horizon_ns)
    if system.pcpus > PCPU_LIMIT:
        raise wrong("pcpus", str(system.pcpus), f"at most {PCPU_LIMIT}")
    for vcpus in script.lock_domains(system):
        if len(vcpus) > VCPU_LIMIT:
            raise wrong("domain: vcpus", str(len(vcpus)), f"at most {VCPU_LIMIT} with one lock")
    counted = [("task", len(tasks_of(system)), TASK_LIMIT), *counted_flows(system)]
    counted.append(("device", len(system.devices), 0))
    for what, found, limit in counted:
        if found > limit:
            raise wrong(what, str(found), f"at most {limit}")
    refuse_executors(system)
    commands.refuse(system)
    live.require_bound_tasks(system)


def _refuse_outside(system: System, horizon_ns: int) -> None:
    """InputError for what cannot be done to a run from outside."""
    moves = sum(change.pcpu is not None for change in system.changes)
    if moves:
        raise _wrong(system, "change: pcpu", str(moves), "none: servers stay where they are")
    thefts = theft_count(system, horizon_ns)
    if thefts > EVENT_LIMIT:
        found = f"{thefts} thefts from a pcpu"
        raise _wrong(system, "stolen", found, f"at most {EVENT_LIMIT}")


def _spent(counters: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, CallTime]]:
    """What programs took in each run, of counters at the end of each: they count on."""
    before: dict[str, CallTime] = {}
    for counted in counters:
        after = {each["name"]: CallTime(each["runs"], each["ns"]) for each in counted}
        nothing = CallTime(0, 0)
        yield {
            name: CallTime(
                *(now - then for now, then in zip(total, before.get(name, nothing), strict=True))
            )
            for name, total in after.items()
        }
        before = after


def _booting(
    requests: Sequence[RunRequest],
    programs: Sequence[Programs],
    built: Images,
    options: LinuxOptions,
    *,
    icount: bool,
) -> Callable[[int, Path], AbstractContextManager[RunningLinux]]:
    """What begins the runs on a machine that is booted."""
    cpus = range(_pcpus(requests))
    prepare = options.load.lines
    files = _words(requests, programs, options, icount=icount)
    files |= {f"bin/{name}": data for name, data in options.load.programs.items()}
    if any(programs):
        prepare = commands.PREPARE + prepare
        files |= commands.files_of(programs)
    runs = _runs(requests, options, cpus)

    def begin(start_s: int, console: Path) -> AbstractContextManager[RunningLinux]:
        text = script.booted(runs, start_s=start_s, prepare=prepare)
        machine = LinuxMachine(built, text, script.START, files, cpus=len(cpus), icount=icount)
        return boot(machine, console)

    return begin


def _beginning_here(
    requests: Sequence[RunRequest],
    programs: Sequence[Programs],
    options: LinuxOptions,
) -> Callable[[int, Path], AbstractContextManager[here.LocalRun]]:
    """What begins the runs on the kernel of this machine; errors are those of `here`."""
    here.require()
    here.require_free()
    if options.scheduler is not None:
        here.require_cgroups()
    pcpus = _pcpus(requests)
    cpus = range(pcpus) if options.cpus is None else options.cpus
    here.require_cpus(cpus, pcpus)
    runs = _runs(requests, options, cpus)
    files = _words(requests, programs, options, icount=False)
    folder = programs_folder()

    def begin(start_s: int, console: Path) -> AbstractContextManager[here.LocalRun]:
        def text(place: script.Place) -> str:
            return script.here(runs, place, cpus=pcpus, start_s=start_s)

        return here.begin(folder, files, text, console)

    return begin


def _pcpus(requests: Sequence[RunRequest]) -> int:
    return max(request.system.pcpus for request in requests)


def _runs(requests: Sequence[RunRequest], options: LinuxOptions, cpus: Sequence[int]) -> list[str]:
    """The parts of a script for the runs."""
    return [
        script.run_tasks(
            request.system,
            number,
            request.horizon_ns,
            _outside(request, options),
            cpus,
            options.workloads,
            options.scheduler,
        )
        for number, request in enumerate(requests)
    ]


def _outside(request: RunRequest, options: LinuxOptions) -> dict[str, Outsider]:
    return outside(request.system, request.horizon_ns, counts=options.counts)


def _words(
    requests: Sequence[RunRequest],
    programs: Sequence[Programs],
    options: LinuxOptions,
    *,
    icount: bool,
) -> dict[str, bytes | None]:
    """What processes are told, as files."""
    files: dict[str, bytes | None] = {"words": None}
    for number, request in enumerate(requests):
        files[f"words/{number}"] = None
        for placed in commands.commands_of(request.system):
            told = commands.words(placed, programs[number], here=options.here)
            files[f"words/{number}/command{placed.id}"] = told
        for domain in script.domains_of_tasks(request.system):
            said = script.words(
                request.system,
                domain,
                request.horizon_ns,
                request.seed,
                options.workloads.get(domain),
                icount=icount,
            )
            files[f"words/{number}/{domain}"] = said.encode()
        for name, outsider in _outside(request, options).items():
            files[f"words/{number}/{name}"] = outsider.text.encode()
    return files


def read_recorded(
    request: RunRequest, left: RunFiles, number: int, *, icount: bool, services: bool = False
) -> RunRecording:
    """What a machine has recorded of the run of that number; services record no jobs."""
    files = left.of_run(number)
    _require_in_force(files["status"])
    system, end_ns = request.system, request.horizon_ns
    if "rings" in files:
        decisions = list(_kernel_rings(files["rings"], len(script.lock_domains(system))))
    else:
        decisions = [stock.switches(system, files)]
    if left.interrupted:
        # Nobody had a chance to meet a deadline after the threads were ended.
        end_ns = recorded_until(decisions, min(end_ns, int(files.get("ended", end_ns))))
    guests = [] if services else list(_domain_rings(system, files))
    return RunRecording(decisions, guests, end_ns, left.interrupted, icount, files)


def _domain_rings(system: System, files: Mapping[str, bytes]) -> Iterator[rings.Ring]:
    """The ring of each domain's process; commands have none. FailedError if one is full."""
    for number, domain in enumerate(system.domains):
        if commands.has_commands(domain):
            yield rings.silent_ring()
            continue
        name = f"the process of domain {domain.name}"
        ring = rings.read_ring(_reader(files[f"ring{number}"]), 0, name)
        require_room([(name, ring)])
        yield ring


def _require_in_force(status: bytes) -> None:
    """FailedError if the kernel had ended the scheduler before the run was over."""
    said = json.loads(status)
    if said["ends"]:
        raise FailedError("Linux ended the scheduler before its time", said["ended"])


def _reader(data: bytes) -> rings.Read:
    return lambda address, size: data[address : address + size]


def _kernel_rings(data: bytes, count: int) -> Iterator[rings.Ring]:
    """The scheduler's rings, one for each lock domain: one after the other, with what was kept."""
    at = 0
    for lock in range(count):
        ring = rings.read_ring(_reader(data), at, f"lock domain {lock}")
        at += ring.header.header_bytes + ring.records.nbytes
        yield ring


def _renumbered(part: Replayed, vcpus: Sequence[int]) -> Replayed:
    """The part of a lock domain with the vcpus' numbers in the system."""
    records = part.records.copy()
    ids = np.array(vcpus, np.uint16)
    for field in ("vcpu", "payer"):
        named = ~np.isin(records[field], (NONE, SPARE))
        records[field][named] = ids[records[field][named]]
    periods = {vcpu: part.periods[number] for number, vcpu in enumerate(vcpus)}
    return replace(part, records=records, periods=periods)


def _begun(part: Replayed) -> Replayed:
    """The part of a lock domain that begins with who has work at the epoch.

    What came and went before it has that instant as well, and no request among itself in a trace.
    """
    records = part.records
    before = (records["time_ns"] == 0) & np.isin(records["kind"], (Kind.ARRIVE, Kind.DEPART))
    last = {int(records["vcpu"][at]): at for at in np.flatnonzero(before).tolist()}
    for at in last.values():
        before[at] = records["kind"][at] != Kind.ARRIVE
    return replace(part, records=records[~before])


def _allow(header: Header, *, icount: bool) -> None:
    """Adds to a header what its reader must allow for, as it was on this machine.

    Where something happens the kernel takes its time: at a switch, a wake, a tick. A job takes some
    beside itself: to wake up, to be recorded and to go to sleep.
    """
    if not icount:
        return
    event_ns = longest_ns(LINUX_KERNEL, "preempt", "tick")
    header["resume_ns"] = header["switch_ns"] = event_ns
    header["job_overhead_ns"] = longest_ns(LINUX_KERNEL, "wake", "job")
    for entry in header["tasks"]:
        entry["kernel_ns"], entry["kernel_period_ns"] = event_ns, TICK_PERIOD_NS
