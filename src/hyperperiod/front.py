# SPDX-License-Identifier: BSD-2-Clause
"""The front door: what `hyperperiod --help` and `--version` print, and the way to all else.

These are asked by people who have just arrived. They are answered before the library that reads
command lines is loaded, which takes three times as long as they do; it shows the same help, from
here.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from hyperperiod.version import VERSION

NAME = "hyperperiod"

COMMANDS = {
    "analyze": "Compute interfaces and say whether every deadline of SYSTEM holds.",
    "compare": "Run SYSTEM under several policies, or on several hosts, side by side.",
    "doctor": "Show what works here, what is missing, and how to install it.",
    "examples": "List the example systems, or copy the one called NAME to look at, run and change.",
    "export": "Write SYSTEM for a host of yours, or for another tool.",
    "fit": "Choose interfaces, pcpus and priorities for SYSTEM.",
    "latency": "Measure what a VM notices of its scheduler, as the RT-Xen evaluation did.",
    "man": "Print the manual page of all commands.",
    "reproduce": "Measure the figure NAME of a paper again, in the simulator or, reduced, on Xen.",
    "run": "Run SYSTEM on a host: the simulator, Xen or Linux.",
    "schema": "Print the JSON Schema of system files.",
    "simulate": "Run SYSTEM in the simulator.",
    "trace": "Read traces: convert them, list intervals or jobs, check properties, compare two.",
    "xen": "Build Xen with the scheduler, and what runs on it.",
}
"""The commands with the first lines of their help; each is in the file of its name in `cli`."""

PROSE = """\
  Real-time virtual machines: computed, predicted, run and measured.

  A SYSTEM is a TOML file (see systems/), a CARTS .xml file or a .csv table of
  tasks.

  \b
  Exit codes:
    0  done, and all is well
    1  done, and a deadline is missed or a test fails
    2  bad input; nothing was written
    3  the environment lacks something (the message says what installs it)
   70  a mistake in this program, or a machine that broke down during a run
  130  interrupted; what was written is valid
"""
"""What the program is; the backspace tells the library not to fill the lines after it anew."""

_OPTIONS = """\
  --version   Show the version and exit.
  -h, --help  Show this message and exit.
"""

_LINE = 80
_OBJECTS_OF_A_START = 50_000


def help_text() -> str:
    """The help of the program as a whole."""
    indent = max(len(name) for name in COMMANDS) + 4
    commands = "".join(
        f"  {name}".ljust(indent) + _filled(COMMANDS[name], indent) for name in sorted(COMMANDS)
    )
    prose = PROSE.replace("  \b\n", "")
    usage = f"Usage: {NAME} [OPTIONS] COMMAND [ARGS]...\n"
    return f"{usage}\n{prose}\nOptions:\n{_OPTIONS}\nCommands:\n{commands}"


def _filled(text: str, indent: int) -> str:
    """The text in lines that end before the terminal does, all but the first indented."""
    lines = [""]
    for word in text.split():
        if indent + len(lines[-1]) + 1 + len(word) > _LINE:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return f"\n{' ' * indent}".join(lines) + "\n"


def main() -> None:
    """Answers `--help` and `--version` itself and hands any other command line to `cli`."""
    answers = {"--version": f"{NAME} {VERSION}\n", "-h": help_text(), "--help": help_text()}
    asked = sys.argv[1:]
    # Whoever completes a command line (a shell, by this variable) has no arguments either.
    if len(asked) == 1 and asked[0] in answers and "_HYPERPERIOD_COMPLETE" not in os.environ:
        try:
            sys.stdout.write(answers[asked[0]])
            sys.stdout.flush()
        except (AttributeError, OSError):
            pass  # nobody can be told here: the command line knows how that ends
        else:
            return
    # What a command made goes with its process. Without this the interpreter would look through all
    # of it for cycles before it ends, which takes longer than it takes to start. Before that, the
    # objects that a start makes, which all stay, are no reason to look for cycles among them.
    atexit.register(gc.freeze)
    gc.set_threshold(_OBJECTS_OF_A_START)
    from hyperperiod.late import load_inspect_on_use

    load_inspect_on_use()
    from hyperperiod.cli import main as command_line

    command_line(prog_name=NAME)
