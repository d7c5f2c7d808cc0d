# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod compare`: one system under several policies or on several hosts, same draws."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hyperperiod.cli import complete
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import (
    horizon_option,
    json_option,
    read_hosts,
    read_policies,
    report_option,
    seed_option,
    system_argument,
    wide_option,
)

if TYPE_CHECKING:
    from hyperperiod.hosts.result import RunResult
    from hyperperiod.model import Policy, System


@click.command()
@system_argument
@click.option(
    "--policies",
    callback=read_policies,
    shell_complete=complete.several_policies,
    metavar="P,P,...",
    help="Which policies, by name or rules. Default: all known ones that fit SYSTEM, or with"
    " --hosts the system's own.",
)
@click.option(
    "--hosts",
    callback=read_hosts,
    shell_complete=complete.several_hosts,
    metavar="H,H,...",
    help="Which hosts, such as sim,xen: prediction beside measurement.",
)
@horizon_option
@seed_option
@report_option
@json_option
@wide_option
@click.pass_context
def compare(
    ctx: click.Context,
    system_file: str,
    policies: list[Policy] | None,
    hosts: list[str] | None,
    horizon_ns: int,
    seed: int,
    report_file: str | None,
    as_json: bool,
) -> None:
    """Run SYSTEM under several policies, or on several hosts, side by side.

    Interfaces are computed once, under the system's own policy, so that only the policy or
    the host differs; releases and execution times are the same for all. The exit code is 1 when
    a deadline is missed in any of them.
    """
    from hyperperiod.cli.output import print_json, require_different, whole_file
    from hyperperiod.cli.systems import about
    from hyperperiod.hosts.result import ComparisonResult

    systems = _systems(system_file, policies, own_only=hosts is not None)
    require_different({"SYSTEM": system_file, "--report": report_file})
    with about(system_file), whole_file(report_file, "--report") as report_path:
        results = _results(systems, hosts or ["sim"], horizon_ns, seed, report_path)
    found = ComparisonResult(
        system=systems[0].name, interrupted=results[-1].interrupted, results=tuple(results)
    )
    if as_json:
        print_json(found)
    else:
        _show(systems[0].name, results)
    if found.interrupted:
        ctx.exit(EXIT_INTERRUPTED)
    if not all(result.is_well for result in results):
        ctx.exit(EXIT_MISSED)


def _systems(system_file: str, policies: list[Policy] | None, *, own_only: bool) -> list[System]:
    """The system under each policy, with the interfaces of its own."""
    from hyperperiod.cli.systems import about, read_system, require_host_levels
    from hyperperiod.model import fitting_policies, with_policy

    system = read_system(system_file, None)
    require_host_levels(system, system_file)
    from hyperperiod.analysis import resolve

    with about(system_file):
        system = resolve(system)
    if policies is None and own_only:
        return [system]
    chosen = policies if policies is not None else fitting_policies(system)
    return [with_policy(system, policy) for policy in chosen]


def _results(
    systems: list[System], hosts: list[str], horizon_ns: int, seed: int, report_path: Path | None
) -> list[RunResult]:
    """One run after the other, until one is interrupted; a report needs their traces."""
    from hyperperiod.cli.execute import run_on

    results: list[RunResult] = []
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        runs = [(system, host) for system in systems for host in hosts]
        traces = [
            Path(folder) / f"{index}.hpt" if report_path else None for index in range(len(runs))
        ]
        for (system, host), trace in zip(runs, traces, strict=True):
            results.append(run_on(host, system, horizon_ns, seed, trace))
            if results[-1].interrupted:
                break
        if report_path is not None:
            from hyperperiod.cli.progress import reading_bar
            from hyperperiod.report import compare_report

            with reading_bar(f"comparison of {systems[0].name}") as progress:
                compare_report(report_path, results, traces[: len(results)], progress)
    return results


def _show(name: str, results: list[RunResult]) -> None:
    from hyperperiod.cli.screen import Screen
    from hyperperiod.cli.tables.compare import comparison_tables
    from hyperperiod.cli.tables.run import misses_text

    screen = Screen()
    several = len({result.host for result in results}) > 1
    for result in results:
        where = f" on {result.host}" if several else ""
        screen.line(f"{name} under {result.policy}{where}: ", misses_text(result))
    for table in comparison_tables(results):
        screen.table(table)
