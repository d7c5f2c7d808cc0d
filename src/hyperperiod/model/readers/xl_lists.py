# SPDX-License-Identifier: BSD-2-Clause
"""Reads what `xl` prints of RTDS: the pools of a Xen machine, and the servers in them.

    Name               CPUs   Sched     Active   Domain count
    rt                   2       rtds       y          1
    Cpupool rt: sched=RTDS
    Name                                ID VCPU    Period    Budget  Extratime
    control                              3    0     10000      4000        no

That is `xl cpupool-list; xl sched-rtds -v all`. A domain of a pool of RTDS becomes a domain with
the interfaces of its vcpus. What is in it xl does not know: a busy task stands for all of it, to be
replaced by the tasks that are there. One pool is a system under `rtds`; several, if each has one
pcpu, are its pcpus under deferrable+edf+extra. Pools of other schedulers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hyperperiod.model.errors import InputError
from hyperperiod.model.locate import Lines
from hyperperiod.model.values import TomlTable, plain_name

KeyPath = tuple[str | int, ...]

_HEADER = re.compile(
    r"Name +(CPUs +Sched +Active +Domain count|ID +VCPU +Period +Budget +Extratime)"
)
_POOL = re.compile(r"(\S+) +(\d{1,6}) +(\S+) +[yn] +\d+")
_SERVERS = re.compile(r"Cpupool (\S+): sched=RTDS")
_SERVER = re.compile(r"(\S.*?) +(\d+) +(\d+) +(\d{1,12}) +(\d{1,12}) +(yes|no)")
_SHOWN = "what `xl cpupool-list; xl sched-rtds -v all` prints"


class _Server(NamedTuple):
    """A line about a vcpu: of which domain, in which pool, and its parameters (us)."""

    line: int
    pool: str
    domain: tuple[str, str]
    period_us: int
    budget_us: int
    extra: bool

    @property
    def table(self) -> TomlTable:
        """The interface, as in a table of our own."""
        own = {"period": f"{self.period_us}us", "budget": f"{self.budget_us}us"}
        return {"interface": own, **({"extra": True} if self.extra else {})}


def read_xl_lists(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    cpus, servers = _lines(file, text)
    pools = list(dict.fromkeys(one.pool for one in servers))
    if not servers:
        raise InputError(file, 1, "", "no server of RTDS", _SHOWN)
    for one in servers:
        if one.pool not in cpus:
            found = f"nothing of the pool {one.pool[:40]}"
            raise InputError(file, one.line, "CPUs", found, f"{_SHOWN}: first how many cpus it has")
    if len(pools) > 1 and any(cpus[pool] != 1 for pool in pools):
        found = f"{len(pools)} pools of RTDS with several cpus"
        raise InputError(file, servers[0].line, "CPUs", found, "one pool, or pools of one cpu each")
    of_each: dict[tuple[str, str], list[_Server]] = {}
    for one in servers:
        of_each.setdefault(one.domain, []).append(one)
    lines: dict[KeyPath, int] = {}
    domains: list[TomlTable] = []
    for (name, _), vcpus in of_each.items():
        here: KeyPath = ("domain", len(domains))
        lines[here] = vcpus[0].line
        domain: TomlTable = {"name": plain_name(name, "unnamed"), "vcpus": len(vcpus)}
        if len(pools) > 1:
            domain["pcpu"] = pools.index(vcpus[0].pool)
        if all(one.table == vcpus[0].table for one in vcpus):
            domain |= vcpus[0].table
        else:
            domain["vcpu"] = [one.table for one in vcpus]
        domain["task"] = [
            {"name": f"on-{number}", "kind": "busy", **({"vcpu": number} if len(vcpus) > 1 else {})}
            for number in range(len(vcpus))
        ]
        domains.append(domain)
    return {
        "name": plain_name(Path(file.strip("<>")).stem, "xen"),
        "description": "Read from what xl prints of RTDS; busy tasks stand for what is inside",
        "policy": "rtds" if len(pools) == 1 else "deferrable+edf+extra",
        "pcpus": len(pools) if len(pools) > 1 else cpus[pools[0]],
        "domain": domains,
    }, Lines(lines).of


def _lines(file: str, text: str) -> tuple[dict[str, int], list[_Server]]:
    """How many cpus each pool has, and the servers, in the order of the text."""
    cpus: dict[str, int] = {}
    servers: list[_Server] = []
    pool = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or _HEADER.fullmatch(line):
            continue
        begins, has, row = (form.fullmatch(line) for form in (_SERVERS, _POOL, _SERVER))
        if begins:
            pool = begins[1]
        elif row and pool:
            name, domain, _, period, budget, extra = row.groups()
            times = int(period), int(budget)
            servers.append(_Server(number, pool, (name, domain), *times, extra == "yes"))
        elif has:
            cpus[has[1]] = int(has[2])
        elif not line.startswith("Cpupool "):
            raise InputError(file, number, "", repr(line[:40]), _SHOWN)
    return cpus, servers
