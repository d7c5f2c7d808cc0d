# SPDX-License-Identifier: BSD-2-Clause
"""Systems from standard input and from pipes: the same answers as from a file, the right names."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main
from hyperperiod.model.load import FILE_LIMIT_BYTES, form_of

SYSTEMS = Path(__file__).parents[2] / "systems"
TOML = (SYSTEMS / "flight-control.toml").read_text()
XML = """<?xml version="1.0"?>
<system os_scheduler="DM" min_period="10" max_period="10">
  <component name="part1" scheduler="DM" min_period="10" max_period="10">
    <task name="t1" p="500" d="500" e="22"/>
  </component>
</system>
"""
JSON = """{ "tasks": { "t": { "run": 2000, "timer": { "ref": "x", "period": 10000 } } } }"""
CSV = "# tasks\n\ndomain;period_ms;wcet_ms\nbrakes;20;2\n"


def analyze(text: str | bytes, *more: str) -> Result:
    return CliRunner().invoke(main, ["analyze", "-", *more], input=text, catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "ending"), [(TOML, "toml"), (XML, "xml"), (CSV, "csv"), (JSON, "json")]
)
def test_the_answer_is_that_of_the_file(text: str, ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"stdin.{ending}"
    file.write_text(text)
    asked = CliRunner().invoke(main, ["analyze", str(file), "--json"])
    assert asked.exit_code in (0, 1)
    piped = analyze(text, "--json")
    assert (piped.exit_code, piped.stdout) == (asked.exit_code, asked.stdout)


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("a.toml", XML, "toml"),
        ("a.XML", TOML, "xml"),
        ("a.csv", "", "csv"),
        ("a.json", "", "json"),
        ("/dev/fd/63", "\n# a, b\n[overheads]", "toml"),
        ("<stdin>", 'name = "a, b"', "toml"),
        ("<stdin>", "[a,b]", "toml"),
        ("<stdin>", "name", "toml"),
        ("<stdin>", "", "toml"),
        ("<stdin>", "\n  <system/>", "xml"),
        ("<stdin>", '"domain","wcet"', "csv"),
        ("tasks", "period;wcet", "csv"),
        ("<stdin>", '\n {"a": 1, "b": 2}', "json"),
        ("<stdin>", "/* a, b", "json"),
        ("<stdin>", "// a, b", "json"),
    ],
)
def test_what_a_text_is_written_in(name: str, text: str, form: str) -> None:
    assert form_of(name, text) == form


def test_messages_name_standard_input() -> None:
    found = analyze("polcy = 1\n")
    assert found.exit_code == 2
    assert "error: <stdin>:1: polcy: found the unknown key" in found.stderr
    assert "error: <stdin>: found a larger file" in analyze("#" * (FILE_LIMIT_BYTES + 1)).stderr
    assert "error: <stdin>:2: found byte 0xe9" in analyze(b"# x\n\xe9").stderr
    asked = ["simulate", "-", "--policy", "polling"]
    unresolved = CliRunner().invoke(main, asked, input=TOML)
    assert unresolved.stderr.startswith("error: <stdin>: domain flight-laws: interface:")


@pytest.mark.parametrize("command", ["simulate", "compare", "fit", "run"])
def test_every_command_reads_it(command: str) -> None:
    more = {"simulate": ["--horizon", "1ms"], "run": ["--on", "sim", "--horizon", "1ms"]}
    asked = [command, "-", *more.get(command, []), "--json"]
    if command == "compare":
        asked += ["--policies", "ptps", "--horizon", "1ms"]
    done = CliRunner().invoke(main, asked, input=TOML, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    assert "flight-control" in done.stdout


def test_a_pipe_of_the_shell() -> None:
    command = [sys.executable, "-m", "hyperperiod", "analyze", "/dev/fd/0", "--json"]
    piped = subprocess.run(command, input=TOML, capture_output=True, text=True, check=False)
    assert (piped.returncode, piped.stdout) == (0, analyze(TOML, "--json").stdout)


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("polcy = 1\n",))
    writer.start()
    done = CliRunner().invoke(main, ["analyze", str(pipe)])
    writer.join()
    assert done.exit_code == 2
    assert f"error: {pipe}:1: polcy: found the unknown key" in done.stderr


def test_closed_standard_input() -> None:
    command = ["sh", "-c", '"$@" <&-', "sh", sys.executable, "-m", "hyperperiod", "analyze", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: <stdin>: found a closed standard input; allowed: ")
