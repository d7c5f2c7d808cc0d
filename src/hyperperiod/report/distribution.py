# SPDX-License-Identifier: BSD-2-Clause
"""How response times of a run are distributed, relative to deadlines, exactly as traced."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperperiod.trace.format import Header, Kind, Records, of_kinds

Task = tuple[str, str]
"""A task by domain and name."""


@dataclass(frozen=True)
class BoxNumbers:
    """The five numbers of a box plot, and the mean, all in nanoseconds."""

    smallest: float
    lower: float
    median: float
    upper: float
    largest: float
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
    def largest(self) -> float:
        return float(self.ratios[-1])

    def steps(self, limit: int = 160) -> list[tuple[float, float]]:
        """Points (x, share of jobs at most x), thinned to at most `limit`; the last is kept."""
        shares = np.cumsum(self.counts) / self.jobs
        places = np.arange(len(shares))
        if len(places) > limit:
            wanted = np.searchsorted(shares, np.linspace(0, 1, limit))
            places = np.unique(np.minimum(wanted, len(shares) - 1))
        return [(float(self.ratios[at]), float(shares[at])) for at in places]

    def spread(self) -> BoxNumbers:
        """Returns the numbers of a box plot, with quartiles by nearest rank."""
        ranks = np.ceil(np.array((0.25, 0.5, 0.75)) * self.jobs)
        places = np.searchsorted(np.cumsum(self.counts), ranks)
        lower, median, upper = self.ratios[places].tolist()
        mean = float((self.ratios * self.counts).sum() / self.jobs)
        return BoxNumbers(float(self.ratios[0]), lower, median, upper, self.largest, mean)


class ResponseCounts:
    """Collects the response times of a trace, chunk by chunk: distinct values and their counts."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._parts: dict[int, list[tuple[NDArray[np.uint64], NDArray[np.int64]]]]
        self._parts = defaultdict(list)

    def add(self, chunk: Records) -> None:
        """Counts the jobs that complete in this chunk of records."""
        for task, done in by_task(of_kinds(chunk, Kind.COMPLETE)):
            if self._header["tasks"][task]["deadline_ns"]:
                self._parts[task].append(np.unique(done["value"], return_counts=True))

    def found(self) -> dict[Task, Distribution]:
        """By task; those without a deadline or without a finished job are left out."""
        result: dict[Task, Distribution] = {}
        for task, parts in sorted(self._parts.items()):
            entry = self._header["tasks"][task]
            values = np.concatenate([values for values, _ in parts])
            responses_ns, place = np.unique(values, return_inverse=True)
            counts = np.zeros(len(responses_ns), np.int64)
            np.add.at(counts, place, np.concatenate([counts for _, counts in parts]))
            ratios = responses_ns.astype(np.float64) / (entry["deadline_ns"] or 1)
            result[entry["domain"], entry["name"]] = Distribution(ratios, counts)
        return result


def by_task(records: Records) -> Iterator[tuple[int, Records]]:
    """The records of each task, in the order in which they came."""
    ordered = records.take(np.argsort(records["task"], kind="stable"))
    tasks, first = np.unique(ordered["task"], return_index=True)
    return zip(tasks.tolist(), np.split(ordered, first[1:]), strict=False)


def pooled(parts: list[Distribution]) -> Distribution:
    """All jobs of several tasks in one distribution."""
    ratios = np.concatenate([part.ratios for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.argsort(ratios, kind="stable")
    return Distribution(ratios[order], counts[order])
