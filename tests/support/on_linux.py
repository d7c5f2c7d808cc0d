# SPDX-License-Identifier: BSD-2-Clause
"""Systems on Linux, for tests: booted with what was just built, or the test is skipped.

Booting and loading the programs takes most of the time, so systems run one after the other on one
machine.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pytest
from tests.support.promises import require_properties

from hyperperiod.analysis import Analysis
from hyperperiod.cli.progress import bar
from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.linux.attend import NO_LOAD, ExtraLoad, LinuxOptions, run_script
from hyperperiod.hosts.linux.build import COMPILER, KERNEL, KERNELS, build, images_in
from hyperperiod.hosts.linux.machine import LinuxMachine, tool
from hyperperiod.hosts.linux.run import run_all
from hyperperiod.hosts.linux.script import END, START
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
def need_linux(kernel: str = KERNEL) -> Path:
    """The folder of that kernel and the initial file system, with QEMU to boot them; skips
    without."""
    try:
        tool(KERNELS[kernel].architecture)
        return build(BuildJob(TOP / "build", None, bar), kernel)
    except MissingError as error:
        pytest.skip(str(error))


EMULATOR = "Oops: int3"
"""QEMU with a thread for each cpu may run an instruction that the kernel has replaced meanwhile: a
breakpoint that is there no more when the kernel looks for it, as when it switches sched_ext on."""
TRIES = 5
Found = TypeVar("Found")


def unbroken(attempt: Callable[[], Found], console: Path) -> Found:
    """What an attempt returns; one whose machine the emulator broke is made again."""
    for tries_left in reversed(range(TRIES)):
        try:
            return attempt()
        except FailedError:
            if not tries_left or EMULATOR not in console.read_text(errors="replace"):
                raise
    raise AssertionError


def bpf_object(source: str, folder: Path) -> bytes:
    """The BPF object of a source that includes the scheduler's, made as that is, in `folder`.

    It is for programs that a kernel must refuse.
    """
    path = folder / "source.bpf.c"
    path.write_text(source)
    words = [f"HEADERS={need_linux() / 'root'}", f"OUT={folder}", f"SOURCE={path}"]
    subprocess.run(["make", "-s", "-f", "hosts/linux/Makefile", *words], cwd=TOP, check=True)
    return (folder / "hyperperiod.bpf.o").read_bytes()


PATIENCE_S = 240
NO_PROGRAMS: Mapping[str, bytes] = {}


def files_left(
    script: str,
    folder: Path,
    *,
    first: str = START,
    cpus: int = 1,
    caches: int = 1,
    icount: bool = True,
    arguments: str = "",
    programs: Mapping[str, bytes] = NO_PROGRAMS,
    kernel: str = KERNEL,
) -> dict[str, bytes]:
    """What a script leaves in /left, on a machine of so many cpus that has done something `first`:
    it has started hyperperiodd, unless something else is said.

    `arguments` are more of the kernel's, whose name is `kernel`; `programs` are files by their path
    there. A complaint of the script is an error. A machine that the emulator broke is booted again.
    """
    images = images_in(need_linux(kernel), kernel)
    machine = LinuxMachine(
        images,
        f"{script}{END}",
        first,
        programs,
        cpus=cpus,
        caches=caches,
        icount=icount,
        arguments=arguments,
    )
    return files_of(machine, folder)


def files_of(machine: LinuxMachine, folder: Path) -> dict[str, bytes]:
    """What the script of a machine leaves in /left; otherwise as `files_left`."""
    console = folder / "console.log"

    return unbroken(lambda: run_script(machine, console, PATIENCE_S, silent=True), console)


class OnLinux(NamedTuple):
    """The result of a run and its trace."""

    result: RunResult
    trace: Trace


def load_program(folder: Path, kernel: str = KERNEL, name: str = "load") -> bytes:
    """The program of `load.c`, or of another name, for /bin of a machine with that kernel."""
    program = folder / name
    compiler = COMPILER[KERNELS[kernel].architecture]
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", str(program)]
    subprocess.run([*command, str(TOP / f"tests/linux/{name}.c")], check=True)
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
    options = LinuxOptions(folder=folder, load=load, thefts=thefts)
    results = unbroken(lambda: run_all(requests, options=options), folder / "console.log")
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
