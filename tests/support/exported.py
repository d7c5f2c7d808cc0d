# SPDX-License-Identifier: BSD-2-Clause
"""Small systems that are exported, and what an exported script would do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hyperperiod.model import System, parse_policy

MS = 1_000_000
TASK = {"name": "t", "period": 20 * MS, "wcet": 1 * MS}


def system(*domains: dict[str, Any], policy: str = "crps", **more: Any) -> System:
    """A system of these domains, each with a task unless it is best effort."""
    tasks = {"task": [TASK]}
    listed = [one if one.get("best_effort") else tasks | one for one in domains]
    return System.of({"name": "s", "policy": parse_policy(policy), "domain": listed, **more})


def server(budget: float, period: float) -> dict[str, int]:
    """An interface of so many milliseconds."""
    return {"period": int(period * MS), "budget": int(budget * MS)}


def called(folder: Path, script: str, answers: str = "") -> list[str]:
    """The commands of a script, run with programs that write down what they were told.

    `answers` are patterns of a shell's `case $1` with what the programs do in place of that.
    """
    log, programs = folder / "log", folder / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("xl", "hyperperiod-xen", "virsh", "python3"):
        program = programs / name
        noted = f'*) echo "{name} $*" >>{log} ;;'
        program.write_text(f"#!/bin/sh\ncase $1 in\n{answers}{noted}\nesac\n")
        program.chmod(0o755)
    log.write_text("")
    path = f"{programs}:{os.environ['PATH']}"
    subprocess.run(["sh", str(folder / "out" / script)], check=True, env={"PATH": path})
    return log.read_text().splitlines()
