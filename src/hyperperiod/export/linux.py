# SPDX-License-Identifier: BSD-2-Clause
"""A system for a Linux machine with hyperperiodd: what it performs at its start, and who belongs to
which server.

`requests` has all that puts the system in force, as `hyperperiod linux start` asks for it and
`hyperperiod linux save` keeps it; the unit of hyperperiodd performs it at every boot. A system file
does not name the processes of a machine. So each server has a slice of systemd, whose path lasts:
a drop-in puts any service into it, and tasks that are commands become services in it.

What the machine would refuse at its start is refused before: servers that leave it no time, tasks
that move between vcpus, swaps and changes at given times, names that no slice can have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.decisions import require_time, sharing_a_lock
from hyperperiod.hosts.linux import commands, live
from hyperperiod.hosts.linux.members import slice_path
from hyperperiod.hosts.linux.room import require_room
from hyperperiod.hosts.linux.save import REQUESTS
from hyperperiod.hosts.refuse import refuse
from hyperperiod.model import (
    InputError,
    PlacedTask,
    Scope,
    System,
    Vcpu,
    format_time,
    to_toml,
    vcpus_of,
)
from hyperperiod.runs import complete

TARGET: Final = "linux"
CPU_LIMIT: Final = 64
LOCK_LIMIT: Final = 64
SERVER_LIMIT: Final = 256
"""The most servers of hyperperiodd: with one lock, and in all; its own is one of them."""
NAME: Final = re.compile(r"[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*")
NAME_BYTES: Final = 63
PATH_BYTES: Final = 497
NAME_ALLOWED: Final = (
    f"up to {NAME_BYTES} letters, digits and _, with single . and - between them, as slices of"
    f" systemd have them (a-b.slice is in a.slice: a path of up to {PATH_BYTES} bytes); not"
    f" {live.DAEMON}, which is the daemon's own"
)
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
PROGRAM: Final = re.compile(r"/[\w./+-]+|[\w.+-]+", re.ASCII)


def export_linux(
    system: System, cpus: Sequence[int] | None = None
) -> dict[str, str | bytes | Path]:
    """The files of the export, by name; `cpus` are the machine's numbers of the system's pcpus.

    Without them the first ones are taken. Raises InputError for what cannot be expressed.
    """
    chosen = list(range(system.pcpus) if cpus is None else cpus)
    refuse(system, 1, 0)
    _refuse_cpus(chosen)
    live.require_bound_tasks(system)
    commands.refuse(system)
    _refuse_names(system)
    system = complete(Analysis(system))
    require_time(system, "Linux")
    _refuse_counts(system)
    require_room(system)
    vcpus = vcpus_of(system)
    members = [f"attach {one.name} cgroup={slice_path(_slice(one))} wait=1" for one in vcpus]
    asked = live.all_requests(system, chosen, members, force=False)
    placed = {_service(one): one for one in commands.commands_of(system)}
    files: dict[str, str | bytes | Path] = {
        REQUESTS.name: "\n".join([f"# {system.name}, written by Hyperperiod.", *asked]) + "\n"
    }
    for vcpu in vcpus:
        if not commands.has_commands(vcpu.domain):
            files[f"drop-ins/{vcpu.name}.conf"] = _drop_in(vcpu)
    for name, task in placed.items():
        files[f"units/{name}"] = _unit(task)
    files["system.toml"] = to_toml(system)
    files["README.md"] = _readme(system, chosen, list(placed))
    return files


def _refuse_cpus(cpus: Sequence[int]) -> None:
    if max(cpus) >= CPU_LIMIT or len(set(cpus)) < len(cpus):
        allowed = f"different cpus of the machine's, 0 to {CPU_LIMIT - 1}"
        raise InputError("", None, "--cpus", ",".join(map(str, cpus)), allowed)


def _refuse_names(system: System) -> None:
    """InputError for names that no server, slice or service can have."""
    for vcpu in vcpus_of(system):
        name = vcpu.domain.name
        too_long = len(vcpu.name) > NAME_BYTES or len(slice_path(_slice(vcpu))) > PATH_BYTES
        if not NAME.fullmatch(name) or too_long or name == live.DAEMON:
            key = f"domain[{vcpu.domain_index}].name"
            raise InputError("", None, key, repr(name), NAME_ALLOWED)
    for placed in commands.commands_of(system):
        at = [task.name for task in placed.domain.tasks].index(placed.task.name)
        key = f"domain[{placed.domain_index}].task[{at}]"
        program = (placed.task.command or ("",))[0]
        if not NAME.fullmatch(placed.task.name):
            raise InputError("", None, f"{key}.name", repr(placed.task.name), NAME_ALLOWED)
        if not PROGRAM.fullmatch(program):
            allowed = "a program's name, or its whole path: services begin in no folder of yours"
            raise InputError("", None, f"{key}.command", repr(program), allowed)


def _refuse_counts(system: System) -> None:
    """InputError for more servers than hyperperiodd has room for, its own among them."""
    for number, (where, vcpus) in enumerate(sharing_a_lock(system)):
        limit = LOCK_LIMIT - (number == 0)
        if len(vcpus) > limit:
            allowed = f"at most {limit} on Linux"
            raise InputError("", None, f"vcpus on {where}", str(len(vcpus)), allowed)
    count = len(vcpus_of(system))
    if count >= SERVER_LIMIT:
        allowed = f"at most {SERVER_LIMIT - 1} on Linux"
        raise InputError("", None, "vcpus", str(count), allowed)


def _slice(vcpu: Vcpu) -> str:
    """The slice of a server, in which its members are."""
    return f"hyperperiod-{vcpu.name}.slice"


def _drop_in(vcpu: Vcpu) -> str:
    return f"""# A service with this drop-in belongs to the server {vcpu.name}.
[Unit]
After=hyperperiodd.service
[Service]
Slice={_slice(vcpu)}
"""


# --- commands ------------------------------------------------------------------------------------


def _server_of(placed: PlacedTask) -> str:
    return placed.domain.vcpu_names[placed.task.vcpu or 0]


def _service(placed: PlacedTask) -> str:
    # Neither name has a colon.
    return f"hyperperiod-{_server_of(placed)}:{placed.task.name}.service"


def _unit(placed: PlacedTask) -> str:
    program, *words = placed.task.command or ("",)
    # The colon: a dollar is itself.
    line = " ".join([f":{program}", *map(_quoted, words)])
    return f"""# The task {placed.task.name} of {placed.domain.name}; written by Hyperperiod.
[Unit]
Description={placed.task.name} of {placed.domain.name}
After=hyperperiodd.service
[Service]
Type=exec
Slice=hyperperiod-{_server_of(placed)}.slice
ExecStart={line}
[Install]
WantedBy=multi-user.target
"""


def _quoted(word: str) -> str:
    """Returns a word as a command line of systemd has it: in quotes, with nothing special in it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + CONTROL.sub(lambda one: f"\\x{ord(one[0]):02x}", escaped) + '"'


# --- the README ----------------------------------------------------------------------------------


def _readme(system: System, cpus: Sequence[int], services: Sequence[str]) -> str:
    rows = "\n".join(_row(system, vcpu, sorted(cpus)) for vcpu in vcpus_of(system))
    parts = [
        f"""# {system.name}, for a Linux machine with hyperperiodd

Written by Hyperperiod (`hyperperiod export --to {TARGET}`); [`system.toml`](system.toml) is the
system, with every interface that was computed and what was counted for the machine itself.

| server | has | of cpu | its members are in |
| --- | --- | --- | --- |
{rows}
""",
        _of_force(),
        _of_members(system, services),
        f"""## After a reboot

hyperperiodd performs `{REQUESTS}` at every start. A slice that is not
there yet is waited for; one that comes, or comes again, is found within a second. What is changed
by hand, as by `hyperperiodctl set`, lasts until the daemon is stopped; `hyperperiod linux save`
writes it to that file. If the daemon dies the servers go on, and a new one takes them over.
""",
        _of_limits(system),
    ]
    return "\n".join(parts)


def _row(system: System, vcpu: Vcpu, cpus: Sequence[int]) -> str:
    is_global = system.policy.scope is Scope.GLOBAL
    where = ", ".join(map(str, cpus)) if is_global else str(cpus[vcpu.pcpu or 0])
    has = "what is left"
    if vcpu.interface is not None:
        budget, period = vcpu.interface.budget_ns, vcpu.interface.period_ns
        has = f"{format_time(budget)} in {format_time(period)}"
    return f"| `{vcpu.name}` | {has} | {where} | `{_slice(vcpu)}` |"


def _of_force() -> str:
    return f"""## Put it in force

The machine needs Linux 6.16 or later with sched_ext, and the package hyperperiodd.
`hyperperiod linux doctor` says what on it costs deadlines. As root, in this folder:

```sh
cp {REQUESTS} {REQUESTS}.before
cp {REQUESTS.name} {REQUESTS}
systemctl enable hyperperiodd
systemctl restart hyperperiodd
hyperperiodctl status
```

The last one has `"running": true`. If anything is refused the unit fails, and
`systemctl status hyperperiodd` says why. `systemctl stop hyperperiodd` hands the machine back to
the kernel's own scheduler.
"""


def _of_members(system: System, services: Sequence[str]) -> str:
    others = [one for one in vcpus_of(system) if not commands.has_commands(one.domain)]
    text = "## Who belongs to the servers\n"
    if services:
        text += f"""
Tasks that are commands are services here, each in its server's slice:

```sh
cp units/*.service /etc/systemd/system/
systemctl daemon-reload
systemctl enable --now {" ".join(services)}
```
"""
    if others:
        one = others[0]
        names = ", ".join(f"`{each.name}`" for each in others)
        text += f"""
Who does the work of {names} is not in the system file: nobody is a member until you say who. For
`{one.name}` that is one of these; the others are alike.

```sh
# a service of systemd, NAME.service, from its next start on
mkdir -p /etc/systemd/system/NAME.service.d
cp drop-ins/{one.name}.conf /etc/systemd/system/NAME.service.d/
systemctl daemon-reload
systemctl restart NAME
# a container
docker run --cgroup-parent {_slice(one)} IMAGE
podman run --annotation hyperperiod.server={one.name} IMAGE
# a command
systemd-run --slice={_slice(one)} COMMAND
# a cgroup that stays where it is; the same line in {REQUESTS} has it last
hyperperiodctl attach {one.name} cgroup=/system.slice/NAME.service wait=1
```
"""
    return (
        text
        + """
A thread has no server while its affinity (`CPUAffinity=`, `AllowedCPUs=`, `taskset`) leaves out
a cpu that its server may run on.
"""
    )


LIMITS: Final = """\
## What this machine does not guarantee

Budgets are enforced. What takes time from all servers, or makes it worth less, is not:

- Threads of SCHED_DEADLINE, SCHED_FIFO and SCHED_RR come before all servers. What they take has to
  be in `[[stolen]]` tables of the system file.
- The kernel's own threads that are bound to a cpu, interrupts and the softirqs behind them come
  first too. What was measured of them is counted below; a machine with other devices and loads
  has other numbers.
- Caches, memory, the second thread of a core (SMT) and the clock's speed: a budget is time on a
  cpu, not work done.
- Threads without a server have what servers leave, a twentieth of the cpus at least.
"""
INSIDE: Final = """\
- Which thread is first inside a server: under `fp` nice values say that, unless a thread is
  attached by itself with `key=`; under `edf` all threads have the server's period. Priorities and
  deadlines of the file's tasks are not known to the machine.
"""
GLOBAL: Final = """\
- A server has one cpu at a time, however many threads it has; one that another class has preempted
  stays on its cpu until that is free.
"""
MORE: Final = """
All of it, with measurements:
<https://github.com/hyperperiod/hyperperiod/blob/main/docs/linux/guarantees.md>.
"""


def _of_limits(system: System) -> str:
    parts = [LIMITS]
    if not all(map(commands.has_commands, system.domains)):
        parts.append(INSIDE)
    if system.policy.scope is Scope.GLOBAL:
        parts.append(GLOBAL)
    if system.flows:
        names = ", ".join(f"`{flow.name}`" for flow in system.flows)
        parts.append(f"- How items of {names} get from task to task is up to your programs.\n")
    return "".join([*parts, MORE])
