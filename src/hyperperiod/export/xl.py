# SPDX-License-Identifier: BSD-2-Clause
"""A system for Xen with a toolstack: a configuration per domain, and the commands that start them.

`xl` makes the domains, `hyperperiod-xen` (hosts/xen/control) puts them under the scheduler: a pool
of pcpus with the policy, into which each domain is moved before it runs, and a server for its
vcpus. What it is to do stands in one file, `hyperperiod-xen.conf` (docs/formats.md), which
`start.sh` applies and, by the systemd unit beside it, every boot.

A pool has one lock domain per pcpu under a partitioned policy, and which of them a vcpu belongs to
follows its affinity: so such a policy on several pcpus becomes a pool for each, and one for those
on which a domain has vcpus, which xl binds to theirs.

What the tools cannot say is refused: a quantum, swaps and changes at given times, names that xl
does not take. Servers are set in whole microseconds: a computed budget is rounded up to one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hyperperiod.analysis import Analysis
from hyperperiod.export.pools import (
    Pool,
    beginning,
    chosen_pcpus,
    of_flows,
    own_cpus,
    pools_of,
    servers_of,
)
from hyperperiod.for_host import widened
from hyperperiod.hosts.decisions import require_time
from hyperperiod.hosts.priorities import Priorities
from hyperperiod.hosts.refuse import refuse
from hyperperiod.hosts.xen import command_line
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    System,
    Vcpu,
    format_time,
    to_toml,
    vcpus_of,
)
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.resources import SOURCES
from hyperperiod.runs import complete

TARGET = "xen-xl"
MEMORY_MIB = 128
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
NAME_ALLOWED = "up to 40 letters, digits, _ . - after a letter, as xl takes them"
CONF = "hyperperiod-xen.conf"
UNIT = "hyperperiod-xen.service"
RESERVED = ("Domain-0", "Pool-0")
US = NS_PER_UNIT["us"]


def export_xl(system: System, cpus: Sequence[int] | None = None) -> dict[str, str | bytes | Path]:
    """The files of the export, by name; `cpus` are Xen's numbers of the system's pcpus.

    Without them the pcpus after the first are taken, which is left to dom0. Raises InputError
    for what cannot be expressed.
    """
    refuse(system, 1, 0)
    command_line.refuse(system)
    chosen = chosen_pcpus(system, cpus)
    _refuse_times(system)
    refuse_names(system)
    system = widened(system, complete(Analysis(system)), computed_grid_ns=US)
    _require_microseconds(system)
    require_time(system, "Xen")
    pools = pools_of(system, chosen)
    files: dict[str, str | bytes | Path] = {
        f"{domain.name}.cfg": configuration(system, domain, chosen, pool)
        for pool in pools
        for domain in pool.domains
    }
    files[CONF] = _conf(system, pools)
    files[UNIT] = SOURCES / "hosts" / "xen" / "control" / UNIT
    files["start.sh"] = _start(system, pools)
    files["stop.sh"] = _stop(pools)
    files["system.toml"] = to_toml(system)
    files["README.md"] = _readme(system, chosen, pools)
    return files


def _refuse_times(system: System) -> None:
    """InputError for swaps, changes and a quantum: a toolstack knows no instants."""
    for key, found, allowed in (
        ("quantum", system.quantum_ns, "no quantum: hyperperiod-xen sets none"),
        ("swap", system.swaps, "no [[swap]]: hyperperiod-xen policy POOL POLICY swaps when called"),
        ("change", system.changes, "no [[change]]: hyperperiod-xen set changes when called"),
    ):
        if found:
            shown = format_time(found) if isinstance(found, int) else f"{len(found)} of them"
            raise InputError("", None, key, shown, allowed)


def refuse_names(system: System) -> None:
    """InputError for a domain whose name xl does not take."""
    for index, domain in enumerate(system.domains):
        if not NAME.fullmatch(domain.name) or domain.name in RESERVED:
            raise InputError("", None, f"domain[{index}].name", repr(domain.name), NAME_ALLOWED)


def _require_microseconds(system: System) -> None:
    """InputError for servers that are not in whole microseconds."""
    for index, domain in enumerate(system.domains):
        _require_server(f"domain[{index}].interface", domain.interface)
        for number, vcpu in enumerate(domain.own_vcpus):
            _require_server(f"domain[{index}].vcpu[{number}].interface", vcpu.interface)
    _require_server("spare", system.spare)


def _require_server(key: str, server: Interface | None) -> None:
    if server is not None:
        _require_whole(f"{key}.period", server.period_ns)
        _require_whole(f"{key}.budget", server.budget_ns)


def _require_whole(key: str, time_ns: int) -> None:
    if time_ns % US:
        raise InputError("", None, key, format_time(time_ns), "whole microseconds")


def configuration(system: System, domain: Domain, cpus: tuple[int, ...], pool: Pool) -> str:
    """Returns the domain for xl; `cpus` are Xen's numbers of the system's pcpus.

    In a pool of several pcpus, each of which has servers of its own, its vcpus are bound to theirs.
    """
    server = servers_of(
        domain, "best effort: it runs when nobody else wants the pcpu", " in every "
    )
    pins = ", ".join(f'"{cpu}"' for cpu in own_cpus(domain, cpus))
    affinity = f"cpus = [{pins}]\n" if pins and len(pool.cpus) > 1 else ""
    return f"""# {domain.name} of {system.name}: {server}
# Written by Hyperperiod; start.sh makes the domain and gives it its server.
name = "{domain.name}"
type = "pvh"
kernel = "/boot/guest-{domain.name}"  # put your guest here
memory = {MEMORY_MIB}
vcpus = {domain.vcpus}
{affinity}on_poweroff = "destroy"
on_crash = "destroy"
"""


def _conf(system: System, pools: Sequence[Pool]) -> str:
    """Returns the text of the file that `hyperperiod-xen apply` reads."""
    lines = [f"# {system.name}, written by Hyperperiod.", "version = 1"]
    priorities = Priorities(system)
    vcpus = vcpus_of(system)
    for pool in pools:
        lines += ["", *_pool_lines(system, pool)]
    for pool in pools:
        for domain in pool.domains:
            lines += ["", f"[domain {domain.name}]", f"pool = {pool.name}"]
            lines += [
                f"vcpu {vcpu.index} = {_server_line(vcpu, priorities)}"
                for vcpu in vcpus
                if vcpu.domain is domain
            ]
    return "\n".join(lines) + "\n"


def _pool_lines(system: System, pool: Pool) -> Iterator[str]:
    policy = system.policy
    yield f"[pool {pool.name}]"
    yield f"policy = {policy.name or f'{policy.budget}+{policy.order}+{policy.slack}'}"
    yield f"scope = {policy.scope}"
    yield f"cpus = {','.join(map(str, pool.cpus))}"
    if system.spare is not None:
        yield f"spare = {_budget_in_period(system.spare)}"


def _server_line(vcpu: Vcpu, priorities: Priorities) -> str:
    if vcpu.interface is None:
        weight = "" if vcpu.weight is None else f", weight {vcpu.weight}"
        return f"best effort{weight}"
    extra = ", extra time" if vcpu.extra else ""
    return f"{_budget_in_period(vcpu.interface)}, priority {priorities.of(vcpu)}{extra}"


def _budget_in_period(interface: Interface) -> str:
    budget, period = interface.budget_ns, interface.period_ns
    return f"{command_line.exact_time(budget)} in {command_line.exact_time(period)}"


def _start(system: System, pools: Sequence[Pool]) -> str:
    domains = [domain.name for pool in pools for domain in pool.domains]
    lines = [
        "#!/bin/sh",
        f"# Starts {system.name} under Xen's hyperperiod scheduler; as root in dom0.",
        "# Domains are made paused, get their pool and their servers, and then run.",
        "set -eu",
        'cd "$(dirname "$0")"',
        "",
        *(f"xl create -p {name}.cfg" for name in domains),
        "",
        f"hyperperiod-xen apply {CONF}",
        "",
        *(f"xl unpause {name}" for name in domains),
    ]
    return "\n".join(lines) + "\n"


def _stop(pools: Sequence[Pool]) -> str:
    lines = ["#!/bin/sh", "# Ends what start.sh made; what is not there is passed over.", "set -u"]
    lines += [f"xl destroy {domain.name}" for pool in pools for domain in pool.domains]
    lines += [f"hyperperiod-xen pool-destroy {pool.name}" for pool in pools]
    return "\n".join(lines) + "\n"


def _readme(system: System, cpus: tuple[int, ...], pools: Sequence[Pool]) -> str:
    return f"""{beginning(system, "Xen with a toolstack", TARGET, cpus, pools)}
1. Xen must have the hyperperiod scheduler, and dom0 the program `hyperperiod-xen`. Debian's `xl` is
   used as it is. dom0 keeps pcpu 0, or whatever is not named here.
2. Put your guests into the `.cfg` files: `kernel`, `ramdisk`, `memory`, disks.
3. As root in dom0: `sh start.sh`. Each domain is made paused in Pool-0; `hyperperiod-xen apply`
   makes the pools, moves each domain into its own and gives it its servers, as
   [`{CONF}`]({CONF}) says; then all are started.
4. `hyperperiod-xen pool-info` and `hyperperiod-xen get DOMAIN` show what is in force;
   `hyperperiod-xen policy POOL POLICY` swaps the policy of a running pool.
5. `sh stop.sh` ends all of it.

So that pools and servers survive a reboot, of the machine or of a domain:

```sh
cp {CONF} /etc/
cp {UNIT} /etc/systemd/system/    # it looks for hyperperiod-xen in /usr/local/sbin
systemctl enable --now hyperperiod-xen
```

The service makes the pools at boot and gives each domain its servers whenever it is created;
the `.cfg` files then go to where your machine starts its domains from (`/etc/xen/auto`).
{of_flows(system)}"""
