# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod linux doctor`: what on this machine costs servers their deadlines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from hyperperiod.cli.options import json_option, read_cpus, read_maybe
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.styled import BAD, FAINT, GOOD, OPEN, Style, Styled
from hyperperiod.model.errors import InputError
from hyperperiod.model.result_object import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hyperperiod.hosts.linux.lateness import WakeUps
    from hyperperiod.hosts.linux.obstacles import Finding
    from hyperperiod.hosts.linux.readings import Machine
    from hyperperiod.hosts.linux.remedies import Changed

STYLES: Final[dict[str, Style]] = {"good": GOOD, "costs": OPEN, "refused": BAD, "unknown": FAINT}


@click.command()
@click.option(
    "--cpus",
    callback=read_cpus,
    metavar="LIST",
    help="The cpus that have servers, such as 2-3 (all that are online).",
)
@click.option(
    "--measure",
    "duration_ns",
    callback=read_maybe,
    metavar="TIME",
    help="Also measure for so long how late a thread wakes up on these cpus.",
)
@click.option(
    "--fix",
    "wants_fix",
    is_flag=True,
    help="As root: make governors, huge pages and interrupts what they should be.",
)
@click.option("--unfix", "wants_unfix", is_flag=True, help="As root: take that back.")
@json_option
@click.pass_context
def doctor(
    ctx: click.Context,
    cpus: list[int] | None,
    duration_ns: int | None,
    wants_fix: bool,
    wants_unfix: bool,
    as_json: bool,
) -> None:
    """Find what on this machine costs servers their deadlines, and say what to do.

    The exit code is 1 if something costs, or keeps servers from being put in force. What --fix has
    changed is in /run/hyperperiod-doctor.json until --unfix, or a start of the machine, undoes it.
    """
    from hyperperiod.hosts.linux.obstacles import Verdict, examine
    from hyperperiod.hosts.linux.remedies import fix, unfix

    if wants_fix and wants_unfix:
        raise click.UsageError("found --fix and --unfix; allowed: one of them")
    machine = _machine(cpus)
    changed: list[Changed] = []
    if wants_fix:
        changed = fix(machine.files, examine(machine).values())
    elif wants_unfix:
        changed = unfix(machine.files)
    findings = examine(machine)
    wake_ups: list[WakeUps] = []
    if duration_ns is not None:
        from hyperperiod.hosts.linux.lateness import judged, measure

        wake_ups = measure(sorted(machine.managed), duration_ns)
        findings |= {f"wake-ups on {one.cpu}": judged(one) for one in wake_ups}
    if as_json:
        click.echo(json_text(_result(findings, changed, wake_ups)))
    else:
        _show(findings, changed)
    if any(one.verdict in (Verdict.COSTS, Verdict.REFUSED) for one in findings.values()):
        ctx.exit(1)


def _machine(cpus: list[int] | None) -> Machine:
    """This machine; InputError for cpus that it does not have."""
    from hyperperiod.hosts.linux import readings
    from hyperperiod.hosts.linux.cpus import write_list

    machine = readings.Machine.of(readings.ROOT, cpus)
    there = readings.present(machine.files)
    if cpus is not None and not there.issuperset(cpus):
        allowed = f"cpus of this machine: {write_list(there)}"
        raise InputError("", None, "--cpus", write_list(cpus), allowed)
    return machine


def _result(
    findings: Mapping[str, Finding], changed: Sequence[Changed], wake_ups: Sequence[WakeUps]
) -> dict[str, Any]:
    return {
        "findings": [
            {
                "name": name,
                "verdict": str(finding.verdict),
                "found": finding.found,
                "advice": finding.advice,
                "fixable": bool(finding.changes),
            }
            for name, finding in findings.items()
        ],
        "changed": [asdict(one) for one in changed],
        "wake_ups": [asdict(one) for one in wake_ups],
    }


def _show(findings: Mapping[str, Finding], changed: Sequence[Changed]) -> None:
    screen = Screen()
    for one in changed:
        screen.line(f"{one.path}: {one.before} -> {one.failed or one.after}")
    if changed:
        screen.line("")
    mark = max(map(len, STYLES))
    width = max(map(len, findings))
    indent = mark + width + 4
    for name, finding in findings.items():
        verdict = Styled(finding.verdict.ljust(mark), STYLES[finding.verdict])
        screen.line(verdict, f"  {name.ljust(width)}  {finding.found}", indent=indent)
        if finding.advice:
            by_us = " (or --fix)" if finding.changes else ""
            screen.line(f"{'':{indent}}do: {finding.advice}{by_us}", indent=indent)
