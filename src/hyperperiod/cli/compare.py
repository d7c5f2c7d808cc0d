# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod compare`: one system under several policies or on several hosts, or kept results."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hyperperiod.analysis import resolve
from hyperperiod.cli import complete
from hyperperiod.cli.execute import (
    MACHINES,
    on_linux,
    ready_for,
    run_on,
    terminated_as_interrupted,
)
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED
from hyperperiod.cli.options import (
    fail_on_option,
    horizon_option,
    json_option,
    linux_options,
    read_hosts,
    read_policies,
    read_seeds,
    report_option,
    wide_option,
)
from hyperperiod.cli.progress import reading_bar
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.systems import about, read_system, require_host_levels
from hyperperiod.cli.tables.compare import comparison_tables
from hyperperiod.cli.tables.run import misses_text
from hyperperiod.hosts import ALL_HOSTS, STOCK, machine_of, of_policy, scheduler_of
from hyperperiod.hosts.guard import parse_guard, require_same_tasks, require_values, tripped
from hyperperiod.hosts.result import ComparisonResult, RunResult, series_names
from hyperperiod.model import InputError, Policy, System, fitting_policies, with_policy
from hyperperiod.model.errors import did_you_mean
from hyperperiod.model.result_kinds import load_json, read_result
from hyperperiod.model.result_object import json_text
from hyperperiod.whole_file import require_different, whole_file

if TYPE_CHECKING:
    from hyperperiod.for_host import ForHost, HostCostOptions
    from hyperperiod.hosts.linux.attend import LinuxOptions


NO_COSTS: HostCostOptions = {"overheads": None, "margin": None, "grid_ns": None}
"""A comparison has no options for them."""


@click.command()
@click.argument(
    "files",
    metavar="SYSTEM | RESULT.json ... [SYSTEM]",
    nargs=-1,
    required=True,
    shell_complete=complete.files,
)
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
    help="Which hosts, such as sim,xen: prediction beside measurement; or xen,xen-credit2: our"
    " scheduler beside one that the machine has itself.",
)
@fail_on_option("dmr>0, short>0, max>8ms, or p99>+5%, which is more than in the first run")
@linux_options
@horizon_option
@click.option(
    "--seed",
    "seeds",
    callback=read_seeds,
    metavar="N,N,...",
    default="1",
    show_default=True,
    help="Seed of all draws; they do not depend on the schedule. Of several: a run with each, under"
    " the system's own policy if none is named.",
)
@report_option
@json_option
@wide_option
@click.pass_context
def compare(
    ctx: click.Context,
    files: tuple[str, ...],
    policies: list[Policy] | None,
    hosts: list[str] | None,
    conditions: tuple[str, ...],
    place: str | None,
    cpus: list[int] | None,
    thefts: bool,
    kernel: str | None,
    horizon_ns: int,
    seeds: list[int],
    report_file: str | None,
    as_json: bool,
) -> None:
    """Interfaces are computed once, under the system's own policy, so that only the policy or
    the host differs; releases and execution times are the same for all. The exit code is 1 when
    a deadline is missed in any of them.

    Or put side by side what `simulate --json` and `run --json` have written, of the same tasks. A
    SYSTEM after them is run as the first of them was: same host, horizon and seed.
    """
    sentences: tuple[str, ...] = ()
    guards = [parse_guard(condition) for condition in conditions]
    kept = [file for file in files if file.endswith(".json")]
    systems = [file for file in files if file not in kept]
    if len(systems) > 1:
        raise click.UsageError(
            f"found {len(systems)} systems; allowed: one, and before it results that end in .json"
        )
    if kept:
        _refuse_with_files(ctx)
        results, names = _kept([*kept, *systems]), [Path(file).name for file in [*kept, *systems]]
        require_values(guards, [result.host for result in results])
    else:
        require_values(guards, hosts or ())
        machine = on_linux(hosts or (), place, cpus, thefts=thefts, kernel=kernel)
        results, sentences = _ran(
            systems[0], policies, hosts, horizon_ns, seeds, report_file, machine
        )
        names = series_names(results)
    found = ComparisonResult(
        system=results[0].system,
        interrupted=results[-1].interrupted,
        results=tuple(results),
        sentences=sentences,
    )
    fired = tripped(guards, results, names)
    if as_json:
        click.echo(json_text(found))
    else:
        _show(found, names, kept=bool(kept))
    for one in fired:
        click.echo(one.text, err=True)
    if found.interrupted:
        ctx.exit(EXIT_INTERRUPTED)
    if fired or not (guards or all(result.is_well for result in results)):
        ctx.exit(EXIT_MISSED)


_OF_RUNS = {
    *("policies", "hosts", "place", "cpus", "thefts", "kernel", "horizon_ns", "seeds"),
    "report_file",
}


def _refuse_with_files(ctx: click.Context) -> None:
    """UsageError if an option for runs is given with results, which are there already."""
    for option in ctx.command.params:
        if (
            option.name in _OF_RUNS
            and ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        ):
            found = option.opts[0]
            raise click.UsageError(f"found {found} with results; allowed: with a system")


def _kept(files: list[str]) -> list[RunResult]:
    """The results in files, all of the same tasks; of a system the result of a run as the first."""
    results = [_kept_run(file) for file in files if file.endswith(".json")]
    results += [_ran_as(results[0], files[0], file) for file in files[len(results) :]]
    require_same_tasks(results, files)
    return results


def _kept_run(file: str) -> RunResult:
    """The result of a run in a file; InputError for what another command has printed.

    Such an object has nearly every key wrong: what it is says more than a list of them.
    """
    from hyperperiod.results import RESULTS, printed_by

    values = load_json(file)
    command, wanted = printed_by(values), RESULTS[RunResult]
    if command and command != wanted:
        allowed = f"a result of {wanted}, printed with --json"
        raise InputError(file, None, "", f"a result of {command}", allowed)
    return read_result(RunResult, values, file)


def _ran_as(first: RunResult, kept: str, system_file: str) -> RunResult:
    """The result of the system under its own policy, on the host, horizon and seed of another."""
    system = read_system(system_file, None)
    require_host_levels(system, system_file)
    seed = 1 if first.seed is None else first.seed
    if first.host not in ALL_HOSTS:
        allowed = ", ".join(ALL_HOSTS) + did_you_mean(first.host, ALL_HOSTS)
        raise InputError(kept, None, "host", first.host, allowed)
    machine = on_linux([first.host], None, None, thefts=False)
    with about(system_file):
        return run_on(first.host, system, first.horizon_ns, seed, None, linux=machine)


def _ran(
    system_file: str,
    policies: list[Policy] | None,
    hosts: list[str] | None,
    horizon_ns: int,
    seeds: list[int],
    report_file: str | None,
    machine: LinuxOptions | None,
) -> tuple[list[RunResult], tuple[str, ...]]:
    machines = [host for host in hosts or () if machine_of(host) in MACHINES]
    own_only = hosts is not None or len(seeds) > 1
    systems, ready = _systems(system_file, policies, machines, own_only=own_only)
    require_different({"SYSTEM": system_file, "--report": report_file})
    with about(system_file), whole_file(report_file, "--report") as report_path:
        return _results(systems, ready, hosts or ["sim"], horizon_ns, seeds, report_path, machine)


def _systems(
    system_file: str, policies: list[Policy] | None, machines: list[str], *, own_only: bool
) -> tuple[list[System], ForHost | None]:
    """The system under each policy, with the interfaces of its own, and as a machine is given it.

    All hosts get the interfaces that are computed with the overheads of the first machine.
    """
    system, ready = read_system(system_file, None), None
    require_host_levels(system, system_file)

    with about(system_file):
        if machines:
            from hyperperiod.for_host import for_host

            ready = for_host(system, machine_of(machines[0]))
            told = ready_for(system, machines[0], NO_COSTS) if machines[0] in STOCK else ready
            click.echo(told.sentence, err=True)
            system = ready.system.replace(overheads=system.overheads)
        else:
            system = resolve(system)
    if policies is None and own_only:
        return [system], ready
    chosen = policies if policies is not None else fitting_policies(system)
    return [with_policy(system, policy) for policy in chosen], ready


def _results(
    systems: list[System],
    ready: ForHost | None,
    hosts: list[str],
    horizon_ns: int,
    seeds: list[int],
    report_path: Path | None,
    machine: LinuxOptions | None,
) -> tuple[list[RunResult], tuple[str, ...]]:
    """One run after the other, until one is interrupted; a report needs their traces.

    With them what lies between hosts, in sentences.
    """
    results: list[RunResult] = []
    pairs = [
        (system, host) for number, system in enumerate(systems) for host in of_policy(hosts, number)
    ]
    runs = [(*pair, seed) for pair in pairs for seed in seeds]
    proved = _proved(pairs)
    with (
        terminated_as_interrupted(),
        tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder,
    ):
        traces = [
            Path(folder) / f"{index}.hpt" if report_path else None for index in range(len(runs))
        ]
        for (system, host, seed), trace in zip(runs, traces, strict=True):
            results.append(run_on(host, system, horizon_ns, seed, trace, linux=machine))
            if results[-1].interrupted:
                break
        sentences: tuple[str, ...] = ()
        if ready is not None and not results[-1].interrupted:
            from hyperperiod.host_differences import difference_sentences

            sentences = (*difference_sentences(results, ready), *proved)
        if report_path is not None:
            from hyperperiod.report import compare_report

            with reading_bar(f"comparison of {systems[0].name}") as progress:
                compare_report(
                    report_path, results, traces[: len(results)], progress, sentences, systems[0]
                )
    return results, sentences


def _proved(runs: list[tuple[System, str]]) -> list[str]:
    """What is proved of each run on a machine, with what that takes, and what its scheduler is not
    told; nothing where no host has a scheduler of its own."""
    if not any(host in STOCK for _, host in runs):
        return []
    sentences = []
    for system, host in runs:
        if machine_of(host) in MACHINES:
            found = ready_for(system, host, NO_COSTS)
            policy = scheduler_of(host) or system.policy
            text = f"{policy} on {host}: schedulable with its overheads? {found.verdict}"
            sentences += [text, found.not_told] if found.not_told else [text]
    return sentences


def _show(found: ComparisonResult, names: list[str], *, kept: bool) -> None:
    screen, results = Screen(), found.results
    several = kept or len({result.host for result in results}) > 1
    seeds = len({result.seed for result in results}) > 1
    for name, result in zip(names, results, strict=True):
        file, where = f"{name}: " if kept else "", f" on {result.host}" if several else ""
        which = f" with seed {result.seed}" if seeds else ""
        text = f"{file}{result.system} under {result.policy}{where}{which}: "
        screen.line(text, misses_text(result))
    for table in comparison_tables(results, names):
        screen.table(table)
    for sentence in found.sentences:
        screen.line(sentence)
