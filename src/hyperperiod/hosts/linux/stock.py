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
have the names of their vcpus, and came of the processes of their domains, as all of a command's
came of its first one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from hyperperiod.hosts import Stock
from hyperperiod.hosts.guests import LINUX_DEADLINES_NS
from hyperperiod.hosts.linux import commands
from hyperperiod.hosts.linux.outside import name_of
from hyperperiod.hosts.rings import Ring
from hyperperiod.hosts.stock import (
    WEIGHT,
    not_told_sentence,
    refuse_events,
    switched_ring,
    weight_of,
    wrong,
)
from hyperperiod.model import (
    Domain,
    FailedError,
    InputError,
    Interface,
    PlacedTask,
    Scheduler,
    Scope,
    System,
    Vcpu,
    format_time,
    tasks_of,
    vcpus_of,
)
from hyperperiod.model.errors import some_names
from hyperperiod.model.readers.libvirt import PERIODS_NS
from hyperperiod.model.vcpus import bandwidth_of
from hyperperiod.observe.events import Switch, Thread
from hyperperiod.observe.ftrace import TraceLines

MOST_WEIGHT: Final = 10_000
"""The most that the kernel takes."""
ADMITTED: Final = Fraction(95, 100)
"""What the kernel admits of each cpu to threads of SCHED_DEADLINE."""
LEAST_BUDGET_NS: Final = 10_000
"""The kernel's timer ends no budget of these sooner (`hrtick_start`)."""
US: Final = 1_000
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
grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control || {{
    set_to /sys/fs/cgroup/cgroup.subtree_control +cpu
    lent=1
}}
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
    refuse_events(system, scheduler)
    for domain in system.domains:
        if commands.has_commands(domain) and len(domain.tasks) > 1:
            key = f"domain {domain.name}: command"
            raise wrong(key, f"{len(domain.tasks)} of them", "one", scheduler)
        if weight_of(domain) > MOST_WEIGHT:
            found = f"{float(bandwidth_of(domain)):.2f} cpus"
            allowed = f"at most {MOST_WEIGHT // WEIGHT}"
            raise wrong(f"domain {domain.name}: budgets", found, allowed, scheduler)
        if scheduler is Stock.QUOTA:
            _require_quota(domain)
    if scheduler is Stock.DEADLINE:
        _refuse_deadline(system)


def not_told(system: System, scheduler: Stock) -> str:
    """What of a system this scheduler is not told, as a sentence; empty if nothing."""
    ranked = [
        f"{domain.name} ({domain.scheduler})"
        for domain in system.domains
        if domain.scheduler is not Scheduler.FAIR
        and len({task.vcpu for task in domain.tasks}) < len(domain.tasks)
    ]
    own = {f"who comes first in {some_names(ranked)}": ranked}
    return not_told_sentence(system, scheduler, own)


def _servers(domain: Domain) -> list[Interface]:
    """The interfaces of the vcpus of a domain that have servers."""
    return [keys.interface for keys in domain.each_vcpu if keys.interface is not None]


def _require_quota(domain: Domain) -> None:
    """InputError for servers that no quota of the kernel's stands for."""
    servers = _servers(domain)
    if not servers:
        return
    where, periods = f"domain {domain.name}: ", sorted({one.period_ns for one in servers})
    if len(periods) > 1 or len(servers) < domain.vcpus:
        found = "vcpus with different periods, or without"
        raise wrong(f"{where}vcpu", found, "one period for all", Stock.QUOTA)
    budget_ns = sum(one.budget_ns for one in servers)
    cpu_max(where, budget_ns, periods[0])
    if budget_ns < LEAST_QUOTA_NS:
        found, allowed = format_time(budget_ns), f"at least {format_time(LEAST_QUOTA_NS)}"
        raise wrong(f"{where}interface.budget", found, allowed, Stock.QUOTA)


def cpu_max(where: str, budget_ns: int, period_ns: int) -> tuple[int, int]:
    """Returns quota and period (us) of a cgroup, a quota rounded up.

    InputError, about an interface `where`, for a period that the kernel does not take.
    """
    least_ns, most_ns = PERIODS_NS
    if period_ns % US or not least_ns <= period_ns <= most_ns:
        allowed = f"whole microseconds from {format_time(least_ns)} to {format_time(most_ns)}"
        raise InputError("", None, f"{where}interface.period", format_time(period_ns), allowed)
    return -(-budget_ns // US), period_ns // US


def _refuse_deadline(system: System) -> None:
    """InputError for servers that no threads of SCHED_DEADLINE stand for."""
    if system.pcpus > 1 and system.policy.scope is not Scope.GLOBAL:
        allowed = "1, or a global policy: these threads go to any cpu"
        raise wrong("pcpus", str(system.pcpus), allowed, Stock.DEADLINE)
    for vcpu in vcpus_of(system):
        tasks = [one.task for one in tasks_of(system) if _is_on(one, vcpu)]
        if vcpu.interface is not None and (
            len(tasks) > 1 or any(task.command is not None for task in tasks)
        ):
            key, found = f"domain {vcpu.name}: task", f"{len(tasks)} of them, or a command"
            raise wrong(key, found, "one of ours for each vcpu", Stock.DEADLINE)
    for index, domain in enumerate(system.domains):
        require_taken(f"domain[{index}]", domain)
    require_admitted("", system.domains, system.pcpus)


def require_taken(key: str, domain: Domain) -> None:
    """InputError for servers of a domain that SCHED_DEADLINE refuses by themselves."""
    least_ns, most_ns = LINUX_DEADLINES_NS
    for number, keys in enumerate(domain.each_vcpu):
        own = f"{key}.vcpu[{number}]" if domain.own_vcpus else key
        server = keys.interface
        if server is None:
            continue
        if not least_ns <= server.period_ns <= most_ns:
            allowed = f"{format_time(least_ns)} to {format_time(most_ns)}"
            found = format_time(server.period_ns)
            raise InputError("", None, f"{own}.interface.period", found, allowed)
        if server.budget_ns < LEAST_BUDGET_NS:
            allowed = f"at least {format_time(LEAST_BUDGET_NS)}"
            found = format_time(server.budget_ns)
            raise InputError("", None, f"{own}.interface.budget", found, allowed)


def require_admitted(where: str, domains: Sequence[Domain], cpus: int) -> None:
    """InputError for servers of domains that SCHED_DEADLINE refuses together, on so many cpus."""
    share, most = sum(map(bandwidth_of, domains), Fraction(0)), ADMITTED * cpus
    if share > most:
        raise InputError(
            "",
            None,
            f"budgets of the servers{where}",
            f"{100 * float(share):.1f} % of a cpu",
            f"{100 * float(most):.0f} %, which is what the kernel admits (shorter interface periods"
            " may need less)",
        )


def _is_on(placed: PlacedTask, vcpu: Vcpu) -> bool:
    return (placed.domain_index, placed.task.vcpu or 0) == (vcpu.domain_index, vcpu.index)


def groups(system: System, scheduler: Stock, cpus: Sequence[int]) -> str:
    """The part of a script that makes the cgroups of a system's domains, to run on these cpus."""
    lines = [f'own="{" ".join(map(str, cpus))}"\n', PREPARE]
    if scheduler is Stock.DEADLINE:
        lines.append(BUDGETS_END)
    for number, domain in enumerate(system.domains):
        servers, group = _servers(domain), group_of(system, number)
        lines.append(f"mkdir -p {group}\nset_to {group}/cpu.weight {weight_of(domain)}\n")
        if scheduler is Stock.QUOTA and servers:
            budget_ns = sum(one.budget_ns for one in servers)
            quota_us, period_us = cpu_max("", budget_ns, servers[0].period_ns)
            lines.append(f'set_to {group}/cpu.max "{quota_us} {period_us}"\n')
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


def process_of(number: int) -> str:
    """The file, among those that a run leaves, with the process of the tasks of a domain."""
    return f"process{number}"


# --- what was recorded ---------------------------------------------------------------------------

FORK: Final = re.compile(rb" pid=(\d+) child_comm=.* child_pid=(\d+)$", re.MULTILINE)


def switches(system: System, files: Mapping[str, bytes]) -> Ring:
    """Who ran when in a run, from the files that it has left, as records of a trace.

    Whoever is not of the system has stolen the time. FailedError if the kernel lost some of it, or
    knows the processes by other numbers.
    """
    text = files["switches"]
    epoch_ns, *cpus = map(int, files["begun"].split())
    lines = TraceLines(io.BytesIO(text))
    vcpus = {name_of(vcpu): vcpu.id for vcpu in vcpus_of(system)}
    came_of: dict[int, list[int]] = {}
    for parent, child in FORK.findall(text):
        came_of.setdefault(int(parent), []).append(int(child))
    found = [one for one in lines.read() if isinstance(one, Switch) and one.cpu in cpus]
    if lines.lost or lines.overwritten or lines.damaged:
        raise FailedError("the kernel lost switches of the run; take a shorter horizon")
    pids = dict(_command_pids(system, files, came_of))
    ours = {
        pid
        for number, domain in enumerate(system.domains)
        if domain.tasks and not commands.has_commands(domain)
        for pid in _all_of([_parent(files[process_of(number)], came_of)], came_of)
    }

    def vcpu_of(thread: Thread) -> int | None:
        name, pid, _ = thread
        return vcpus.get(name) if pid in ours else pids.get(pid)

    return switched_ring(found, epoch_ns, cpus, vcpu_of)


def _command_pids(
    system: System, files: Mapping[str, bytes], came_of: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """The processes of commands, each with the vcpu that it is on."""
    for vcpu in vcpus_of(system):
        for placed in tasks_of(system):
            if placed.task.command is not None and _is_on(placed, vcpu):
                # Who supervises the command is none of its processes.
                first = came_of[_parent(files[supervisor_of(placed)], came_of)]
                for pid in _all_of(first, came_of):
                    yield pid, vcpu.id


def _parent(file: bytes, came_of: Mapping[int, Sequence[int]]) -> int:
    """Returns the process whose number a run has left; FailedError if none came of it.

    The kernel's record has the numbers of the machine; others are those of a container.
    """
    pid = int(file)
    if pid not in came_of:
        raise FailedError(
            f"the kernel's record has no thread of process {pid} of the run: it needs the pid"
            " namespace of the machine, not that of a container"
        )
    return pid


def _all_of(first: Sequence[int], came_of: Mapping[int, Sequence[int]]) -> Iterator[int]:
    """Yields processes and threads, and all that came of them."""
    waiting, seen = list(first), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid not in seen:  # a number may be used again by who came of it
            seen.add(pid)
            yield pid
            waiting += came_of.get(pid, ())
