# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod linux`: what Linux with sched_ext needs to be a host."""

from __future__ import annotations

from pathlib import Path

import click

from hyperperiod.cli.group import EXIT_INTERRUPTED
from hyperperiod.cli.options import json_option


@click.group()
def linux() -> None:
    """Build what runs on Linux need."""


@linux.command()
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path, resolve_path=True),
    metavar="DIR",
    help="Build into DIR instead of the user's cache (in a checkout: its folder build).",
)
@json_option
@click.pass_context
def build(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """Build the machine that runs on Linux boot; needs compilers and the network.

    A kernel of Debian's with sched_ext and the libraries beside it are fetched and unpacked, not
    installed; the scheduler's BPF programs, hyperperiodd, hyperperiodctl and the program that runs
    a domain's tasks are compiled. What is up to date is left alone.
    """
    from hyperperiod.cli.output import print_json
    from hyperperiod.cli.progress import bar
    from hyperperiod.hosts.build_job import BuildError, BuildJob
    from hyperperiod.hosts.linux.build import build as build_linux
    from hyperperiod.resources import BUILD_VARIABLE, build_folder

    job = BuildJob(folder or build_folder(), None, bar)
    try:
        built = build_linux(job)
    except BuildError as problem:
        click.echo(f"error: {problem}", err=True)
        ctx.exit(problem.code)
    except KeyboardInterrupt:
        click.echo("interrupted; the same command goes on from there", err=True)
        ctx.exit(EXIT_INTERRUPTED)
    if as_json:
        print_json({"built": {"linux": str(built)}})
        return
    click.echo(f"linux: {built}")
    if job.root != build_folder():
        click.echo(f"Runs find it there with: export {BUILD_VARIABLE}={job.root}")
