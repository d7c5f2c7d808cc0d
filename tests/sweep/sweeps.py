# SPDX-License-Identifier: BSD-2-Clause
"""Small sweeps, run by the command, and their rows read again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from click.testing import CliRunner

from hyperperiod.cli import main

SMALL = """
name = "small"
systems = 8
part = 3
horizon = "300ms"
hosts = ["analysis", "sim"]
tests = ["qpa", "gfb"]

[system]
quantum = "1ms"

[draw]
generator = "uunifast"
domains = 2
tasks = 4
utilization = 0.4
min_period = "20ms"
max_period = "200ms"

[grid]
"system.policy" = ["ptps", "crps"]
"draw.utilization" = [0.3, 0.9]
"""
MANY = """
name = "many"
systems = 1600
part = 16

[draw]
domains = 2
tasks = 6
utilization = 0.6
"""


def written(folder: Path, text: str, name: str = "sweep.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def command(experiment: Path, out: Path, *more: str) -> list[str]:
    """The command, in one process unless `more` says how many."""
    start = [sys.executable, "-m", "hyperperiod", "sweep", str(experiment), "--out", str(out)]
    alone = [] if {"--workers", "--scheduler"} & set(more) else ["--workers", "1"]
    return [*start, *alone, *more]


def swept(experiment: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """What the command said and ended with: in this process, unless it makes processes itself."""
    words = command(experiment, out, *more)
    if {"--workers", "--scheduler"} & set(more):
        return subprocess.run(words, capture_output=True, text=True, check=False)
    ran = CliRunner().invoke(main, words[3:])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    return subprocess.CompletedProcess(words, ran.exit_code, ran.stdout, ran.stderr)


def files_of(out: Path) -> dict[str, bytes]:
    """What a sweep has written, but for what says when and where."""
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("*/*.parquet"))
    }


def rows_of(out: Path, table: str) -> list[dict[str, Any]]:
    """All rows of a table, part after part."""
    files = sorted((out / table).glob("part-*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]
