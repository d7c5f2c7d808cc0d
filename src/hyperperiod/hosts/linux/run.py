# SPDX-License-Identifier: BSD-2-Clause
"""A system on Linux: servers in the kernel, a process of threads for each domain, the result object
and trace of every host.

The run begins at the epoch, an instant of the kernel's clock. The kernel is Debian's, booted in
QEMU, or the one of this machine (`RunOptions.here`). With one pcpu the machine in QEMU counts
instructions, and a run repeats exactly. With several, and on this machine itself, it runs as fast
as it can: the schedule is real, but its times are those of a busy host, and the result says so
(`timing`).
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperperiod.hosts import rings
from hyperperiod.hosts.costs import TICK_PERIOD_NS
from hyperperiod.hosts.counts import count_flows, count_pcpus, count_tasks, count_vcpus
from hyperperiod.hosts.header import make_header
from hyperperiod.hosts.linux import commands, here, live, script
from hyperperiod.hosts.linux.attend import Beside, Left, RunOptions, attended, perform
from hyperperiod.hosts.linux.build import Images, images
from hyperperiod.hosts.linux.commands import Programs
from hyperperiod.hosts.linux.machine import Machine
from hyperperiod.hosts.linux.outside import EVENT_LIMIT, Outsider, outside, theft_count
from hyperperiod.hosts.merge import Drawn, Jobs, jobs_of, lateness_ns, merge
from hyperperiod.hosts.refuse import refuse, require_interfaces
from hyperperiod.hosts.replay import Replayed, replay
from hyperperiod.hosts.result import Counts, RunResult, TaskCount, VcpuCount, make_result
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.measured import LINUX_KERNEL
from hyperperiod.measured import read as read_measured
from hyperperiod.model import (
    FailedError,
    InputError,
    Overheads,
    Scheduler,
    System,
    tasks_of,
)
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.trace.format import NONE, SPARE, Header, Kind, Records, write_header, writing

__all__ = ["Beside", "Order", "RunOptions", "record", "run", "run_all"]

HOST = "linux"
KERNEL = "Linux"
PCPU_LIMIT = 8
VCPU_LIMIT = 64
TASK_LIMIT = 256
"""The most vcpus of a lock domain, and tasks; each may have four threads, all of them 1,024."""

"""Between two ticks of Debian's kernel (CONFIG_HZ=250)."""


class Spent(NamedTuple):
    """How often a program ran, and for how long (ns) in all."""

    runs: int
    ns: int


@dataclass(frozen=True)
class Recorded:
    """What was left at the end of a run."""

    kernel: list[rings.Ring]
    end_ns: int
    interrupted: bool
    icount: bool
    files: Mapping[str, bytes]
    """All that the run has left, by name."""


class Order(NamedTuple):
    """A run that is wanted: of a system whose interfaces are known, from 0 to `horizon_ns`.

    `guarantees` says in the trace that the servers are guaranteed their budgets, so that its
    readers check that.
    """

    system: System
    horizon_ns: int
    seed: int = 1
    trace_path: Path | None = None
    guarantees: bool = False


def run(
    order: Order,
    progress: Callable[[int], None] | None = None,
    options: RunOptions | None = None,
) -> RunResult:
    """The result object of a run.

    Raises InputError for what this host cannot run, MissingError for what is not built or
    installed, FailedError when the machine does not come to its end or when its decisions are
    not those of the core.
    """
    return run_all([order], progress, options)[0]


def run_all(
    orders: Sequence[Order],
    progress: Callable[[int], None] | None = None,
    options: RunOptions | None = None,
) -> list[RunResult]:
    """The result objects of runs one after the other on one machine, which takes time to boot.

    Ctrl-C ends a single run with a result, and breaks several off (KeyboardInterrupt). Errors are
    those of `run`.
    """
    return [result for result, _ in run_counted(orders, progress, options)]


def run_counted(
    orders: Sequence[Order],
    progress: Callable[[int], None] | None = None,
    options: RunOptions | None = None,
) -> list[tuple[RunResult, Mapping[str, Spent]]]:
    """The same, with what each program of the scheduler took, where the options ask for that."""
    options = options or RunOptions()
    if not options.thefts:
        orders = [one._replace(system=one.system.replace(stolen=())) for one in orders]
    every = record(orders, options, progress)
    _keep_printed(orders, every, options.folder)
    spent = _spent([json.loads(recorded.files["status"])["programs"] for recorded in every])
    return [
        (result_of(order, recorded, _jobs(order, recorded))[0], taken)
        for order, recorded, taken in zip(orders, every, spent, strict=True)
    ]


def record(
    orders: Sequence[Order],
    options: RunOptions,
    progress: Callable[[int], None] | None = None,
) -> list[Recorded]:
    """What is recorded in such runs. Errors are those of `run`."""
    for order in orders:
        refuse_order(order)
    built = images()
    programs = [
        commands.find(order.system, None if options.here else built.busybox) for order in orders
    ]
    several = any(order.system.pcpus > 1 for order in orders)
    icount = not (several or options.here) if options.icount is None else options.icount
    alone = len(orders) == 1
    watch = _watch(max(order.horizon_ns for order in orders), options.patience_s, progress)
    if options.here:
        left = attended(_beginning(orders, programs, built, options), watch, options, alone=alone)
    else:
        left = perform(
            lambda start_s: _machine(
                orders, programs, built, options, icount=icount, start_s=start_s
            ),
            watch,
            options,
            alone=alone,
        )
    return [
        read_recorded(order, left, number, icount=icount) for number, order in enumerate(orders)
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


def refuse_order(order: Order) -> None:
    """InputError for what this host cannot run."""
    refuse(order.system, order.horizon_ns, order.seed)
    _refuse(order.system, order.horizon_ns)
    require_interfaces(order.system)


def result_of(order: Order, recorded: Recorded, jobs: Jobs) -> tuple[RunResult, Records]:
    """The result and the records of a run whose jobs are known; writes its trace."""
    system, end_ns = order.system, recorded.end_ns
    replayed = [
        _begun(_renumbered(replay(ring, end_ns, KERNEL), vcpus))
        for ring, vcpus in zip(recorded.kernel, script.lock_domains(system), strict=True)
    ]
    records = merge(system, replayed, jobs, end_ns)
    if order.trace_path is not None:
        plain = system.replace(overheads=Overheads(), stolen=())
        header = make_header(plain, HOST, order.horizon_ns, order.seed, guarantees=order.guarantees)
        _allow(header, recorded, lateness_ns(replayed))
        with writing(order.trace_path):
            write_header(order.trace_path, header)
            with order.trace_path.open("ab") as file:
                file.write(records.tobytes())
    picks = [count for part in replayed for count in part.picks(end_ns)]
    tasks, vcpus = count_tasks(system, records, end_ns), count_vcpus(system, records, replayed)
    counts = Counts(
        host=HOST,
        end_ns=end_ns,
        seed=order.seed,
        interrupted=recorded.interrupted,
        response_error=0.0,
        tasks=_with_commands(system, tasks, recorded.files, vcpus),
        vcpus=vcpus,
        pcpus=count_pcpus(system, records, picks),
        flows=count_flows(system, records, end_ns),
        timing=None if recorded.icount else "host",
    )
    return make_result(system, counts), records


def _with_commands(
    system: System,
    counts: Sequence[TaskCount],
    left: Mapping[str, bytes],
    vcpus: Sequence[VcpuCount],
) -> list[TaskCount]:
    """The counts of tasks, with what those came to that are commands."""
    found = commands.came_to(system, left, [vcpu.supply_ns for vcpu in vcpus])
    return [replace(count, command=found.get(number)) for number, count in enumerate(counts)]


def _keep_printed(orders: Sequence[Order], every: Sequence[Recorded], folder: Path | None) -> None:
    """Keeps what commands have printed in a folder of the run's; of several runs, in one each."""
    if folder is None:
        return
    kept = folder / commands.FOLDER
    shutil.rmtree(kept, ignore_errors=True)
    for number, (order, recorded) in enumerate(zip(orders, every, strict=True)):
        place = kept if len(orders) == 1 else kept / str(number)
        commands.keep_printed(order.system, recorded.files, place)


def _wrong(system: System, key: str, found: str, allowed: str) -> InputError:
    return InputError(system.name, None, key, found, f"{allowed} on Linux")


def _refuse(system: System, horizon_ns: int) -> None:
    """InputError for what the simulator can run and this host cannot."""
    wrong = partial(_wrong, system)
    if system.flows:
        raise wrong("flow", str(len(system.flows)), "none: processes have no channels")
    _refuse_outside(system, horizon_ns)
    if system.pcpus > PCPU_LIMIT:
        raise wrong("pcpus", str(system.pcpus), f"at most {PCPU_LIMIT}")
    for vcpus in script.lock_domains(system):
        if len(vcpus) > VCPU_LIMIT:
            raise wrong("domain: vcpus", str(len(vcpus)), f"at most {VCPU_LIMIT} with one lock")
    if len(tasks_of(system)) > TASK_LIMIT:
        raise wrong("task", str(len(tasks_of(system))), f"at most {TASK_LIMIT}")
    commands.refuse(system)
    for domain in system.domains:
        where = f"domain {domain.name}: "
        if domain.scheduler not in live.INSIDE:
            allowed = f"{', '.join(live.INSIDE)}, where tasks stay on their vcpu,"
            raise wrong(f"{where}scheduler", str(domain.scheduler), allowed)
        for task in domain.tasks if domain.vcpus > 1 else ():
            if task.vcpu is None:
                raise wrong(f"{where}task {task.name}: vcpu", "nothing", "the vcpu of the task")


def _refuse_outside(system: System, horizon_ns: int) -> None:
    """InputError for what cannot be done to a run from outside."""
    moves = sum(change.pcpu is not None for change in system.changes)
    if moves:
        raise _wrong(system, "change: pcpu", str(moves), "none: servers stay where they are")
    thefts = theft_count(system, horizon_ns)
    if thefts > EVENT_LIMIT:
        found = f"{thefts} thefts from a pcpu"
        raise _wrong(system, "stolen", found, f"at most {EVENT_LIMIT}")


def _spent(counters: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, Spent]]:
    """What programs took in each run, of counters at the end of each: they count on."""
    before: dict[str, Spent] = {}
    for counted in counters:
        after = {each["name"]: Spent(each["runs"], each["ns"]) for each in counted}
        nothing = Spent(0, 0)
        yield {
            name: Spent(
                *(now - then for now, then in zip(total, before.get(name, nothing), strict=True))
            )
            for name, total in after.items()
        }
        before = after


def _machine(
    orders: Sequence[Order],
    programs: Sequence[Programs],
    built: Images,
    options: RunOptions,
    *,
    icount: bool,
    start_s: int,
) -> Machine:
    cpus = range(_pcpus(orders))
    beside = options.beside or Beside()
    prepare, files = beside.lines, _words(orders, programs, options, icount=icount)
    if any(programs):
        prepare = commands.PREPARE + prepare
        files |= commands.files_of(programs)
    text = script.init(
        _runs(orders, options, cpus), cpus=_locks(orders), start_s=start_s, prepare=prepare
    )
    files["init"] = text.encode()
    files |= {f"bin/{name}": data for name, data in beside.programs.items()}
    return Machine(built, files, cpus=len(cpus), icount=icount)


def _beginning(
    orders: Sequence[Order], programs: Sequence[Programs], built: Images, options: RunOptions
) -> Callable[[int, Path], AbstractContextManager[here.Here]]:
    """What begins the runs on the kernel of this machine; errors are those of `here`."""
    here.require()
    here.require_functions(built.folder)
    here.require_free()
    pcpus = _pcpus(orders)
    cpus = range(pcpus) if options.cpus is None else options.cpus
    here.require_cpus(cpus, pcpus)
    runs = _runs(orders, options, cpus)
    files = _words(orders, programs, options, icount=False)

    def begin(start_s: int, console: Path) -> AbstractContextManager[here.Here]:
        def text(place: script.Place) -> str:
            return script.here(runs, place, cpus=_locks(orders), start_s=start_s)

        return here.begin(built.folder, files, text, console)

    return begin


def _pcpus(orders: Sequence[Order]) -> int:
    return max(order.system.pcpus for order in orders)


def _locks(orders: Sequence[Order]) -> int:
    return script.cpus_of([order.system for order in orders])


def _runs(orders: Sequence[Order], options: RunOptions, cpus: Sequence[int]) -> list[str]:
    """The parts of a script for the runs."""
    return [
        script.run_tasks(order.system, number, order.horizon_ns, _outside(order, options), cpus)
        for number, order in enumerate(orders)
    ]


def _outside(order: Order, options: RunOptions) -> dict[str, Outsider]:
    return outside(order.system, order.horizon_ns, counts=options.counts)


def _words(
    orders: Sequence[Order], programs: Sequence[Programs], options: RunOptions, *, icount: bool
) -> dict[str, bytes | None]:
    """What processes are told, as files."""
    files: dict[str, bytes | None] = {"words": None}
    for number, order in enumerate(orders):
        files[f"words/{number}"] = None
        for placed in commands.commands_of(order.system):
            told = commands.words(placed, programs[number], here=options.here)
            files[f"words/{number}/command{placed.id}"] = told
        for domain in script.domains_of_tasks(order.system):
            said = script.words(order.system, domain, order.horizon_ns, order.seed, icount=icount)
            files[f"words/{number}/{domain}"] = said.encode()
        for name, outsider in _outside(order, options).items():
            files[f"words/{number}/{name}"] = outsider.text.encode()
    return files


def read_recorded(order: Order, left: Left, number: int, *, icount: bool) -> Recorded:
    """What a machine has recorded of the run of that number, except for its jobs."""
    files = left.of_run(number)
    _require_in_force(files["status"])
    kernel = list(_kernel_rings(files["rings"], len(script.lock_domains(order.system))))
    end_ns = order.horizon_ns
    if left.interrupted:
        times = [int(ring.records["time_ns"][-1]) for ring in kernel if len(ring.records)]
        end_ns = min([end_ns, *times])
        if end_ns == 0:
            raise KeyboardInterrupt
    return Recorded(kernel, end_ns, left.interrupted, icount, files)


def _jobs(order: Order, recorded: Recorded) -> Jobs:
    """What the processes of the domains recorded of their jobs."""
    system, end_ns = order.system, recorded.end_ns
    domains = list(domain_rings(system, recorded))
    return jobs_of(system, domains, _drawn(system, order.seed, end_ns), end_ns)


def domain_rings(system: System, recorded: Recorded) -> Iterator[rings.Ring]:
    """The ring of each domain's process; commands have none. FailedError if one is full."""
    for number, domain in enumerate(system.domains):
        if commands.has_commands(domain):
            yield rings.silent_ring()
            continue
        name = f"the process of domain {domain.name}"
        ring = rings.read_ring(_reader(recorded.files[f"ring{number}"]), 0, name)
        if ring.lost:
            raise FailedError(f"the ring of {name} is full; take a shorter horizon")
        yield ring


def _require_in_force(status: bytes) -> None:
    """FailedError if the kernel had ended the scheduler before the run was over."""
    said = json.loads(status)
    if said["exit_kind"] != 0:
        raise FailedError("Linux ended the scheduler before its time", said["exit_reason"])


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

    What came and went before it has that instant as well, and no order among itself in a trace.
    """
    records = part.records
    before = (records["time_ns"] == 0) & np.isin(records["kind"], (Kind.ARRIVE, Kind.DEPART))
    last = {int(records["vcpu"][at]): at for at in np.flatnonzero(before).tolist()}
    for at in last.values():
        before[at] = records["kind"][at] != Kind.ARRIVE
    return replace(part, records=records[~before])


def _drawn(system: System, seed: int, end_ns: int) -> Drawn:
    """When jobs are released as far as the draws say, whoever is first in a domain.

    A command has no jobs: what it does when, nobody says.
    """
    domains = (domain.replace(scheduler=Scheduler.FIFO) for domain in system.domains)
    scenario = make_scenario(system.replace(domains=tuple(domains)), end_ns, seed)
    return Drawn(
        [
            scenario.releases(placed.id, end_ns) if placed.task.command is None else ()
            for placed in tasks_of(system)
        ]
    )


def _allow(header: Header, recorded: Recorded, late_ns: int) -> None:
    """Adds to a header what its reader must allow for, as it was on this machine."""
    header["lateness_ns"] = late_ns
    if not recorded.icount:
        header["timing"] = "host"
        return
    kernel = KernelAllowance.measured()
    header["resume_ns"] = header["switch_ns"] = kernel.event_ns
    header["job_overhead_ns"] = kernel.job_ns
    for entry in header["tasks"]:
        entry["kernel_ns"], entry["kernel_period_ns"] = kernel.event_ns, TICK_PERIOD_NS


class KernelAllowance(NamedTuple):
    """What the kernel takes of jobs at most, from what was measured of it, up to 100 ns more."""

    event_ns: int
    """Where something happens: a switch, a wake, a tick."""
    job_ns: int
    """What a job takes beside itself: to wake up, to be recorded and to go to sleep."""

    @classmethod
    def measured(cls) -> KernelAllowance:
        """From the numbers in `measured.toml`."""
        numbers = read_measured()[LINUX_KERNEL].numbers
        longest = (
            max(numbers[name].value for name in ("preempt", "tick")),
            max(numbers[name].value for name in ("wake", "job")),
        )
        return cls(*(100 * math.ceil(span / 100) for span in longest))
