# SPDX-License-Identifier: BSD-2-Clause
"""What starting costs, counted in modules: of a small file none that it does not need.

Times are in `docs/benchmarks.md`; here nothing is timed.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from hyperperiod import __version__
from hyperperiod.cli import main
from hyperperiod.commands import COMMANDS, help_text

SMALL = str(Path(__file__).parents[2] / "systems" / "flight-control.toml")

HEAVY = {
    "importlib.metadata",
    "jinja2",
    "numpy",
    "ortools",
    "pathlib",
    "perfetto",
    "pyarrow",
    "pydantic",
    "unittest",
}
UNASKED = {
    "hyperperiod.analysis.domains.algorithm_1",
    "hyperperiod.analysis.domains.dmpr",
    "hyperperiod.analysis.domains.domain_sensitivity",
    "hyperperiod.analysis.driver_loop",
    "hyperperiod.analysis.explain",
    "hyperperiod.analysis.fit",
    "hyperperiod.analysis.flows.end_to_end",
    "hyperperiod.analysis.shrink_budgets",
    "hyperperiod.experiments",
    "hyperperiod.export",
    "hyperperiod.hosts.xen",
    "hyperperiod.model.readers.carts",
    "hyperperiod.model.readers.lenient_json",
    "hyperperiod.model.locate",
    "hyperperiod.model.readers.rt_app",
    "hyperperiod.model.schema",
    "hyperperiod.model.readers.table",
    "hyperperiod.report",
    "hyperperiod.trace",
}


def loaded(*arguments: str) -> set[str]:
    """The modules that the command has loaded when it ends."""
    code = (
        "import atexit, sys\n"
        "from hyperperiod.__main__ import main\n"
        "atexit.register(lambda: sys.stderr.write('\\n'.join(sys.modules)))\n"
        f"sys.argv = ['hyperperiod', *{arguments!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("command", ["analyze", "simulate"])
def test_a_small_file_loads_what_it_needs(command: str) -> None:
    modules = loaded(command, SMALL, "--json")
    assert not modules & HEAVY
    assert not modules & UNASKED
    ours = {name for name in modules if name.split(".")[0] == "hyperperiod"}
    assert len(ours) <= 82, sorted(ours)


@pytest.mark.parametrize("command", ["analyze", "simulate"])
def test_tables_need_no_json(command: str) -> None:
    assert not loaded(command, SMALL) & {"json", "hyperperiod.analysis.domains.algorithm_1"}


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_who_has_just_arrived_waits_for_no_library(option: str) -> None:
    modules = loaded(option)
    assert not modules & {"click", "hyperperiod.cli", "hyperperiod.model"}


def test_lines_are_looked_up_for_messages(tmp_path: Path) -> None:
    """The same way of looking at modules sees the reader of lines once there is a mistake."""
    file = tmp_path / "bad.toml"
    file.write_text("polici = 1\n")
    code = (
        "import sys\n"
        "from hyperperiod.model import InputError, load_system\n"
        "try:\n"
        f"    load_system({str(file)!r})\n"
        "except InputError:\n"
        "    print('hyperperiod.model.locate' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_the_help_of_the_program_has_every_command() -> None:
    context = click.Context(main)
    for name, line in COMMANDS.items():
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=1000) == line
    assert main.get_command(context, "frobnicate") is None


def test_both_ways_to_the_help_say_the_same() -> None:
    text = help_text()
    assert main.get_help(click.Context(main)) == text.rstrip("\n")
    assert max(len(line) for line in text.splitlines()) <= 80
    options = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  -")]
    parameters = main.get_params(click.Context(main, **main.context_settings))
    assert sorted(options) == sorted(", ".join(one.opts) for one in parameters)


def test_there_is_one_version() -> None:
    assert __version__ == version("hyperperiod")
