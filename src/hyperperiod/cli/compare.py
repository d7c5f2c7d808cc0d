# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod compare`: one system under several policies, with the same draws."""

from __future__ import annotations

from typing import Any

import click

from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import (
    horizon_option,
    json_option,
    read_policies,
    report_option,
    seed_option,
    system_argument,
)


@click.command()
@system_argument
@click.option(
    "--policies",
    callback=read_policies,
    metavar="P,P,...",
    help="Which policies, by name or rules. Default: all known ones that fit SYSTEM.",
)
@horizon_option
@seed_option
@report_option
@json_option
@click.pass_context
def compare(
    ctx: click.Context,
    system_file: str,
    policies: Any,
    horizon_ns: int,
    seed: int,
    report_file: str | None,
    as_json: bool,
) -> None:
    """Simulate SYSTEM under several policies side by side.

    Interfaces are computed once, under the system's own policy, so that only the policy
    differs; releases and execution times are the same for all. The exit code is 1 when a
    deadline is missed under any of them.
    """
    from hyperperiod.cli.execute import simulated
    from hyperperiod.cli.output import print_json, whole_file
    from hyperperiod.cli.tables import misses

    systems = _systems(system_file, policies)
    results: list[dict[str, Any]] = []
    with whole_file(report_file, "--report") as report_path:
        for system in systems:
            results.append(simulated(system, horizon_ns, seed, None))
            if results[-1].get("interrupted"):
                break
        if report_path is not None:
            from hyperperiod.report import compare_report

            compare_report(report_path, results)
    interrupted = bool(results[-1].get("interrupted"))
    if as_json:
        print_json({"system": systems[0].name, "interrupted": interrupted, "results": results})
    else:
        _show(systems[0].name, results)
    if interrupted:
        ctx.exit(EXIT_INTERRUPTED)
    if any(misses(result) for result in results):
        ctx.exit(EXIT_MISSED)


def _systems(system_file: str, policies: Any) -> list[Any]:
    """The system under each policy, with the interfaces of its own."""
    from hyperperiod.cli.systems import read_system, require_host_levels
    from hyperperiod.model import fitting_policies, with_policy

    system = read_system(system_file, None)
    require_host_levels(system, system_file)
    from hyperperiod.analysis import resolve

    system = resolve(system)
    chosen = policies if policies is not None else fitting_policies(system)
    return [with_policy(system, policy) for policy in chosen]


def _show(name: str, results: list[dict[str, Any]]) -> None:
    from hyperperiod.cli.output import console
    from hyperperiod.cli.tables import comparison_table, misses

    out = console()
    for result in results:
        missed = misses(result)
        count = f"{missed} deadlines missed" if missed else "no deadline missed"
        out.print(f"{name} under {result['policy']}: {count}")
    out.print(comparison_table(results))
