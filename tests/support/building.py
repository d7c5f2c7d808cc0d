# SPDX-License-Identifier: BSD-2-Clause
"""Building native test programs from tests that may run in several processes at once, and running
others."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def make(makefile: str) -> None:
    """Runs a makefile from the top of the repository, one process at a time.

    Each makes what it makes in a folder of its own, so others do not wait for it.
    """
    (TOP / "build").mkdir(exist_ok=True)
    with (TOP / "build" / f".{makefile.replace('/', '-')}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "--silent", "-f", makefile]
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test run have."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def once(factory: pytest.TempPathFactory, name: str, made: Callable[[Path], object]) -> Path:
    """A file that the first process of this test run that asks makes, for all of them."""
    target = shared_folder(factory) / name
    with target.with_name(f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            made(target)
    return target


def said(*words: str | Path) -> str:
    """Runs a program, which has to end with code 0; returns what it wrote to standard output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout
