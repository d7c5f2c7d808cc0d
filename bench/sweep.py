# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps: systems a second, CPU time of a system, and memory.

A system has five domains with five tasks each and runs for 60 s under CRPS; utilizations are 60 %,
periods 100 ms to 1 s. With *given periods* every server has a period of 20 ms and its budget
is computed; with *best periods* Algorithm 1 chooses both, and servers have shorter periods, so that
more happens in 60 s. Counted is the whole: systems drawn, budgets computed, run, and written as
Parquet, by the command that users have. What the start of the program and of its processes takes is
told by a sweep of a tenth of the systems and taken off. A rate needs as many idle cores as there
are processes; CPU time does not. Beside it stands that of `simulate`, system after system, with
nothing drawn and nothing written.

Tests of tasks judge ten tasks without domains, ten times as many systems.

Memory is the most that one process had resident, in a sweep and in one ten times as long.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.environment import BUILD
from bench.results import Row

import hyperperiod
from hyperperiod.experiments.sweep.experiment import load_sweep, system_of

HORIZON_NS = 60_000_000_000
FEW, SYSTEMS = 200, 2_000
ALONE = 100
CASES = {"given periods": 'interface_period = "20ms"', "best periods": ""}
EXPERIMENT = """
name = "bench"
systems = {systems}
part = 100
horizon = "60s"
hosts = ["sim"]
[system]
policy = "crps"
[draw]
domains = 5
tasks = 25
utilization = 0.6
min_period = "100ms"
max_period = "1s"
[draw.domain]
{domain}
"""
JUDGED = 10
TESTS = """
name = "bench"
systems = {systems}
part = 1000
hosts = []
tests = ["response-time", "qpa"]
[draw]
tasks = 10
utilization = 0.8
"""


class Used(NamedTuple):
    """What a sweep took: seconds, CPU seconds of all its processes, and memory of the first."""

    seconds: float
    cpu_seconds: float
    peak_kib: int


def measure() -> Iterator[Row]:
    """Rates and CPU time with one process and two, by kind of interface; of tests; memory."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        folder = Path(place)
        for case, domain in CASES.items():
            peer = one_by_one(folder, domain)
            for workers in (1, 2):
                title = f"{workers} {'process' if workers == 1 else 'processes'}, {case}"
                few, many = (
                    sweep(folder, EXPERIMENT.format(systems=one, domain=domain), workers)
                    for one in (FEW, SYSTEMS)
                )
                counted = SYSTEMS - FEW
                yield Row(f"{title}: rate", counted / (many.seconds - few.seconds), "systems/s")
                cpu = (many.cpu_seconds - few.cpu_seconds) / counted * 1e3
                yield Row(f"{title}: a system", cpu, "CPU ms", peer * 1e3, "simulate")
        few, many = (sweep(folder, TESTS.format(systems=JUDGED * one), 1) for one in (FEW, SYSTEMS))
        cpu = (many.cpu_seconds - few.cpu_seconds) / (JUDGED * (SYSTEMS - FEW)) * 1e3
        yield Row("10 tasks judged by two tests: a system", cpu, "CPU ms")
        for systems in (FEW, SYSTEMS):
            text = EXPERIMENT.format(systems=systems, domain=CASES["given periods"])
            kib = sweep(folder, text, 1).peak_kib
            yield Row(f"memory of a sweep of {systems:,} systems", kib / 1024, "MiB")


def sweep(folder: Path, text: str, workers: int) -> Used:
    """What the command takes for an experiment, start included."""
    experiment = folder / "bench.toml"
    experiment.write_text(text)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        arguments = ["sweep", str(experiment), "--out", f"{place}/out", "--workers", str(workers)]
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "hyperperiod", *arguments], stdout=subprocess.DEVNULL
        )
        # Only who waits for a child by this call is told what it used, its own children included.
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        seconds = time.perf_counter() - begin
    return Used(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss)


def one_by_one(folder: Path, domain: str) -> float:
    """CPU seconds a system by `hyperperiod.simulate`, which draws nothing and writes nothing."""
    experiment = folder / "bench.toml"
    experiment.write_text(EXPERIMENT.format(systems=ALONE, domain=domain))
    point = load_sweep(str(experiment)).points[0]
    systems = [system_of(point, number) for number in range(ALONE)]
    begin = time.process_time()
    for system in systems:
        hyperperiod.simulate(system, HORIZON_NS)
    return (time.process_time() - begin) / ALONE
