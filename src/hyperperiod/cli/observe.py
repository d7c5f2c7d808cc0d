# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod observe`: a trace of Linux or Xen, read as threads, and written as a system."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from hyperperiod.cli import complete
from hyperperiod.cli.options import (
    WholeNumber,
    json_option,
    output_option,
    read_maybe,
    read_name,
    read_share,
    wide_option,
)
from hyperperiod.cli.progress import status
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.tables.observe import observation_lines
from hyperperiod.model.result_object import json_text
from hyperperiod.model.units import format_time
from hyperperiod.model.values import NAME_ALLOWED, plain_name
from hyperperiod.model.words import RESERVED_NAMES
from hyperperiod.observe.observe import Asked, Observed
from hyperperiod.observe.observe import observe as observe_trace
from hyperperiod.observe.system import system_text
from hyperperiod.whole_file import require_different, require_writable, whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from hyperperiod.observe.result import ObservationResult
    from hyperperiod.trace.jobs import RecordedJob


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
        if plain_name(name, "") != name or not name.isprintable():
            raise click.BadParameter(f"found {name!r}; allowed: {NAME_ALLOWED}")
        if name in RESERVED_NAMES:
            allowed = f"a name other than {', '.join(RESERVED_NAMES)}"
            raise click.BadParameter(f"found {name!r}; allowed: {allowed}")
        found.append((name, pattern))
    return found


def _observe_live(span_ns: int, asked: Asked) -> Observed:
    """Records this machine for so long (ns), and returns what was seen."""
    from hyperperiod.observe.live import recorded

    doing = f"recording for {format_time(span_ns)}"
    with status(doing), recorded(span_ns) as text:
        result, jobs = observe_trace(text, asked)
    observed = platform.node() or "machine"
    return Observed(result.replace(trace="this machine", observed=observed), jobs)


def _write_jobs(path: Path, jobs: Iterator[RecordedJob]) -> None:
    """Writes the rows that `trace jobs --csv --ran` prints of other runs."""
    from hyperperiod.cli.tables.trace import write_csv
    from hyperperiod.trace.jobs import RecordedJob

    with path.open("w", encoding="utf-8") as out:
        write_csv(RecordedJob, jobs, out)


def _left_out(result: ObservationResult) -> str:
    """Says which jobs of tasks a file of jobs does not have; nothing if it has all."""
    tasks = [one for one in result.threads if one.task]
    partial, unreleased = (
        sum(getattr(one, key) for one in tasks) for key in ("partial", "unreleased")
    )
    if not partial + unreleased:
        return ""
    return (
        f"--jobs leaves out {partial} jobs that were not seen whole, and {unreleased} whose wake-up"
        " was not seen"
    )


@click.command()
@click.argument("trace_file", metavar="[TRACE]", required=False, shell_complete=complete.files)
@click.option(
    "live_ns",
    "--live",
    callback=read_maybe,
    metavar="TIME",
    help="Record this machine for so long, as root, in place of TRACE.",
)
@output_option(
    "SYSTEM.toml", "Write the tasks as a system for fit, which chooses pcpus and interfaces."
)
@click.option(
    "jobs_file",
    "--jobs",
    callback=read_name(".csv"),
    shell_complete=complete.files,
    metavar="FILE.csv",
    help="Write each job of these tasks, for `simulate --jobs`.",
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
@click.option(
    "--cpu-hz",
    type=WholeNumber(1_000_000, 100_000_000_000),
    metavar="HZ",
    help="How fast the counter runs whose ticks are the times of xentrace; xl dmesg says it.",
)
@click.option(
    "--callbacks",
    is_flag=True,
    help="Callbacks of ROS 2 in place of threads: TRACE is what babeltrace2 prints of ros2_tracing,"
    " each executor becomes a domain, and chains of callbacks become flows.",
)
@json_option
@wide_option
def observe(
    trace_file: str | None,
    live_ns: int | None,
    out_file: str | None,
    jobs_file: str | None,
    only: re.Pattern[str] | None,
    domains: Sequence[tuple[str, re.Pattern[str]]],
    margin: Fraction,
    least: int,
    cpu_hz: int | None,
    callbacks: bool,
    as_json: bool,
) -> None:
    """TRACE is text of ftrace, as the kernel, `trace-cmd report`, `perf script` or `babeltrace2`
    write it, plain or packed (.gz), or - for standard input; or a file of trace-cmd (trace.dat), a
    folder of LTTng, a trace of Perfetto (.pftrace), of ours (.hpt), or of Xen, as `xentrace` writes
    it, where a vcpu is a thread. From when a thread is woken up to when it sleeps again is one job.
    Found are execution times, periods, jitter, who wakes up whom: measured, not proved. Interfaces
    and pcpus are left open: `fit` chooses them.
    """
    from hyperperiod.cli.execute import terminated_as_interrupted

    if (trace_file is None) == (live_ns is None):
        found = "neither TRACE nor --live" if live_ns is None else "--live beside TRACE"
        raise click.UsageError(f"found {found}; allowed: one of the two")
    for option, is_given in {"--callbacks": callbacks, "--cpu-hz": cpu_hz is not None}.items():
        if is_given and live_ns is not None:
            raise click.UsageError(f"found {option} beside --live; allowed: {option} with TRACE")
    require_different({"TRACE": trace_file, "--output": out_file, "--jobs": jobs_file})
    require_writable(out_file, "--output")
    require_writable(jobs_file, "--jobs")
    keeps_jobs = jobs_file is not None
    asked = Asked(least, margin, only, domains, keeps_jobs, cpu_hz, callbacks)
    with terminated_as_interrupted():
        if trace_file is not None:
            with status(f"reading {trace_file}"):
                result, jobs = observe_trace(trace_file, asked)
        elif live_ns is not None:
            result, jobs = _observe_live(live_ns, asked)
    text = "" if out_file is None else system_text(result)
    with whole_file(out_file, "--output") as path, whole_file(jobs_file, "--jobs") as jobs_path:
        if path is not None:
            path.write_text(text, encoding="utf-8")
        if jobs_path is not None:
            _write_jobs(jobs_path, jobs)
    if jobs_file is not None and (left_out := _left_out(result)):
        click.echo(left_out, err=True)
    if as_json:
        click.echo(json_text(result))
        return
    screen = Screen()
    screen.all(observation_lines(result))
    for file in filter(None, (out_file, jobs_file)):
        screen.line(f"written to {file}")
