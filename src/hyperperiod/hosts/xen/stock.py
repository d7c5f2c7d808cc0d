# SPDX-License-Identifier: BSD-2-Clause
"""A run under a scheduler that Xen has itself: the same domains, guests and draws as under ours.

The hypervisor is built without any change of ours (flavour `arm64-stock`).

    credit2    Xen's usual scheduler shares by weight, which is in proportion to the budgets of a
               domain's servers; there are no caps
    rtds       each vcpu has its server's budget and period, and extra time where it may use that
    null       each vcpu has a pcpu of its own, and nothing is scheduled

A device tree cannot say weights and budgets, so there is a domain 0 (guests/control), which sets
them before the run begins and sleeps for good. A best-effort domain has the least weight; RTDS has
no such thing, so there it has 1 ms in a second, and extra time. Which of the pcpus vcpus are on is
Xen's choice.

Who ran when is what Xen's own trace buffers say.
"""

from __future__ import annotations

import io
import struct
from typing import Final

from hyperperiod.hosts import Stock
from hyperperiod.hosts.guests import job_counts
from hyperperiod.hosts.rings import Ring, RingHeader
from hyperperiod.hosts.stock import (
    not_told_sentence,
    refuse_events,
    switched_ring,
    weight_of,
    wrong,
)
from hyperperiod.hosts.xen.trace_buffers import EVENTS, LIMIT_PAGES, PAGE_BYTES
from hyperperiod.model import FailedError, Interface, Scope, System, format_time, vcpus_of
from hyperperiod.model.own_vcpu import served_by
from hyperperiod.observe.events import Switch
from hyperperiod.observe.xentrace import NS_PER_S, XenTrace

US: Final = 1_000
LEAST_NS: Final = 10 * US
"""RTDS_MIN_PERIOD and RTDS_MIN_BUDGET of Xen 4.20."""
BEST_EFFORT: Final = Interface(period_ns=1_000_000_000, budget_ns=1_000_000)
"""What a best-effort vcpu has under RTDS. Its extra time comes in pieces as long as its budget."""
FIRST_SWITCHES: Final = 4096
"""While the machine boots, and more than any run of some milliseconds has."""
TURN_NS: Final = 500_000
"""CSCHED2_MIN_TIMER of Xen 4.20."""
NUMBERS: Final = {Stock.CREDIT2: 6, Stock.RTDS: 8}
"""XEN_SCHEDULER_CREDIT2 and XEN_SCHEDULER_RTDS."""
SETTING: Final = struct.Struct("<6I")
"""A scheduler, a domain, three parameters, a vcpu (guests/control/main.c)."""
WHOLE_DOMAIN: Final = 0xFFFF_FFFF
EXTRA: Final = 1


def refuse(system: System, scheduler: Stock) -> None:
    """InputError for what a scheduler of Xen's own cannot do for a system."""
    refuse_events(system, scheduler)
    vcpus = len(vcpus_of(system))
    if scheduler is Stock.NULL and vcpus > system.pcpus:
        found = f"{system.pcpus} for {vcpus} vcpus"
        raise wrong(system, "pcpus", found, "one for each vcpu", scheduler)
    if scheduler is not Stock.RTDS:
        return
    if system.pcpus > 1 and system.policy.scope is not Scope.GLOBAL:
        allowed = "1, or a global policy: it gives a vcpu any pcpu"
        raise wrong(system, "pcpus", str(system.pcpus), allowed, scheduler)
    for vcpu in vcpus_of(with_servers(system)):
        for name in ("period", "budget") if vcpu.interface is not None else ():
            found_ns = getattr(vcpu.interface, f"{name}_ns")
            if found_ns % US or found_ns < LEAST_NS:
                key, found = f"domain {vcpu.name}: interface.{name}", format_time(found_ns)
                allowed = f"whole microseconds from {format_time(LEAST_NS)} on"
                raise wrong(system, key, found, allowed, scheduler)


def not_told(system: System, scheduler: Stock) -> str:
    """What of a system this scheduler is not told, as a sentence; empty if nothing."""
    served = scheduler is Stock.RTDS
    pinned = system.pcpus > 1 and any(vcpu.pcpu is not None for vcpu in vcpus_of(system))
    found = {
        "periods": scheduler is Stock.CREDIT2,
        "budgets and periods": scheduler is Stock.NULL,
        "which pcpu a vcpu is on": pinned,
        "the quantum": system.quantum_ns,
        "the spare": system.spare,
        "who may use extra time": not served and any(one.extra for one in system.domains),
    }
    return not_told_sentence(scheduler, found)


def with_servers(system: System) -> System:
    """The system as RTDS has it: with budgets in whole microseconds, rounded up, and with servers
    for best-effort domains, too."""
    best_effort = {**served_by(BEST_EFFORT), "best_effort": False, "extra": True, "own_vcpus": ()}
    domains = []
    for one in system.domains:
        own = tuple(vcpu.replace(interface=_rounded(vcpu.interface)) for vcpu in one.own_vcpus)
        served = one.replace(interface=_rounded(one.interface), own_vcpus=own)
        domains.append(served if one.is_served else one.replace(**best_effort))
    return system.replace(domains=tuple(domains))


def _rounded(server: Interface | None) -> Interface | None:
    return server and server.replace(budget_ns=-(-server.budget_ns // US) * US)


def buffer_bytes(system: System, horizon_ns: int) -> int:
    """Room for Xen's trace of a run, on each pcpu, with as much again to spare.

    A vcpu has a pcpu until its work or its budget ends, another one wakes up, or credit2 has it
    take turns; then four changes of state are recorded, of 16 bytes each.
    """
    switches = FIRST_SWITCHES + system.pcpus * horizon_ns / TURN_NS
    for number in range(len(system.domains)):
        switches += 4 * sum(job_counts(system, number, horizon_ns))
    for vcpu in vcpus_of(with_servers(system)):
        if vcpu.interface is not None:
            switches += 3 * horizon_ns / vcpu.interface.budget_ns
    return 2 * 4 * 16 * int(switches)


def xen_arguments(scheduler: Stock, buffer_bytes: int, pcpus: int) -> str:
    """What Xen is told: the scheduler, a trace buffer of about so many bytes for each pcpu, and how
    large domain 0 is, if there is one."""
    pages = min(buffer_bytes // PAGE_BYTES, LIMIT_PAGES // pcpus)
    return (
        f"sched={scheduler} tbuf_size={pages} tevt_mask={EVENTS:#x} dom0_max_vcpus=1 dom0_mem=16M"
    )


def settings(system: System, scheduler: Stock) -> bytes:
    """The table that domain 0 is given; empty if there is nothing to be set.

    Its own row is the last, since it has less time from then on.
    """
    rows: list[tuple[int, ...]] = []
    if scheduler is Stock.CREDIT2:
        for number, domain in enumerate(system.domains, 1):
            rows.append((number, weight_of(domain, domain.vcpus), 0, 0, WHOLE_DOMAIN))
    elif scheduler is Stock.RTDS:
        for vcpu in vcpus_of(with_servers(system)):
            assert vcpu.interface is not None, "interfaces must be known"
            rows.append(
                (vcpu.domain_index + 1, *_parameters(vcpu.interface, vcpu.extra), vcpu.index)
            )
        rows.append((0, *_parameters(BEST_EFFORT, extra=False), 0))
    return b"".join(SETTING.pack(NUMBERS[scheduler], *row) for row in rows)


def _parameters(server: Interface, extra: bool) -> tuple[int, int, int]:
    return server.period_ns // US, server.budget_ns // US, int(extra)


def switches(system: System, trace: bytes, header: RingHeader) -> Ring:
    """Who ran when in a run, from Xen's trace, as records of a trace.

    `header` is that of a guest, which knows the epoch. Domain 0 has stolen what it took.
    FailedError if Xen lost some of it.
    """
    hz = header.frequency_hz
    events = XenTrace(io.BytesIO(trace), hz)
    found = [one for one in events.read() if isinstance(one, Switch)]
    if events.lost or events.is_cut:
        raise FailedError("Xen lost records of the run; take a shorter horizon")
    vcpus = {f"d{vcpu.domain_index + 1}v{vcpu.index}": vcpu.id for vcpu in vcpus_of(system)}
    epoch_ns = header.epoch_ticks * NS_PER_S // hz
    return switched_ring(found, epoch_ns, range(system.pcpus), lambda thread: vcpus.get(thread[0]))
