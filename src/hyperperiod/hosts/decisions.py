# SPDX-License-Identifier: BSD-2-Clause
"""What a pcpu of Xen or Linux has time to decide.

A period brings two decisions of the scheduler, its refill and the end of its budget, and a decision
takes time. Where periods are too short or too many, the host would do nothing but decide. So it
refuses a server whose budget does not outlast a decision, one with which those of all servers that
share a lock (the ones of a pcpu, or all of a global policy) would take more than half the time, and
a quantum or a spare that would take more than a quarter each (`core/vcpu.h`; the time of one is
`XEN_HYPERPERIOD_DECISION_NS` in `hosts/xen/public.h`, `DECISION_NS` in
`hosts/linux/daemon/system.c`). What the host would refuse is refused here before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hyperperiod.model import InputError, Interface, Scope, System, Vcpu, format_time, vcpus_of

DECISION_NS: Final = {"Xen": 4_200, "Linux": 5_000}
"""For how long (ns) one decision keeps a pcpu busy at most, by the name of the host."""
PER_PERIOD = 2
"""Decisions: a refill and the end of a budget."""
WHOLE = 2**20
"""Shares of time are counted in so many parts, rounded down, as the core does."""


def require_time(system: System, host: str) -> None:
    """InputError for servers, a spare or a quantum that `host` ("Xen", "Linux") has no time for."""
    decision_ns = DECISION_NS[host]
    shortest_ns = 4 * PER_PERIOD * decision_ns

    def short(key: str, found_ns: int, floor_ns: int) -> InputError:
        allowed = f"at least {format_time(floor_ns)} on {host}"
        return InputError(system.name, None, key, format_time(found_ns), allowed)

    if system.quantum_ns is not None and system.quantum_ns < shortest_ns:
        raise short("quantum", system.quantum_ns, shortest_ns)
    if system.spare is not None and system.spare.period_ns < shortest_ns:
        raise short("spare: period", system.spare.period_ns, shortest_ns)
    for vcpu in vcpus_of(system):
        for interface in _interfaces(system, vcpu):
            name = vcpu.domain.name if vcpu.domain.is_plain else vcpu.name
            if interface.budget_ns < decision_ns:
                key = f"domain {name}: interface: budget"
                raise short(key, interface.budget_ns, decision_ns)
    for pcpu, vcpus in sharing_a_lock(system):
        periods = [_shortest_period_ns(system, vcpu) for vcpu in vcpus if not vcpu.best_effort]
        share = sum(PER_PERIOD * decision_ns * WHOLE // one for one in periods if one)
        if share > WHOLE // 2:
            raise InputError(
                system.name,
                None,
                f"periods of the servers on {pcpu}",
                f"{-(-100 * share // WHOLE)} % of the time for decisions",
                f"50 % on {host}, where each period takes two of {format_time(decision_ns)}",
            )


def sharing_a_lock(system: System) -> Iterator[tuple[str, list[Vcpu]]]:
    """Vcpus whose servers are decided about under one lock, by the name of where they are."""
    vcpus = vcpus_of(system)
    if system.policy.scope is Scope.GLOBAL:
        yield "all pcpus", list(vcpus)
        return
    for pcpu in range(system.pcpus):
        yield f"pcpu {pcpu}", [one for one in vcpus if (one.pcpu or 0) == pcpu]


def _interfaces(system: System, vcpu: Vcpu) -> Iterator[Interface]:
    """All that a vcpu has in the course of a run."""
    if vcpu.interface is not None:
        yield vcpu.interface
    for change in system.changes:
        if change.interface is not None and change.domain in (vcpu.domain.name, vcpu.name):
            yield change.interface


def _shortest_period_ns(system: System, vcpu: Vcpu) -> int | None:
    return min((one.period_ns for one in _interfaces(system, vcpu)), default=None)
