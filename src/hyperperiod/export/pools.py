# SPDX-License-Identifier: BSD-2-Clause
"""Pools of pcpus that a host is to have, which domains are in them, and what all exports of such
pools say: how a README begins, and the service that brings them back at every boot.

A scheduler that decides for a pool needs one for each pcpu of a partitioned system, or for those on
which a domain has vcpus.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hyperperiod.model import Domain, InputError, Scope, System, format_time


@dataclass(frozen=True)
class Pool:
    """A pool: its pcpus, by the host's numbers, and the domains in it."""

    name: str
    cpus: tuple[int, ...]
    domains: tuple[Domain, ...]


def chosen_pcpus(system: System, cpus: Sequence[int] | None) -> tuple[int, ...]:
    """Returns the host's numbers of the system's pcpus: those given, or all after the first.

    Raises InputError for too many, too few, or one given twice.
    """
    chosen = tuple(range(1, system.pcpus + 1)) if cpus is None else tuple(cpus)
    if len(chosen) != system.pcpus or len(set(chosen)) != len(chosen):
        raise InputError(
            "",
            None,
            "--cpus",
            ",".join(map(str, chosen)),
            f"{system.pcpus} different ones of the host's, one for each of the system's",
        )
    return chosen


def plain_name(system: System) -> str:
    """Returns the name of the system as one of a pool, a file or a folder: Pool-0 is dom0's."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", system.name).strip("-") or "system"
    return f"the-{name}" if name in ("Pool", "Pool-0") else name


def pools_of(system: System, cpus: tuple[int, ...]) -> list[Pool]:
    """Returns the pools of a system whose pcpus have these numbers of the host's.

    A global policy is one pool; a partitioned one has a pool for each pcpu, or for those on which a
    domain has vcpus.
    """
    base = plain_name(system)
    if system.policy.scope is Scope.GLOBAL or system.pcpus == 1:
        return [Pool(base, cpus, system.domains)]
    pools = []
    for together in _pcpus_together(system):
        inside = tuple(domain for domain in system.domains if _homes(domain) & together)
        if inside:
            own = tuple(cpus[number] for number in sorted(together))
            pools.append(Pool(f"{base}-{min(together)}", own, inside))
    return pools


def pools_each(system: System, cpus: tuple[int, ...], prefix: str = "") -> list[Pool]:
    """Returns a pool for each domain, named after it, where each vcpu has a pcpu of its own."""
    return [
        Pool(f"{prefix}{one.name}", tuple(own_cpus(one, cpus)), (one,)) for one in system.domains
    ]


def _homes(domain: Domain) -> set[int]:
    return {keys.pcpu for keys in domain.each_vcpu if keys.pcpu is not None}


def _pcpus_together(system: System) -> list[set[int]]:
    """The pcpus in sets, so that no domain has vcpus in two of them."""
    sets = [{pcpu} for pcpu in range(system.pcpus)]
    for domain in system.domains:
        touched = [one for one in sets if one & _homes(domain)]
        if len(touched) > 1:
            sets = [one for one in sets if one not in touched] + [set().union(*touched)]
    return sorted(sets, key=min)


def own_cpus(domain: Domain, cpus: tuple[int, ...]) -> list[int]:
    """Returns the host's number of the pcpu of each vcpu; none under a global policy."""
    return [cpus[keys.pcpu] for keys in domain.each_vcpu if keys.pcpu is not None]


def beginning(
    system: System, host: str, target: str, cpus: tuple[int, ...], pools: Sequence[Pool]
) -> str:
    """Returns how a README begins: what it is about, and which domain is where."""
    rows = "\n".join(
        f"| `{domain.name}` | {servers_of(domain, 'best effort', ' in ')} | `{pool.name}`"
        f" | {', '.join(map(str, own_cpus(domain, cpus) or pool.cpus))} |"
        for pool in pools
        for domain in pool.domains
    )
    return f"""# {system.name}, for {host}

Written by Hyperperiod (`hyperperiod export --to {target}`); [`system.toml`](system.toml) is the
system, with every interface that was computed.

| domain | server | pool | pcpu |
| --- | --- | --- | --- |
{rows}
"""


def unit_of(system: System) -> str:
    """Returns the name of the service that brings the pools of a system back."""
    return f"hyperperiod-{plain_name(system)}.service"


def service(system: System, folder: str, what: str, after: str = "") -> str:
    """Returns that service: start.sh and stop.sh of the system's own folder in `folder`.

    It does `what`, and if there is something to come `after`, it waits for that.
    """
    place = f"{folder}/{plain_name(system)}"
    order = f"Requires={after}\nAfter={after}\n" if after else ""
    return f"""[Unit]
Description={system.name}: {what}
{order}[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={place}/start.sh
ExecStop={place}/stop.sh
[Install]
WantedBy=multi-user.target
"""


def to_keep(system: System, folder: str) -> str:
    """Returns the commands of a README that put the service in force."""
    place, unit = f"{folder}/{plain_name(system)}", unit_of(system)
    return f"""```sh
mkdir -p {place} && cp * {place}/
cp {unit} /etc/systemd/system/
systemctl enable {unit}
```"""


def of_flows(system: System) -> str:
    """Returns what a README says of flows: nothing, if there are none."""
    if not system.flows:
        return ""
    names = ", ".join(f"`{flow.name}`" for flow in system.flows)
    return f"""
How items of {names} get from domain to domain is up to your guests: nothing in
these files connects them.
"""


def servers_of(domain: Domain, best_effort: str, between: str) -> str:
    """Returns the servers of a domain, each different one once: its budget `between` its period."""
    each = dict.fromkeys(
        best_effort
        if one is None
        else f"{format_time(one.budget_ns)}{between}{format_time(one.period_ns)}"
        for one in (keys.interface for keys in domain.each_vcpu)
    )
    return "; ".join(each)
