# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod latency`: the RT-Xen evaluation as a tool, our figures beside the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hyperperiod.cli import complete
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import (
    OneOf,
    WholeNumber,
    json_option,
    read_policies,
    read_time,
    report_option,
    seed_option,
    wide_option,
)
from hyperperiod.cli.progress import bar
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.styled import OPEN, Styled
from hyperperiod.cli.tables.cells import CLAIM_INDENT, claim_parts
from hyperperiod.cli.tables.figures import latency_table
from hyperperiod.hosts import HOSTS
from hyperperiod.model import GuestKind
from hyperperiod.model.errors import InputError
from hyperperiod.model.result_object import json_text
from hyperperiod.papers.latency import load_scenarios
from hyperperiod.papers.latency.lab import Plan, Results, measure, rows_of
from hyperperiod.whole_file import whole_file

if TYPE_CHECKING:
    from hyperperiod.model import Policy

SCENARIOS = ("affinity", "contention-1", "contention-2", "interrupt")
DEVICE = "device"
"""The one for which a VM has a device, which only a hypervisor gives it."""
QUIRKS = ("rt-xen-0.3-ds", "rt-xen-0.3-pps")
DEFAULT_POLICIES = "ptps,wcps,crps,ds,polling,sporadic,rtds,ertds,cbs"


def read_longest(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Reads a time as whole nanoseconds; None where none was given."""
    return None if text is None else read_time(ctx, param, text)


@click.command()
@click.option(
    "--on",
    "host",
    type=OneOf(HOSTS),
    default="sim",
    show_default=True,
    help="Where to measure.",
)
@click.option(
    "--scenario",
    type=OneOf((*SCENARIOS, DEVICE, "all")),
    default="all",
    show_default=True,
    help="Which part of the evaluation; device: on xen alone.",
)
@click.option(
    "--guest",
    type=OneOf([kind.value for kind in GuestKind]),
    default=GuestKind.EXECUTIVE.value,
    show_default=True,
    help="What runs in the VM under test; linux, linux-rt: on xen alone.",
)
@click.option(
    "--policies",
    callback=read_policies,
    shell_complete=complete.several_policies,
    metavar="P,P,...",
    default=DEFAULT_POLICIES,
    show_default=True,
    help="Which policies, by name or rules.",
)
@click.option(
    "--runs",
    type=WholeNumber(1, 10_000),
    help="How often to run each test. Default: what the setting says.",
)
@click.option(
    "--longest",
    "longest_ns",
    callback=read_longest,
    metavar="TIME",
    help="Shorten longer tests to this. Default: none on sim, 200ms on xen and linux.",
)
@click.option(
    "--quirk",
    "quirks",
    type=OneOf(QUIRKS),
    multiple=True,
    help="Show a defect of RT-Xen 0.3, reproduced, beside; may be given twice.",
)
@seed_option
@report_option
@json_option
@wide_option
@click.pass_context
def latency(
    ctx: click.Context,
    host: str,
    scenario: str,
    guest: str,
    policies: list[Policy],
    runs: int | None,
    longest_ns: int | None,
    quirks: tuple[str, ...],
    seed: int,
    report_file: str | None,
    as_json: bool,
) -> None:
    """A busy loop inside a VM, on linux inside a server, is timed again and again: what it takes
    too long was stolen by others. Shown are the share of tests that suffered from clock ticks only,
    the longest loop, how many times as long a test took, and how long interrupts waited, beside the
    figures that the paper prints. The exit code is 1 when a claim does not hold.
    """
    if scenario == DEVICE and host != "xen":
        raise InputError("", None, "--scenario", f"{scenario} on {host}", "device on xen alone")
    if guest != GuestKind.EXECUTIVE and host != "xen":
        raise InputError("", None, "--guest", f"{guest} on {host}", f"{guest} on xen alone")
    every = (*SCENARIOS, DEVICE) if host == "xen" else SCENARIOS
    chosen = every if scenario == "all" else (scenario,)
    scenarios = load_scenarios(chosen)
    plan = Plan(host, scenarios, policies, quirks, runs, longest_ns, seed, GuestKind(guest))
    with whole_file(report_file, "--report") as report_path:
        results = _measure(plan)
        if report_path is not None:
            from hyperperiod.papers.latency.page import write_latency_page

            write_latency_page(report_path, host, seed, results.outcomes, plan.guest)
    if as_json:
        click.echo(json_text(results.result(plan)))
    else:
        _show(plan, results)
    if results.interrupted:
        ctx.exit(EXIT_INTERRUPTED)
    if not all(claim.holds for outcome in results.outcomes for claim in outcome.claims):
        ctx.exit(EXIT_MISSED)


def _measure(plan: Plan) -> Results:
    with bar(f"latency on {plan.host}", rows_of(plan)) as progress:
        return measure(plan, progress)


def _show(plan: Plan, results: Results) -> None:
    screen = Screen()
    if results.interrupted:
        screen.line(Styled("interrupted: the rows are those measured up to there", OPEN))
    for outcome in results.outcomes:
        found = outcome.result
        title = f"{found.title} on {plan.where} ({found.source})"
        screen.table(latency_table(title, found.settings, outcome.scenario.test))
        for claim in found.claims:
            screen.line(*claim_parts(claim), indent=CLAIM_INDENT)
        screen.line()
