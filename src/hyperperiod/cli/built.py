# SPDX-License-Identifier: BSD-2-Clause
"""What `linux build` and `xen build` share: where they build to, and what is said of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from hyperperiod.cli.group import EXIT_INTERRUPTED
from hyperperiod.cli.progress import bar
from hyperperiod.hosts.build_job import BuildError, BuildJob
from hyperperiod.model.errors import InputError
from hyperperiod.model.result_object import json_text
from hyperperiod.resources import BUILD_VARIABLE, build_folder

folder_type = click.Path(path_type=Path, resolve_path=True)
into_option = click.option(
    "--into",
    "folder",
    type=folder_type,
    metavar="DIR",
    help="Build into DIR instead of the user's cache (in a checkout: its folder build).",
)


def build_and_tell(
    ctx: click.Context,
    make: Callable[[BuildJob], Mapping[str, Path]],
    folder: Path | None,
    own_source: Path | None,
    as_json: bool,
) -> None:
    """Builds with `make`, which says what is where, and prints that.

    Ends with the exit code that a BuildError asks for; after Ctrl-C what was built so far stays.
    """
    if folder is not None:
        _require_folder(folder)
    job = BuildJob(folder or build_folder(), own_source, bar)
    try:
        built = make(job)
    except BuildError as problem:
        click.echo(f"error: {problem}", err=True)
        ctx.exit(problem.code)
    except KeyboardInterrupt:
        click.echo("interrupted; the same command goes on from there", err=True)
        ctx.exit(EXIT_INTERRUPTED)
    if as_json:
        click.echo(json_text({"built": {name: str(path) for name, path in built.items()}}))
        return
    for name, path in built.items():
        click.echo(f"{name}: {path}")
    if job.root != build_folder():
        click.echo(f"Runs find it there with: export {BUILD_VARIABLE}={job.root}")


def _require_folder(folder: Path) -> None:
    """InputError for what can be no folder to build into, before anything is fetched or made."""
    near = next(one for one in (folder, *folder.parents) if os.access(one, os.F_OK))
    if not near.is_dir():
        found = f"the file {near}"
    elif not os.access(near, os.W_OK | os.X_OK):
        found = f"{near}, which cannot be written to"
    else:
        return
    allowed = "a folder that is there or can be made"
    raise InputError(str(folder), None, "--into", found, allowed)
