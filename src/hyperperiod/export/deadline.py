# SPDX-License-Identifier: BSD-2-Clause
"""A system for Linux as it is: each vcpu a thread of the kernel's deadline class.

SCHED_DEADLINE is a hard constant bandwidth server for one thread, by EDF (Abeni and Buttazzo, RTSS
1998; `cbs` here). A domain is therefore a VM, whose vcpus are threads of QEMU's, or a program with
as many threads as it has vcpus; a server for a group of threads there is not.

A cpu, or all of them under a global policy, is made a partition of cpusets: a deadline thread runs
on all cpus of its partition and cannot be bound to fewer, and what the kernel admits is counted
there. What is judged is the system under `cbs`, not under its own policy.

The kernel has a server of its own for threads without deadlines, 5 % of each cpu. It may take all
of that at once (it waits until it would be late), which no test of bandwidths covers: `start.sh`
turns it off on these cpus, and what is admitted leaves them that much all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hyperperiod.analysis import Analysis
from hyperperiod.export.attach import attach_script, require_names
from hyperperiod.export.pools import (
    Pool,
    beginning,
    chosen_pcpus,
    of_flows,
    pools_of,
    service,
    to_keep,
    unit_of,
)
from hyperperiod.export.stock import under, without_ours
from hyperperiod.hosts.linux.stock import require_admitted, require_taken
from hyperperiod.model import System, to_toml
from hyperperiod.runs import complete

TARGET: Final = "sched-deadline"
FOLDER: Final = "/etc/hyperperiod"


def as_deadline(system: System) -> System:
    """The system as SCHED_DEADLINE schedules it, on each cpu or on all together.

    Raises InputError for a partitioned domain with vcpus on several pcpus.
    """
    return under(without_ours(system, "attach.sh"), "cbs", "cbs+edf+none+global")


def export_deadline(
    system: System, cpus: Sequence[int] | None = None
) -> dict[str, str | bytes | Path]:
    """The files of the export, by name, of a system that `as_deadline` made.

    `cpus` are the machine's numbers of its pcpus, without them those after the first. Raises
    InputError for what the kernel does not take.
    """
    chosen = chosen_pcpus(system, cpus)
    system = complete(Analysis(system))
    partitions = pools_of(system, chosen)
    require_names(system)
    for index, domain in enumerate(system.domains):
        require_taken(f"domain[{index}]", domain)
    for one in partitions:
        require_admitted(f" on cpus {_listed(one)}", one.domains, len(one.cpus))
    return {
        "start.sh": _start(system, partitions),
        "attach.sh": attach_script(
            system,
            {one.name: _folder(partition) for partition in partitions for one in partition.domains},
            ATTACH,
        ),
        "stop.sh": _stop(system, partitions),
        unit_of(system): service(system, FOLDER, "its cpus under SCHED_DEADLINE"),
        "system.toml": to_toml(system),
        "README.md": _readme(system, chosen, partitions),
    }


def _listed(partition: Pool) -> str:
    return ",".join(map(str, partition.cpus))


def _folder(partition: Pool) -> str:
    return f"deadline-{partition.name}"


START: Final = """\
set -eu
cgroups=/sys/fs/cgroup
sched=/sys/kernel/debug/sched
kept=/run/hyperperiod-deadline

[ -d $sched ] || mount -t debugfs debugfs /sys/kernel/debug || :
if ! echo HRTICK_DL >$sched/features; then
  echo "this kernel has no HRTICK_DL: budgets would not end before its next tick" >&2
  exit 3
fi
echo +cpuset >$cgroups/cgroup.subtree_control
mkdir -p $kept

# partition NAME CPU...: these cpus for themselves, without the kernel's own servers.
partition() {
  folder=$cgroups/$1
  shift
  mkdir -p "$folder"
  echo "$*" | tr ' ' , >"$folder/cpuset.cpus"
  echo root >"$folder/cpuset.cpus.partition"
  read -r state <"$folder/cpuset.cpus.partition"
  if [ "$state" != root ]; then
    echo "cpus $*: no partition of their own: $state" >&2
    exit 1
  fi
  for cpu in "$@"; do
    for server in fair_server ext_server; do
      file=$sched/$server/cpu$cpu/runtime
      [ -e "$file" ] || continue
      [ -e "$kept/$server-$cpu" ] || cat "$file" >"$kept/$server-$cpu"
      echo 0 >"$file"
    done
  done
}

"""
ATTACH: Final = """\
echo "$process" >"$group/cgroup.procs"
# A thread that sleeps comes to the cpus of the partition only when it wakes up.
kill -STOP "$process"
trap 'kill -CONT "$process"' EXIT
for server in $servers; do
  if [ "$server" != - ]; then
    chrt --reset-on-fork --deadline --sched-runtime "${server%/*}" \\
      --sched-deadline "${server#*/}" --sched-period "${server#*/}" --pid 0 "$1"
  fi
  shift
done
"""
STOP: Final = """\
  folder="/sys/fs/cgroup/$folder"
  [ -d "$folder" ] || continue
  while read -r thread; do
    chrt --other --pid 0 "$thread"
  done <"$folder/cgroup.threads"
  while read -r process; do
    echo "$process" >/sys/fs/cgroup/cgroup.procs
  done <"$folder/cgroup.procs"
  rmdir "$folder"
done
for file in /run/hyperperiod-deadline/*-*; do
  [ -e "$file" ] || continue
  name=${file##*/}
  cat "$file" >"/sys/kernel/debug/sched/${name%-*}/cpu${name##*-}/runtime"
  rm "$file"
done
"""


def _start(system: System, partitions: Sequence[Pool]) -> str:
    lines = [
        "#!/bin/sh",
        f"# Makes the cpus of {system.name} ready for SCHED_DEADLINE; as root. Doing it again",
        "# changes nothing.",
        START.rstrip("\n"),
        "",
        *(f"partition {_folder(one)} {' '.join(map(str, one.cpus))}" for one in partitions),
    ]
    return "\n".join(lines) + "\n"


def _stop(system: System, partitions: Sequence[Pool]) -> str:
    lines = [
        "#!/bin/sh",
        f"# Threads of {system.name} are those of the kernel's usual class again, on any cpu, and",
        "# the kernel's own servers are as they were. What is not there is passed over.",
        "set -u",
        f"for folder in {' '.join(map(_folder, partitions))}; do",
        STOP.rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def _readme(system: System, cpus: tuple[int, ...], partitions: Sequence[Pool]) -> str:
    head = beginning(system, "Linux's SCHED_DEADLINE", TARGET, cpus, partitions)
    return f"""{head}
1. Linux (tried on 7.2), with cgroups of version 2 and util-linux (`chrt`). The cpus in the table
   are taken out of all others' hands; the first one should stay theirs.
2. As root: `sh start.sh`. It makes a partition of cpusets for each pool, has the kernel end budgets
   by a timer (`HRTICK_DL`), and turns the kernel's own deadline servers off on these cpus.
3. `sh attach.sh DOMAIN -p PID` gives the vcpus of a running VM of QEMU's (with `-name
   debug-threads=on`, as libvirt starts it) their servers; `sh attach.sh DOMAIN THREAD...` any
   threads of one process. A best-effort domain needs nothing; its processes may be put into the
   partition, `/sys/fs/cgroup/deadline-` and the name of the pool. The process leaves the cgroup
   that it was in, with its limits, and is stopped for a moment.
4. `chrt -p THREAD` shows what is in force; `sh stop.sh` ends all of it, but for `HRTICK_DL`. Then
   processes are in the root cgroup.

Nothing of it survives a reboot, and a server ends with its thread. For the cpus:

{to_keep(system, FOLDER)}

For each VM, `attach.sh` where it is started: in libvirt's `/etc/libvirt/hooks/qemu` at `started`,
or as `ExecStartPost=` of its service.

## What this host does not guarantee

- A server is for one thread. What else a VM's process does, as its I/O, has no budget: it runs on
  the same cpus in what deadlines leave, a twentieth at least, and late if all servers are busy.
- Interrupts, softirqs and the kernel's own threads of higher classes come first. What was measured
  of them is counted below; a machine with other devices and loads has other numbers.
- A budget ends by a timer that is set to 10 us at least: who has less left runs so long, and pays
  it back from the next one. What a thread starts has no server.
- A thread that works on behalf of another one (locks, io_uring, vhost) is not paid by that one's
  budget.
- The kernel admits by the sum of bandwidths. On a cpu of its own that is exact; of several cpus
  together it only says that nobody is late by more than a bound. What is proved is what
  `hyperperiod analyze system.toml` says.
- Inside a VM the guest schedules, as it does by itself.
- The costs that are counted are those of Hyperperiod's scheduler on the same kernel.
{of_flows(system)}"""
