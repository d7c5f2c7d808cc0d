# SPDX-License-Identifier: BSD-2-Clause
"""What the Linux guest's build lacks is named, with the command that installs it."""

from pathlib import Path

import pytest

from hyperperiod.hosts.xen.build.linux_guest import LIBC_PACKAGE, need_tools
from hyperperiod.model import MissingError

COMPILERS = ("aarch64-linux-gnu-gcc", "gcc")


def machine(folder: Path, *programs: str) -> str:
    """A folder with these programs, each of which repeats what follows the last "="."""
    for name in programs:
        (folder / name).write_text('#!/bin/sh\necho "${1##*=}"\n')
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_compiler_without_a_library_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # gcc's answer for a file that it does not find is the file's name.
    monkeypatch.setenv("PATH", machine(tmp_path, *COMPILERS, "dpkg-deb", "apt-get"))
    with pytest.raises(MissingError, match=r"libc\.a for arm64: not found") as lack:
        need_tools()
    assert LIBC_PACKAGE in str(lack.value)


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", machine(tmp_path, "dpkg-deb", "apt-get"))
    with pytest.raises(MissingError, match="gcc: not found"):
        need_tools()
