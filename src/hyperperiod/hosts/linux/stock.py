# SPDX-License-Identifier: BSD-2-Clause
"""A run under a scheduler that Linux has itself: the same domains, tasks and draws as under ours.

hyperperiodd tells the time and puts nothing in force. Each domain is a cgroup, whose weight
(`cpu.weight`) is in proportion to the budgets of its servers, and

    eevdf      that is all: the kernel's usual scheduler shares by weight
    quota      it is limited to its budgets in each of its periods as well (`cpu.max`)
    deadline   each vcpu is one thread of SCHED_DEADLINE, with the vcpu's budget and period

So a weight is what Kubernetes makes of a request for cpu, a quota what it makes of a limit. A
best-effort domain has the least weight and no limit. The threads of a domain are equals: of ranks
and deadlines of tasks the kernel is told nothing. Which of the cpus they are on is the kernel's
choice.

Who ran when is what the kernel's own record of switches says (ftrace), to the microsecond: threads
have the names of their vcpus, and a command's processes are those that came of the first one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from hyperperiod.hosts.guests import LINUX_DEADLINES_NS
from hyperperiod.hosts.linux import commands
from hyperperiod.hosts.linux.outside import name_of
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.rings import Ring, new_records, silent_ring
from hyperperiod.model import (
    Domain,
    FailedError,
    InputError,
    Interface,
    PlacedTask,
    Scope,
    System,
    Vcpu,
    format_time,
    tasks_of,
    vcpus_of,
)
from hyperperiod.model.libvirt import PERIODS_NS
from hyperperiod.model.own_vcpu import OwnVcpu
from hyperperiod.model.vcpus import interface_result
from hyperperiod.observe.ftrace import Switch, TraceLines
from hyperperiod.trace.format import STOLEN, Kind


class Stock(StrEnum):
    """A scheduler of Linux's own; the host is called linux and a dash before it."""

    EEVDF = "eevdf"
    QUOTA = "quota"
    DEADLINE = "deadline"


WEIGHT: Final = 1000
"""The weight of a whole cpu; the kernel takes 1 to 10,000."""
ADMITTED: Final = Fraction(95, 100)
"""What the kernel admits of each cpu to threads of SCHED_DEADLINE."""
LEAST_QUOTA_NS: Final = PERIODS_NS[0]
BUFFER_KIB: Final = 32 << 10
"""Room for some 400,000 switches of each cpu."""

PREPARE: Final = f"""\
# inside GROUP MASK COMMAND...: becomes a command in a cgroup, on the cpus of the mask.
inside() {{
    echo 0 >"$1/cgroup.procs" || exit 1
    shift
    exec taskset "$@"
}}
set_to() {{
    echo "$2" >"$1" || give_up "$1 does not take $2"
}}
trace=/sys/kernel/tracing/instances/hyperperiod-$$
[ -d "${{trace%/*}}" ] || mount -t tracefs nodev /sys/kernel/tracing
mkdir -p "$trace" "$commands" || give_up "this kernel has no ftrace, or no cgroups of version 2"
set_to "$trace/trace_clock" mono
set_to "$trace/buffer_size_kb" {BUFFER_KIB}
set_to "$trace/events/sched/sched_process_fork/enable" 1
set_to "$trace/events/sched/sched_switch/enable" 1
set_to /sys/fs/cgroup/cgroup.subtree_control +cpu
set_to "$commands/cgroup.subtree_control" +cpu
set_to "$commands/cpu.weight" 10000
"""
"""Begins to record switches, and makes the cgroup that is around those of domains."""
BUDGETS_END: Final = """\
sched=/sys/kernel/debug/sched
[ -d $sched ] || mount -t debugfs nodev /sys/kernel/debug
set_to $sched/features HRTICK_DL
for server in $sched/*_server/cpu*/runtime; do set_to "$server" 0; done
"""
"""Has budgets of SCHED_DEADLINE end by a timer, and the kernel's own deadline servers take nothing,
as `export --to sched-deadline` does it."""
KEEP: Final = """\
echo "$epoch $own" >"$left/$run/begun"
cat "$trace/trace" >"$left/$run/switches"
rmdir "$trace"
rmdir "$commands"/* "$commands" 2>/dev/null
trace=
"""
"""Keeps what was recorded, and removes what `PREPARE` has made."""


def refuse(system: System, scheduler: Stock) -> None:
    """InputError for what a scheduler of Linux's own cannot do for a system."""
    for key, events in (("swap", system.swaps), ("change", system.changes)):
        if events:
            raise _wrong(system, key, f"{len(events)} of them", "none", scheduler)
    for domain in system.domains:
        if commands.has_commands(domain) and len(domain.tasks) > 1:
            key = f"domain {domain.name}: command"
            raise _wrong(system, key, f"{len(domain.tasks)} of them", "one", scheduler)
    match scheduler:
        case Stock.EEVDF:
            pass
        case Stock.QUOTA:
            for domain in system.domains:
                _require_quota(system, domain)
        case Stock.DEADLINE:
            _refuse_deadline(system)


def _wrong(system: System, key: str, found: str, allowed: str, scheduler: Stock) -> InputError:
    return InputError(system.name, None, key, found, f"{allowed}, on linux-{scheduler}")


def _servers(domain: Domain) -> list[Interface]:
    """The interfaces of the vcpus of a domain that have servers."""
    return [keys.interface for keys in domain.each_vcpu if keys.interface is not None]


def _require_quota(system: System, domain: Domain) -> None:
    """InputError for servers that no quota of the kernel's stands for."""
    servers, (least_ns, most_ns) = _servers(domain), PERIODS_NS
    if not servers:
        return
    where, periods = f"domain {domain.name}: ", sorted({one.period_ns for one in servers})
    if len(periods) > 1 or len(servers) < domain.vcpus:
        found = "vcpus with different periods, or without"
        raise _wrong(system, f"{where}vcpu", found, "one period for all", Stock.QUOTA)
    if not least_ns <= periods[0] <= most_ns:
        allowed = f"{format_time(least_ns)} to {format_time(most_ns)}"
        found = format_time(periods[0])
        raise _wrong(system, f"{where}interface.period", found, allowed, Stock.QUOTA)
    budget_ns = sum(one.budget_ns for one in servers)
    if budget_ns < LEAST_QUOTA_NS:
        found, allowed = format_time(budget_ns), f"at least {format_time(LEAST_QUOTA_NS)}"
        raise _wrong(system, f"{where}interface.budget", found, allowed, Stock.QUOTA)


def refuse_here(system: System, scheduler: Stock) -> None:
    """InputError for a scheduler that is not set up for a part of this machine only."""
    if scheduler is Stock.DEADLINE:
        raise _wrong(system, "--in", "here", "vm: all of the machine is set up for it", scheduler)


def _refuse_deadline(system: System) -> None:
    """InputError for servers that no threads of SCHED_DEADLINE stand for."""
    if system.pcpus > 1 and system.policy.scope is not Scope.GLOBAL:
        allowed = "1, or a global policy: these threads go to any cpu"
        raise _wrong(system, "pcpus", str(system.pcpus), allowed, Stock.DEADLINE)
    for vcpu in vcpus_of(system):
        if vcpu.interface is None:
            continue
        tasks = [one for one in tasks_of(system) if _is_on(one, vcpu)]
        if len(tasks) > 1 or tasks[0].task.command is not None:
            key, found = f"domain {vcpu.name}: task", f"{len(tasks)} of them, or a command"
            raise _wrong(system, key, found, "one of ours for each vcpu", Stock.DEADLINE)
        least_ns, most_ns = LINUX_DEADLINES_NS
        if not least_ns <= vcpu.interface.period_ns <= most_ns:
            key, found = (
                f"domain {vcpu.name}: interface.period",
                format_time(vcpu.interface.period_ns),
            )
            allowed = f"{format_time(least_ns)} to {format_time(most_ns)}"
            raise _wrong(system, key, found, allowed, Stock.DEADLINE)
    share = sum((_share(domain) for domain in system.domains), Fraction(0))
    if share > ADMITTED * system.pcpus:
        found = f"{float(100 * share):.1f} % of a cpu"
        allowed = f"at most {float(100 * ADMITTED * system.pcpus):.0f} %"
        raise _wrong(system, "budgets of all servers", found, allowed, Stock.DEADLINE)


def _is_on(placed: PlacedTask, vcpu: Vcpu) -> bool:
    return (placed.domain_index, placed.task.vcpu or 0) == (vcpu.domain_index, vcpu.index)


def _share(domain: Domain) -> Fraction:
    """The part of a cpu that the servers of a domain have."""
    return sum((Fraction(one.budget_ns, one.period_ns) for one in _servers(domain)), Fraction(0))


def groups(system: System, scheduler: Stock, cpus: Sequence[int]) -> str:
    """The part of a script that makes the cgroups of a system's domains, to run on these cpus."""
    lines = [f'own="{" ".join(map(str, cpus))}"\n', PREPARE]
    if scheduler is Stock.DEADLINE:
        lines.append(BUDGETS_END)
    for number, domain in enumerate(system.domains):
        servers, group = _servers(domain), group_of(system, number)
        weight = max(1, round(WEIGHT * _share(domain)))
        lines.append(f"mkdir -p {group}\nset_to {group}/cpu.weight {weight}\n")
        if scheduler is Stock.QUOTA and servers:
            quota_us = sum(one.budget_ns for one in servers) // 1000
            maximum = f"{quota_us} {servers[0].period_ns // 1000}"
            lines.append(f'set_to {group}/cpu.max "{maximum}"\n')
    return "".join(lines)


def group_of(system: System, number: int) -> str:
    """The cgroup of the domain of that number (from 0) as a script has it; a command's own."""
    if commands.has_commands(system.domains[number]):
        (placed,) = (one for one in tasks_of(system) if one.domain_index == number)
        return f'"$commands/{placed.id}"'
    return f'"$commands/d{number}"'


def server_word(vcpu: Vcpu, scheduler: Stock) -> str:
    """What the process of a domain is told of a vcpu (guests/linux/process.c)."""
    name, server = name_of(vcpu), vcpu.interface
    if scheduler is Stock.DEADLINE and server is not None:
        return f"{name}={server.budget_ns}/{server.period_ns}"
    return f"{name}="


def mask(cpus: Sequence[int]) -> str:
    """Returns cpus as `taskset` takes them."""
    return f"{sum(1 << cpu for cpu in cpus):x}"


def supervisor_of(placed: PlacedTask) -> str:
    """The file, among those that a run leaves, with the process that has started a command."""
    return f"supervisor{placed.id}"


# --- what was recorded ---------------------------------------------------------------------------

FORK: Final = re.compile(rb" pid=(\d+) child_comm=.* child_pid=(\d+)$", re.MULTILINE)


def switches(system: System, files: Mapping[str, bytes]) -> Ring:
    """Who ran when in a run, from the files that it has left, as records of a trace.

    Whoever is not of the system has stolen the time. FailedError if the kernel lost some of it.
    """
    text = files["switches"]
    epoch_ns, *cpus = map(int, files["begun"].split())
    lines = TraceLines(io.BytesIO(text))
    vcpus = {name_of(vcpu): vcpu.id for vcpu in vcpus_of(system)}
    pids = dict(_command_pids(system, files, text))
    found = [one for one in lines.read() if isinstance(one, Switch) and one.cpu in cpus]
    if lines.lost or lines.overwritten or lines.damaged:
        raise FailedError("the kernel lost switches of the run; take a shorter horizon")
    records = new_records(len(found), Kind.IDLE, 0)
    for record, event in zip(records, found, strict=True):
        name, pid, _ = event.after
        record["time_ns"], record["pcpu"] = max(0, event.time_ns - epoch_ns), cpus.index(event.cpu)
        vcpu = vcpus.get(name, pids.get(pid))
        if vcpu is not None:
            record["kind"], record["vcpu"], record["payer"] = Kind.RUN, vcpu, vcpu
        elif pid:
            record["flags"] = STOLEN
    return Ring(silent_ring().header, records, 0)


def _command_pids(
    system: System, files: Mapping[str, bytes], text: bytes
) -> Iterator[tuple[int, int]]:
    """The processes of commands, each with the vcpu that it is on."""
    came_of: dict[int, list[int]] = {}
    for parent, child in FORK.findall(text):
        came_of.setdefault(int(parent), []).append(int(child))
    for vcpu in vcpus_of(system):
        for placed in tasks_of(system):
            if placed.task.command is not None and _is_on(placed, vcpu):
                # Who supervises the command is none of its processes.
                waiting = list(came_of.get(int(files[supervisor_of(placed)]), ()))
                while waiting:
                    pid = waiting.pop()
                    yield pid, vcpu.id
                    waiting += came_of.get(pid, ())


def unserved(system: System, scheduler: Stock) -> System:
    """The system without servers, under a policy that is called like the scheduler: as its trace
    has it."""
    domains = tuple(
        one.replace(
            interface=None,
            best_effort=True,
            extra=False,
            own_vcpus=tuple(OwnVcpu(pcpu=own.pcpu) for own in one.own_vcpus),
        )
        for one in system.domains
    )
    return system.replace(domains=domains, policy=system.policy.replace(name=str(scheduler)))


def with_interfaces(result: RunResult, system: System) -> RunResult:
    """The result of a system without servers, with the interfaces that its domains were to get."""
    domains = zip(result.domains, system.domains, strict=True)
    found = tuple(one.replace(interface=interface_result(domain)) for one, domain in domains)
    return result.replace(domains=found)
