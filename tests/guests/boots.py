# SPDX-License-Identifier: BSD-2-Clause
"""Boots guests under Xen's own schedulers and reads their rings, for tests of the guests alone.

One instruction is one nanosecond and every run is the same; times are nanoseconds since the
epoch.
"""

import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.xen_images import guest, image

from hyperperiod.hosts.guests import guest_words
from hyperperiod.hosts.qemu import COUNTER_HZ
from hyperperiod.hosts.rings import GUEST_RING_OFFSET, RingHeader, read_header, read_ring
from hyperperiod.hosts.xen.command_line import split_words
from hyperperiod.hosts.xen.machine import Guest, RunningXen, XenMachine, boot
from hyperperiod.model import System

MEMORY_BYTES = 16 << 20
EPOCH_NS = 1_000_000_000
"""All guests are up well before: a boot takes half a virtual second."""
PATIENCE_S = 60.0
MS = 1_000_000
US = 1_000

NAMES = {
    1: "run",
    2: "idle",
    8: "release",
    9: "complete",
    13: "end",
    64: "sample",
    65: "response",
}


class Record(NamedTuple):
    """A record of a guest's ring; nobody is -1."""

    what: str
    time_ns: int
    task: int
    job: int
    vcpu: int
    value: int


@dataclass(frozen=True)
class Ring:
    """What a guest recorded."""

    header: RingHeader
    records: list[Record]

    def of(self, what: str) -> list[Record]:
        """The records of one kind."""
        return [record for record in self.records if record.what == what]

    def jobs(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Release and completion of each finished job by (task, job)."""
        released = {(r.task, r.job): r.time_ns for r in self.of("release")}
        return {(r.task, r.job): (released[r.task, r.job], r.time_ns) for r in self.of("complete")}


@dataclass(frozen=True)
class Told:
    """A guest: its words, and what does not fit among them."""

    words: str
    ramdisk: bytes | None = None
    vcpus: int = 1
    memory_bytes: int = MEMORY_BYTES


def words(workload: str, horizon_ns: int, *more: str) -> Told:
    """A guest that is told this, beside what all guests are told."""
    common = f"epoch={EPOCH_NS * COUNTER_HZ // 10**9} horizon={horizon_ns} memory={MEMORY_BYTES}"
    return Told(f"workload={workload} {common} rate=1000 {' '.join(more)}")


def told_by(system: System, horizon_ns: int, seed: int = 1) -> list[Told]:
    """The guests of a system."""
    result = []
    for number, domain in enumerate(system.domains):
        line, rest = split_words(
            guest_words(
                system,
                number,
                epoch_ns=EPOCH_NS,
                horizon_ns=horizon_ns,
                seed=seed,
                memory_bytes=MEMORY_BYTES,
            )
        )
        result.append(Told(line, rest, domain.vcpus))
    return result


def run_guests(guests: Sequence[Told], xen: str, *, pcpus: int = 1) -> list[Ring]:
    """Runs until every guest has ended its ring."""
    with (
        tempfile.TemporaryDirectory() as folder,
        booted(guests, xen, Path(folder), pcpus) as running,
    ):
        addresses = [place.memory + GUEST_RING_OFFSET for place in running.places]
        wait_until_ended(running, addresses)
        running.stop()
        return [_ring(running, address) for address in addresses]


def console_of(guests: Sequence[Told], xen: str, pattern: str) -> str:
    """Runs until the console shows the pattern; the line that does."""
    with tempfile.TemporaryDirectory() as folder, booted(guests, xen, Path(folder), 1) as running:
        running.wait_for(pattern + r".*\n")
        lines = running.console().splitlines()
        return next(line for line in lines if pattern in line)


def booted(
    guests: Sequence[Told], xen: str, folder: Path, pcpus: int
) -> AbstractContextManager[RunningXen]:
    """A machine with these guests, under one of Xen's own schedulers."""
    for tool, package in (
        ("qemu-system-aarch64", "qemu-system-arm"),
        ("dtc", "device-tree-compiler"),
    ):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool}: not found; apt-get install {package}")
    described = tuple(
        Guest(guest(), told.words, told.memory_bytes, told.vcpus, told.ramdisk) for told in guests
    )
    machine = XenMachine(
        image("arm64"),
        f"{xen} guest_loglvl=all",
        described,
        pcpus=pcpus,
        icount=pcpus == 1,
    )
    return boot(machine, folder / "console")


def wait_until_ended(running: RunningXen, addresses: Sequence[int]) -> None:
    """Waits for the end of every ring."""
    until = time.monotonic() + PATIENCE_S
    while True:
        headers = [read_header(running.read, address) for address in addresses]
        if all(header is not None and header.ended for header in headers):
            return
        assert time.monotonic() < until, running.console()
        time.sleep(0.05)


def _ring(running: RunningXen, address: int) -> Ring:
    ring = read_ring(running.read, address, "the guest")
    records = [
        Record(
            NAMES[int(record["kind"])],
            int(record["time_ns"]),
            _who(int(record["task"])),
            int(record["job"]),
            _who(int(record["vcpu"])),
            int(record["value"]),
        )
        for record in ring.since_epoch()
    ]
    return Ring(ring.header, records)


def _who(number: int) -> int:
    return -1 if number == 0xFFFF else number
