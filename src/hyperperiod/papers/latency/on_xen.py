# SPDX-License-Identifier: BSD-2-Clause
"""The lab on the real hypervisor: a machine is booted, and the guest under test times itself.

Each setting under each policy is one machine under QEMU, in which an instruction takes one
nanosecond, so that its figures repeat exactly. The guests are bare metal, the one under test may
be Linux, and all tests of a setting happen in one run (guest_test.py).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hyperperiod.analysis import resolve
from hyperperiod.hosts.guests import BY_CARD, Workload, guest_words
from hyperperiod.hosts.qemu import COUNTER_HZ
from hyperperiod.hosts.rings import Ring, read_ring
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.hosts.xen.devicetree import Card
from hyperperiod.hosts.xen.images import hypervisor
from hyperperiod.hosts.xen.machine import HORIZON_REACHED, MIB, Guest, XenMachine, boot
from hyperperiod.hosts.xen.outside import outside
from hyperperiod.hosts.xen.plan import epoch_ns, guest_of, ring_offset
from hyperperiod.hosts.xen.run import COMPLAINTS, wait_for_guests
from hyperperiod.model import GuestKind, Policy, System
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.guest_test import row_of, workload_of
from hyperperiod.papers.latency.settings import LatencySetting, Scenario
from hyperperiod.papers.latency.simulated import UNDER_TEST, begin_of, system_of

EPOCH_NS: Final = 400_000_000
"""When tests begin at the earliest."""
RING_BYTES: Final = 20 * MIB
TICK_NS: Final = NS_PER_UNIT["s"] // COUNTER_HZ


def measure_on_xen(
    scenario: Scenario,
    setting: LatencySetting,
    policy: Policy,
    runs: int,
    seed: int,
    guest: GuestKind = GuestKind.EXECUTIVE,
) -> LabRow:
    """Measures one setting under one policy on Xen, with such a guest in the VM under test.

    Returns a row of the result.
    """
    system = resolve(system_of(scenario, setting, policy))
    tested, *others = system.domains
    system = system.replace(domains=(tested.replace(guest=guest), *others))
    offset_ns = begin_of(setting, seed) // TICK_NS * TICK_NS
    workload = workload_of(scenario, setting, runs, offset_ns)
    test = LabTest(system, setting, workload, seed, by_device=scenario.device)
    return row_of(scenario, setting, policy, runs, [test.run()])


@dataclass(frozen=True)
class LabTest:
    """One machine of the lab: its first domain is under test, by interrupts of a device or not."""

    system: System
    setting: LatencySetting
    workload: Workload
    seed: int
    by_device: bool

    @property
    def start_ns(self) -> int:
        """The epoch on the machine's counter, of all guests but the one under test."""
        return max(EPOCH_NS, epoch_ns(self.system, icount=True))

    def run(self) -> Ring:
        """Boots the machine; returns what the guest under test recorded."""
        horizon_ns = self.workload.offset_ns + self.workload.span_ns
        guests = [self._guest(number) for number in range(len(self.system.domains))]
        if self.by_device:
            guests.append(self._sender(len(guests)))
        arguments = xen_arguments(
            self.system, epoch_ns=self.start_ns, horizon_ns=horizon_ns, ring_bytes=0
        )
        machine = XenMachine(
            hypervisor(), f"guest_loglvl=all {arguments}", tuple(guests), pcpus=1 + self.by_device
        )
        with (
            tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder,
            boot(machine, Path(folder) / "console") as running,
        ):
            place = running.places[0].ring
            running.wait_for(HORIZON_REACHED, look=lambda: running.read(place, 64))
            wait_for_guests(running)
            running.stop()
            COMPLAINTS.require_none(running.console())
            return read_ring(running.read, place, UNDER_TEST)

    def _sender(self, number: int) -> Guest:
        """The machine whose frames raise the interrupts, the first a pause after the begin."""
        pause_ns = self.setting.pause_ns
        return outside(
            number,
            [f"flow=0:p:{pause_ns}:{pause_ns}:0:1:1:{BY_CARD}0,0.0"],
            0,
            cards=1,
            pcpu=1,
            epoch_ns=self.start_ns + self.workload.offset_ns,
            horizon_ns=self.workload.span_ns,
            seed=self.seed,
        )

    def _guest(self, number: int) -> Guest:
        """The guest of a domain: that under test, whose time begins at the offset, or another."""
        under_test, workload = number == 0, self.workload
        memory_bytes = ring_offset(self.system.domains[number]) + RING_BYTES
        words = guest_words(
            self.system,
            number,
            epoch_ns=self.start_ns + (workload.offset_ns if under_test else 0),
            horizon_ns=workload.span_ns + (0 if under_test else workload.offset_ns),
            seed=self.seed,
            memory_bytes=memory_bytes,
            workload=workload if under_test else None,
        )
        neighbour = None if under_test else self.setting.neighbours[number - 1]
        if neighbour is not None and (neighbour.hostile is not None or not neighbour.running):
            words = [word for word in words if not word.startswith("task=")]
            words += [f"workload={neighbour.hostile}"] if neighbour.hostile else []
        cards = (Card(0, 0),) if under_test and self.by_device else ()
        return guest_of(self.system, number, words, memory_bytes, cards)
