# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod doctor`: what this machine can do, and what would make it do more."""

from __future__ import annotations

from dataclasses import asdict

import click

from hyperperiod import measured
from hyperperiod import measured as kept
from hyperperiod.cli import complete
from hyperperiod.cli.machine import examine
from hyperperiod.cli.options import OneOf, json_option, read_name
from hyperperiod.cli.progress import bar
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.styled import GOOD, OPEN, Styled
from hyperperiod.measured import BENCHMARKS, HOSTS, LINUX_GUESTS, LINUX_KERNEL, XEN, Section
from hyperperiod.model.result_object import json_text
from hyperperiod.whole_file import whole_file


@click.command()
@click.option(
    "--measure",
    "host",
    type=OneOf((*HOSTS, *BENCHMARKS)),
    help="Measure what Xen takes for itself (prints the [overheads] of a system file), the"
    " kernel of a Linux guest (linux, linux-rt), or the kernel of the Linux host (linux_kernel:"
    " prints the [overheads] and [[stolen]] of a system file); or, in a checkout, run one of its"
    " benchmarks.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Write what was measured into the checkout's measured.toml, for code and pages.",
)
@click.option(
    "--write",
    "output",
    callback=read_name(".toml"),
    shell_complete=complete.files,
    metavar="FILE.toml",
    help="Write the measured [overheads] and [[stolen]] to a file, for --overheads.",
)
@json_option
def doctor(host: str | None, output: str | None, keep: bool, as_json: bool) -> None:
    """The exit code is 0 whatever is missing: only building and the simulator are needed. With
    --measure a host is booted and measured instead, or a benchmark runs; where the machine lacks
    what that takes, the exit code is 3.
    """
    if output is not None and host not in (XEN, LINUX_KERNEL):
        raise click.UsageError(
            f"found --write alone; allowed: with --measure xen or {LINUX_KERNEL}"
        )
    if keep and host is None:
        raise click.UsageError("found --keep alone; allowed: with --measure")
    if host == XEN:
        _measure_xen(output, keep, as_json)
    elif host == LINUX_KERNEL:
        _measure_kernel(output, keep, as_json)
    elif host is not None:
        _run_benchmark(host, keep, as_json)
    else:
        _examine(as_json)


def _run_benchmark(name: str, keep: bool, as_json: bool) -> None:
    with bar(f"measuring: {name}", 1):
        guest = name in LINUX_GUESTS
        section = _measure_linux(name) if guest else measured.benchmark(name)
    if keep:
        measured.keep(name, section)
    if as_json:
        click.echo(json_text(measured.section_result(section)))
    else:
        click.echo(measured.text_of({name: section}), nl=False)


def _measure_linux(guest: str) -> Section:
    from hyperperiod.hosts.xen.measure_linux import measure
    from hyperperiod.model import GuestKind

    return measure(GuestKind(guest))


def _measure_kernel(output: str | None, keep: bool, as_json: bool) -> None:
    from hyperperiod.hosts.linux.measure import measure

    with whole_file(output, "--write") as path:
        with bar("measuring Linux", 1):
            measured = measure()
        if path is not None:
            path.write_text(measured.table())
    if keep:
        kept.keep(LINUX_KERNEL, measured.section)
    if as_json:
        click.echo(json_text(kept.section_result(measured.section)))
    else:
        click.echo(measured.table(), nl=False)


def _measure_xen(output: str | None, keep: bool, as_json: bool) -> None:
    from hyperperiod.analysis.overheads import event_cost_ns
    from hyperperiod.hosts.xen.measure import MACHINES, measure

    with whole_file(output, "--write") as path:
        with bar("measuring Xen", MACHINES) as progress:
            measured = measure(progress)
        if path is not None:
            path.write_text(measured.table())
    if keep:
        kept.keep(XEN, measured.section(event_cost_ns(measured.overheads, 1)))
    if as_json:
        click.echo(json_text(measured.result))
    else:
        click.echo(measured.table(), nl=False)


def _examine(as_json: bool) -> None:
    findings = examine()
    if as_json:
        click.echo(json_text({"findings": [asdict(finding) for finding in findings]}))
        return
    screen = Screen()
    width = max(len(finding.name) for finding in findings)
    indent = len("missing") + width + 4
    for finding in findings:
        mark = Styled("works  ", GOOD) if finding.works else Styled("missing", OPEN)
        text = finding.found if finding.works else f"needed for: {finding.needed_for}"
        screen.line(mark, f"  {finding.name.ljust(width)}  {text}", indent=indent)
        if finding.install:
            screen.line(f"{'':{indent}}get it with: {finding.install}")
