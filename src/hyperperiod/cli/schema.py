# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod schema`: the JSON Schema of system files, for editors and other programs."""

from __future__ import annotations

import click


@click.command()
def schema() -> None:
    """Print the JSON Schema of system files."""
    from hyperperiod.model.schema import schema_text

    click.echo(schema_text(), nl=False)
