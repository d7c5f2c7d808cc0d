# SPDX-License-Identifier: BSD-2-Clause
"""The lab on the real hypervisor: a machine is booted, and the guest under test times itself.

Each setting under each policy is one machine under QEMU, in which an instruction takes one
nanosecond, so that its figures repeat exactly. The guests are bare metal, and all tests of a
setting happen in one run (guest_test.py).
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from hyperperiod.analysis import resolve
from hyperperiod.hosts.guests import BY_CARD, Workload, guest_words
from hyperperiod.hosts.qemu import COUNTER_HZ
from hyperperiod.hosts.rings import GUEST_RING_OFFSET, Ring, read_ring
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.hosts.xen.devicetree import Card
from hyperperiod.hosts.xen.images import executive, hypervisor
from hyperperiod.hosts.xen.machine import HORIZON_REACHED, MIB, Guest, XenMachine, boot
from hyperperiod.hosts.xen.outside import outside
from hyperperiod.hosts.xen.run import COMPLAINTS, wait_for_guests
from hyperperiod.model import Policy, System
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.guest_test import row_of, workload_of
from hyperperiod.papers.latency.settings import LatencySetting, Scenario
from hyperperiod.papers.latency.simulated import UNDER_TEST, begin_of, system_of

EPOCH_NS: Final = 400_000_000
GUEST_BYTES: Final = 24 * MIB
TICK_NS: Final = NS_PER_UNIT["s"] // COUNTER_HZ


def measure_on_xen(
    scenario: Scenario, setting: LatencySetting, policy: Policy, runs: int, seed: int
) -> LabRow:
    """Measures one setting under one policy on Xen; a row of the result."""
    system = resolve(system_of(scenario, setting, policy))
    offset_ns = begin_of(setting, seed) // TICK_NS * TICK_NS
    workload = workload_of(scenario, setting, runs, offset_ns)
    ring = _run(system, setting, seed, workload, by_device=scenario.device)
    return row_of(scenario, setting, policy, runs, [ring])


def _run(
    system: System, setting: LatencySetting, seed: int, workload: Workload, *, by_device: bool
) -> Ring:
    """What the guest under test recorded."""
    horizon_ns = workload.offset_ns + workload.span_ns
    guests = [
        _guest(system, setting, number, seed, workload) for number in range(len(system.domains))
    ]
    if by_device:
        guests[0] = replace(guests[0], cards=(Card(0, 0),))
        guests.append(_sender(setting, len(guests), seed, workload))
    arguments = xen_arguments(system, epoch_ns=EPOCH_NS, horizon_ns=horizon_ns, ring_bytes=0)
    machine = XenMachine(
        hypervisor(), f"guest_loglvl=all {arguments}", tuple(guests), pcpus=1 + by_device
    )
    with (
        tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder,
        boot(machine, Path(folder) / "console") as running,
    ):
        place = running.places[0].memory + GUEST_RING_OFFSET
        running.wait_for(HORIZON_REACHED, look=lambda: running.read(place, 64))
        wait_for_guests(running)
        running.stop()
        COMPLAINTS.require_none(running.console())
        return read_ring(running.read, place, UNDER_TEST)


def _sender(setting: LatencySetting, number: int, seed: int, workload: Workload) -> Guest:
    """The machine whose frames raise the interrupts, the first a pause after the test begins."""
    pause_ns = setting.pause_ns
    return outside(
        number,
        [f"flow=0:p:{pause_ns}:{pause_ns}:0:1:1:{BY_CARD}0,0.0"],
        0,
        cards=1,
        pcpu=1,
        epoch_ns=EPOCH_NS + workload.offset_ns,
        horizon_ns=workload.span_ns,
        seed=seed,
    )


def _guest(
    system: System, setting: LatencySetting, number: int, seed: int, workload: Workload
) -> Guest:
    """The guest of a domain: the one under test, whose time begins at the offset, or another."""
    under_test = number == 0
    words = guest_words(
        system,
        number,
        epoch_ns=EPOCH_NS + (workload.offset_ns if under_test else 0),
        horizon_ns=workload.span_ns + (0 if under_test else workload.offset_ns),
        seed=seed,
        memory_bytes=GUEST_BYTES,
        workload=workload if under_test else None,
    )
    neighbour = None if under_test else setting.neighbours[number - 1]
    if neighbour is not None and (neighbour.hostile is not None or not neighbour.running):
        words = [word for word in words if not word.startswith("task=")]
        words += [f"workload={neighbour.hostile}"] if neighbour.hostile else []
    return Guest(executive(), " ".join(words), GUEST_BYTES)
