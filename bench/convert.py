# SPDX-License-Identifier: BSD-2-Clause
"""Traces in other formats: records a second, and the memory of a long one.

The trace is that of half an hour of systems/flight-control.toml, 7.6 million records. Counted is
the CPU time of the whole command, the start of Python, reading and checking the trace included; a
figure is the median of some runs. Beside it stands the run that writes the trace. Memory is the
most that a process had resident, for a third of the trace and for all of it.
"""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.environment import BUILD, TOP
from bench.results import Row

from hyperperiod.trace.convert import WRITERS
from hyperperiod.trace.format import read

SYSTEM = str(TOP / "systems" / "flight-control.toml")
RUNS = 5


class Used(NamedTuple):
    """What a command took."""

    cpu_s: float
    peak_mib: float


def used(*arguments: str) -> Used:
    """What a command of the package takes, measured by a process that starts nothing else."""
    program = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'hyperperiod', *sys.argv[1:]], check=True,"
        " stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cpu_s, peak_kib = done.stdout.split()
    return Used(float(cpu_s), int(peak_kib) / 1024)


def simulated(trace: Path, seconds: int) -> Used:
    """Writes the trace of a run of so many seconds."""
    return used("simulate", SYSTEM, "--horizon", f"{seconds}s", "--trace", str(trace))


def measure() -> Iterator[Row]:
    """Each format in turn, so often; then memory."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        short, trace = Path(place) / "short.hpt", Path(place) / "run.hpt"
        wrote_s = statistics.median(simulated(trace, 1800).cpu_s for _ in range(RUNS))
        records = len(read(trace)[1])
        spent: dict[str, list[float]] = {suffix: [] for suffix in WRITERS}
        for _ in range(RUNS):
            for suffix, taken in spent.items():
                taken.append(converted(trace, suffix).cpu_s)
        yield Row("simulate: rate", records / wrote_s, "records/s")
        for suffix, taken in spent.items():
            rate = records / statistics.median(taken)
            peer = records / wrote_s
            yield Row(f"{suffix}: rate", rate, "records/s", peer, "simulate", rate=True)
        simulated(short, 600)
        for suffix in WRITERS:
            yield Row(f"{suffix}: memory of a third", converted(short, suffix).peak_mib, "MiB")
            yield Row(f"{suffix}: memory", converted(trace, suffix).peak_mib, "MiB")


def converted(trace: Path, suffix: str) -> Used:
    """Converts a trace beside itself."""
    return used("trace", "convert", str(trace), str(trace.with_suffix(suffix)))
