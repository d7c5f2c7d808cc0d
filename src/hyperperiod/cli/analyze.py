# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod analyze`: interfaces and verdicts, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hyperperiod.analysis.analyze import Analysis
from hyperperiod.cli import complete
from hyperperiod.cli.group import EXIT_MISSED
from hyperperiod.cli.options import (
    certificate_option,
    json_option,
    policy_option,
    read_name,
    system_argument,
    wide_option,
)
from hyperperiod.cli.progress import status
from hyperperiod.cli.systems import about, certified_file, read_system, write_certificate
from hyperperiod.model.errors import some_names
from hyperperiod.model.load import shown_name
from hyperperiod.model.result_object import json_text
from hyperperiod.whole_file import whole_file

if TYPE_CHECKING:
    from hyperperiod.analysis.explain_result import Explanation
    from hyperperiod.analysis.result import AnalysisResult
    from hyperperiod.model import Policy, System


@click.command()
@system_argument
@policy_option
@click.option("--tests", is_flag=True, help="Show what every test that applies says.")
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Show how much every task may grow, and what of each budget could be spared.",
)
@click.option(
    "--isolation",
    is_flag=True,
    help="Show what holds of each domain whatever the tasks of all others do.",
)
@click.option(
    "--explain",
    shell_complete=complete.explained,
    metavar="NAME",
    help="Say why a task (domain.task) or the server of a domain is in time or not.",
)
@click.option(
    "--plot",
    metavar="FILE",
    callback=read_name(".svg", ".html"),
    shell_complete=complete.files,
    help="With --explain: demand against supply as FILE.svg or as a page, FILE.html.",
)
@certificate_option
@json_option
@wide_option
@click.pass_context
def analyze(
    ctx: click.Context,
    system_file: str,
    policy: Policy | None,
    explain: str | None,
    tests: bool,
    sensitivity: bool,
    isolation: bool,
    plot: str | None,
    certificate: str | None,
    as_json: bool,
) -> None:
    """The exit code is 0 only for a proof: 1 means not schedulable, or that no test covers the
    system ("unknown", with the reason).
    """
    if plot is not None and explain is None:
        raise click.UsageError("found --plot alone; allowed: with --explain NAME, which it draws")
    system = read_system(system_file, policy)
    file = certified_file(system_file, "--certificate", policy) if certificate else b""

    with about(system_file), status(f"{system.name}: analyzing"):
        analysis = Analysis(system)
        result = analysis.result(explain, sensitivity=sensitivity, isolation=isolation)
        if any(one.vcpus > 1 and one.scheduler.is_global for one in system.domains):
            from hyperperiod.analysis.fit.fit import with_bound_guests

            result = with_bound_guests(system, result)
    if plot is not None and result.explain is not None:
        _plot(plot, result.explain, system_file, system)
    if certificate is not None:
        write_certificate(certificate, analysis, result, file)
    if as_json:
        click.echo(json_text(result))
    else:
        _show(result, system.policies_text(), tests=tests)
        if system.overruns:
            click.echo("overruns are not analysed: bounds hold while every wcet does")
            if isolation:
                click.echo("those of --isolation: while every wcet of their own domain does")
    if result.schedulable is not True:
        ctx.exit(EXIT_MISSED)


def _plot(plot: str, found: Explanation, system_file: str, system: System) -> None:
    from hyperperiod.report import explain_page, explain_picture

    file = shown_name(system_file)
    with whole_file(plot, "--plot") as path:
        assert path is not None, "a file was named"
        if plot.lower().endswith(".html"):
            explain_page(path, found, file, system)
        else:
            explain_picture(path, found, file)


def _show(result: AnalysisResult, policies: str, *, tests: bool) -> None:
    from hyperperiod.cli.screen import Screen
    from hyperperiod.cli.tables.analysis import (
        analysis_tables,
        isolation_reasons,
        isolation_table,
        reasons,
        searches,
        tests_table,
    )
    from hyperperiod.cli.tables.cells import bound_text, budget_text, verdict_text

    screen = Screen()
    title = f"{result.system} under {policies}: schedulable? "
    none = result.schedulable and not result.is_judged
    more = ": servers only, no task with a server has a deadline" if none else ""
    screen.line(title, verdict_text(result.schedulable, more))
    for table in analysis_tables(result):
        screen.table(table)
    if tests:
        screen.table(tests_table(result))
    if result.isolation:
        screen.table(isolation_table(result))
        for line in isolation_reasons(result):
            screen.line(f"- {line}")
    for line in (*searches(result), *map(bound_text, result.bound)):
        screen.line(line)
    spare = result.spare
    if spare:
        text = "unknown, as not every interface is known"
        if spare.period_ns is not None and spare.budget_ns is not None:
            text = budget_text(spare.period_ns, spare.budget_ns)
        screen.line(f"spare: {text}")
    if result.schedulable and result.without_room:
        names = some_names(result.without_room)
        screen.line(f"no room for overheads, any of which costs a period: {names}")
    if result.schedulable is not True:
        for reason in reasons(result):
            screen.line(f"- {reason}")
    if result.explain is not None:
        from hyperperiod.analysis.explain.text import WIDTH, format_text

        screen.line(format_text(result.explain, min(WIDTH, screen.width or WIDTH)))
