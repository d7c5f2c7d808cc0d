# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod simulate`: what will happen, to the nanosecond."""

from __future__ import annotations

from typing import Any

import click

from hyperperiod.cli import complete
from hyperperiod.cli.execute import RunOrder, execute
from hyperperiod.cli.options import run_options, system_argument


@click.command()
@system_argument
@click.option(
    "jobs_file",
    "--jobs",
    shell_complete=complete.files,
    metavar="FILE.csv",
    help="Give tasks the jobs of a file, which `trace jobs --csv --ran` or `observe --jobs` wrote.",
)
@run_options
@click.pass_context
def simulate(ctx: click.Context, /, **options: Any) -> None:
    """Ctrl-C ends the run early and still gives valid results up to that instant."""
    ctx.exit(execute(RunOrder(**options)))
