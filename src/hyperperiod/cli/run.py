# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod run`: a system on a host, with the same result object from each of them."""

from __future__ import annotations

from typing import Any

import click

from hyperperiod.cli.execute import RunOrder, execute
from hyperperiod.cli.options import (
    OneOf,
    host_cost_options,
    linux_options,
    run_options,
    system_argument,
)
from hyperperiod.hosts import ALL_HOSTS, HOSTS, STOCK


@click.command()
@system_argument
@click.option(
    "--on",
    "host",
    type=OneOf(ALL_HOSTS),
    metavar="HOST",
    required=True,
    help=f"Where the system runs: {', '.join(HOSTS)}; under schedulers that"
    f" these have themselves: {', '.join(STOCK)}.",
)
@host_cost_options
@linux_options
@run_options
@click.pass_context
def run(ctx: click.Context, /, host: str, **options: Any) -> None:
    """On Xen one small guest per domain runs the tasks, in QEMU. On Linux a process per domain
    does, and commands run as they are, on the kernel of this machine or, where that has no
    sched_ext, on one in QEMU. Then out/NAME-HOST/ keeps the console's log, the trace and the
    result. Ctrl-C ends the run early and still gives valid results up to that instant.
    """
    ctx.exit(execute(RunOrder(**options, host=host)))
