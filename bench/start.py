# SPDX-License-Identifier: BSD-2-Clause
"""What it costs to start: commands on a small file, in starts of a bare interpreter.

CPU time of whole processes, user and system, median of twenty; the bare interpreter is the one that
runs the commands, with `-c pass`, measured in the same run, command by command in turn, so that the
load of the machine falls on all alike. Bytecode is compiled beforehand, as it is after the first
start of an installed package. `python -X importtime -m hyperperiod ...` shows where it goes.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from bench.environment import TOP
from bench.results import Row

SMALL = str(TOP / "systems" / "flight-control.toml")
STARTS = 20

COMMANDS = {
    "--version": ["--version"],
    "--help": ["--help"],
    "analyze": ["analyze", SMALL],
    "analyze --json": ["analyze", SMALL, "--json"],
    "simulate": ["simulate", SMALL],
    "simulate --json": ["simulate", SMALL, "--json"],
}
BARE = ["-c", "pass"]


def cpu_s(arguments: Sequence[str], bytecode: str) -> float:
    """CPU seconds of one process of this interpreter."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def measure() -> Iterator[Row]:
    """Each command as so many starts of the bare interpreter."""
    runs = {"bare": BARE, "click": ["-c", "import click"]}
    runs |= {name: ["-m", "hyperperiod", *rest] for name, rest in COMMANDS.items()}
    spent: dict[str, list[float]] = {name: [] for name in runs}
    with tempfile.TemporaryDirectory() as bytecode:
        for number in range(STARTS + 1):
            for name, arguments in runs.items():
                used_s = cpu_s(arguments, bytecode)
                if number > 0:  # the first one compiles
                    spent[name].append(used_s)
    bare_s = statistics.median(spent.pop("bare"))
    yield Row("start: python -c pass", bare_s * 1e3, "CPU ms")
    for name, seconds in spent.items():
        title = "import click alone" if name == "click" else name
        yield Row(f"start: {title}", statistics.median(seconds) / bare_s, "bare starts")
