# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod reproduce`: a paper's figure measured again, ours beside theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hyperperiod.cli import complete
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import (
    OneOf,
    WholeNumber,
    json_option,
    read_maybe,
    read_name,
    seed_option,
    wide_option,
)
from hyperperiod.cli.progress import bar
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.styled import OPEN, Styled
from hyperperiod.cli.tables.cells import CLAIM_INDENT, claim_parts
from hyperperiod.cli.tables.figures import figure_table, printed_table
from hyperperiod.hosts import HOSTS
from hyperperiod.model.result_object import json_text
from hyperperiod.papers import NAMES
from hyperperiod.whole_file import whole_file

if TYPE_CHECKING:
    from hyperperiod.papers.experiment import Figure, Host
    from hyperperiod.papers.printed import Printed


class Measured(OneOf):
    """The name of a figure that is measured here; of a listed one that is not, what shows it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            from hyperperiod.papers.printed import load_printed

            for one in load_printed():
                if one.name == value:
                    self.fail(f"found {value!r}; allowed: {_instead(one)}", param, ctx)
        return super().convert(value, param, ctx)


def _instead(listed: Printed) -> str:
    """Returns what to do for a figure or table that has no experiment of its own."""
    if listed.run:
        return f"`hyperperiod {listed.run}`, which measures it"
    return f"what is measured: it explains something, and {listed.seen} shows the same"


@click.command()
@click.argument("name", type=Measured(NAMES), metavar="NAME", required=False)
@click.option(
    "--list",
    "as_list",
    is_flag=True,
    help="List every table and figure of the papers: what measures it, and on which hosts.",
)
@click.option(
    "--sets",
    type=WholeNumber(1, 10_000),
    help="Draws per point, each with a seed of its own (20; on Xen 1 to 8).",
)
@click.option(
    "--horizon",
    "horizon_ns",
    callback=read_maybe,
    metavar="TIME",
    help="How long each of them runs (ertds; 10s, on Xen 2s; fig9: 60s, with real services 600ms).",
)
@click.option(
    "--packets",
    type=WholeNumber(1, 10_000_000),
    help="Packets for each wheel and draw (psedf; 2000, on Xen 100 or 200).",
)
@click.option(
    "--plays",
    type=WholeNumber(1, 10_000_000),
    help="How many plays the search tries for each system (psedf-worst; 20000).",
)
@click.option(
    "--on",
    "host",
    type=OneOf(HOSTS),
    default="sim",
    help="Where it is measured (sim); on xen reduced, on linux ExSched's and fig9.",
)
@seed_option
@click.option(
    "--plot",
    "plot_file",
    callback=read_name(".svg"),
    shell_complete=complete.files,
    metavar="FILE.svg",
    help="Write the figure as a picture.",
)
@json_option
@wide_option
@click.pass_context
def reproduce(
    ctx: click.Context,
    name: str | None,
    as_list: bool,
    sets: int | None,
    horizon_ns: int | None,
    packets: int | None,
    plays: int | None,
    host: Host,
    seed: int,
    plot_file: str | None,
    as_json: bool,
) -> None:
    """`--list` has the names, and the hosts of each. The paper's claims are checked against our
    rows; the exit code is 1 when one does not hold.
    """
    if as_list:
        _show_list(as_json=as_json)
        return
    if name is None:
        raise click.UsageError("found no NAME; allowed: one that --list has")
    from hyperperiod.papers.catalogue import load_experiment
    from hyperperiod.papers.experiment import FigureOptions

    experiment = load_experiment(name)
    options = FigureOptions(seed, host, sets, horizon_ns, packets, plays)
    with whole_file(plot_file, "--plot") as plot_path:
        with bar(name, experiment.steps(options)) as progress:
            figure = experiment.reproduce(options, progress)
        if plot_path is not None:
            plot_path.write_text(figure.picture)
    if as_json:
        click.echo(json_text(figure.result))
    else:
        _show(figure)
    if figure.interrupted:
        ctx.exit(EXIT_INTERRUPTED)
    if not all(claim.holds for claim in figure.claims):
        ctx.exit(EXIT_MISSED)


def _show_list(*, as_json: bool) -> None:
    from hyperperiod.papers.printed import load_printed

    printed = load_printed()
    if as_json:
        click.echo(json_text({"printed": [vars(one) for one in printed]}))
    else:
        Screen().table(printed_table(printed))


def _show(figure: Figure) -> None:
    screen = Screen()
    if figure.interrupted:
        screen.line(Styled("interrupted: the rows are those measured up to there", OPEN))
    title = f"{figure.title} ({figure.source})"
    rows = figure.rows if figure.shown is None else figure.shown
    screen.table(figure_table(title, figure.columns, figure.keys, rows))
    for claim in figure.claims:
        screen.line(*claim_parts(claim), indent=CLAIM_INDENT)
