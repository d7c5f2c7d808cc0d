# SPDX-License-Identifier: BSD-2-Clause
"""Runs SimSo on one task set and prints `{"cpu_s", "jobs"}`: simso_run.py FILE RULE

Started by `bench.simulators` under SimSo's own interpreter, so it imports nothing of the project.
The task set is integer microseconds; so is SimSo's clock here (1000 cycles a millisecond).
"""

import json
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from simso.configuration import Configuration
from simso.core import Model

CYCLES_PER_MS = 1000


def configured(peer: dict[str, Any], rule: str) -> Configuration:
    """The task set as a SimSo configuration; `rule` is EDF (global on several pcpus) or RM."""
    configuration = Configuration()
    configuration.cycles_per_ms = CYCLES_PER_MS
    configuration.duration = peer["horizon_us"]
    for task in peer["tasks"]:
        configuration.add_task(
            name=f"task {task['id']}",
            identifier=task["id"],
            period=task["T"] / CYCLES_PER_MS,
            activation_date=0,
            wcet=task["C"] / CYCLES_PER_MS,
            deadline=task["D"] / CYCLES_PER_MS,
            abort_on_miss=False,
        )
    for pcpu in range(peer["m"]):
        configuration.add_processor(name=f"pcpu {pcpu}", identifier=pcpu)
    configuration.scheduler_info.clas = f"simso.schedulers.{rule}"
    configuration.check_all()
    return configuration


def main() -> None:
    """Simulates the file named on the command line; only the run itself is timed."""
    peer = json.loads(Path(sys.argv[1]).read_text())
    model = Model(configured(peer, sys.argv[2]))
    # Its schedulers print a line for every dispatch; that goes nowhere, so as not to be measured.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        begin = time.process_time()
        model.run_model()
        spent = time.process_time() - begin
    jobs = sum(len(task.jobs) for task in model.results.tasks.values())
    print(json.dumps({"cpu_s": spent, "jobs": jobs}))


if __name__ == "__main__":
    main()
