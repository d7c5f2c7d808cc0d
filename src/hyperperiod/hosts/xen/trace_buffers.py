# SPDX-License-Identifier: BSD-2-Clause
"""Reads Xen's own trace buffers out of the memory of a machine, as a file of `xentrace`.

Each pcpu has one, of pages that lie anywhere; Xen keeps lists of them (struct t_info). Where that
is the hypervisor's symbols say. Nobody takes records away, so a buffer that is full takes no more.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hyperperiod.hosts.channels import PAGE_BYTES
from hyperperiod.hosts.rings import Read
from hyperperiod.hosts.xen.images import READELF, tool
from hyperperiod.model import FailedError
from hyperperiod.observe.xentrace import window

EVENTS: Final = 0x21000
"""What is recorded (`tevt_mask`): which states vcpus change to."""
LIMIT_PAGES: Final = 65_000
"""Pages of all buffers together: their lists are found by 16 bits."""
PLACE: Final = 0x4020_0000
"""Where QEMU puts Xen."""
HEADER_BYTES: Final = 8
LARGEST_BYTES: Final = 64
"""No record is larger, with what says that others are lost."""
SYMBOLS: Final = ("_start", "t_info", "directmap_virt_start", "directmap_mfn_start")


def read_buffers(read: Read, hypervisor: Path, pcpus: int) -> bytes:
    """The records of all pcpus, those of a pcpu in one window; FailedError if a buffer is full."""
    at = _symbols(hypervisor.with_name("xen-syms"))

    def value(name: str) -> int:
        return int.from_bytes(read(PLACE + at[name] - at["_start"], 8), "little")

    info = value("t_info") - value("directmap_virt_start")
    info += value("directmap_mfn_start") * PAGE_BYTES
    pages, *lists = struct.unpack(f"<{1 + pcpus}H", read(info, 2 + 2 * pcpus))
    windows = []
    for pcpu, first in enumerate(lists):
        places = struct.unpack(f"<{pages}I", read(info + 4 * first, 4 * pages))
        _, used = struct.unpack("<II", read(places[0] * PAGE_BYTES, HEADER_BYTES))
        if used + LARGEST_BYTES > pages * PAGE_BYTES - HEADER_BYTES:
            raise FailedError("Xen's trace buffers are full; take a shorter horizon")
        end = HEADER_BYTES + used
        data = b"".join(_pages(read, places[: -(-end // PAGE_BYTES)]))
        windows.append(window(pcpu, data[HEADER_BYTES:end]))
    return b"".join(windows)


def _pages(read: Read, places: tuple[int, ...]) -> Iterator[bytes]:
    """The pages with these numbers, those that lie side by side read at once."""
    first = 0
    for index in range(1, len(places) + 1):
        if index == len(places) or places[index] != places[index - 1] + 1:
            yield read(places[first] * PAGE_BYTES, (index - first) * PAGE_BYTES)
            first = index


def _symbols(file: Path) -> dict[str, int]:
    """Where in the hypervisor's own memory those are that are looked at."""
    listing = subprocess.run(
        [tool(READELF), "-sW", file], check=True, capture_output=True, text=True
    ).stdout
    rows = (line.split() for line in listing.splitlines())
    return {row[7]: int(row[1], 16) for row in rows if len(row) == 8 and row[7] in SYMBOLS}
