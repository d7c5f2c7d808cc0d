# SPDX-License-Identifier: BSD-2-Clause
"""A system for Linux as it is: each vcpu a thread in a cgroup with a quota, on a cpu of its own.

A domain is a cgroup, for a VM or another program with a thread for each vcpu. In it each vcpu has
one more, of threads (`cgroup.type`), whose cpu nobody else may use, an isolated partition; and
`cpu.max` is its quota. All other threads of the process are on the cpus that are left. Such a
partition below a cgroup that is none itself is there from Linux 6.7 on.

What is judged is what `quota` proves of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hyperperiod.analysis import Analysis
from hyperperiod.export.attach import REQUIRE_CGROUPS, attach_script, require_names
from hyperperiod.export.pools import (
    Pool,
    beginning,
    chosen_pcpus,
    of_flows,
    plain_name,
    pools_each,
    service,
    to_keep,
    unit_of,
)
from hyperperiod.export.quota import NOT_GUARANTEED, quota_us
from hyperperiod.model import System, to_toml
from hyperperiod.runs import complete

FOLDER: Final = "/etc/hyperperiod"
START: Final = f"""\
set -eu
{REQUIRE_CGROUPS}\
hz=$({{ zcat /proc/config.gz || cat "/boot/config-$(uname -r)"; }} 2>/dev/null |
  sed -n 's/^CONFIG_HZ=//p')
if [ "${{hz:-250}}" -lt 250 ]; then
  echo "this kernel has CONFIG_HZ=$hz, not 250 or more: quotas would promise less" >&2
  exit 3
fi
cgroups=/sys/fs/cgroup
echo "+cpu +cpuset" >$cgroups/cgroup.subtree_control

# group NAME CPUS: a cgroup whose vcpus may have these cpus for themselves.
group() {{
  group=$cgroups/$1
  mkdir -p "$group"
  echo "$2" >"$group/cpuset.cpus.exclusive"
}}

# vcpu NUMBER CPU QUOTA PERIOD: one of its vcpus, with a cpu of its own (us).
vcpu() {{
  own=$group/vcpu$1
  mkdir -p "$own"
  echo threaded >"$own/cgroup.type"
  echo "+cpu +cpuset" >"$group/cgroup.subtree_control"
  echo "$2" >"$own/cpuset.cpus"
  echo "$2" >"$own/cpuset.cpus.exclusive"
  echo isolated >"$own/cpuset.cpus.partition"
  read -r state <"$own/cpuset.cpus.partition"
  if [ "$state" != isolated ]; then
    echo "cpu $2: no partition of its own: $state" >&2
    exit 1
  fi
  echo "$3 $4" >"$own/cpu.max"
}}

"""
ATTACH: Final = """\
echo "$process" >"$group/cgroup.procs"
number=0
for thread in "$@"; do
  echo "$thread" >"$group/vcpu$number/cgroup.threads"
  number=$((number + 1))
done
"""
STOP: Final = """\
  group="/sys/fs/cgroup/$group"
  [ -d "$group" ] || continue
  while read -r process; do
    echo "$process" >/sys/fs/cgroup/cgroup.procs
  done <"$group/cgroup.procs"
  for each in "$group"/vcpu* "$group"; do
    [ ! -d "$each" ] || rmdir "$each"
  done
done
"""


def export_cgroup(
    system: System, cpus: Sequence[int] | None = None
) -> dict[str, str | bytes | Path]:
    """The files of the export, by name, of a system that `as_quotas` made.

    `cpus` are the machine's numbers of its pcpus, without them those after the first. Raises
    InputError for what the kernel does not take.
    """
    chosen = chosen_pcpus(system, cpus)
    system = complete(Analysis(system))
    groups = pools_each(system, chosen, f"quota-{plain_name(system)}-")
    require_names(system)
    lines = []
    for group in groups:
        lines.append(f"group {group.name} {','.join(map(str, group.cpus))}")
        for number, cpu in enumerate(group.cpus):
            quota, period = quota_us(system, group.domains[0], number)
            lines.append(f"vcpu {number} {cpu} {quota} {period}")
    names = {group.domains[0].name: group.name for group in groups}
    return {
        "start.sh": _script(
            system,
            "Makes its cgroups; doing it again changes nothing",
            START + "\n".join(lines) + "\n",
        ),
        "attach.sh": attach_script(system, names, ATTACH),
        "stop.sh": _script(
            system,
            "Its processes are in the root cgroup again; what is not there is passed over",
            f"set -u\nfor group in {' '.join(names.values())}; do\n{STOP}",
        ),
        unit_of(system): service(system, FOLDER, "its cgroups with quotas"),
        "system.toml": to_toml(system),
        "README.md": _readme(system, chosen, groups),
    }


def _script(system: System, what: str, body: str) -> str:
    return f"#!/bin/sh\n# {system.name}, as root. {what}.\n{body}"


def _readme(system: System, cpus: tuple[int, ...], groups: Sequence[Pool]) -> str:
    head = beginning(system, "quotas of Linux", "cgroup", cpus, groups)
    return f"""{head}
1. Linux 6.7 or later, with cgroups of version 2.
2. As root: `sh start.sh`. Each vcpu gets a cgroup of threads and the cpu in the table, which nobody
   else may use then (`cpuset.cpus.partition` is isolated).
3. `sh attach.sh DOMAIN -p PID` puts the vcpus of a running VM of QEMU's (with `-name
   debug-threads=on`) there; `sh attach.sh DOMAIN THREAD...` any threads of one process. What else
   the process does is on the other cpus. It leaves the cgroup that it was in, with its limits.
   What an attached thread starts later, threads and processes, is born in its cgroup.
4. `cat /sys/fs/cgroup/quota-*/vcpu*/cpu.stat` shows how often each was throttled; `sh stop.sh` ends
   all of it. Then processes are in the root cgroup.

Nothing of it survives a reboot. So that the cgroups come back with the machine:

{to_keep(system, FOLDER)}

For each VM, `attach.sh` where it is started, as `ExecStartPost=` of its service. Those of libvirt's
have cgroups that libvirt wants to find again: for them there is `--to libvirt-quota`.

## What this host does not guarantee

- Interrupts and the kernel's own threads that are bound to the cpu come first. What was measured of
  them is counted below; a machine with other devices and loads has other numbers.
{NOT_GUARANTEED}- Inside a VM the guest schedules, as it does by itself.
- The costs that are counted are those of Hyperperiod's scheduler on the same kernel.
{of_flows(system)}"""
