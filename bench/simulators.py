# SPDX-License-Identifier: BSD-2-Clause
"""CPU time of a whole simulation, beside SimSo's for the same task set in the same run.

Two task sets of 50 tasks over 100 seconds (tests/data/peers): EDF on one pcpu, here one domain
that has the whole pcpu, and global EDF on four, here a server for each task. No trace is
written; SimSo keeps one in memory and cannot do without.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.environment import BUILD, TOP, environment_with
from bench.results import Row

from hyperperiod.hosts.sim import simulate
from hyperperiod.model import System, load_system

SIMSO = "simso==0.8.5"
RUNS = 3

PEERS = TOP / "tests" / "data" / "peers"


def one_domain(peer: dict[str, Any]) -> str:
    """EDF on one pcpu: a domain with all tasks and all the time."""
    tasks = [
        f'[[domain.task]]\nname = "t{task["id"]}"\nperiod = "{task["T"]}us"\n'
        f'wcet = "{task["C"]}us"\ndeadline = "{task["D"]}us"\n'
        for task in peer["tasks"]
    ]
    domain = (
        '[[domain]]\nname = "all"\nscheduler = "edf"\npcpu = 0\n'
        'interface = { period = "1s", budget = "1s" }\n'
    )
    return 'name = "one"\npolicy = "ptps"\n' + domain + "".join(tasks)


def a_server_each(peer: dict[str, Any]) -> str:
    """Global EDF: every task in a domain of its own, whose server is the task."""
    domains = [
        f'[[domain]]\nname = "d{task["id"]}"\n'
        f'interface = {{ period = "{task["T"]}us", budget = "{task["C"]}us" }}\n'
        f'[[domain.task]]\nname = "t"\nperiod = "{task["T"]}us"\nwcet = "{task["C"]}us"\n'
        for task in peer["tasks"]
    ]
    return f'name = "many"\npolicy = "rtds"\npcpus = {peer["m"]}\n' + "".join(domains)


CASES = {
    "sim50_u0.7.json": ("EDF, 1 pcpu", one_domain),
    "sim50_u2.8_m4.json": ("global EDF, 4 pcpus", a_server_each),
}


def load(text: str) -> System:
    """The system that a TOML text describes."""
    path = BUILD / "system.toml"
    path.write_text(text)
    return load_system(path)


def seconds(system: System, horizon_ns: int) -> tuple[float, int]:
    """CPU seconds of the fastest of some runs, and the jobs that were released."""
    best = float("inf")
    jobs = 0
    for _ in range(RUNS):
        begin = time.process_time()
        result = simulate(system, horizon_ns)
        best = min(best, time.process_time() - begin)
        jobs = sum(task["jobs"] for domain in result["domains"] for task in domain["tasks"])
    return best, jobs


def simso(path: Path) -> float:
    """CPU seconds that SimSo needs for the task set in this file."""
    command = [str(environment_with(SIMSO)), str(TOP / "bench" / "simso_run.py"), str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["cpu_s"])


def measure() -> Iterator[Row]:
    """CPU seconds for 100 simulated seconds, ours and SimSo's."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, (title, describe) in CASES.items():
        peer = json.loads((PEERS / name).read_text())
        spent, jobs = seconds(load(describe(peer)), peer["horizon_us"] * 1000)
        yield Row(f"simulate, {title}, {jobs:,} jobs", spent, "CPU s", simso(PEERS / name), "SimSo")
