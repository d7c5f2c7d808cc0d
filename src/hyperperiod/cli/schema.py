# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod schema`: the JSON Schema of system files or of results, for other programs."""

from __future__ import annotations

import json

import click

from hyperperiod.cli.options import OneOf


@click.command()
@click.argument("what", type=OneOf(("systems", "results")), default="systems")
def schema(what: str) -> None:
    """Results are what analyze, simulate, run, compare, fit, latency, reproduce, trace check and
    trace diff print with --json.
    """
    if what == "results":
        from hyperperiod.results import results_schema as made
    else:
        from hyperperiod.model.schema import system_schema as made

    click.echo(json.dumps(made(), indent=2))
