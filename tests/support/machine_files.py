# SPDX-License-Identifier: BSD-2-Clause
"""Machines that are folders: files as the kernel has them in /proc and /sys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# Fields up to the class (the 41st), of a thread of user space and of SCHED_OTHER.
STAT = "{id} ({name}) S 1 1 1 0 -1 {flags} " + "0 " * 30 + "{priority} {policy} 0\n"


def stat(name: str, policy: int, flags: int = 0x400000, priority: int = 0) -> str:
    """What /proc says of a thread: its class, its priority there."""
    return STAT.format(id=81, name=name, flags=flags, priority=priority, policy=policy)


def write(root: Path, files: Mapping[str, str | None]) -> None:
    """Writes files below a folder; None removes one."""
    for path, text in files.items():
        if text is None:
            (root / path).unlink()
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
