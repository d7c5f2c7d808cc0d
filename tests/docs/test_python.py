# SPDX-License-Identifier: BSD-2-Clause
"""What the page about Python shows is a program that runs."""

import os
import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_blocks_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").symlink_to(TOP / "systems")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = BLOCK.findall((TOP / "docs" / "python.md").read_text())
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, os.fspath(TOP / "docs" / "python.md"), "exec"), names)
    said = capsys.readouterr().out
    assert "hold under rate monotonic" in said
    assert "Task t: period: found '40 ticks'; allowed: a time with a unit" in said
