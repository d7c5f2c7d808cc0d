# SPDX-License-Identifier: BSD-2-Clause
"""What the hunts over all rows have found, as a table of docs/analysis/proofs.md.

tests/soundness/hunt.json keeps the states that hunts have left, one for each seed.
`python -m tests.soundness.hunt_table STATE...` adds the states in those files, each in place of an
earlier one of its seed and kinds, and writes the page; a test looks that the two agree.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.soundness.hunt_rows import State, add
from tests.soundness.rows import KINDS

STATE = Path(__file__).with_name("hunt.json")
PAGE = Path(__file__).parents[2] / "docs/analysis/proofs.md"
BEGIN, END = "<!-- hunt: tests/soundness/hunt_table.py -->\n", "<!-- end of the hunt -->\n"

COLUMNS = (
    "row", "whole: drawn", "accepted", "vcpus: drawn", "accepted", "moving: drawn", "accepted",
    "chains: drawn", "accepted", "runs", "nearest", "reached", "broken",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * (len(COLUMNS) - 1)}\n"


def table(states: Sequence[State]) -> str:
    """Seeds and commands, sums, and one line for each row."""
    rows = together(states)
    sums = sums_of(rows)
    seconds = sum(state["seconds"] for state in states)
    told = (
        f"{sums['drawn']:,} systems drawn, {sums['accepted']:,} accepted, {sums['runs']:,} runs,"
        f" {sums['broken']:,} counterexamples, in {seconds / 60:.0f} minutes of a shared machine"
        f" ({sums['drawn'] / seconds:.0f} systems a second):\n\n"
    )
    return (
        told
        + "".join(map(hunt_of, states))
        + "\n"
        + HEAD
        + "".join(line(name, kinds) for name, kinds in rows.items())
    )


def hunt_of(state: State) -> str:
    """One hunt: how to repeat it, on which state of the project it ran, how much it drew."""
    fewest = min(kind["drawn"] for kinds in state["rows"].values() for kind in kinds.values())
    drawn = sums_of(state["rows"])["drawn"]
    code = f" at {state['code']}" if "code" in state else ""
    seen = kinds_in(state)
    kinds = "" if set(seen) == set(KINDS) else f" KINDS={','.join(seen)}"
    return f"- `make hunt SEED={state['seed']}{kinds} COUNT={fewest}`{code}: {drawn:,} systems\n"


def together(states: Iterable[State]) -> dict[str, Any]:
    """What all hunts have counted of each row and kind."""
    rows: dict[str, Any] = {}
    for state in states:
        for row, kinds in state["rows"].items():
            for kind, found in kinds.items():
                known = rows.setdefault(row, {})
                if kind in known:
                    add(known[kind], found)
                else:
                    known[kind] = deepcopy(found)
    return rows


def sums_of(rows: dict[str, Any]) -> dict[str, int]:
    """What was counted over all rows and kinds."""
    return {
        key: sum(kind[key] for kinds in rows.values() for kind in kinds.values())
        for key in ("drawn", "accepted", "runs", "broken")
    }


def with_states(states: Sequence[State], more: Iterable[State]) -> list[State]:
    """All states, of each seed and the same kinds the last one."""
    return list({(state["seed"], *kinds_in(state)): state for state in (*states, *more)}.values())


def kinds_in(state: State) -> list[str]:
    """The kinds of systems that a hunt has drawn."""
    return sorted({kind for kinds in state["rows"].values() for kind in kinds})


def line(name: str, kinds: dict[str, Any]) -> str:
    cells = []
    for kind in KINDS:
        found = kinds.get(kind)
        cells += [f"{found[key]:,}" for key in ("drawn", "accepted")] if found else ["-", "-"]
    runs, reached, broken = (
        sum(kind[key] for kind in kinds.values()) for key in ("runs", "reached", "broken")
    )
    # Rounded down: 1.0000 is a bound that was reached.
    nearest = max(kind["nearest"] for kind in kinds.values()) // 100 / 10_000
    cells += [f"{runs:,}", f"{nearest:.4f}", f"{reached:,}", f"{broken:,}"]
    return f"| {name} | {' | '.join(cells)} |\n"


def text_of(states: Sequence[State]) -> str:
    """The states as JSON, what was found of a kind of a row in one line."""
    text = json.dumps(states, indent=1)
    return re.sub(r"\n {5,}", " ", text).replace("\n    }", " }") + "\n"


def parts(page: str) -> tuple[str, str, str]:
    """The page before the table, the table, and the page after it."""
    before, _, rest = page.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, inside, after


def main(files: Sequence[str]) -> int:
    """Adds the states in those files and writes the page."""
    more = [json.loads(Path(file).read_text()) for file in files]
    states = with_states(json.loads(STATE.read_text()), more)
    STATE.write_text(text_of(states))
    before, _, after = parts(PAGE.read_text())
    PAGE.write_text(f"{before}{BEGIN}\n{table(states)}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
