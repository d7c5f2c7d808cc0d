# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod sweep`: very many drawn systems, judged at every point of a grid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hyperperiod.cli import complete
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import WholeNumber, json_option, wide_option
from hyperperiod.cli.progress import bar
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.styled import BAD, OPEN, Styled
from hyperperiod.cli.tables.sweep import acceptance_table, weighted_table
from hyperperiod.experiments.sweep.experiment import load_sweep
from hyperperiod.libraries import require
from hyperperiod.model.result_object import json_text

if TYPE_CHECKING:
    from hyperperiod.experiments.sweep.result import SweepResult


@click.command()
@click.argument("experiment_file", metavar="EXPERIMENT", shell_complete=complete.files)
@click.option(
    "--out",
    metavar="FOLDER",
    help="Where the results are, or will be (sweep-NAME).",
)
@click.option(
    "--systems",
    type=WholeNumber(1, 10_000_000),
    help="Systems drawn at each point, instead of the file's number.",
)
@click.option(
    "--workers",
    type=WholeNumber(1, 4096),
    help="Processes on this machine, instead of one for each core.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Use the workers of a Dask cluster, such as tcp://10.0.0.1:8786.",
)
@json_option
@wide_option
@click.pass_context
def sweep(
    ctx: click.Context,
    experiment_file: str,
    out: str | None,
    systems: int | None,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """EXPERIMENT is a TOML file: what is drawn, what is varied, and who judges. Results are Parquet
    files in a folder. All cores of this machine work on them, or the workers of a Dask cluster. The
    same command goes on where an earlier one was ended, whatever ended it.

    The exit code is 1 when a system that the analysis accepts misses a deadline in the simulator.
    """
    if workers is not None and scheduler is not None:
        raise click.UsageError("found --workers and --scheduler; allowed: one of them")
    require("pyarrow", "sweep", "a sweep")
    from hyperperiod.experiments.sweep.folder import opened
    from hyperperiod.experiments.sweep.page import write_sweep_page
    from hyperperiod.experiments.sweep.summary import summarize
    from hyperperiod.experiments.sweep.work import work

    experiment = load_sweep(experiment_file, systems)
    name = experiment.sweep.name
    total = sum(part.systems for part in experiment.parts())
    with opened(Path(out or f"sweep-{name}"), experiment) as folder:
        with bar(name, total, rate="systems/s") as progress:
            interrupted = work(experiment, folder, progress, workers, scheduler)
        result = summarize(experiment, folder, interrupted=interrupted)
        page = None if interrupted else write_sweep_page(experiment, folder, result)
    if as_json:
        click.echo(json_text(result))
    else:
        _show(result, page)
    if interrupted:
        ctx.exit(EXIT_INTERRUPTED)
    if result.contradictions:
        ctx.exit(EXIT_MISSED)


def _show(result: SweepResult, page: Path | None) -> None:
    screen = Screen()
    if result.interrupted:
        done = f"interrupted after {result.done:,} of {result.parts:,} parts"
        screen.line(Styled(f"{done}: the same command goes on from there", OPEN))
    screen.table(acceptance_table(result))
    screen.table(weighted_table(result))
    if result.contradictions:
        text = f"{result.contradictions:,} systems that the analysis accepts missed a deadline"
        screen.line(Styled(text, BAD))
    screen.line(f"The rows are in {result.folder}: systems, domains and tasks.")
    if page is not None:
        screen.line(f"The page is {page}.")
