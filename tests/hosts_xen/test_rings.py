# SPDX-License-Identifier: BSD-2-Clause
"""Rings as they are read from memory."""

from __future__ import annotations

import numpy as np
import pytest

from hyperperiod.hosts import rings
from hyperperiod.model import FailedError
from hyperperiod.trace.format import RECORD, RING_ENDED, RING_MAGIC, RING_OVERFLOW, RING_PAUSED

BASE = 0x5000_0000


def memory(capacity: int, written: int, *, flags: int = 0, epoch: int = 0) -> rings.Read:
    """A ring of so many records, whose times are how many were written before, at BASE."""
    header = np.zeros(1, rings.HEADER)
    header["magic"] = RING_MAGIC
    header["header_bytes"] = 64
    header["record_bytes"] = 32
    header["capacity"] = capacity
    header["written"] = written
    header["frequency_hz"] = 62_500_000
    header["epoch_ticks"] = epoch
    header["source"] = 3
    header["flags"] = flags
    records = np.zeros(capacity, RECORD)
    for number in range(written):
        records[number % capacity]["time_ns"] = number
    content = header.tobytes() + records.tobytes()

    def read(address: int, size: int) -> bytes:
        return content[address - BASE : address - BASE + size]

    return read


def test_a_ring_that_is_not_full() -> None:
    ring = rings.read_ring(memory(8, 3, flags=RING_ENDED), BASE, "it")
    assert ring.records["time_ns"].tolist() == [0, 1, 2]
    assert (ring.lost, ring.header.source, ring.header.ended) == (0, 3, True)


def test_a_ring_that_went_round_keeps_the_last_in_order() -> None:
    ring = rings.read_ring(memory(8, 21), BASE, "it")
    assert ring.records["time_ns"].tolist() == list(range(13, 21))
    assert ring.lost == 13


def test_a_guest_that_ran_out_of_room_says_so() -> None:
    assert rings.read_ring(memory(8, 8, flags=RING_OVERFLOW), BASE, "it").lost > 0


def test_a_ring_that_stood_still_has_lost_something() -> None:
    assert rings.read_ring(memory(8, 8, flags=RING_PAUSED), BASE, "it").lost > 0


def test_an_empty_ring() -> None:
    assert len(rings.read_ring(memory(8, 0), BASE, "it").records) == 0
    assert rings.last_time(memory(8, 0), BASE) is None


def test_the_latest_record_is_found_in_a_ring_in_use() -> None:
    assert rings.last_time(memory(8, 21), BASE) == 20


def test_memory_without_a_ring() -> None:
    def zeros(_address: int, size: int) -> bytes:
        return bytes(size)

    assert rings.read_header(zeros, BASE) is None
    with pytest.raises(FailedError, match="it has no ring at 0x50000000"):
        rings.read_ring(zeros, BASE, "it")


def test_ticks_are_nanoseconds_since_the_epoch() -> None:
    ring = rings.read_ring(memory(8, 5, epoch=2), BASE, "it")
    assert ring.since_epoch()["time_ns"].tolist() == [0, 0, 0, 16, 32]
    late = np.array([62_500_000 * 3600 * 24 * 365 + 2], np.uint64)
    assert rings.ticks_to_ns(late, ring.header).tolist() == [3600 * 24 * 365 * 10**9]


def test_the_console_tells_where_rings_are() -> None:
    console = (
        "(XEN) hyperperiod: ring of pcpu 0 at 0x5f800000, 65536 bytes\n"
        "(XEN) hyperperiod: ring of pcpu 1 at 0x000000005F7F0000, 65536 bytes\n"
        "(XEN) hyperperiod: horizon reached\n"
    )
    assert rings.announced(console) == {0: 0x5F800000, 1: 0x5F7F0000}
    assert rings.announced("(XEN) nothing") == {}
