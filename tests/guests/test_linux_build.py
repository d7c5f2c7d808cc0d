# SPDX-License-Identifier: BSD-2-Clause
"""What the Linux guest's build lacks is named, with the command that installs it."""

from pathlib import Path

import pytest
from guests.linux.build import COMPILER, EXIT_LACKS, NEEDED, BuildError, _need_tools


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
    monkeypatch.setenv("PATH", machine(tmp_path, *NEEDED))
    with pytest.raises(BuildError, match=r"libc\.a for arm64: .* libc6-dev-arm64-cross$") as lack:
        _need_tools()
    assert lack.value.code == EXIT_LACKS


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", machine(tmp_path, *set(NEEDED) - {COMPILER}))
    with pytest.raises(BuildError, match=f"{COMPILER}: not found") as lack:
        _need_tools()
    assert lack.value.code == EXIT_LACKS
