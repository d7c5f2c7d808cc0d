# SPDX-License-Identifier: BSD-2-Clause
"""The commands by name, and the help of the program as a whole, without any library.

`__main__` prints the help before the library that reads command lines is loaded; `cli` shows the
same.
"""

from __future__ import annotations

NAME = "hyperperiod"

COMMANDS = {
    "analyze": "Compute interfaces and say whether every deadline of SYSTEM holds.",
    "assurance": "Write the argument for SYSTEM, with its evidence, as a folder for a safety case.",
    "compare": "Run SYSTEM under several policies, or on several hosts, side by side.",
    "doctor": "Show what works here, what is missing, and how to install it.",
    "examples": "List example systems and sweeps, or copy the one called NAME, to run and change.",
    "export": "Write SYSTEM for a host of yours, or for another tool.",
    "fit": "Choose interfaces, pcpus and priorities for SYSTEM.",
    "latency": "Measure what a VM notices of its scheduler, as the RT-Xen evaluation did.",
    "linux": "Give threads, containers and VMs of this Linux machine servers.",
    "man": "Print the manual page of all commands.",
    "observe": "Read a TRACE of a Linux machine that runs, and write its threads as a system.",
    "reproduce": "Measure the figure NAME of a paper again, in the simulator or on another host.",
    "run": "Run SYSTEM on a host: the simulator, Xen or Linux.",
    "schema": "Print the JSON Schema of system files, or of results.",
    "simulate": "Run SYSTEM in the simulator.",
    "sweep": "Draw systems at every point of a grid and judge them all.",
    "trace": "Read traces: convert them, list intervals or jobs, check properties, compare two.",
    "xen": "Build Xen with the scheduler, and what runs on it.",
}
"""The commands with the first lines of their help, which goes on with the docstring of the function
of that name in the file of that name in `cli`."""

PROSE = """\
  Real-time virtual machines: computed, predicted, run and measured.

  A SYSTEM is a TOML file (`hyperperiod examples` has some), an .xml file of
  CARTS, Cheddar, SimSo or libvirt, an .amxmi model of AMALTHEA, an .arxml
  file of AUTOSAR, a model of MAST, a .csv table of tasks or a .json workload
  of rt-app.

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


def help_text() -> str:
    """Returns the help of the program as a whole, in lines of at most 80 columns."""
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
