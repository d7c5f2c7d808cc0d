# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod doctor`: what this machine can do, and what would make it do more."""

from __future__ import annotations

import click

from hyperperiod.cli.options import OneOf, json_option


@click.command()
@click.option(
    "--measure",
    "host",
    type=OneOf(("xen",)),
    help="Measure what a host takes for itself: prints the [overheads] of a system file.",
)
@click.option("--write", "output", metavar="FILE", help="Write the measured [overheads] to FILE.")
@json_option
def doctor(host: str | None, output: str | None, as_json: bool) -> None:
    """Show what works here, what is missing, and how to install it.

    The exit code is 0 whatever is missing: only building and the simulator are needed. With
    --measure a host is booted and measured instead.
    """
    if output is not None and host is None:
        raise click.UsageError("--write goes with --measure")
    if host is not None:
        _measure(output, as_json)
    else:
        _examine(as_json)


def _measure(output: str | None, as_json: bool) -> None:
    from hyperperiod.cli.output import print_json, whole_file
    from hyperperiod.cli.progress import bar
    from hyperperiod.hosts.xen.measure import MACHINES, measure

    with whole_file(output, "--write") as path:
        with bar("measuring Xen", MACHINES) as progress:
            measured = measure(progress)
        if path is not None:
            path.write_text(measured.table())
    if as_json:
        print_json(measured.as_json())
    else:
        click.echo(measured.table(), nl=False)


def _examine(as_json: bool) -> None:
    from dataclasses import asdict

    from hyperperiod.cli.machine import examine
    from hyperperiod.cli.output import print_json

    findings = examine()
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "works  " if finding.works else "missing"
        text = finding.found if finding.works else f"needed for: {finding.needed_for}"
        style = "green" if finding.works else "yellow"
        click.echo(f"{click.style(mark, fg=style)}  {finding.name.ljust(width)}  {text}")
        if finding.install:
            click.echo(f"{'':9}{'':{width}}  get it with: {finding.install}")
