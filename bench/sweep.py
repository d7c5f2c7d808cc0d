# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps: instructions, CPU time and systems a second, and memory.

A system has five domains with five tasks each; utilizations are 60 %, periods 100 ms to 1 s. It is
run for 60 s under CRPS, or analysed. With *given periods* every server has a period of 20 ms and
its budget is computed; with *best periods* Algorithm 1 chooses both, and servers have shorter
periods, so that more happens in 60 s. Counted is the whole: systems drawn, budgets computed, run or
analysed, and written as Parquet, by the command that users have. What the start of the program and
of its processes takes is told by a smaller sweep and taken off.

Instructions are counted by valgrind, in one process; they do not depend on what else the machine
does. A rate needs as many idle cores as there are processes; CPU time does not. *Two to one* is how
many times as fast two processes are as one, both measured one right after the other. Beside the CPU
time of runs stands that of `simulate`, system after system, with nothing drawn and nothing written.

Tests of tasks judge ten tasks without domains, ten times as many systems.

Memory is the most that one process had resident, in a sweep and in one ten times as long.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.environment import BUILD, program
from bench.results import Row

import hyperperiod
from hyperperiod.experiments.sweep.experiment import load_sweep, system_of

HORIZON_NS = 60_000_000_000
FEW, SYSTEMS = 500, 2_000
"""Two parts at least, so that two processes have both something to do."""
ALONE = 100
CASES = {"given periods": 'interface_period = "20ms"', "best periods": ""}


class Asked(NamedTuple):
    """A host, how many systems tell the time, and between which numbers instructions are counted.

    The start of the program takes two thousand million instructions, and up to twenty million more
    or fewer of them from run to run: what is counted has to be much more than that.
    """

    host: str
    systems: int
    counted: tuple[int, int]


HOSTS = {
    "simulated": Asked("sim", 3 * SYSTEMS, (20, 60)),
    "analysed": Asked("analysis", 10 * SYSTEMS, (FEW, 3 * FEW)),
}
EXPERIMENT = """
name = "bench"
systems = {systems}
horizon = "60s"
hosts = ["{host}"]
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
    """What systems take by host and kind of interface, and tests of tasks; memory."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        folder = Path(place)
        for done, asked in HOSTS.items():
            for case, domain in CASES.items():
                yield from measure_case(folder, f"{done}, {case}", asked, domain)
        few, many = (sweep(folder, TESTS.format(systems=JUDGED * one), 1) for one in (FEW, SYSTEMS))
        cpu = (many.cpu_seconds - few.cpu_seconds) / (JUDGED * (SYSTEMS - FEW)) * 1e3
        yield Row("10 tasks judged by two tests: a system", cpu, "CPU ms")
        for systems in (FEW, 10 * FEW):
            text = EXPERIMENT.format(
                systems=systems, host="analysis", domain=CASES["given periods"]
            )
            kib = sweep(folder, text, 1).peak_kib
            yield Row(f"memory of a sweep of {systems:,} systems", kib / 1024, "MiB")


def measure_case(folder: Path, title: str, asked: Asked, domain: str) -> Iterator[Row]:
    """CPU time, rates and instructions of one kind of systems.

    Instructions come last: then no module is compiled while they are counted.
    """
    host, systems = asked.host, asked.systems
    peer = one_by_one(folder, domain) if host == "sim" else None
    rates = []
    for workers in (1, 2):
        used = [
            sweep(folder, EXPERIMENT.format(systems=one, host=host, domain=domain), workers)
            for one in (FEW, systems)
        ]
        rates.append((systems - FEW) / (used[1].seconds - used[0].seconds))
        cpu = (used[1].cpu_seconds - used[0].cpu_seconds) / (systems - FEW) * 1e3
        name = f"{title}, {workers} {'process' if workers == 1 else 'processes'}"
        yield Row(f"{name}: rate", rates[-1], "systems/s")
        if peer is None:
            yield Row(f"{name}: a system", cpu, "CPU ms")
        else:
            yield Row(f"{name}: a system", cpu, "CPU ms", peer * 1e3, "simulate")
    yield Row(f"{title}: two to one", rates[1] / rates[0], "times")
    few, many = (
        instructions(folder, EXPERIMENT.format(systems=one, host=host, domain=domain))
        for one in asked.counted
    )
    counted = (many - few) / (asked.counted[1] - asked.counted[0]) / 1e6
    yield Row(f"{title}: instructions", counted, "million instructions")


def instructions(folder: Path, text: str) -> int:
    """What valgrind counts in one process that does a sweep, start included."""
    valgrind = program("valgrind", "valgrind")
    experiment = folder / "bench.toml"
    experiment.write_text(text)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        counting = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        arguments = ["sweep", str(experiment), "--out", f"{place}/out", "--workers", "1"]
        done = subprocess.run(
            [valgrind, *counting, sys.executable, "-m", "hyperperiod", *arguments],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        )
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", ""))


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
    experiment.write_text(EXPERIMENT.format(systems=ALONE, host="sim", domain=domain))
    point = load_sweep(str(experiment)).points[0]
    systems = [system_of(point, number) for number in range(ALONE)]
    begin = time.process_time()
    for system in systems:
        hyperperiod.simulate(system, f"{HORIZON_NS}ns")
    return (time.process_time() - begin) / ALONE
