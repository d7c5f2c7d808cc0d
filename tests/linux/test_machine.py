# SPDX-License-Identifier: BSD-2-Clause
"""A machine that counts is the same in every bit, whatever this host does meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.on_linux import files_of, need_linux

from hyperperiod.hosts.linux.build import (
    COMPILER,
    COMPILERS,
    KERNEL,
    UNPACKER,
    Images,
    images_in,
    need_tools,
)
from hyperperiod.hosts.linux.machine import LinuxMachine, tool
from hyperperiod.hosts.linux.script import END
from hyperperiod.model import MissingError

LOOK = """\
head -c 64 /dev/urandom >/left/random
cat /proc/interrupts >/left/interrupts
grep -m 1 "now at" /proc/timer_list >/left/now
"""
"""Random bytes, which come of all that the kernel has seen, and the time in nanoseconds."""


def left(images: Images, folder: Path) -> dict[str, bytes]:
    """What a machine has seen of itself, shortly before it is off."""
    folder.mkdir()
    return files_of(LinuxMachine(images, f"{LOOK}{END}"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [KERNEL, "arm64"])
def test_two_machines_are_the_same(kernel: str, tmp_path: Path) -> None:
    """Whether or not they go on from the same snapshot."""
    built = need_linux(kernel)
    found = []
    images = images_in(tmp_path, kernel)
    for path in images.all:
        shutil.copyfile(built / path.name, path)
    for name, runs in (("first", 2), ("again", 1)):
        found += [left(images, tmp_path / f"{name}-{run}") for run in range(runs)]
        (snapshot,) = (tmp_path / "snapshots").iterdir()
        snapshot.unlink()
    first, *others = found
    assert set(first) >= {"random", "interrupts", "now"}
    assert len(first["random"]) == 64
    assert others == [first] * 2


def test_what_is_needed_for_another_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {*COMPILERS, *UNPACKER} - {COMPILER["arm64"]}:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=f"{COMPILER['arm64']}: not found"):
        need_tools("arm64")
    with pytest.raises(MissingError, match="qemu-system-aarch64 is not installed") as lack:
        tool("arm64")
    assert "qemu-system-arm" in str(lack.value)
