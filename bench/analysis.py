# SPDX-License-Identifier: BSD-2-Clause
"""Sets of tasks judged in a second on one core, through the batch API.

The sets are those of tests/data/peers, 1000 of 20 tasks in each file, on which other tools were
run; their figures, the best of each tool, stand beside ours as they came with the sets, from
another machine. A figure is the median of several runs over a batch of 20,000 sets, the time to
make the arrays left out. Deadlines that are periods make QPA a sum of utilisations.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from bench.environment import TOP
from bench.results import Row

from hyperperiod.analysis import batch
from hyperperiod.analysis.batch import Judged, Sets

PEERS = TOP / "tests" / "data" / "peers"
COPIES = 20
RUNS = 7


@dataclass(frozen=True)
class Race:
    """One test on one file, and what another tool does in a second."""

    name: str
    file: str
    test: Callable[[Sets], Judged]
    peer: float | None = None
    peer_name: str | None = None


def whole_bounds(sets: Sets) -> Judged:
    return batch.response_time(sets, bounds=True)


def on(pcpus: int, test: Callable[[Sets, int], Judged]) -> Callable[[Sets], Judged]:
    return lambda sets: test(sets, pcpus)


RUST = "Rust, floats"
OTHER = "another tool"
RACES = tuple(
    Race(f"{title}, {kind} deadlines", f"an1000_uni_{kind}.json", test, peer, peer_name)
    for kind in ("implicit", "constrained")
    for title, test, peer, peer_name in (
        ("response times, verdicts", batch.response_time, 138_000, RUST),
        ("response times, verdicts", batch.response_time, 5_000, "schedcat"),
        ("response times, all bounds", whole_bounds, 33, "pyCPA"),
        ("QPA", batch.qpa, 29_000, "schedcat"),
        ("processor demand", batch.processor_demand, None, None),
    )
) + tuple(
    Race(
        f"{title}, {kind} deadlines", f"an1000_m4_{kind}.json", test, peer, OTHER if peer else None
    )
    for kind in ("implicit", "constrained")
    for title, test, peer in (
        ("GFB, 4 pcpus", on(4, batch.gfb), 600_000),
        ("BCL, 4 pcpus", on(4, batch.bcl), None),
        ("BCL, 16 pcpus (nearly all accepted)", on(16, batch.bcl), None),
        ("Baker, 4 pcpus", on(4, batch.baker), None),
        ("iterative BCL, 4 pcpus", on(4, batch.iterative_bcl), 48_000),
    )
)


def sets_of(file: str) -> Sets:
    """The sets of a file, deadline monotonic, many times over."""
    entries = json.loads((PEERS / file).read_text())["sets"]
    rows = [[[task["C"], task["T"], task["D"]] for task in entry["tasks"]] for entry in entries]
    return Sets.dense(np.array(rows * COPIES)).deadline_monotonic()


def sets_per_second(test: Callable[[Sets], Judged], sets: Sets) -> float:
    """The median over the runs, in seconds of CPU time."""
    spent = []
    for _ in range(RUNS):
        began = time.process_time()
        test(sets)
        spent.append(time.process_time() - began)
    return len(sets) / statistics.median(spent)


def measure() -> Iterator[Row]:
    """Sets per second of every race."""
    known: dict[str, Sets] = {}
    done: dict[str, float] = {}
    for race in RACES:
        sets = known.setdefault(race.file, sets_of(race.file))
        if race.name not in done:
            done[race.name] = sets_per_second(race.test, sets)
        yield Row(race.name, done[race.name], "sets/s", race.peer, race.peer_name, rate=True)
