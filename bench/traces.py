# SPDX-License-Identifier: BSD-2-Clause
"""Traces: CPU time of `trace check`, beside that of the run that wrote the trace, and memory.

Two traces of some 2.5 million records, of an example system with four vcpus under CRPS and of a
system with 256 vcpus on one pcpu; checked are all properties, the file is read and validated as
users have it. Memory is the most that the command had resident, for the first trace and for one ten
times as long.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.environment import BUILD, TOP
from bench.results import Row

from hyperperiod.analysis import resolve
from hyperperiod.model import System, load_system
from hyperperiod.runs import simulate
from hyperperiod.trace.check import CheckResult, check_file

RUNS = 3
SECOND_NS = 1_000_000_000
EXAMPLE = TOP / "systems" / "flight-control.toml"
LONGER = 10


def many_vcpus(folder: Path) -> System:
    """256 domains with a server and a task each, whose periods are 10 to 40 ms."""
    parts = ['name = "many"\npolicy = "ds"\npcpus = 1\n']
    for number in range(256):
        period_ms = 10 + number * 7 % 31
        parts.append(
            f'[[domain]]\nname = "d{number}"\n'
            f'interface = {{ period = "{period_ms}ms", budget = "{3 * period_ms}us" }}\n'
            f'[[domain.task]]\nname = "t"\nperiod = "{period_ms}ms"\nwcet = "{2 * period_ms}us"\n'
        )
    path = folder / "many.toml"
    path.write_text("".join(parts))
    return load_system(path)


def measure() -> Iterator[Row]:
    """Time of a check and records a second, of each trace; then memory."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        folder = Path(place)
        trace = folder / "run.hpt"
        example = resolve(load_system(EXAMPLE))
        cases = (("4 vcpus", example, 600), ("256 vcpus", many_vcpus(folder), 30))
        for title, system, seconds in cases:
            horizon_ns = seconds * SECOND_NS
            ran = fastest(partial(simulate, system, horizon_ns, trace_path=trace))
            spent = fastest(partial(checked, trace))
            records = checked(trace).records
            name = f"check, {title}, {records:,} records"
            yield Row(name, spent, "CPU s", ran, "the run")
            yield Row(f"{name}: rate", records / spent, "records/s")
        for times in (1, LONGER):
            simulate(example, 600 * times * SECOND_NS, trace_path=trace)
            mib = trace.stat().st_size >> 20
            yield Row(f"memory of a check of {mib:,} MiB", peak_kib(trace) / 1024, "MiB")


def checked(trace: Path) -> CheckResult:
    """The result for a trace that is well."""
    result = check_file(trace)
    assert result.ok
    return result


def fastest(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of some runs."""
    best = float("inf")
    for _ in range(RUNS):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def peak_kib(trace: Path) -> int:
    """The most that the command had resident."""
    command = [sys.executable, "-m", "hyperperiod", "trace", "check", str(trace)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_maxrss
