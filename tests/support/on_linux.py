# SPDX-License-Identifier: BSD-2-Clause
"""Systems on Linux, for tests: booted with what was just built, or the test is skipped.

Booting and loading the programs takes most of the time, so systems run one after the other on one
machine.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pytest
from tests.support.promises import require_properties

from hyperperiod.analysis import Analysis
from hyperperiod.cli.progress import bar
from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.linux.attend import NO_LOAD, ExtraLoad, LinuxOptions
from hyperperiod.hosts.linux.build import build
from hyperperiod.hosts.linux.machine import tool
from hyperperiod.hosts.linux.run import run_all
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import FailedError, MissingError, Overheads, System
from hyperperiod.model.stolen import Stolen
from hyperperiod.runs import complete, guaranteed
from hyperperiod.trace.compare import Trace
from hyperperiod.trace.format import STOLEN, Kind, read

TOP = Path(__file__).parents[2]

OVERHEADS = Overheads(
    context_switch_ns=4_000, pick_ns=3_000, wake_ns=10_000, replenish_ns=0, interrupt_ns=3_000
)
"""What an event takes on Debian's kernel where an instruction takes a nanosecond."""


@functools.cache
def need_linux() -> Path:
    """The folder of kernel and initial file system, with QEMU to boot them; skips without."""
    try:
        tool()
        return build(BuildJob(TOP / "build", None, bar))
    except MissingError as error:
        pytest.skip(str(error))


EMULATOR = "Oops: int3"
"""QEMU with a thread for each cpu may run an instruction that the kernel has replaced meanwhile: a
breakpoint that is there no more when the kernel looks for it, as when it switches sched_ext on."""
TRIES = 5
T = TypeVar("T")


def unless_broken(boot: Callable[[], T], console: Path) -> T:
    """What a machine left, which is booted again if it was the emulator that broke it."""
    for _ in range(TRIES - 1):
        try:
            return boot()
        except FailedError:
            if EMULATOR not in console.read_text(errors="replace"):
                raise
    return boot()


class OnLinux(NamedTuple):
    """The result of a run and its trace."""

    result: RunResult
    trace: Trace


def load_program(folder: Path) -> bytes:
    """The program of `load.c`, for a machine's folder /bin."""
    program = folder / "load"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", str(program)]
    subprocess.run([*command, str(TOP / "tests/linux/load.c")], check=True)
    return program.read_bytes()


def run_on_linux(
    systems: Sequence[System],
    horizon_ns: int,
    seed: int,
    folder: Path,
    load: ExtraLoad = NO_LOAD,
    *,
    thefts: bool = False,
) -> list[OnLinux]:
    """Run systems on one machine; decisions are replayed by the runner, traces are checked here."""
    need_linux()
    paths = [folder / f"{number}.hpt" for number in range(len(systems))]
    requests = []
    for system, path in zip(systems, paths, strict=True):
        analysis = Analysis(system)
        requests.append(
            RunRequest(complete(analysis), horizon_ns, seed, path, guaranteed(analysis))
        )
    results = run_all(requests, options=LinuxOptions(folder=folder, load=load, thefts=thefts))
    for path in paths:
        require_properties(path)
    return [
        OnLinux(result, (header, records.copy()))
        for result, (header, records) in zip(results, map(read, paths), strict=True)
    ]


def thefts(trace: Trace) -> tuple[Stolen, ...]:
    """The stolen time of a trace of one pcpu, each theft for itself, as a system has it."""
    records = trace[1][np.isin(trace[1]["kind"], (Kind.RUN, Kind.IDLE, Kind.END))]
    begins = records["time_ns"].astype(np.int64)
    stolen = (records["kind"] == Kind.IDLE) & (records["flags"] & STOLEN > 0)
    return tuple(
        Stolen(period_ns=10**15, duration_ns=end - begin, pcpu=0, offset_ns=begin)
        for begin, end, taken in zip(
            begins[:-1].tolist(), begins[1:].tolist(), stolen[:-1].tolist(), strict=True
        )
        if taken and end > begin
    )
