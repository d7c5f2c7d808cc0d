# SPDX-License-Identifier: BSD-2-Clause
"""What the hunt over all rows has found, as a table of docs/analysis/proofs.md.

`python -m tests.soundness.hunt_table` puts the state in tests/soundness/hunt.json, which a hunt has
left, on the page; a test looks that they agree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

STATE = Path(__file__).with_name("hunt.json")
PAGE = Path(__file__).parents[2] / "docs/analysis/proofs.md"
BEGIN, END = "<!-- hunt: tests/soundness/hunt_table.py -->\n", "<!-- end of the hunt -->\n"

COLUMNS = (
    "row", "whole: drawn", "accepted", "chains: drawn", "accepted", "runs", "nearest", "reached",
    "broken",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * (len(COLUMNS) - 1)}\n"


def table(state: dict[str, Any]) -> str:
    """Seed, command, sums and one line for each row."""
    lines = [line(name, kinds) for name, kinds in state["rows"].items()]
    sums = {
        key: sum(kind[key] for kinds in state["rows"].values() for kind in kinds.values())
        for key in ("drawn", "accepted", "runs", "broken")
    }
    fewest = min(kind["drawn"] for kinds in state["rows"].values() for kind in kinds.values())
    told = (
        f"Seed {state['seed']}, by `make hunt SEED={state['seed']} COUNT={fewest}`:"
        f" {sums['drawn']:,} systems drawn, {sums['accepted']:,} accepted,"
        f" {sums['runs']:,} runs, {sums['broken']:,} counterexamples,"
        f" in {state['seconds'] / 60:.0f} minutes of a shared machine"
        f" ({sums['drawn'] / state['seconds']:.0f} systems a second).\n\n"
    )
    return told + HEAD + "".join(lines)


def line(name: str, kinds: dict[str, Any]) -> str:
    cells = []
    for kind in ("whole", "chain"):
        found = kinds.get(kind)
        cells += [f"{found[key]:,}" for key in ("drawn", "accepted")] if found else ["-", "-"]
    runs, reached, broken = (
        sum(kind[key] for kind in kinds.values()) for key in ("runs", "reached", "broken")
    )
    # Rounded down: 1.0000 is a bound that was reached.
    nearest = max(kind["nearest"] for kind in kinds.values()) // 100 / 10_000
    cells += [f"{runs:,}", f"{nearest:.4f}", f"{reached:,}", f"{broken:,}"]
    return f"| {name} | {' | '.join(cells)} |\n"


def parts(page: str) -> tuple[str, str, str]:
    """The page before the table, the table, and the page after it."""
    before, _, rest = page.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, inside, after


def main() -> int:
    before, _, after = parts(PAGE.read_text())
    found = table(json.loads(STATE.read_text()))
    PAGE.write_text(f"{before}{BEGIN}\n{found}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
