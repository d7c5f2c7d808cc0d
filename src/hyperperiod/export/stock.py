# SPDX-License-Identifier: BSD-2-Clause
"""A system as a scheduler that is not ours runs it: what is judged is that, not the system's own.

Such a scheduler decides for all pcpus of a pool or a partition together. So a partitioned system
becomes one for each pcpu, and a domain whose vcpus are on several pcpus has no place there.
"""

from __future__ import annotations

from typing import Final

from hyperperiod.hosts.refuse import refuse
from hyperperiod.model import Domain, InputError, Interface, Sbf, Scope, System, with_policy
from hyperperiod.model.own_vcpu import served_by

WHOLE: Final = Interface(period_ns=1_000_000, budget_ns=1_000_000)
"""The interface that stands for a pcpu of one's own: all of a period, of whatever length, as nobody
else is there to take any of it."""


def without_ours(system: System, parameters: str) -> System:
    """The system without what only our schedulers have: a spare, a quantum, a start in step.

    Periods of such a scheduler begin when it likes, so supply is the general one.

    Raises InputError for swaps and changes at given instants; `parameters` is the command that
    changes a server when it is called.
    """
    refuse(system, 1, 0)
    for key, found, allowed in (
        ("swap", system.swaps, "no [[swap]]: the scheduler is not swapped"),
        ("change", system.changes, f"no [[change]]: {parameters} changes when called"),
    ):
        if found:
            raise InputError("", None, key, f"{len(found)} of them", allowed)
    return system.replace(spare=None, quantum_ns=None, sbf=Sbf.GENERAL)


def under(system: System, apart: str, together: str) -> System:
    """The system under the policy `apart` on each pcpu, or `together` on all if its own is global.

    Raises InputError for a domain with vcpus on several pcpus of a partitioned system.
    """
    if system.policy.scope is Scope.GLOBAL:
        return with_policy(system, together)
    for index, domain in enumerate(system.domains):
        if not domain.is_served:
            continue
        homes = sorted({keys.pcpu for keys in domain.each_vcpu if keys.pcpu is not None})
        if len(homes) > 1:
            raise InputError(
                "",
                None,
                f"domain[{index}].pcpus",
                f"vcpus of {domain.name} on pcpus {', '.join(map(str, homes))}",
                "one pcpu for all of a domain, or a global policy: this scheduler is global",
            )
    return with_policy(system, apart)


def require_servers(system: System, host: str) -> None:
    """Raises InputError for a domain of which only some vcpus have servers, which `host` lacks."""
    for index, domain in enumerate(system.domains):
        for number, keys in enumerate(domain.each_vcpu):
            if domain.is_served and keys.best_effort:
                key = f"domain[{index}].vcpu[{number}].best_effort"
                raise InputError("", None, key, "true", f"a server for each vcpu, as {host} has it")


def without_best_effort(system: System, parameters: str, outside: str) -> System:
    """The system without its best-effort domains, which stay `outside`; else as `without_ours`.

    Raises InputError for what is nothing without them.
    """
    names = {one.name for one in system.domains if one.is_served}
    if not names:
        raise InputError("", None, "domain", "best effort only", "a domain with a server")
    for index, flow in enumerate(system.flows):
        gone = [hop for hop in flow.hops if hop.partition(".")[0] not in names]
        if gone:
            allowed = f"hops in domains with a server: best effort stays {outside}"
            raise InputError("", None, f"flow[{index}].hops", gone[0], allowed)
    domains = tuple(
        one.replace(apart=tuple(name for name in one.apart if name in names))
        for one in system.domains
        if one.name in names
    )
    return without_ours(system, parameters).replace(domains=domains)


def on_own_pcpus(system: System, policy: str, interface: Interface | None = None) -> System:
    """The system with a pcpu for each vcpu, under `policy`: the servers that it has, or `interface`
    for all. What is stolen from one pcpu is from any, since a vcpu's pcpu is another one now."""
    domains: list[Domain] = []
    pcpus = 0
    for one in system.domains:
        own = tuple(range(pcpus, pcpus + one.vcpus))
        pcpus += one.vcpus
        moved = one.replace(
            pcpus=own, pcpu=None, priority=None, spread=False, together=False, apart=(),
            extra=False, best_effort=False,
            own_vcpus=tuple(keys.replace(pcpu=None, priority=None) for keys in one.own_vcpus),
        )  # fmt: skip
        if interface:
            moved = moved.replace(**served_by(interface), own_vcpus=())
        domains.append(moved)
    stolen = tuple(one.replace(pcpu=None) for one in system.stolen)
    return with_policy(system.replace(domains=tuple(domains), pcpus=pcpus, stolen=stolen), policy)
