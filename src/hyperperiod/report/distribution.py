# SPDX-License-Identifier: BSD-2-Clause
"""How response times of a run are distributed, relative to deadlines.

From a trace they are exact. From the histogram of a result they are the upper ends of its
buckets, so never too good, and off by at most the relative error that the result states.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


def from_result(
    result: Mapping[str, Any], deadlines_ns: Mapping[Task, int]
) -> dict[Task, Distribution]:
    """By task, from a result with histograms; tasks without jobs or deadline are left out."""
    found: dict[Task, Distribution] = {}
    for domain in result["domains"]:
        for task in domain["tasks"]:
            key = (domain["name"], task["name"])
            buckets = task.get("histogram")
            if not buckets or key not in deadlines_ns:
                continue
            tops_ns = np.array([min(high, task["response_ns"]["max"]) for _, high, _ in buckets])
            counts = np.array([count for _, _, count in buckets], np.int64)
            found[key] = Distribution(tops_ns / deadlines_ns[key], counts)
    return found


def pooled(parts: list[Distribution]) -> Distribution:
    """All jobs of several tasks in one distribution."""
    ratios = np.concatenate([part.ratios for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.argsort(ratios, kind="stable")
    return Distribution(ratios[order], counts[order])
