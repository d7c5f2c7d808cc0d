# SPDX-License-Identifier: BSD-2-Clause
"""Lists of cpus as the kernel and our options write them, such as 0,2-3."""

from __future__ import annotations

from collections.abc import Iterable

LIMIT = 1 << 16
"""No kernel has cpus of such numbers."""


def read_list(text: str) -> list[int]:
    """The cpus of a list, in its order; ValueError for what is none."""
    cpus: list[int] = []
    for piece in text.split(","):
        first, dash, last = piece.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(text)
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[-1] > LIMIT:
            raise ValueError(text)
        cpus += numbers
    return cpus


def write_list(cpus: Iterable[int]) -> str:
    """Cpus as the kernel writes them: ascending, neighbours as a range."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(f"{low}-{high}" if low < high else str(low) for low, high in ranges)
