# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod observe`: a trace of a Linux machine, read as threads, and written as a system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

import click

from hyperperiod.cli import complete
from hyperperiod.cli.options import (
    WholeNumber,
    json_option,
    read_name,
    read_share,
    wide_option,
)
from hyperperiod.cli.progress import status
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.table import Table
from hyperperiod.cli.tables.observe import observation_lines
from hyperperiod.model.result_object import json_text
from hyperperiod.observe.observe import Asked
from hyperperiod.observe.observe import observe as observe_trace
from hyperperiod.observe.system import system_text
from hyperperiod.whole_file import require_different, require_writable, whole_file


def _read_pattern(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> re.Pattern[str] | None:
    """Reads a regular expression; None where none was given."""
    if text is None:
        return None
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise click.BadParameter(f"found {text!r}; allowed: a pattern, but {error}") from None


def _read_domains(
    ctx: click.Context, param: click.Parameter, texts: Sequence[str]
) -> list[tuple[str, re.Pattern[str]]]:
    """Reads domains and the patterns of their threads."""
    found = []
    for text in texts:
        name, equals, rest = text.partition("=")
        pattern = _read_pattern(ctx, param, rest)
        if not (name and equals and pattern):
            raise click.BadParameter(f"found {text!r}; allowed: NAME=REGEX, such as video=^gst")
        found.append((name, pattern))
    return found


@click.command()
@click.argument("trace_file", metavar="TRACE", shell_complete=complete.files)
@click.option(
    "out_file",
    "-o",
    "--output",
    callback=read_name(".toml"),
    shell_complete=complete.files,
    metavar="SYSTEM.toml",
    help="Write the tasks as a system for analyze, fit and linux start.",
)
@click.option(
    "--only", callback=_read_pattern, metavar="REGEX", help="Only threads with such a name."
)
@click.option(
    "--domain",
    "domains",
    callback=_read_domains,
    multiple=True,
    metavar="NAME=REGEX",
    help="A domain of all threads with such a name, in place of one for each process. Several may"
    " be given; the first that fits counts.",
)
@click.option(
    "--margin",
    callback=read_share,
    default="20%",
    show_default=True,
    metavar="PERCENT",
    help="Widen the longest execution time seen by that much.",
)
@click.option(
    "--least",
    type=WholeNumber(2, 1_000_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Make no task of a thread with fewer activations.",
)
@json_option
@wide_option
def observe(
    trace_file: str,
    out_file: str | None,
    only: re.Pattern[str] | None,
    domains: Sequence[tuple[str, re.Pattern[str]]],
    margin: Fraction,
    least: int,
    as_json: bool,
) -> None:
    """TRACE is text of ftrace, as the kernel, `trace-cmd report` or `perf script` write it, plain
    or packed (.gz), or - for standard input; or a trace of ours (.hpt). From when a thread is woken
    up to when it sleeps again is one job. Found are execution times, periods, jitter, who wakes up
    whom: measured, not proved. Interfaces are left open: `fit` chooses them.
    """
    require_different({"TRACE": trace_file, "--output": out_file})
    require_writable(out_file, "--output")
    with status(f"reading {trace_file}"):
        result = observe_trace(trace_file, Asked(least, margin, only, domains))
    if out_file is not None:
        text = system_text(result)
        with whole_file(out_file, "--output") as path:
            assert path is not None, "there is an output"
            path.write_text(text, encoding="utf-8")
    if as_json:
        click.echo(json_text(result))
        return
    screen = Screen()
    for line in observation_lines(result):
        if isinstance(line, Table):
            screen.table(line)
        else:
            screen.line(line)
    if out_file is not None:
        screen.line(f"written to {out_file}")
