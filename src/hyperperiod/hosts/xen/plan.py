# SPDX-License-Identifier: BSD-2-Clause
"""The machine for a system: how much memory everything needs, when the run begins.

Rings hold the whole run, so that every decision can be made again: their sizes are estimated from
the system, with room to spare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hyperperiod.hosts import STOCK, Stock, rings, scheduler_of
from hyperperiod.hosts.channels import channels_of
from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.guests import (
    flow_words,
    guest_ring_bytes,
    guest_words,
    item_count,
    job_counts,
)
from hyperperiod.hosts.qemu import ICOUNT_RATE
from hyperperiod.hosts.recorded_run import RunOptions, RunRequest
from hyperperiod.hosts.xen import command_line, stock
from hyperperiod.hosts.xen.devicetree import Card
from hyperperiod.hosts.xen.images import (
    LINUX_RAM_BYTES,
    can_keep_in_step,
    control,
    executive,
    hypervisor,
    linux,
)
from hyperperiod.hosts.xen.machine import MIB, Guest, XenMachine
from hyperperiod.hosts.xen.outside import outside
from hyperperiod.model import (
    Domain,
    Slack,
    System,
    vcpus_of,
)
from hyperperiod.trace.format import RECORD

MS = 1_000_000
BOOT_NS = 100 * MS
BOOT_PER_GUEST_NS = 10 * MS
"""Until the epoch on a machine that counts: booting takes 14 ms, and 3 ms for each guest."""
BOOT_PER_LINUX_NS = 1_000 * MS
"""Linux needs 600 ms until its threads are there, wherever others leave it the time."""
HOST_BOOT_NS = 4_000 * MS
HOST_BOOT_PER_GUEST_NS = 500 * MS
HOST_BOOT_PER_LINUX_NS = 10_000 * MS
"""The same in real time, for a host that has other things to do."""
LINUX_ARGUMENTS = "console=ttyAMA0 quiet rdinit=/init cryptomgr.notests"
"""Without the kernel's tests of its cryptography, which take longer than all else at its start."""
LARGEST_RING_BYTES = 256 * MIB
"""Xen takes no more; it is eight million calls, which a run must not exceed."""


@dataclass(frozen=True)
class XenOptions(RunOptions):
    """How to run on Xen: `qemu_arguments` are QEMU's beside those of the machine."""

    hypervisor: Path | None = None
    ring_bytes: int | None = None
    qemu_arguments: tuple[str, ...] = ()
    scheduler: Stock | None = None
    """One of Xen's own, in place of ours."""

    def under(self, host: str) -> XenOptions:
        """Returns the same options for the scheduler of a host, ours or another (hosts.STOCK)."""
        return replace(self, scheduler=Stock(scheduler_of(host)) if host in STOCK else None)


def plan(request: RunRequest, options: XenOptions, *, boot_times: int = 1) -> XenMachine:
    """The machine for a run. Booting may take `boot_times` as long as thought."""
    system, horizon_ns = request.system, request.horizon_ns
    can_count = (system.pcpus == 1 and not system.devices) or can_keep_in_step()
    icount = can_count if options.icount is None else options.icount
    start_ns = boot_times * epoch_ns(system, icount=icount)
    settings = b""
    if options.scheduler is not None:
        ring_bytes = options.ring_bytes or stock.buffer_bytes(system, options.scheduler, horizon_ns)
        arguments = stock.xen_arguments(options.scheduler, ring_bytes)
        settings = stock.settings(system, options.scheduler)
    else:
        ring_bytes = options.ring_bytes or hypervisor_ring_bytes(system, horizon_ns)
        arguments = command_line.xen_arguments(
            system, epoch_ns=start_ns, horizon_ns=horizon_ns, ring_bytes=ring_bytes
        )
    guests = []
    for number, domain in enumerate(system.domains):
        memory_bytes = guest_memory_bytes(system, number, horizon_ns)
        words = guest_words(
            system,
            number,
            epoch_ns=start_ns,
            horizon_ns=horizon_ns,
            seed=request.seed,
            memory_bytes=memory_bytes,
            rate=ICOUNT_RATE if icount else 0,
        )
        cards = cards_of(system, domain)
        guests.append(guest_of(system, number, words, memory_bytes, cards))
    if system.devices:
        guests.append(
            outside(
                len(guests),
                list(flow_words(system, None)),
                item_count(system, horizon_ns),
                cards=len(system.devices),
                pcpu=system.pcpus,
                epoch_ns=start_ns,
                horizon_ns=horizon_ns,
                seed=request.seed,
            )
        )
    return XenMachine(
        hypervisor=options.hypervisor
        or hypervisor("arm64-stock" if options.scheduler else "arm64"),
        arguments=f"guest_loglvl=all {arguments}",
        guests=tuple(guests),
        channels=tuple(channels_of(system)),
        pcpus=system.pcpus + bool(system.devices),
        icount=icount,
        heap_bytes=256 * MIB + 3 * ring_bytes * system.pcpus,
        qemu_arguments=options.qemu_arguments,
        control=(control(), settings) if settings else None,
    )


def cards_of(system: System, domain: Domain) -> tuple[Card, ...]:
    """The cards of the devices that a domain drives, all on a page of their own."""
    drivers = list(dict.fromkeys(device.driver for device in system.devices))
    return tuple(
        Card(drivers.index(domain.name), number, ring=device.queue)
        for number, device in enumerate(system.devices)
        if device.driver == domain.name
    )


def guest_of(
    system: System,
    number: int,
    words: Sequence[str],
    memory_bytes: int,
    cards: tuple[Card, ...] = (),
) -> Guest:
    """The guest of a domain (from 0), which is told these words and has these cards."""
    domain = system.domains[number]
    if domain.guest.is_linux:
        return _linux_guest(domain, words, memory_bytes, cards)
    line, rest = command_line.split_words(words, command_line.arguments_limit(system, number))
    return Guest(executive(), line, memory_bytes, vcpus=domain.vcpus, ramdisk=rest, cards=cards)


def _linux_guest(
    domain: Domain, words: Sequence[str], memory_bytes: int, cards: tuple[Card, ...]
) -> Guest:
    """Linux, which is told the words in a file: its own command line is too short for them.

    It finds cards by its device tree, and has their driver in its initial file system.
    """
    kernel, files, driver = linux(domain.guest)
    told = archive({"words": (" ".join(words) + "\n").encode()})
    if cards:
        told += driver.read_bytes()
    return Guest(
        kernel,
        f"{LINUX_ARGUMENTS} mem={LINUX_RAM_BYTES // MIB}M",
        memory_bytes,
        vcpus=domain.vcpus,
        ramdisk=files.read_bytes() + told,
        vpl011=True,
        ring_offset=LINUX_RAM_BYTES,
        cards=cards,
    )


def epoch_ns(system: System, *, icount: bool) -> int:
    """When a run begins on the machine's counter: once all guests are ready."""
    linuxes = sum(domain.guest.is_linux for domain in system.domains)
    guests = len(system.domains) + bool(system.devices)
    if icount:
        return BOOT_NS + guests * BOOT_PER_GUEST_NS + linuxes * BOOT_PER_LINUX_NS
    per_guest_ns = guests * HOST_BOOT_PER_GUEST_NS + linuxes * HOST_BOOT_PER_LINUX_NS
    return HOST_BOOT_NS + per_guest_ns


def guest_memory_bytes(system: System, number: int, horizon_ns: int) -> int:
    """Memory of a guest: below its ring, and the ring."""
    ring_bytes = guest_ring_bytes(system, number, horizon_ns)
    return ring_offset(system.domains[number]) + _round_up(ring_bytes, 4 * MIB)


def ring_offset(domain: Domain) -> int:
    """Returns how far behind the start of its guest's memory the ring of a domain begins."""
    return LINUX_RAM_BYTES if domain.guest.is_linux else rings.GUEST_RING_OFFSET


def hypervisor_ring_bytes(system: System, horizon_ns: int) -> int:
    """Room for all calls of a run, with as much again to spare (Xen may use half of it).

    A job arrives and departs and makes at most a few picks; a server is refilled and depleted
    once a period, under the sporadic rule in up to eight parts; turns, extra time and shares end as
    often as they can.
    """
    calls = 4096.0
    policies = [system.policy, *(swap.policy for swap in system.swaps)]
    for number in range(len(system.domains)):
        calls += 6 * sum(job_counts(system, number, horizon_ns))
    for vcpu in vcpus_of(system):
        if vcpu.interface is not None:
            per_period = 20 if any(policy.budget == "sporadic" for policy in policies) else 6
            calls += per_period * horizon_ns / vcpu.interface.period_ns
            if vcpu.extra and any(policy.slack is Slack.EXTRA for policy in policies):
                calls += 3 * horizon_ns / vcpu.interface.budget_ns
    if any(policy.slack is Slack.WEIGHTS for policy in policies):
        calls += 3 * system.pcpus * horizon_ns / (MS // 2)
    if sum(vcpu.best_effort for vcpu in vcpus_of(system)) > 1:
        calls += 2 * system.pcpus * horizon_ns / MS
    if system.quantum_ns is not None:
        calls += 2 * system.pcpus * horizon_ns / system.quantum_ns
    return min(_round_up(4 * int(calls) * RECORD.itemsize, MIB), LARGEST_RING_BYTES)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
