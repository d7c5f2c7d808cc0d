# SPDX-License-Identifier: BSD-2-Clause
"""Scripts that give threads of a process, as the vcpus of a VM of QEMU's, the servers of a domain
in cgroups that another script made, and that take them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hyperperiod.export.linux import NAME
from hyperperiod.model import Domain, InputError, System

REQUIRE_CGROUPS: Final = """\
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
  echo "no cgroups of version 2: boot with systemd.unified_cgroup_hierarchy=1" >&2
  exit 3
fi
"""
THREADS: Final = """\
if [ "$1" = -p ] && [ $# -eq 2 ]; then
  process=$2
  shift 2
  # Lines are as /proc/PID/task/THREAD/comm:CPU 0/KVM
  set -- $(grep -H '^CPU [0-9]*/KVM$' /proc/"$process"/task/*/comm | sort -k 2n | cut -d / -f 5)
else
  while read -r key value; do
    [ "$key" != Tgid: ] || process=$value
  done <"/proc/$1/status"
fi
number=$(echo $servers | wc -w)
if [ $# -ne "$number" ] || [ "$(printf '%s\\n' "$@" | sort -u | wc -l)" -ne "$number" ]; then
  echo "$domain: found threads $*; allowed: one of its own for each vcpu, with $servers" >&2
  exit 2
fi
for thread in "$@"; do
  if [ ! -d "/proc/$process/task/$thread" ]; then
    echo "$domain: found thread $thread; allowed: threads of process $process" >&2
    exit 2
  fi
done
"""


def require_names(system: System) -> None:
    """Raises InputError for the first domain whose name no script can have."""
    for index, domain in enumerate(system.domains):
        if not NAME.fullmatch(domain.name):
            allowed = "letters, digits, _ and single . or - between them"
            raise InputError("", None, f"domain[{index}].name", repr(domain.name), allowed)


def attach_script(system: System, groups: Mapping[str, str], then: str) -> str:
    """Returns a script that finds a thread for each vcpu of a domain, and does `then`.

    `groups` has the cgroup of each domain by its name. `then` finds it in $group, the process in
    $process, budget/period (ns) of each vcpu in $servers, - for none, and their threads in $@.
    """
    served = {one.name: servers for one in system.domains if (servers := _servers(one))}
    lines = [
        "#!/bin/sh",
        f"# attach.sh DOMAIN THREAD...: gives threads of one process servers of {system.name}.",
        "# attach.sh DOMAIN -p PID: those of a VM of QEMU's, which are called CPU 0/KVM and so on.",
        "set -eu",
        "if [ $# -lt 2 ]; then",
        '  echo "usage: attach.sh DOMAIN THREAD... | DOMAIN -p PID" >&2',
        "  exit 2",
        "fi",
        "domain=$1",
        "shift",
        "case $domain in",
        *(
            f'  ({name}) group=/sys/fs/cgroup/{groups[name]} servers="{servers}" ;;'
            for name, servers in served.items()
        ),
        f'  (*) echo "domain: found $domain; allowed: {", ".join(served)}" >&2; exit 2 ;;',
        "esac",
        REQUIRE_CGROUPS.rstrip("\n"),
        THREADS.rstrip("\n"),
        "",
        then.rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def _servers(domain: Domain) -> str:
    """Returns budget/period (ns) of each vcpu, - for one without a server; "" if none has one."""
    if not domain.is_served:
        return ""
    interfaces = (keys.interface for keys in domain.each_vcpu)
    return " ".join(
        "-" if one is None else f"{one.budget_ns}/{one.period_ns}" for one in interfaces
    )
