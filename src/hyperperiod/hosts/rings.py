# SPDX-License-Identifier: BSD-2-Clause
"""Rings: what the hypervisor and its guests recorded, as arrays (record/ring.h).

The hypervisor says on the console where its rings are, one for each lock domain; a guest's begins
at a fixed place in its memory. Only what was written is read. The hypervisor's ring goes round
and keeps the last records; a guest's is full when it is full.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from hyperperiod.model import FailedError
from hyperperiod.trace.format import (
    NONE,
    RECORD,
    RING_ENDED,
    RING_FIELDS,
    RING_MAGIC,
    RING_OVERFLOW,
    RING_PAUSED,
    Kind,
    Records,
)

HEADER: Final = np.dtype(
    [("magic", f"S{len(RING_MAGIC)}"), *((name, f"<u{size}") for name, size in RING_FIELDS)]
)

GUEST_RING_OFFSET: Final = 4 << 20
"""Where a guest's ring begins in its memory."""

ANNOUNCED: Final = re.compile(
    r"hyperperiod: ring of pcpu (\d+) at (0x[0-9a-f]+), (\d+) bytes", re.IGNORECASE
)

Read = Callable[[int, int], bytes]
"""Reads so many bytes from an address of the machine."""


@dataclass(frozen=True)
class RingHeader:
    """The first 64 bytes of a ring."""

    header_bytes: int
    capacity: int
    written: int
    frequency_hz: int
    epoch_ticks: int
    source: int
    flags: int
    reserved: int

    @property
    def ended(self) -> bool:
        """Whether whoever writes has seen the horizon."""
        return bool(self.flags & RING_ENDED)


@dataclass(frozen=True)
class Ring:
    """A ring with its records in the order in which they were written.

    `lost`: so many before them (hypervisor) or, at least, after them (guest) are missing. Times
    are as the ring has them: nanoseconds since the epoch in the hypervisor's, the system counter
    in a guest's, until `since_epoch`.
    """

    header: RingHeader
    records: Records
    lost: int

    def since_epoch(self) -> Records:
        """A guest's records with times in nanoseconds since the epoch, 0 for earlier ones.

        A time is that of the tick's beginning, rounded down.
        """
        records = self.records.copy()
        records["time_ns"] = ticks_to_ns(records["time_ns"], self.header)
        return records


def silent_ring() -> Ring:
    """The ring of a guest that records nothing."""
    header = RingHeader(
        header_bytes=HEADER.itemsize,
        capacity=0,
        written=0,
        frequency_hz=1_000_000_000,
        epoch_ticks=0,
        source=0,
        flags=RING_ENDED,
        reserved=0,
    )
    return Ring(header, np.empty(0, RECORD), 0)


def new_records(count: int, kind: Kind, time_ns: int) -> Records:
    """Records of nobody and nothing, to be filled in."""
    records = np.zeros(count, RECORD)
    for field in ("pcpu", "vcpu", "payer", "task"):
        records[field] = NONE
    records["kind"] = kind
    records["time_ns"] = time_ns
    return records


def ticks_to_ns(ticks: np.ndarray, header: RingHeader) -> np.ndarray:
    """Counter values as nanoseconds since the epoch; those before it as 0."""
    since = np.maximum(ticks, np.uint64(header.epoch_ticks)) - np.uint64(header.epoch_ticks)
    seconds, rest = np.divmod(since, np.uint64(header.frequency_hz))
    billion = np.uint64(1_000_000_000)
    result: np.ndarray = seconds * billion + rest * billion // np.uint64(header.frequency_hz)
    return result


def announced(console: str) -> dict[int, int]:
    """The addresses of the hypervisor's rings by pcpu, as the console told them."""
    return {int(pcpu): int(address, 16) for pcpu, address, _ in ANNOUNCED.findall(console)}


def read_header(read: Read, address: int) -> RingHeader | None:
    """The header of the ring at that address, or None if there is none."""
    data = read(address, HEADER.itemsize)
    found = np.frombuffer(data, HEADER)[0]
    if data[:8] != RING_MAGIC or found["record_bytes"] != RECORD.itemsize:
        return None
    names = [name for name in HEADER.names or () if name not in ("magic", "record_bytes")]
    return RingHeader(**{name: int(found[name]) for name in names})


def read_ring(read: Read, address: int, what: str) -> Ring:
    """A whole ring; `what` it is says the error when there is none."""
    header = read_header(read, address)
    if header is None:
        raise FailedError(f"{what} has no ring at {address:#x}")
    kept = min(header.written, header.capacity)
    records = np.empty(0, RECORD)
    if kept:
        data = read(address + header.header_bytes, kept * RECORD.itemsize)
        records = np.frombuffer(data, RECORD)
    if header.written > header.capacity:
        # The oldest is where the next one would be written.
        records = np.roll(records, -(header.written % header.capacity))
    lost = max(0, header.written - header.capacity)
    if header.flags & (RING_OVERFLOW | RING_PAUSED):
        lost = max(1, lost)
    return Ring(header, records, lost)


def last_time(read: Read, address: int) -> int | None:
    """The time of the latest record of a ring that may be in use, or None."""
    header = read_header(read, address)
    if header is None or header.written == 0:
        return None
    place = (header.written - 1) % header.capacity
    data = read(address + header.header_bytes + place * RECORD.itemsize, RECORD.itemsize)
    return int(np.frombuffer(data, RECORD)[0]["time_ns"])
