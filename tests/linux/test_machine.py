# SPDX-License-Identifier: BSD-2-Clause
"""A machine that counts is the same in every bit, whatever this host does meanwhile."""

from __future__ import annotations

from pathlib import Path

from tests.support.on_linux import files_left

LOOK = """\
head -c 64 /dev/urandom >/left/random
cat /proc/interrupts >/left/interrupts
grep -m 1 "now at" /proc/timer_list >/left/now
"""
"""Random bytes, which come of all that the kernel has seen, and the time in nanoseconds."""


def left(folder: Path) -> dict[str, bytes]:
    """What a machine has seen of itself, shortly before it is off."""
    folder.mkdir()
    return files_left(LOOK, folder)


def test_two_machines_are_the_same(tmp_path: Path) -> None:
    first, again = left(tmp_path / "first"), left(tmp_path / "again")
    assert set(first) >= {"random", "interrupts", "now"}
    assert len(first["random"]) == 64
    assert first == again
