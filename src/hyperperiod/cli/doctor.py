# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod doctor`: what this machine can do, and what would make it do more."""

from __future__ import annotations

import click

from hyperperiod.cli.options import json_option


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Show what works here, what is missing, and how to install it.

    The exit code is 0 whatever is missing: only building and the simulator are needed.
    """
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
