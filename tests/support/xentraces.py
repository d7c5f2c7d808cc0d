# SPDX-License-Identifier: BSD-2-Clause
"""Records as Xen has them in its trace buffers (xen/include/public/trace.h)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

STATES = ("running", "runnable", "blocked", "offline")


def record(event: int, words: Sequence[int], ticks: int | None = None) -> bytes:
    """A record, with a time or without."""
    head = event | len(words) << 28 | (ticks is not None) << 31
    time = b"" if ticks is None else struct.pack("<Q", ticks)
    return struct.pack("<I", head) + time + struct.pack(f"<{len(words)}I", *words)


def state_change(ticks: int, who: tuple[int, int], before: str, after: str) -> bytes:
    """A vcpu, by domain and number, goes from one state to another."""
    event = 0x21001 | STATES.index(before) << 8 | STATES.index(after) << 4
    return record(event, [who[0] << 16 | who[1]], ticks)
