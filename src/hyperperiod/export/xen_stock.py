# SPDX-License-Identifier: BSD-2-Clause
"""A system for Xen as it is, with one of Xen's own schedulers and nothing of ours in it.

`xen-rtds`: RTDS (ERTDS paper, section II.B), deferrable servers by their deadlines. A pool of RTDS
is one global scheduler, so a partitioned system becomes a pool for each pcpu, and every server the
parameters that `xl sched-rtds` sets. `xen-null`: a pcpu for each vcpu, and nothing to schedule.
`xen-arinc653`: a table of windows for each pcpu, the system's own or one that is made of its
servers (`made_table`). xl knows no command for it, so a script asks libxenctrl, as the file of the
pool says.

What is judged is the system under the rules of that scheduler, not under its own: `as_rtds`,
`as_null` and `as_arinc653` say which those are. Best-effort domains are not in it. They stay
in Pool-0, which keeps all other pcpus: RTDS gives every vcpu in its pools a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from hyperperiod.analysis import Analysis
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
from hyperperiod.export.stock import (
    WHOLE,
    on_own_pcpus,
    require_servers,
    under,
    without_best_effort,
)
from hyperperiod.export.xl import US, configuration, refuse_names
from hyperperiod.for_host import widened
from hyperperiod.hosts.xen import command_line
from hyperperiod.hosts.xen.stock import require_parameters
from hyperperiod.model import (
    Domain,
    InputError,
    System,
    format_time,
    to_toml,
    with_policy,
)
from hyperperiod.model.made_table import with_table
from hyperperiod.runs import complete

FOLDER: Final = "/etc/xen"
MOST_NS: Final = (2**31 - 1) * US
"""xl reads microseconds into an int."""
MAX_ENTRIES: Final = 64
"""ARINC653_MAX_DOMAINS_PER_SCHEDULE of Xen 4.20."""
SET_TABLE: Final = "set-table.py"


def as_rtds(system: System) -> System:
    """The system as RTDS schedules it, on each pcpu or on all together, as its own policy does.

    Raises InputError for a partitioned domain with vcpus on several pcpus, and for one of which
    only some vcpus have servers: RTDS gives the others a budget of its own.
    """
    require_servers(system, "RTDS")
    served = under(_served(system), "deferrable+edf+extra", "rtds")
    command_line.refuse(served)
    return served


def as_null(system: System) -> System:
    """The system with a pcpu for each vcpu of a domain that has a server."""
    alone = on_own_pcpus(_served(system), "ptps", WHOLE)
    command_line.refuse(alone)
    return alone


def as_arinc653(system: System) -> System:
    """The system with its own table, or the servers of which one is made, by EDF on each pcpu.

    A table exists where EDF has room for all, and gives each server its budget in each period. The
    scheduler knows entries of one vcpu: InputError for a domain with several.
    """
    refuse_names(system)
    for index, one in enumerate(system.domains):
        if one.is_served and one.vcpus != 1:
            key = f"domain[{index}].vcpus"
            raise InputError("", None, key, str(one.vcpus), "one vcpu, which has the windows")
    if system.major_frame_ns is not None:
        return system
    return with_policy(_served(system), "periodic+edf+none")


def _served(system: System) -> System:
    """The system without its best-effort domains; InputError for what is nothing without them."""
    refuse_names(system)
    return without_best_effort(system, "xl sched-rtds", "in Pool-0")


class StockScheduler(NamedTuple):
    """One of Xen's own schedulers: its name for xl, and what a README says of it."""

    name: str
    shown_by: str
    promises: str


RTDS: Final = StockScheduler(
    "rtds",
    "xl sched-rtds -v all",
    """- RTDS takes budgets that do not fit together, without a word, and then some come too late.
  That these fit is what `hyperperiod analyze system.toml` says, by a test of deferrable servers,
  not by the sum of their bandwidths.
- A change with `xl sched-rtds` acts at once, not with the next period: what a server gets in the
  period of a change is not known.
- A new vcpu has 4 ms in 10 ms and extra time until it is given its own. Domains are made paused for
  that reason, and one that reboots is ended: `sh start.sh` makes it again.
- **Do not end a pool of RTDS**: Xen 4.20 panics when its last pcpu leaves. `stop.sh` leaves the
  pools; a reboot ends them.
- What RTDS does is not recorded decision by decision, and its costs were not measured: those that
  are counted are of Hyperperiod's own scheduler on the same Xen.""",
)
NULL: Final = StockScheduler(
    "null",
    "xl vcpu-list",
    """- A vcpu has its pcpu even when it does nothing with it: that is the price of no scheduler.
- A vcpu for which no pcpu of its pool is free waits without a word; `xl debug-keys r` and
  `xl dmesg` show it.
- Caches, memory and interrupts are shared with the other pcpus all the same.""",
)


ARINC653: Final = StockScheduler(
    "arinc653",
    "xl cpupool-list",
    """- Xen 4.20 has this scheduler only if it was built with `CONFIG_UNSUPPORTED` and
  `CONFIG_SCHED_ARINC653`: its maintainers give no security support for it. Debian's Xen has not.
- What Xen takes of a window for itself is not counted: its own work comes first, a window begins
  with a switch, and a domain that wakes up costs another one. Leave room: `--margin`.
- A table is in force at once, in the middle of a frame; none is the same for all pcpus: each pool
  begins its frames when its table is set.
- In a pool without a table nobody runs. dom0 and best effort stay in Pool-0, on other pcpus.
- An entry names a domain by its `uuid`, which is in its `.cfg` file.""",
)


def export_xen_stock(
    scheduler: StockScheduler, system: System, cpus: Sequence[int] | None = None
) -> dict[str, str | bytes | Path]:
    """The files of the export, by name, of a system that `as_rtds` or one like it made.

    `cpus` are Xen's numbers of its pcpus, without them those after the first. Raises InputError for
    what cannot be expressed.
    """
    chosen = chosen_pcpus(system, cpus)
    system = widened(system, complete(Analysis(system)), computed_grid_ns=US)
    if scheduler is RTDS:
        require_parameters(system, MOST_NS)
    if scheduler is ARINC653 and system.major_frame_ns is None:
        system = with_table(system)
    pools = pools_of(system, chosen)
    files: dict[str, str | bytes | Path] = {
        f"{domain.name}.cfg": f"{configuration(system, domain, chosen, pool)}{_of_pool(pool)}"
        + (f'uuid = "{_uuid(system, domain)}"\n' if scheduler is ARINC653 else "")
        for pool in pools
        for domain in pool.domains
    }
    for pool in pools:
        files[f"{pool.name}.pool"] = _pool_file(pool, scheduler)
    what = f"its domains under Xen's {scheduler.name}"
    if scheduler is ARINC653:
        files |= {f"{pool.name}.table": _table(system, pool) for pool in pools}
        files[SET_TABLE] = _SET_TABLE
    files[unit_of(system)] = service(system, FOLDER, what, "xen-init-dom0.service")
    files["start.sh"] = _start(system, pools, scheduler)
    files["stop.sh"] = _stop(pools)
    files["system.toml"] = to_toml(system)
    files["README.md"] = _readme(system, chosen, pools, scheduler)
    return files


def _pool_file(pool: Pool, scheduler: StockScheduler) -> str:
    cpus = ", ".join(f'"{cpu}"' for cpu in pool.cpus)
    return f'name = "{pool.name}"\nsched = "{scheduler.name}"\ncpus = [{cpus}]\n'


def _uuid(system: System, domain: Domain) -> str:
    """Returns the same handle whenever the system is exported, by which its table stays right."""
    return str(uuid5(NAMESPACE_URL, f"{system.name}/{domain.name}"))


def _table(system: System, pool: Pool) -> str:
    """Returns the entries of a pool: how long (ns) each domain runs, one after the other.

    The first line is the major frame. InputError for more entries than the scheduler takes.
    """
    laid = sorted((w.start_ns, w.end_ns, one) for one in pool.domains for w in one.windows)
    lines, at_ns = [], 0
    for start_ns, end_ns, one in laid:
        if at_ns < start_ns:
            lines.append(f"{start_ns - at_ns} idle")
        lines.append(f"{end_ns - start_ns} {_uuid(system, one)} {one.name}")
        at_ns = end_ns
    frame_ns = system.major_frame_ns or 0
    if len(lines) > MAX_ENTRIES:
        found = f"{len(lines)} entries in a major frame of {format_time(frame_ns)}"
        raise InputError("", None, f"pool {pool.name}", found, f"{MAX_ENTRIES}, as Xen takes them")
    return "\n".join([f"{frame_ns} frame", *lines]) + "\n"


_SET_TABLE: Final = f'''#!/usr/bin/env python3
"""Sets the table of a pool under Xen's scheduler arinc653: {SET_TABLE} POOL; as root in dom0.

POOL.table has the major frame (ns), then for how long (ns) who runs, in order.
"""

import sys
from ctypes import CDLL, Structure, byref, c_char, c_uint8, c_uint32, c_uint64, c_void_p
from glob import glob
from subprocess import check_output
from uuid import UUID


class Entry(Structure):
    _fields_ = [("handle", c_uint8 * 16), ("vcpu", c_uint32), ("runtime", c_uint64)]


class Schedule(Structure):
    _fields_ = [("frame", c_uint64), ("count", c_uint8), ("entries", Entry * {MAX_ENTRIES})]


NOBODY = UUID(int=2**128 - 1)  # who has this handle runs nowhere: the pcpu idles
pool = sys.argv[1]
with open(f"{{pool}}.table") as file:
    (frame, _), *rows = (line.split()[:2] for line in file)
schedule = Schedule(int(frame), len(rows))
for entry, (runtime, who) in zip(schedule.entries, rows):
    entry.runtime = int(runtime)
    entry.handle[:] = (NOBODY if who == "idle" else UUID(who)).bytes

found = glob("/usr/lib/*/libxenctrl.so.4*")
if not found:
    sys.exit("libxenctrl.so.4: not found; apt-get install xen-utils")
library = CDLL(found[0])
library.xc_interface_open.restype = c_void_p
handle = c_void_p(library.xc_interface_open(None, None, 0))
pools = check_output(["xenstore-list", "/local/pool"], text=True).split()
names = {{
    check_output(["xenstore-read", f"/local/pool/{{one}}/name"], text=True).strip(): int(one)
    for one in pools
}}
if library.xc_sched_arinc653_schedule_set(handle, names[pool], byref(schedule)):
    sys.exit(f"{{pool}}: found a table that Xen refuses; allowed: a pool under arinc653")
'''


def _of_pool(pool: Pool) -> str:
    """Returns the lines of a domain's file that belong to its pool."""
    return f"""pool = "{pool.name}"
on_reboot = "destroy"  # a new domain would have no parameters until start.sh gives them
"""


START: Final = """\
set -eu
cd "$(dirname "$0")"
created=

# pool NAME CPU...: a pool of this scheduler with these pcpus, unless it is there.
pool() {
  pool=$1
  shift
  found=$(xl cpupool-list | grep "^$pool " || :)
  if [ -z "$found" ]; then
    # Those that an earlier try took are not in Pool-0 any more.
    for cpu in "$@"; do xl cpupool-cpu-remove Pool-0 "$cpu" || :; done
    xl cpupool-create "$pool.pool"
    return
  fi
  read -r pool cpus sched rest <<END
$found
END
  if [ "$sched" != "$scheduler" ] || [ "$cpus" != $# ]; then
    echo "pool $pool: found $sched with $cpus cpus; allowed: $scheduler with $#" >&2
    exit 1
  fi
}

# domain NAME: makes it, paused, unless it is there.
domain() {
  if ! xl list "$1" >/dev/null 2>&1; then
    xl create -p "$1.cfg"
    created="$created $1"
  fi
}
"""


def _start(system: System, pools: Sequence[Pool], scheduler: StockScheduler) -> str:
    """Returns the script that makes pools and domains, and sets parameters, as far as they lack."""
    domains = [domain for pool in pools for domain in pool.domains]
    lines = [
        "#!/bin/sh",
        f"# Starts {system.name} under Xen's own scheduler {scheduler.name}; as root in dom0.",
        "# What is there already is left as it is; parameters are set again.",
        START,
        f"scheduler={scheduler.name}",
        *(f"pool {pool.name} {' '.join(map(str, pool.cpus))}" for pool in pools),
        *(f"domain {domain.name}" for domain in domains),
    ]
    if scheduler is RTDS:
        lines += [line for domain in domains for line in _parameters(domain)]
    if scheduler is ARINC653:
        lines += [f"python3 {SET_TABLE} {pool.name}" for pool in pools]
    lines.append('for name in $created; do xl unpause "$name"; done')
    return "\n".join(lines) + "\n"


def _parameters(domain: Domain) -> Iterator[str]:
    """Yields the commands that set the servers of a domain, in whole microseconds."""
    for number, keys in enumerate(domain.each_vcpu):
        if keys.interface is not None:
            period, budget = keys.interface.period_ns // US, keys.interface.budget_ns // US
            yield (
                f"xl sched-rtds -d {domain.name} -v {number} -p {period} -b {budget}"
                f" -e {int(keys.extra)}"
            )


def _stop(pools: Sequence[Pool]) -> str:
    lines = ["#!/bin/sh", "# Ends the domains; the pools stay. What is not there is passed over."]
    lines += ["set -u", *(f"xl destroy {domain.name}" for pool in pools for domain in pool.domains)]
    return "\n".join(lines) + "\n"


def _readme(
    system: System,
    cpus: tuple[int, ...],
    pools: Sequence[Pool],
    scheduler: StockScheduler,
) -> str:
    host = f"Xen's own scheduler {scheduler.name}"
    return f"""{beginning(system, host, f"xen-{scheduler.name}", cpus, pools)}
A best-effort domain of the system is not in here: it stays in Pool-0 with dom0, on the other pcpus.

1. Xen and its tools stay as they are. The pcpus in the table must not be dom0's: boot with
   `dom0_max_vcpus=1 dom0_vcpus_pin`, or pin it with `xl vcpu-pin`.
2. Put your guests into the `.cfg` files: `kernel`, `ramdisk`, `memory`, disks.
3. As root in dom0: `sh start.sh`. It takes the pcpus from Pool-0, makes the pools, and the domains
   in them, paused, sets their parameters, and starts them. What is there already it leaves.
4. `{scheduler.shown_by}` shows what is in force; `sh stop.sh` ends the domains.

Nothing of it survives a reboot by itself. So that it comes back with the machine:

{to_keep(system, FOLDER)}

## What this host does not guarantee

{scheduler.promises}
{of_flows(system)}"""
