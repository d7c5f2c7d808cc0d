# SPDX-License-Identifier: BSD-2-Clause
"""Hypervisors and guests for tests: built when they are asked for, or the test is skipped.

Tests run in several processes at once; whoever comes first builds, the others wait. What is
there already costs a second.
"""

import fcntl
import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]

MISSING_TOOL = 3


@functools.cache
def image(flavour: str) -> Path:
    """A hypervisor: arm64 or x86_64, as it is or with -debug or -stock behind it."""
    _build([sys.executable, "-m", "hosts.xen.build", flavour])
    return TOP / "build" / "xen" / flavour / "xen"


@functools.cache
def guest(name: str = "executive.bin") -> Path:
    """A bare-metal guest, by its file name in build/guests."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("aarch64-linux-gnu-gcc: not found; apt-get install gcc-aarch64-linux-gnu")
    (TOP / "build").mkdir(exist_ok=True)
    with (TOP / "build" / ".guests-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build(["make", "--silent", "--no-print-directory", "-C", "guests"])
    return TOP / "build" / "guests" / name


def _build(command: list[str]) -> None:
    """Runs a build; a tool that the machine lacks is a reason to skip, all else is a failure."""
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    if done.returncode == MISSING_TOOL:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
