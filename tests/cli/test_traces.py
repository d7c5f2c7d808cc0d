# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod trace` on traces that are not whole: cut ones refused, interrupted ones named."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support import example_traces as examples

from hyperperiod.cli import main

COMMANDS = ["check", "intervals", "jobs", "items", "diff", "convert"]


def run(command: str, trace: Path, folder: Path) -> Result:
    more = {"diff": [str(trace)], "convert": [str(folder / "out.csv")]}.get(command, [])
    return CliRunner().invoke(main, ["trace", command, str(trace), *more], catch_exceptions=False)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("missing_bytes", [1, 31, 32, 40, 96])
def test_every_command_refuses_a_cut_trace(
    command: str, missing_bytes: int, tmp_path: Path
) -> None:
    trace = examples.ptps().write(tmp_path / "run.hpt")
    assert run(command, trace, tmp_path).exit_code == 0
    (tmp_path / "out.csv").unlink(missing_ok=True)
    trace.write_bytes(trace.read_bytes()[:-missing_bytes])
    done = run(command, trace, tmp_path)
    assert done.exit_code == 2
    assert f"error: {trace}: found a trace that was cut short: " in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == [trace]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_and_names_an_interrupted_trace(command: str, tmp_path: Path) -> None:
    script = examples.ptps()
    whole = run(command, script.write(tmp_path / "run.hpt"), tmp_path)
    assert whole.stderr == ""
    script.header["horizon_ns"] = 4000
    trace = script.write(tmp_path / "run.hpt")
    done = run(command, trace, tmp_path)
    assert done.exit_code == 0
    assert done.stdout == whole.stdout
    assert f"note: {trace}: the run was interrupted at 40ns of 4us" in done.stderr
