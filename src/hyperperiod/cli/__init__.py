# SPDX-License-Identifier: BSD-2-Clause
"""The command line: one file per command, none of which computes anything itself.

Exit codes are the same everywhere: 0 = done and all is well, 1 = done and a deadline is missed
or a test fails, 2 = bad input, 3 = the environment lacks something, 70 = a mistake in this
program, 130 = interrupted. Modules that are slow to load are imported inside the commands, so
that `--help` answers at once.
"""

from __future__ import annotations

import click

from hyperperiod.cli.analyze import analyze
from hyperperiod.cli.compare import compare
from hyperperiod.cli.doctor import doctor
from hyperperiod.cli.examples import examples
from hyperperiod.cli.export import export
from hyperperiod.cli.fit import fit
from hyperperiod.cli.group import ErrorGroup
from hyperperiod.cli.latency import latency
from hyperperiod.cli.man import man
from hyperperiod.cli.reproduce import reproduce
from hyperperiod.cli.run import run
from hyperperiod.cli.schema import schema
from hyperperiod.cli.simulate import simulate
from hyperperiod.cli.trace import trace
from hyperperiod.cli.xen import xen
from hyperperiod.version import VERSION


@click.group(cls=ErrorGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="hyperperiod", message="%(prog)s %(version)s")
def main() -> None:
    """Real-time virtual machines: computed, predicted, run and measured.

    A SYSTEM is a TOML file (see systems/), a CARTS .xml file or a .csv table of tasks.

    \b
    Exit codes:
      0  done, and all is well
      1  done, and a deadline is missed or a test fails
      2  bad input; nothing was written
      3  the environment lacks something (the message says what installs it)
     70  a mistake in this program, or a machine that broke down during a run
    130  interrupted; what was written is valid
    """


_COMMANDS = (
    analyze, fit, simulate, run, compare, latency, reproduce, export, trace, doctor, schema, man,
    examples, xen,
)  # fmt: skip
for _command in _COMMANDS:
    main.add_command(_command)
