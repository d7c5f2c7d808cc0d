# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod fit`: interfaces, pcpus and priorities chosen, proved, and written as a system."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from hyperperiod.analysis.analyze import Analysis
from hyperperiod.analysis.fit.answer import Fitted, LoopRule, Options, Progress
from hyperperiod.analysis.fit.fit import fit as fit_system
from hyperperiod.analysis.fit.result import result_of
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import (
    OneOf,
    WholeNumber,
    certificate_option,
    json_option,
    output_option,
    policy_option,
    read_maybe,
    read_share,
    read_time,
    report_option,
    system_argument,
    wide_option,
)
from hyperperiod.cli.progress import status
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.systems import about, certified_file, read_system, write_certificate
from hyperperiod.cli.tables.fit import fit_lines
from hyperperiod.model import Policy, System, to_toml
from hyperperiod.model.result_object import json_text
from hyperperiod.whole_file import require_different, require_writable, whole_file

if TYPE_CHECKING:
    from hyperperiod.analysis.fit.fit_result import FitResult


def _read_range(
    ctx: click.Context, param: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Reads LO..HI as two times in nanoseconds; None where it was not given."""
    if text is None:
        return None
    parts = text.split("..")
    if len(parts) != 2:
        raise click.BadParameter(f"found {text!r}; allowed: two times, such as 1ms..100ms")
    low_ns, high_ns = (read_time(ctx, param, part.strip()) for part in parts)
    if low_ns > high_ns:
        raise click.BadParameter(f"found {text!r}; allowed: the shorter time first")
    return low_ns, high_ns


@click.command()
@system_argument
@policy_option
@click.option(
    "--least",
    type=OneOf(["bandwidth", "overhead"]),
    help="What to have least of: bandwidth (default), or scheduler events per second.",
)
@click.option(
    "--within",
    callback=read_share,
    metavar="PERCENT",
    help="Least overhead within that much of the least bandwidth, such as 5%.",
)
@click.option(
    "--pcpus",
    type=WholeNumber(1, 64),
    metavar="N",
    help="Use up to N pcpus instead of the system's own number.",
)
@click.option(
    "--rule",
    type=OneOf(["sound", "paper"]),
    default="sound",
    show_default=True,
    help="For driver loops under sedf, sedf-prime, psedf: by proved bounds, or the paper's.",
)
@click.option("--fewest", is_flag=True, help="Use as few pcpus as will do; that comes first.")
@click.option(
    "--periods",
    callback=_read_range,
    metavar="LO..HI",
    help="Only interface periods in this range, such as 1ms..100ms.",
)
@click.option(
    "--grid",
    "step_ns",
    callback=read_maybe,
    metavar="TIME",
    help="Periods and budgets are multiples of it (the quantum, or 1ms; finer for driver loops).",
)
@click.option(
    "--time-limit",
    "limit_ns",
    callback=read_time,
    metavar="TIME",
    default="10s",
    show_default=True,
    help="How much processor time to look for the optimum.",
)
@click.option("--heuristics", is_flag=True, help="Without OR-Tools: no optimum, no bound of it.")
@output_option("FILE.toml", "Write the fitted system.")
@certificate_option
@report_option
@json_option
@wide_option
@click.pass_context
def fit(
    ctx: click.Context,
    /,
    system_file: str,
    policy: Policy | None,
    least: str | None,
    within: Fraction | None,
    pcpus: int | None,
    out_file: str | None,
    certificate: str | None,
    report_file: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """What the file gives stays: interfaces, interface periods, pins, priorities. The rest is
    chosen for the least bandwidth in all, or the least scheduler overhead, and proved by the tests
    of `analyze`. Files for this command may leave every pcpu out. Ctrl-C ends the search early and
    leaves the best found so far.

    For flows through a driver domain and back under sedf, sedf-prime or psedf: slices, periods and
    priorities from deadlines and execution times.
    """
    if within is not None and least == "bandwidth":
        raise click.UsageError("found --within alone; allowed: with --least overhead")
    if certificate is not None and out_file is None:
        raise click.UsageError("found --certificate alone; allowed: with --output, which it is of")
    chosen = Options(
        least=Least.OVERHEAD if within is not None else Least(least or "bandwidth"),
        within=within,
        fewest=options["fewest"],
        periods=options["periods"],
        step_ns=options["step_ns"],
        limit_s=options["limit_ns"] / 1e9,
        solver=not options["heuristics"],
        rule=LoopRule(options["rule"]),
    )
    system = read_system(system_file, policy, pinned=False, pcpus=pcpus)
    outputs = {"--output": out_file, "--certificate": certificate, "--report": report_file}
    require_different({"SYSTEM": system_file, **outputs})
    for option, file in outputs.items():
        require_writable(file, option)
    with about(system_file), status(f"{system.name}: fitting") as show:
        fitted = fit_system(
            system, chosen, lambda progress: show(_progress_text(system.name, progress))
        )
        result = result_of(fitted)
    if fitted.system is not None:
        with whole_file(out_file, "--output") as path:
            if path is not None:
                path.write_text(_text(fitted, fitted.system), encoding="utf-8")
        if certificate is not None and out_file is not None:
            _certify(certificate, out_file)
    if report_file is not None:
        from hyperperiod.report import fit_page

        with whole_file(report_file, "--report") as path:
            assert path is not None, "there is a file"
            fit_page(path, result, fitted.system)
    if as_json:
        click.echo(json_text(result))
    else:
        _show(result, out_file if fitted.system is not None else None)
    if fitted.system is None or fitted.status == "not proved":
        ctx.exit(EXIT_INTERRUPTED if fitted.interrupted else EXIT_MISSED)
    if fitted.interrupted:
        ctx.exit(EXIT_INTERRUPTED)


def _text(fitted: Fitted, system: System) -> str:
    """The fitted system as a file, with a line that says where it comes from."""
    how = f"least {fitted.options.least}"
    if fitted.options.rule is LoopRule.PAPER:
        how = "by the paper's inequalities"
    return (
        f"# Fitted by hyperperiod fit: {how}, {fitted.status}; the system before was"
        f" {system.name}.\n" + to_toml(system)
    )


def _certify(certificate: str, out_file: str) -> None:
    """Writes the certificate of the system as it was written: that is what a checker reads."""
    with status(f"{out_file}: analyzing"):
        analysis = Analysis(read_system(out_file, None))
        file = certified_file(out_file, "--certificate")
        write_certificate(certificate, analysis, analysis.result(), file)


def _show(result: FitResult, out_file: str | None) -> None:
    screen = Screen()
    screen.all(fit_lines(result))
    if out_file is not None:
        screen.line(f"written to {out_file}")


def _progress_text(name: str, progress: Progress) -> str:
    text = f"{name}: {progress.doing}"
    if progress.best is not None:
        text += f", best {progress.best:.6g}"
    if progress.bound is not None:
        text += f", bound {progress.bound:.6g}"
    return text
