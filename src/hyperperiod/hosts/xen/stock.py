# SPDX-License-Identifier: BSD-2-Clause
"""A run under a scheduler that Xen has itself: the same domains, guests and draws as under ours.

The hypervisor is built without any change of ours (flavour `arm64-stock`).

    credit2    Xen's usual scheduler shares by weight, which is in proportion to the budgets of a
               domain's servers; there are no caps
    rtds       each vcpu has its server's budget and period, and extra time where it may use that
    null       each vcpu has a pcpu of its own, and nothing is scheduled

A device tree cannot say weights and budgets, so there is a domain 0 (guests/control), which sets
them before the run begins and sleeps for good. Of a domain without servers each vcpu has the least
weight; RTDS has no best effort, so there it has 1 ms in a second, and extra time. Which of the
pcpus vcpus are on is Xen's choice.

Who ran when is what Xen's own trace buffers say.
"""

from __future__ import annotations

import struct
from typing import Final

from hyperperiod.hosts import Stock
from hyperperiod.hosts.channels import PAGE_BYTES
from hyperperiod.hosts.guests import job_counts
from hyperperiod.hosts.rings import Ring, RingHeader
from hyperperiod.hosts.stock import (
    not_told_sentence,
    refuse_events,
    switched_ring,
    weight_of,
    wrong,
)
from hyperperiod.hosts.xen.trace_buffers import EVENTS, LIMIT_PAGES
from hyperperiod.model import (
    FailedError,
    Interface,
    Scope,
    System,
    format_time,
    vcpus_of,
)
from hyperperiod.model.own_vcpu import served_by
from hyperperiod.observe.events import Switch
from hyperperiod.observe.xentrace import NS_PER_S, XenTrace

US: Final = 1_000
MS: Final = 1_000_000
LEAST_NS: Final = 10 * US
"""RTDS_MIN_PERIOD and RTDS_MIN_BUDGET of Xen 4.20."""
MOST_NS: Final = (2**32 - 1) * US
"""A hypercall has microseconds in 32 bits."""
BEST_EFFORT: Final = Interface(period_ns=1_000_000_000, budget_ns=1_000_000)
"""What a best-effort vcpu has under RTDS. Its extra time comes in pieces as long as its budget."""
FIRST_SWITCHES: Final = 4096
"""While the machine boots, and more than any run of some milliseconds has."""
SWITCH_BYTES: Final = 4 * 16
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
        raise wrong("pcpus", found, "one for each vcpu", scheduler)
    if scheduler is not Stock.RTDS:
        return
    if system.pcpus > 1 and system.policy.scope is not Scope.GLOBAL:
        allowed = "1, or a global policy: it gives a vcpu any pcpu"
        raise wrong("pcpus", str(system.pcpus), allowed, scheduler)
    for number, domain in enumerate(system.domains):
        if domain.guest.is_linux:
            # It would boot within its budgets, and nobody has seen when it is ready then.
            raise wrong(f"domain[{number}].guest", f'"{domain.guest}"', '"executive"', scheduler)
    require_parameters(with_servers(system), MOST_NS)


def require_parameters(system: System, most_ns: int) -> None:
    """InputError for servers that RTDS does not take, the longest of which is `most_ns`."""
    for vcpu in vcpus_of(system):
        for name in ("period", "budget") if vcpu.interface is not None else ():
            found_ns = getattr(vcpu.interface, f"{name}_ns")
            if found_ns % US or not LEAST_NS <= found_ns <= most_ns:
                own = f"vcpu[{vcpu.index}]." if vcpu.domain.own_vcpus else ""
                key = f"domain[{vcpu.domain_index}].{own}interface.{name}"
                times = f"{format_time(LEAST_NS)} to {format_time(most_ns)}"
                allowed = f"whole microseconds from {times}"
                raise wrong(key, format_time(found_ns), allowed, Stock.RTDS)


def not_told(system: System, scheduler: Stock) -> str:
    """What of a system this scheduler is not told, as a sentence; empty if nothing."""
    own = {
        "periods": scheduler is Stock.CREDIT2,
        "budgets and periods": scheduler is Stock.NULL,
        "stolen time": system.stolen,
    }
    return not_told_sentence(system, scheduler, own)


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


def buffer_bytes(system: System, scheduler: Stock, horizon_ns: int) -> int:
    """Room for Xen's trace of a run, on each pcpu, with as much again to spare where Xen has that.

    A vcpu has a pcpu until its work or its budget ends, another one wakes up, or credit2 has it
    take turns; then four changes of state are recorded, of 16 bytes each. InputError for a horizon
    that these have no room in.
    """
    switches = 0.0
    for number in range(len(system.domains)):
        switches += 4 * sum(job_counts(system, number, horizon_ns))
    if scheduler is Stock.CREDIT2:
        switches += system.pcpus * horizon_ns / TURN_NS
    for vcpu in vcpus_of(with_servers(system)) if scheduler is Stock.RTDS else ():
        if vcpu.interface is not None:
            switches += 3 * horizon_ns / vcpu.interface.budget_ns
    most = LIMIT_PAGES // system.pcpus * PAGE_BYTES
    room = most // SWITCH_BYTES - FIRST_SWITCHES
    if switches > room:
        fits = format_time(int(horizon_ns * room / switches) // MS * MS)
        allowed = f"up to about {fits}: Xen's trace buffers have no room for more"
        raise wrong("horizon", format_time(horizon_ns), allowed, scheduler)
    return min(2 * SWITCH_BYTES * (FIRST_SWITCHES + int(switches)), most)


def xen_arguments(scheduler: Stock, buffer_bytes: int) -> str:
    """What Xen is told: the scheduler, a trace buffer of about so many bytes for each pcpu, and how
    large domain 0 is, if there is one."""
    pages = buffer_bytes // PAGE_BYTES
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
    events = XenTrace(trace, hz)
    found = [one for one in events.read() if isinstance(one, Switch)]
    # Where it begins there is a gap that nobody has counted.
    if events.gaps or events.is_cut:
        raise FailedError("Xen lost records of the run; take a shorter horizon")
    vcpus = {f"d{vcpu.domain_index + 1}v{vcpu.index}": vcpu.id for vcpu in vcpus_of(system)}
    epoch_ns = header.epoch_ticks * NS_PER_S // hz
    return switched_ring(found, epoch_ns, range(system.pcpus), lambda thread: vcpus.get(thread[0]))
