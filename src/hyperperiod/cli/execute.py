# SPDX-License-Identifier: BSD-2-Clause
"""Running a system on a host and writing what came of it: trace, report, result.

A run on a real hypervisor or kernel cannot be had again at will, so it leaves everything in a
folder of its own whether asked to or not: `out/NAME-HOST/` has the console's log, trace, result.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from hyperperiod import runs
from hyperperiod.analysis import Analysis
from hyperperiod.cli.group import EXIT_INTERRUPTED, EXIT_MISSED, EXIT_WELL
from hyperperiod.cli.options import refuse_host_costs
from hyperperiod.cli.progress import Progress, bar, reading_bar, status
from hyperperiod.cli.systems import (
    about,
    certified_file,
    read_system,
    require_host_levels,
    write_certificate,
)
from hyperperiod.hosts import STOCK, machine_of, scheduler_of
from hyperperiod.model import InputError, MissingError, Policy, System, format_time
from hyperperiod.model.result_object import json_text
from hyperperiod.runs import simulate
from hyperperiod.whole_file import (
    require_different,
    require_writable,
    unwritable,
    whole_file,
)

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from hyperperiod.analysis.certificate import Certificate
    from hyperperiod.analysis.result import AnalysisResult
    from hyperperiod.for_host import ForHost, HostCostOptions
    from hyperperiod.hosts.guard import Guard
    from hyperperiod.hosts.linux.attend import LinuxOptions
    from hyperperiod.hosts.recorded_jobs import RecordedJobs
    from hyperperiod.hosts.result import CountedResult, RunResult


JUDGED_BYTES = 16 << 20
"""How much of a trace says how large all of it will be."""
NS_PER_MS = 1_000_000
MACHINES = ("xen", "linux")
"""Hosts whose runs need a machine of their own."""


class RunOrder(NamedTuple):
    """A run that a user asked for; the fields are the options of `run_options`."""

    system_file: str
    policy: Policy | None
    horizon_ns: int
    seed: int
    trace_file: str | None
    report_file: str | None
    certificate: str | None
    as_json: bool
    conditions: tuple[str, ...]
    host: str = "sim"
    place: str | None = None
    cpus: list[int] | None = None
    thefts: bool = False
    kernel: str | None = None
    overheads: str | None = None
    margin: Fraction | None = None
    grid_ns: int | None = None
    jobs_file: str | None = None


def execute(order: RunOrder) -> int:
    """Runs the system of an order, writes and prints what was asked for; the exit code."""
    guards = _guards(order.conditions, order.host)
    linux = on_linux(
        [order.host], order.place, order.cpus, thefts=order.thefts, kernel=order.kernel
    )
    system = read_system(order.system_file, order.policy)
    require_host_levels(system, order.system_file)
    require_different(
        {
            "SYSTEM": order.system_file,
            "--jobs": order.jobs_file,
            "--trace": order.trace_file,
            "--report": order.report_file,
            "--certificate": order.certificate,
        }
    )
    file = _certified_file(order) if order.certificate else b""
    jobs = _jobs(order.jobs_file, system)
    with (
        terminated_as_interrupted(),
        about(order.system_file),
        whole_file(order.trace_file, "--trace") as trace_path,
        whole_file(order.report_file, "--report") as report_path,
        _trace_for_report(trace_path, report_path) as recorded,
    ):
        ready = _for_machine(system, order)
        system = ready.system if ready else system
        analysis = Analysis(system)
        result = run_on(
            order.host,
            system,
            order.horizon_ns,
            order.seed,
            recorded,
            analysis,
            linux=linux,
            counted=ready.counted if ready else None,
            jobs=jobs,
        )
        if order.certificate is not None or report_path is not None:
            if ready is not None and order.host in STOCK:
                from hyperperiod.export.judged import stock_page

                system, proved = stock_page(ready, order.host)
            else:
                proved = analysis.result()
            certificate = None
            if order.certificate is not None:
                certificate = write_certificate(order.certificate, analysis, proved, file)
            if report_path is not None:
                _write_report(report_path, system, proved, result, recorded, certificate)
    if order.as_json:
        click.echo(json_text(result))
    else:
        _show(result, system)
    return _held_to(guards, result) if guards else exit_code(result)


def _jobs(file: str | None, system: System) -> RecordedJobs | None:
    """The jobs of a file that tasks of the system are to have; None: no file."""
    if file is None:
        return None
    from hyperperiod.hosts.recorded_jobs import read_jobs

    with status(f"reading {file}"):
        return read_jobs(file, system)


def _certified_file(order: RunOrder) -> bytes:
    """The system file, of which there will be a certificate; InputError on a real machine."""
    if machine_of(order.host) in MACHINES:
        found = f"on {order.host}, which runs the system with overheads of its own"
        raise InputError("", None, "--certificate", found, "a run in the simulator")
    require_writable(order.certificate, "--certificate")
    return certified_file(order.system_file, "--certificate", order.policy)


def _for_machine(system: System, order: RunOrder) -> ForHost | None:
    """The system as its machine is to be given it, which is said on standard error; None: none."""
    costs: HostCostOptions = {
        "overheads": order.overheads,
        "margin": order.margin,
        "grid_ns": order.grid_ns,
    }
    if machine_of(order.host) not in MACHINES:
        refuse_host_costs(f"on {order.host}", f"on {' or '.join(MACHINES)}", **costs)
        return None
    ready = ready_for(system, order.host, costs)
    click.echo(ready.sentence, err=True)
    return ready


def ready_for(system: System, host: str, costs: HostCostOptions) -> ForHost:
    """The system as a machine is to be given it, whosever scheduler it has."""
    if host in STOCK:
        from hyperperiod.export.judged import for_stock

        return for_stock(system, host, **costs)
    from hyperperiod.for_host import for_host

    return for_host(system, host, **costs)


def _guards(conditions: Sequence[str], host: str) -> list[Guard]:
    """The limits of `--fail-on`, none of which is on top of another run's value."""
    if not conditions:
        return []
    from hyperperiod.hosts.guard import parse_guard, require_values

    guards = [parse_guard(condition, on_top=False) for condition in conditions]
    require_values(guards, [host])
    return guards


def _held_to(guards: Sequence[Guard], result: RunResult) -> int:
    """Says on standard error which limits a run has passed; the exit code."""
    from hyperperiod.hosts.guard import tripped

    fired = tripped(guards, [result])
    for one in fired:
        click.echo(one.text, err=True)
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_MISSED if fired else EXIT_WELL


def on_linux(
    hosts: Sequence[str],
    place: str | None,
    cpus: list[int] | None,
    *,
    thefts: bool,
    kernel: str | None = None,
) -> LinuxOptions | None:
    """Returns on which Linux a system runs, and says so on standard error; None: on none."""
    if "linux" not in map(machine_of, hosts):
        options = {
            "--in": place is not None,
            "--cpus": cpus is not None,
            "--thefts": thefts,
            "--kernel": kernel is not None,
        }
        for option, is_given in options.items():
            if is_given:
                raise click.UsageError(f"found {option} without Linux; allowed: for runs on linux")
        return None
    from hyperperiod.hosts.linux.attend import LinuxOptions
    from hyperperiod.hosts.linux.build import KERNEL
    from hyperperiod.hosts.linux.here import lacks, require

    lacking = lacks()
    here = place == "here" or (place is None and kernel is None and lacking is None)
    if here and kernel is not None:
        raise click.UsageError("found --kernel on this machine's own; allowed: with --in vm")
    if here:
        require()
        click.echo("on the kernel of this machine, until the run ends (--in here)", err=True)
    elif cpus is not None:
        raise click.UsageError("found --cpus of a machine in QEMU; allowed: with --in here")
    elif place is None and kernel is None:
        click.echo(f"{lacking}: on Debian's, in QEMU (--in vm)", err=True)
    found = LinuxOptions(
        here=here,
        cpus=None if cpus is None else tuple(cpus),
        kernel=kernel or KERNEL,
        thefts=thefts,
    )
    for host in hosts:
        found.under(host)
    return found


def run_on(
    host: str,
    system: System,
    horizon_ns: int,
    seed: int,
    trace_path: Path | None,
    analysis: Analysis | None = None,
    *,
    linux: LinuxOptions | None = None,
    counted: CountedResult | None = None,
    jobs: RecordedJobs | None = None,
) -> RunResult:
    """The result of one run, with a bar on standard error meanwhile."""
    policy = scheduler_of(host) or system.policy
    with bar(f"{system.name} under {policy} on {host}", horizon_ns) as progress:
        if machine_of(host) in MACHINES:
            return _run_on_machine(
                host, system, horizon_ns, seed, trace_path, progress, analysis, linux, counted
            )

        return simulate(
            system,
            horizon_ns=horizon_ns,
            seed=seed,
            trace_path=trace_path,
            progress=progress
            if trace_path is None
            else _room_told(progress, trace_path, horizon_ns),
            analysis=analysis,
            jobs=jobs,
        )


def _room_told(progress: Progress, trace_path: Path, horizon_ns: int) -> Progress:
    """The same function, which warns once if a trace that grows as it has so far fills the disk."""
    import shutil

    told = False

    def watched(now_ns: int) -> None:
        nonlocal told
        progress(now_ns)
        size = 0 if told else trace_path.stat().st_size
        if size < JUDGED_BYTES:
            return
        told = True
        needed, free = size * horizon_ns // now_ns, shutil.disk_usage(trace_path.parent).free
        if needed - size > free:
            # A tenth is left: records wait in a buffer, and others write too.
            fits = format_time(now_ns * (size + free) * 9 // 10 // size // NS_PER_MS * NS_PER_MS)
            text = (
                f"warning: the trace will take about {needed >> 20} MiB, and {free >> 20} MiB are"
            )
            click.echo(f"{text} free: --horizon {fits} fits", err=True)

    return watched


def _run_on_machine(
    host: str,
    system: System,
    horizon_ns: int,
    seed: int,
    trace_path: Path | None,
    progress: Progress,
    analysis: Analysis | None,
    linux: LinuxOptions | None,
    counted: CountedResult | None,
) -> RunResult:
    import shutil

    from hyperperiod.export.folder import made_folder
    from hyperperiod.trace.format import writing

    folder = host_folder(host, system.name)
    trace, result_file, log = folder / "run.hpt", folder / "result.json", folder / "console.log"
    before = _changed(log)
    try:
        with made_folder(folder):
            pass
    except OSError as error:
        raise unwritable(str(folder), "out", error, "a folder that can be made here") from None
    with made_folder(folder), whole_file(str(trace), "out") as recorded:
        assert recorded is not None, "it was named"
        try:
            run = _runner(host, folder, linux)
            result = run(system, horizon_ns, seed, recorded, progress, analysis=analysis)
            result = result.replace(counted=counted)
        finally:
            if _changed(log) != before:
                # It is the log of this run: no trace and result of another beside it.
                trace.unlink(missing_ok=True)
                result_file.unlink(missing_ok=True)
        with whole_file(str(result_file), "out") as path:
            assert path is not None, "it was named"
            path.write_text(result.to_json() + "\n")
    if trace_path is not None:
        with writing(trace_path):
            shutil.copyfile(trace, trace_path)
    return result


def _runner(host: str, folder: Path, linux: LinuxOptions | None) -> Callable[..., RunResult]:
    """Returns the function that runs a system on a host, with its console's log in `folder`."""
    if machine_of(host) == "xen":
        from hyperperiod.hosts.xen.plan import XenOptions

        return partial(runs.run_on_xen, options=XenOptions(folder=folder).under(host))
    assert linux is not None, "on_linux was asked"
    return partial(runs.run_on_linux, options=replace(linux.under(host), folder=folder))


def _changed(file: Path) -> int | None:
    """Returns when the file was last written (ns since 1970); None if it is not there."""
    return file.stat().st_mtime_ns if file.exists() else None


def host_folder(host: str, name: str) -> Path:
    """Returns the folder in which the latest run of a system on a host left everything."""
    from pathlib import Path

    return Path("out") / f"{name.replace(' ', '-')}-{host}"


def exit_code(result: RunResult) -> int:
    """Returns the exit code of runs: an interruption counts before a miss."""
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_WELL if result.is_well else EXIT_MISSED


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM does in here what Ctrl-C does: what was reached is kept, temporary files go.

    Nothing is changed where SIGTERM is not deadly anyway, and in another thread than the main one,
    where no signals come.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def _trace_for_report(trace: Path | None, report: Path | None) -> Iterator[Path | None]:
    """Yields the trace to record: the one asked for, or one that lives as long as the report."""
    if trace is not None or report is None:
        yield trace
        return
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        yield Path(folder) / "run.hpt"


def _write_report(
    path: Path,
    system: System,
    analysis: AnalysisResult,
    result: RunResult,
    trace: Path | None,
    certificate: Certificate | None,
) -> None:
    from hyperperiod.report import write_report

    with reading_bar(f"report of {system.name}") as progress:
        write_report(path, system, analysis, result, trace, progress, certificate)


def _why_not_exact(host: str) -> str:
    """Returns a sentence on times taken on a busy host, and on what would make them exact."""
    from hyperperiod.hosts.xen.images import lockstep

    text = "times are those of this machine, which has other things to do"
    if machine_of(host) != "xen":
        return text
    text = f"several pcpus: {text}"
    try:
        lockstep()
    except MissingError as error:
        return f"{text} ({error})"
    return text


def _show(result: RunResult, system: System) -> None:
    from hyperperiod.cli.screen import Screen
    from hyperperiod.cli.styled import OPEN, Styled
    from hyperperiod.cli.tables.run import misses_text, recorded_lines, run_tables

    screen = Screen()
    own = result.host in STOCK
    policies = result.policy if own else system.policies_text(result.horizon_ns)
    title = f"{result.system} under {policies} on {result.host}"
    horizon = format_time(result.horizon_ns)
    screen.line(f"{title}, {horizon}: ", misses_text(result))
    if result.interrupted:
        screen.line(Styled("interrupted: the results are those up to this instant", OPEN))
    if result.timing == "host":
        screen.line(Styled(_why_not_exact(result.host), OPEN))
    screen.all(recorded_lines(result.recorded))
    for table in run_tables(result):
        screen.table(table)
    if result.overruns is not None:
        screen.line(result.overruns.summary)
    if machine_of(result.host) in MACHINES:
        folder = host_folder(result.host, result.system)
        kept = "console log, trace and result"
        if any(task.command is not None for task in result.tasks):
            kept = "what commands printed, console log, trace and result"
        screen.line(f"{kept} are in {folder}")
