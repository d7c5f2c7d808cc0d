# SPDX-License-Identifier: BSD-2-Clause
"""How response times of a run are distributed, relative to deadlines, exactly as traced."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperperiod.trace.format import Header, Kind, Records, chunks

Task = tuple[str, str]
"""A task by domain and name."""


@dataclass(frozen=True)
class Spread:
    """The five numbers of a box plot, and the mean."""

    least: float
    lower: float
    median: float
    upper: float
    most: float
    mean: float


@dataclass(frozen=True)
class Distribution:
    """Response time / deadline: distinct values, ascending, and how many jobs had each.

    1 is just in time. There is at least one job.
    """

    ratios: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def jobs(self) -> int:
        return int(self.counts.sum())

    @property
    def most(self) -> float:
        return float(self.ratios[-1])

    def steps(self, limit: int = 160) -> list[tuple[float, float]]:
        """Points (x, share of jobs at most x), thinned to at most `limit`; the last is kept."""
        shares = np.cumsum(self.counts) / self.jobs
        places = np.arange(len(shares))
        if len(places) > limit:
            wanted = np.searchsorted(shares, np.linspace(0, 1, limit))
            places = np.unique(np.minimum(wanted, len(shares) - 1))
        return [(float(self.ratios[at]), float(shares[at])) for at in places]

    def spread(self) -> Spread:
        """The box: quartiles by nearest rank."""
        ranks = np.ceil(np.array((0.25, 0.5, 0.75)) * self.jobs)
        places = np.searchsorted(np.cumsum(self.counts), ranks)
        lower, median, upper = self.ratios[places].tolist()
        mean = float((self.ratios * self.counts).sum() / self.jobs)
        return Spread(float(self.ratios[0]), lower, median, upper, self.most, mean)


def from_trace(header: Header, records: Records) -> dict[Task, Distribution]:
    """By task; those without a deadline or without a finished job are left out."""
    found: dict[int, list[NDArray[np.float64]]] = defaultdict(list)
    for chunk in chunks(records):
        done = chunk[chunk["kind"] == Kind.COMPLETE]
        for task in np.unique(done["task"]).tolist():
            deadline_ns = header["tasks"][task]["deadline_ns"]
            if deadline_ns:
                responses_ns = done["value"][done["task"] == task]
                found[task].append(responses_ns.astype(np.float64) / deadline_ns)
    result: dict[Task, Distribution] = {}
    for task, parts in sorted(found.items()):
        ratios, counts = np.unique(np.concatenate(parts), return_counts=True)
        entry = header["tasks"][task]
        result[entry["domain"], entry["name"]] = Distribution(ratios, counts.astype(np.int64))
    return result


def pooled(parts: list[Distribution]) -> Distribution:
    """All jobs of several tasks in one distribution."""
    ratios = np.concatenate([part.ratios for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.argsort(ratios, kind="stable")
    return Distribution(ratios[order], counts[order])
