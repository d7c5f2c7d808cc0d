# SPDX-License-Identifier: BSD-2-Clause
"""The simulator as web pages have it: built once, run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.building import TOP, make, said

MODULE = TOP / "build" / "wasm" / "simulator.wasm"
TEMPLATES = TOP / "src" / "hyperperiod" / "report" / "templates"


def built() -> Path:
    """The module, made if it is not up to date; without its compiler the test is skipped."""
    asked = [str(TOP / "tools" / "prerequisites"), "check", sys.executable, "wasm"]
    lacking = subprocess.run(asked, capture_output=True, text=True, check=False)
    if lacking.returncode:
        pytest.skip(lacking.stderr.strip().splitlines()[-1].strip())
    make("hosts/sim/wasm/Makefile")
    return MODULE


def run_in_wasm(runs: Sequence[dict[str, Any]], folder: Path) -> list[tuple[bytes, Any]]:
    """The records and counts of runs, each given by its parts and the instant until which it goes.

    Where the simulator refuses, the counts are the words of it.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    (folder / "runs.json").write_text(json.dumps(runs))
    driver = Path(__file__).with_name("wasm.mjs")
    words = (node, driver, TEMPLATES / "simulator.js", built(), folder / "runs.json", folder)
    counts = json.loads(said(*words))
    files = [folder / str(number) for number in range(len(runs))]
    records = [file.read_bytes() if file.exists() else b"" for file in files]
    return list(zip(records, counts, strict=True))
