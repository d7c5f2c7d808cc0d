# SPDX-License-Identifier: BSD-2-Clause
"""CPU time of a whole simulation, beside SimSo's for the same task set in the same run.

Two task sets of 50 tasks over 100 seconds (tests/data/peers): RM and EDF on one pcpu, here one
domain that has the whole pcpu, and global EDF on four, here a server for each task. Each without
a trace and with the binary trace; SimSo keeps a trace in memory and cannot do without.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.environment import BUILD, TOP, environment_with
from bench.results import Row

from hyperperiod.model import System, load_system
from hyperperiod.runs import simulate

SIMSO = "simso==0.8.5"
RUNS = 3

PEERS = TOP / "tests" / "data" / "peers"


def one_domain(scheduler: str, peer: dict[str, Any]) -> str:
    """One pcpu: a domain with all tasks and all the time."""
    tasks = [
        f'[[domain.task]]\nname = "t{task["id"]}"\nperiod = "{task["T"]}us"\n'
        f'wcet = "{task["C"]}us"\ndeadline = "{task["D"]}us"\n'
        for task in peer["tasks"]
    ]
    domain = (
        f'[[domain]]\nname = "all"\nscheduler = "{scheduler}"\npcpu = 0\n'
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


@dataclass(frozen=True)
class Case:
    """A task set under a rule, as a system of ours and by SimSo's name of the rule."""

    title: str
    file: str
    describe: Callable[[dict[str, Any]], str]
    rule: str


CASES = (
    Case("RM, 1 pcpu", "sim50_u0.7.json", partial(one_domain, "rm"), "RM"),
    Case("EDF, 1 pcpu", "sim50_u0.7.json", partial(one_domain, "edf"), "EDF"),
    Case("global EDF, 4 pcpus", "sim50_u2.8_m4.json", a_server_each, "EDF"),
)


def load(text: str) -> System:
    """The system that a TOML text describes."""
    path = BUILD / "system.toml"
    path.write_text(text)
    return load_system(path)


def seconds(system: System, horizon_ns: int, trace: Path | None) -> tuple[float, int]:
    """CPU seconds of the fastest of some runs, and the jobs that were released."""
    best = float("inf")
    jobs = 0
    for _ in range(RUNS):
        begin = time.process_time()
        result = simulate(system, horizon_ns, trace_path=trace)
        best = min(best, time.process_time() - begin)
        jobs = sum(task.jobs for domain in result.domains for task in domain.tasks)
    return best, jobs


def simso(case: Case) -> float:
    """CPU seconds that SimSo needs for the same."""
    script = str(TOP / "bench" / "simso_run.py")
    command = [str(environment_with(SIMSO)), script, str(PEERS / case.file), case.rule]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["cpu_s"])


def measure() -> Iterator[Row]:
    """CPU seconds for 100 simulated seconds, ours and SimSo's."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        peer = json.loads((PEERS / case.file).read_text())
        system = load(case.describe(peer))
        theirs = simso(case)
        for suffix, trace in (("", None), (", with trace", BUILD / "run.hpt")):
            spent, jobs = seconds(system, peer["horizon_us"] * 1000, trace)
            name = f"simulate, {case.title}, {jobs:,} jobs{suffix}"
            yield Row(name, spent, "CPU s", theirs, "SimSo")
