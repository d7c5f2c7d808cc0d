# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod examples`: the example systems and sweeps that come with the package."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hyperperiod.cli import complete
from hyperperiod.cli.options import json_option
from hyperperiod.cli.screen import Screen
from hyperperiod.model.errors import InputError, did_you_mean
from hyperperiod.model.result_object import json_text
from hyperperiod.resources import example_files
from hyperperiod.whole_file import unwritable

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.argument("name", metavar="[NAME]", required=False, shell_complete=complete.examples)
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Copy NAME into this folder, which is made if need be (the current one).",
)
@json_option
def examples(name: str | None, folder: Path | None, as_json: bool) -> None:
    """A file that is there already is never overwritten."""
    kinds = example_files()
    if name is not None:
        files = {stem: path for found in kinds.values() for stem, path in found.items()}
        copied = str(_copy(files, name.removesuffix(".toml"), folder or Path()))
        if as_json:
            click.echo(json_text({"copied": copied}))
        else:
            click.echo(copied)
        return
    if folder is not None:
        raise click.UsageError("found --into alone; allowed: with the NAME of an example")
    about = [
        {"name": stem, "kind": kind, "about": _first_line(path)}
        for kind, files in kinds.items()
        for stem, path in files.items()
    ]
    if as_json:
        click.echo(json_text({"examples": about}))
        return
    screen = Screen()
    indent = max(len(one["name"]) for one in about) + 2
    for kind, members in groupby(about, key=lambda one: one["kind"]):
        if kind == "sweep":
            screen.line()
            screen.line("For `hyperperiod sweep`:")
        for one in members:
            screen.line(f"{one['name'].ljust(indent)}{one['about']}", indent=indent)


def _first_line(path: Path) -> str:
    """Returns the first line of a file, a comment that says what it is, without its sign."""
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


def _copy(files: Mapping[str, Path], name: str, folder: Path) -> Path:
    """Copies an example into a folder; InputError for an unknown name and for a file in the way."""
    if name not in files:
        allowed = "a name that `hyperperiod examples` lists" + did_you_mean(name, files)
        raise InputError("", None, "NAME", repr(name), allowed)
    target = folder / files[name].name
    text = files[name].read_bytes()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(text)
    except FileExistsError:
        found = "a file of that name" if target.exists() else "a file in the place of a folder"
        raise InputError(str(target), None, "--into", found, "another folder") from None
    except NotADirectoryError:
        raise InputError(str(folder), None, "--into", "a file", "a folder") from None
    except OSError as error:
        raise unwritable(str(target), "--into", error) from None
    return target
