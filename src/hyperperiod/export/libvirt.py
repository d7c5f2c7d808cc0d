# SPDX-License-Identifier: BSD-2-Clause
"""A system for libvirt: what its domains are to have for a cpu for each vcpu, as XML and commands.

`libvirt`: each vcpu has all of its cpu. `libvirt-quota`: it has a quota there, which libvirt sets
for each vcpu in a cgroup of its own, and is judged as `quota` proves.

A vcpu with all of its cpu is judged as a server of 95 % of it: the rest is for what the kernel does
there itself, which is counted. More of a cpu of its own is never less of it at any instant, so that
what is proved of such a server holds for the vcpu.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hyperperiod.analysis import Analysis
from hyperperiod.export.attach import require_names
from hyperperiod.export.pools import Pool, beginning, chosen_pcpus, of_flows, pools_each
from hyperperiod.export.quota import NOT_GUARANTEED, quota_us
from hyperperiod.export.stock import on_own_pcpus, without_best_effort
from hyperperiod.model import Domain, InputError, System, to_toml
from hyperperiod.model.readers.libvirt import NEARLY_WHOLE
from hyperperiod.runs import complete

APPLY: Final = """\
set -eu
export LC_ALL=C

# domain NAME CPUS LIMIT...: pins its vcpus to these cpus and all else to $rest, and sets limits,
# or takes them away (-1), for now, if it runs, and for every start.
domain() {
  name=$1 cpus=$2
  shift 2
  when=--config
  [ "$(virsh domstate "$name")" = "shut off" ] || when="--config --live"
  number=0
  for cpu in $cpus; do
    virsh vcpupin "$name" $number "$cpu" $when
    number=$((number + 1))
  done
  virsh emulatorpin "$name" $rest $when
  virsh schedinfo "$name" $when --set "$@"
}

"""
ALL: Final = """\
- A vcpu of `fifo` comes before the kernel's usual threads on its cpu, those that are bound to it
  among them: a guest that never waits keeps them from running.
- Without `<vcpusched>`, as after `apply.sh` alone, a vcpu shares its cpu with those threads.
"""
BUT: Final = ",\n   but for `<vcpusched>`, which virsh cannot set"
FIFO: Final = """
6. At each boot, as root: `sysctl kernel.sched_rt_runtime_us=-1` and, from Linux 6.12 on, for each
   cpu N of the table, `for each in /sys/kernel/debug/sched/*_server/cpuN/runtime; do echo 0 >$each;
   done`. Else the kernel takes 5 % of each second from a vcpu of `fifo`, up to 50 ms at once."""
NO_FIFO: Final = """
6. `virsh edit DOMAIN`: remove `<vcpusched>` if there is one, since no quota holds for `fifo`."""


def as_whole(system: System) -> System:
    """The system with a cpu for each vcpu of a domain that has a server, all of it for the vcpu."""
    served = without_best_effort(system, "virsh schedinfo", "outside")
    return on_own_pcpus(served, "ptps", NEARLY_WHOLE)


def export_libvirt(
    capped: bool, system: System, cpus: Sequence[int] | None = None
) -> dict[str, str | bytes | Path]:
    """The files of the export, by name, of a system that `as_quotas` (if `capped`) or `as_whole`
    made.

    `cpus` are the machine's numbers of its pcpus, without them those after the first. Raises
    InputError for what libvirt does not take.
    """
    chosen = chosen_pcpus(system, cpus)
    system = complete(Analysis(system))
    require_names(system)
    pools = pools_each(system, chosen)
    rest = next(cpu for cpu in range(len(chosen) + 1) if cpu not in chosen)
    quotas = [_quota(system, pool.domains[0]) if capped else None for pool in pools]
    files: dict[str, str | bytes | Path] = {
        f"{pool.name}.xml": _xml(pool, rest, quota)
        for pool, quota in zip(pools, quotas, strict=True)
    }
    files["apply.sh"] = _apply(system, pools, rest, quotas)
    files["system.toml"] = to_toml(system)
    files["README.md"] = _readme(system, chosen, pools, rest, capped)
    return files


def _quota(system: System, domain: Domain) -> tuple[int, int]:
    """Returns the quota and period (us) of each vcpu; InputError if they are different ones."""
    each = {quota_us(system, domain, number) for number in range(domain.vcpus)}
    if len(each) > 1:
        found = f"{len(each)} different ones"
        allowed = "the same for all vcpus: libvirt has one quota for a domain's"
        raise InputError("", None, f"domain {domain.name}: vcpu interfaces", found, allowed)
    return each.pop()


def _xml(pool: Pool, rest: int, quota: tuple[int, int] | None) -> str:
    """Returns what the XML of a domain is to have; `rest` is the cpu of all but vcpus."""
    pins = [f'<vcpupin vcpu="{number}" cpuset="{cpu}"/>' for number, cpu in enumerate(pool.cpus)]
    if quota:
        more = [f"<period>{quota[1]}</period>", f"<quota>{quota[0]}</quota>"]
    else:
        each = range(len(pins))
        more = [f'<vcpusched vcpus="{one}" scheduler="fifo" priority="1"/>' for one in each]
    inside = "\n".join(f"    {one}" for one in (*pins, f'<emulatorpin cpuset="{rest}"/>', *more))
    return f"""<!-- What the libvirt domain {pool.name} is to have; written by Hyperperiod. -->
<domain>
  <name>{pool.name}</name>
  <vcpu placement="static" cpuset="{rest}">{len(pins)}</vcpu>
  <cputune>
{inside}
  </cputune>
</domain>
"""


def _apply(
    system: System, pools: Sequence[Pool], rest: int, quotas: Sequence[tuple[int, int] | None]
) -> str:
    lines = []
    for pool, quota in zip(pools, quotas, strict=True):
        limits = f"vcpu_period={quota[1]} vcpu_quota={quota[0]}" if quota else "vcpu_quota=-1"
        cpus = " ".join(map(str, pool.cpus))
        lines.append(f'domain {pool.name} "{cpus}" {limits} global_quota=-1')
    head = (
        f"#!/bin/sh\n# Cpus of {system.name} for its libvirt domains; doing it again does no harm."
    )
    return f"{head}\nrest={rest}\n{APPLY}" + "\n".join(lines) + "\n"


def _readme(
    system: System, cpus: tuple[int, ...], pools: Sequence[Pool], rest: int, capped: bool
) -> str:
    target = "libvirt-quota" if capped else "libvirt"
    listed = ",".join(map(str, sorted(cpus)))
    return f"""{beginning(system, "libvirt", target, cpus, pools)}
The pool is the libvirt domain, which you have. Its vcpus are on the cpus in the table, one each;
all else of it, as the emulator's threads, is on cpu {rest}, which stands for those that are left:
put more in its place where there are more.

1. Keep all others away from the cpus in the table, other libvirt domains too. At boot, by the
   kernel: `isolcpus=managed_irq,domain,{listed}`. Or by systemd, as root, for ever:
   `for each in system.slice user.slice init.scope; do systemctl set-property $each
   AllowedCPUs={rest}; done`, and interrupts by `/proc/irq/*/smp_affinity_list`.
2. `virsh edit DOMAIN`: put `<vcpu>` and `<cputune>` of `DOMAIN.xml` in place of its own. It holds
   from its next start on.
3. Or `sh apply.sh`, which does the same with virsh (1.3.3 or later), at once and for every start{
        BUT * (not capped)
    }.
4. For each thread that `virsh iothreadinfo DOMAIN` lists, `virsh iothreadpin DOMAIN ID {rest}
   --config`, with `--live` too if it runs: without a pin it may be on the cpus in the table.
5. `virsh vcpuinfo DOMAIN`, `virsh schedinfo DOMAIN` show what is in force.{
        NO_FIFO if capped else FIFO
    }

A best-effort domain of the system is not in here: it is to be on the other cpus.

## What this host does not guarantee

- That nobody else is on these cpus is up to you: libvirt pins, and keeps nobody away.
- Interrupts and the kernel's own threads that are bound to a cpu take some of it. What was measured
  is counted below; a machine with other devices and loads has other numbers.
- A vcpu waits for the emulator's threads, as for its disks, as long as those wait for their cpu.
- Caches, memory and hyperthreads are shared with the other cpus all the same.
- Inside a VM the guest schedules, as it does by itself.
{
        NOT_GUARANTEED if capped else ALL
    }- The costs that are counted are those of Hyperperiod's scheduler on the same kernel.
{of_flows(system)}"""
