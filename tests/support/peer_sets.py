# SPDX-License-Identifier: BSD-2-Clause
"""Task sets of other projects, in tests/data/peers."""

from __future__ import annotations

import json
from pathlib import Path

from hyperperiod.analysis.component import Load

DATA = Path(__file__).parent.parent / "data" / "peers"


def task_sets(name: str) -> list[list[Load]]:
    return [
        [Load(task["C"], task["T"], task["D"]) for task in entry["tasks"]]
        for entry in json.loads((DATA / name).read_text())["sets"]
    ]
