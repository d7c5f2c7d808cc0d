# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod trace`: what a recorded run says, for people and for other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from hyperperiod.cli import complete
from hyperperiod.cli.options import (
    Command,
    json_option,
    read_maybe,
    read_name,
    read_time,
    wide_option,
)
from hyperperiod.cli.progress import bar, status
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.tables.trace import check_table, list_table, write_csv
from hyperperiod.model import InputError
from hyperperiod.model.load import require_file
from hyperperiod.model.result_object import json_text
from hyperperiod.model.units import format_time
from hyperperiod.trace.check import check_file
from hyperperiod.trace.compare import compare
from hyperperiod.trace.convert import WRITERS, writer_for
from hyperperiod.trace.format import end_ns, is_interrupted, read
from hyperperiod.trace.intervals import IntervalRow
from hyperperiod.trace.intervals import intervals as all_intervals
from hyperperiod.trace.items import FlowItem
from hyperperiod.trace.items import items as all_items
from hyperperiod.trace.jobs import Job, RecordedJob
from hyperperiod.trace.jobs import jobs as all_jobs
from hyperperiod.trace.properties import WORK
from hyperperiod.whole_file import require_different, whole_file

trace_argument = click.argument("trace_file", metavar="FILE", shell_complete=complete.files)


def list_options(command: Command) -> Command:
    """Adds the trace to read and the options of every command that lists something of it."""
    csv_option = click.option(
        "as_csv", "--csv", is_flag=True, help="CSV instead of a table, with times in nanoseconds."
    )
    ns_option = click.option("in_ns", "--ns", is_flag=True, help="Times in nanoseconds.")
    return trace_argument(csv_option(ns_option(wide_option(command))))


def _read_instant(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """An instant of a run as whole nanoseconds; 0 needs no unit, as in addresses of reports."""
    return 0 if text in ("0", "0ns", "0us", "0ms", "0s") else read_time(ctx, param, text)


@click.group()
def trace() -> None: ...


@trace.command()
@trace_argument
@click.argument("output", metavar="OUTPUT", shell_complete=complete.files)
def convert(trace_file: str, output: str) -> None:
    """Write FILE in another format; the end of OUTPUT says which.

    .pftrace is for Perfetto (ui.perfetto.dev), .csv and .parquet are tables of all events.
    """
    suffix = Path(output).suffix.lower()
    if suffix not in WRITERS:
        allowed = f"a name that ends in {' or '.join(WRITERS)}"
        raise InputError(output, None, "OUTPUT", repr(suffix), allowed)
    require_different({"FILE": trace_file, "OUTPUT": output})
    write = writer_for(suffix)
    header, records = _read(trace_file)
    with whole_file(output, "OUTPUT") as path, bar(f"writing {output}", len(records)) as progress:
        assert path is not None, "there is an output"
        write(header, records, path, progress)


@trace.command()
@trace_argument
@click.option(
    "from_ns", "--from", callback=_read_instant, default="0s", metavar="TIME", help="From here on."
)
@click.option(
    "to_ns", "--to", callback=read_maybe, metavar="TIME", help="Up to here. Default: the horizon."
)
@click.option(
    "picture",
    "--out",
    required=True,
    callback=read_name(".svg"),
    shell_complete=complete.files,
    metavar="FILE.svg",
    help="Where to.",
)
@click.option(
    "width_mm", "--width", type=click.IntRange(60, 1000), metavar="MM", help="Width, for a paper."
)
def draw(
    trace_file: str, from_ns: int, to_ns: int | None, picture: str, width_mm: int | None
) -> None:
    """Draw who ran and who paid between two instants as a picture.

    Nothing in it is told by colour alone: it may be printed in grey.
    """
    from hyperperiod.report.schedule import schedule_svg

    require_different({"FILE": trace_file, "--out": picture})
    header, records = _read(trace_file)
    with whole_file(picture, "--out") as path:
        assert path is not None, "there is an output"
        text = schedule_svg(header, records, from_ns, to_ns, width_mm=width_mm)
        path.write_text(text, encoding="utf-8")


@trace.command()
@list_options
def intervals(trace_file: str, as_csv: bool, in_ns: bool) -> None:
    """The schedule itself: who ran on which pcpu from when to when, and who paid."""
    _print_list(IntervalRow, all_intervals(*_read(trace_file)), as_csv=as_csv, in_ns=in_ns)


@trace.command()
@list_options
def items(trace_file: str, as_csv: bool, in_ns: bool) -> None:
    """Every item of a flow: when it came and left, its deadline, and whether it was dropped."""
    _print_list(FlowItem, all_items(*_read(trace_file)), as_csv=as_csv, in_ns=in_ns)


@trace.command()
@list_options
@click.option("--ran", is_flag=True, help="Also how long it ran, as `simulate --jobs` reads it.")
def jobs(trace_file: str, as_csv: bool, in_ns: bool, ran: bool) -> None:
    """Every job: release, start, finish and deadline."""
    _print_list(
        RecordedJob if ran else Job, all_jobs(*_read(trace_file)), as_csv=as_csv, in_ns=in_ns
    )


@trace.command()
@trace_argument
@json_option
@wide_option
@click.pass_context
def check(ctx: click.Context, trace_file: str, as_json: bool) -> None:
    """Check every property that a schedule must have; exit code 1 if one fails."""
    with bar(f"checking {trace_file}", WORK) as progress:
        result = check_file(_existing(trace_file), progress)
    if result.interrupted:
        _name_interruption(trace_file, result.end_ns, result.horizon_ns)
    if as_json:
        click.echo(json_text(result.result))
    else:
        Screen().table(check_table(result.result))
    ctx.exit(result.exit_code)


@trace.command()
@trace_argument
@click.argument("other_file", metavar="OTHER", shell_complete=complete.files)
@click.option(
    "--within",
    "bound_ns",
    callback=read_time,
    default="50us",
    show_default=True,
    metavar="TIME",
    help="How close to a boundary the two may differ, and how far response times.",
)
@json_option
@click.pass_context
def diff(
    ctx: click.Context, trace_file: str, other_file: str, bound_ns: int, as_json: bool
) -> None:
    """Compare the schedules of FILE and OTHER, two runs of one system; exit code 1 if they differ.

    They agree when at every instant farther than TIME from a boundary the same vcpu runs and the
    same servers pay, and when no response time differs by more.
    """
    first, second = _read(trace_file), _read(other_file)
    with status(f"comparing {trace_file} and {other_file}"):
        found = compare(first, second, bound_ns)
    if as_json:
        click.echo(json_text(found.result))
    else:
        Screen().line(found.text())
    ctx.exit(0 if found.agrees else 1)


def _read(trace_file: str) -> Any:
    """Header and records of a trace; an interrupted one is named on standard error."""
    header, records = read(_existing(trace_file))
    if is_interrupted(header, records):
        _name_interruption(trace_file, end_ns(records), header["horizon_ns"])
    return header, records


def _name_interruption(trace_file: str, end_ns: int, horizon_ns: int) -> None:
    reached = f"at {format_time(end_ns)} of {format_time(horizon_ns)}"
    click.echo(f"note: {trace_file}: the run was interrupted {reached}", err=True)


def _existing(trace_file: str) -> Path:
    return require_file(trace_file, "a trace (.hpt)")


def _print_list(row: type, rows: Iterable[Any], *, as_csv: bool, in_ns: bool) -> None:
    """Prints rows of this class as CSV, or as a table with times in their units or `in_ns`."""
    if as_csv:
        write_csv(row, rows, sys.stdout)
    else:
        Screen().table(list_table(row, rows, in_ns=in_ns))
