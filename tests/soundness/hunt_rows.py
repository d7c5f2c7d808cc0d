# SPDX-License-Identifier: BSD-2-Clause
"""The hunt over all rows of the table of proofs: `make hunt ROWS=... KINDS=... COUNT=... SEED=...`.

For each row and each kind of system (`rows`) so many are drawn, analysed and attacked, in rounds of
a few systems for every row, so that a hunt that is stopped has seen all rows alike. After each
round the state is written: of each row how many were drawn, accepted and simulated, how near a
response came to its bound, and its first counterexamples as two system files. Number n of a seed,
row and kind is the same system on every machine; a hunt that finds its own state goes on where it
ended.
Exit code 1 if there is a counterexample.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from multiprocessing import Pool
from pathlib import Path
from shutil import which
from subprocess import run
from typing import Any, NamedTuple

from tests.soundness.rows import KINDS, ROWS, kinds_of, try_one

AT_ONCE = 20
"""Systems of one row and kind in a round."""
MOST_TOLD = 3
"""Counterexamples that are kept for each row and kind; the others are counted."""

State = dict[str, Any]


class Chunk(NamedTuple):
    """Consecutive systems of one row and kind."""

    row: str
    kind: str
    seed: int
    first: int
    size: int


def play(chunk: Chunk) -> tuple[Chunk, State]:
    """Tries the systems of a chunk."""
    found = empty()
    for number in range(chunk.first, chunk.first + chunk.size):
        draw = random.Random(f"{chunk.seed}:{chunk.row}:{chunk.kind}:{number}")
        tried = try_one(draw, ROWS[chunk.row], chunk.kind)
        found["drawn"] += 1
        found["accepted"] += tried.accepted
        found["runs"] += tried.runs
        found["nearest"] = max(found["nearest"], tried.nearest)
        found["reached"] += tried.nearest == 1_000_000
        if tried.counterexample:
            found["broken"] += 1
            found["counterexamples"].append({"number": number, "text": tried.counterexample})
    return chunk, found


def empty() -> State:
    """What is counted of a row and kind.

    `nearest` is the longest response in millionths of its bound, `reached` says how many systems
    had a response of exactly its bound.
    """
    return {
        "drawn": 0,
        "accepted": 0,
        "runs": 0,
        "nearest": 0,
        "reached": 0,
        "broken": 0,
        "counterexamples": [],
    }


def add(total: State, found: State) -> None:
    for key in ("drawn", "accepted", "runs", "reached", "broken"):
        total[key] += found[key]
    total["nearest"] = max(total["nearest"], found["nearest"])
    room = MOST_TOLD - len(total["counterexamples"])
    total["counterexamples"] += found["counterexamples"][: max(0, room)]


def begin(path: Path, seed: int, rows: Iterable[str], kinds: Iterable[str]) -> State:
    """The state of an earlier hunt with this seed, or that of a new one."""
    state: State = {"seed": seed, "code": code(), "seconds": 0.0, "rows": {}}
    if path.exists():
        before = json.loads(path.read_text())
        if before["seed"] != seed:
            raise SystemExit(f"{path} is of seed {before['seed']}: name another file")
        state = before
    for row in rows:
        totals = state["rows"].setdefault(row, {})
        for kind in kinds_of(row):
            if kind in kinds:
                totals.setdefault(kind, empty())
    return state


def code() -> str:
    """The commit whose files are hunted in: a hunt that goes on elsewhere keeps the first."""
    git = which("git")
    if git is None:
        return "unknown"
    asked = (git, "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD")
    return run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def write(path: Path, state: State) -> None:
    """At a stroke, so that what is there is always whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(state, indent=1) + "\n")
    beside.replace(path)


def round_of(
    state: State, rows: Iterable[str], kinds: Collection[str], count: int
) -> Iterator[Chunk]:
    """The next few systems of each of these rows and kinds that has not had enough of them."""
    for row in rows:
        for kind, total in state["rows"][row].items():
            left = count - total["drawn"]
            if kind in kinds and left > 0:
                yield Chunk(row, kind, state["seed"], total["drawn"], min(AT_ONCE, left))


def told(state: State) -> str:
    sums = [kind for kinds in state["rows"].values() for kind in kinds.values()]
    drawn, broken = (sum(one[key] for one in sums) for key in ("drawn", "broken"))
    rate = drawn / max(state["seconds"], 1e-9)
    return f"{drawn} drawn, {rate:.0f} a second, {broken} counterexamples"


def hunt(
    path: Path,
    rows: list[str],
    count: int,
    seed: int,
    processes: int,
    kinds: Collection[str] = KINDS,
) -> State:
    """Rounds until every row has had `count` systems of each of the kinds."""
    state = begin(path, seed, rows, kinds)
    with Pool(processes) as pool:
        while chunks := list(round_of(state, rows, kinds, count)):
            start = time.monotonic()
            played = pool.imap_unordered(play, chunks) if processes > 1 else map(play, chunks)
            for chunk, found in played:
                add(state["rows"][chunk.row][chunk.kind], found)
                for one in found["counterexamples"]:
                    print(f"{chunk.row} {chunk.kind} {one['number']}:\n{one['text']}", flush=True)
            state["seconds"] += time.monotonic() - start
            write(path, state)
            print(told(state), flush=True)
    return state


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", default="", help="names with commas between them; all rows")
    parser.add_argument("--kinds", default="", help="whole, vcpus, chain; all kinds")
    parser.add_argument("--count", type=int, default=1000, help="systems of each row and kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--state", type=Path, default=Path("out/hunt.json"))
    asked = parser.parse_args()
    rows = asked.rows.split(",") if asked.rows else list(ROWS)
    unknown = [row for row in rows if row not in ROWS]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    kinds = asked.kinds.split(",") if asked.kinds else KINDS
    if not set(KINDS).issuperset(kinds):
        parser.error(f"no kinds {asked.kinds}; there are {', '.join(KINDS)}")
    state = hunt(asked.state, rows, asked.count, asked.seed, asked.processes, kinds)
    broken = sum(one["broken"] for kinds in state["rows"].values() for one in kinds.values())
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
