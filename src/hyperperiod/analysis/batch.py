# SPDX-License-Identifier: BSD-2-Clause
"""One test on very many sets of loads: arrays in, arrays out.

For sweeps and experiments, where a set takes microseconds and making objects would take longer
than judging. Sets lie one behind the other in one array of integers, `Sets`; a test is a function
of this module and returns a verdict per set, `Judged`. The verdicts are those of the tests that
`analyze` uses, decided in exact integers:
- 1 (YES): guaranteed;
- 0 (NO): an exact test found that it is not;
- -1 (UNKNOWN): a sufficient test did not confirm it, or it took too many steps to decide.

Under fixed priority the rows of a set stand in order of priority; `deadline_monotonic` and
`rate_monotonic` put them in it. The kernels are in `kernels/`, see `kernels/batch.hpp`.

Units: one integer unit for everything, below 2^62. Errors: ValueError for arrays that do not fit
together, and for a wcet, period or deadline of 0 or a time out of range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperperiod import _analysis
from hyperperiod.analysis.component import Load

YES, NO, UNKNOWN = 1, 0, -1
FIELDS = len(Load._fields)


@dataclass(frozen=True)
class Sets:
    """Set number i is `loads[starts[i]:starts[i + 1]]`, rows of wcet, period, deadline, jitter,
    blocking."""

    loads: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.loads.ndim != 2 or self.loads.shape[1] != FIELDS:
            raise ValueError(f"loads of {self.loads.shape}, not of (loads, {FIELDS})")
        if self.starts.ndim != 1 or len(self.starts) == 0:
            raise ValueError("no starts: there is one for each set, and the end of the last")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def flat(cls, loads: ArrayLike, starts: ArrayLike) -> Sets:
        """Sets from rows of two to five fields, one for each load; set k begins at row `starts[k]`.

        Without a third field the deadline is the period; jitter and blocking are 0 unless given.

        ValueError for other numbers of fields.
        """
        return cls(_rows(np.asarray(loads)), np.ascontiguousarray(starts, dtype=np.int64))

    @classmethod
    def dense(cls, sets: ArrayLike) -> Sets:
        """Sets from an array (sets, tasks, fields); rows of zeros fill up shorter sets."""
        array = np.asarray(sets)
        if array.ndim != 3:
            raise ValueError(f"an array of {array.shape}, not of (sets, tasks, fields)")
        used = array.any(axis=2)
        starts = np.concatenate(([0], np.cumsum(used.sum(axis=1))))
        return cls.flat(array[used], starts)

    @classmethod
    def of(cls, sets: Iterable[Sequence[Load]]) -> Sets:
        """Sets from lists of loads, one list for each set."""
        lists = [list(one) for one in sets]
        starts = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
        rows = [load for one in lists for load in one]
        return cls.flat(np.array(rows, dtype=np.int64).reshape(-1, FIELDS), starts)

    def deadline_monotonic(self) -> Sets:
        """Each set in order of its deadlines; equals keep their order."""
        return self._ordered_by(2)

    def rate_monotonic(self) -> Sets:
        """Each set in order of its periods; equals keep their order."""
        return self._ordered_by(1)

    def _ordered_by(self, field: int) -> Sets:
        number = np.repeat(np.arange(len(self)), np.diff(self.starts))
        order = np.lexsort((self.loads[:, field], number))
        return Sets(np.ascontiguousarray(self.loads[order]), self.starts)


@dataclass(frozen=True)
class Judged:
    """A verdict per set, and per load a bound on its response time (-1: none), if asked for."""

    verdicts: NDArray[np.int8]
    bounds: NDArray[np.int64] | None

    @property
    def accepted(self) -> int:
        """Returns how many of the sets surely meet every deadline."""
        return int(np.count_nonzero(self.verdicts == YES))


def response_time(sets: Sets, *, bounds: bool = False) -> Judged:
    """Response-time analysis under fixed priority on one pcpu: see `tasks.response_time`.

    Exact without jitter and blocking. Without `bounds` a set is left at its first "no", and tasks
    with time to spare are accepted by a bound that is quicker to find.
    """
    return _judge(_analysis.Test.RESPONSE_TIME, sets, 1, bounds=bounds)


def qpa(sets: Sets) -> Judged:
    """EDF on one pcpu by QPA: see `tasks.qpa`. Exact without jitter and blocking."""
    return _judge(_analysis.Test.QPA, sets, 1, bounds=False)


def processor_demand(sets: Sets) -> Judged:
    """EDF on one pcpu by the processor-demand test, deadline after deadline: the same verdicts as
    `qpa`, by a longer way. See `tasks.edf_demand`."""
    return _judge(_analysis.Test.PROCESSOR_DEMAND, sets, 1, bounds=False)


def gfb(sets: Sets, pcpus: int) -> Judged:
    """Global EDF on `pcpus`: the GFB bound on densities. Sufficient; see `multiprocessor.gfb`."""
    return _judge(_analysis.Test.GFB, sets, pcpus, bounds=False)


def baker(sets: Sets, pcpus: int) -> Judged:
    """Global EDF on `pcpus`: Baker's test. Sufficient; see `multiprocessor.baker`.

    An equality between fractions without a small common denominator is not confirmed.
    """
    return _judge(_analysis.Test.BAKER, sets, pcpus, bounds=False)


def bcl(sets: Sets, pcpus: int) -> Judged:
    """Global EDF on `pcpus`: the BCL test. Sufficient; see `multiprocessor.bcl`."""
    return _judge(_analysis.Test.BCL, sets, pcpus, bounds=False)


def iterative_bcl(sets: Sets, pcpus: int, *, bounds: bool = False) -> Judged:
    """Global EDF on `pcpus`: iterative BCL, with bounds on response times where it holds.

    Sufficient; see `multiprocessor.iterative_bcl`.
    """
    return _judge(_analysis.Test.ITERATIVE_BCL, sets, pcpus, bounds=bounds)


def _judge(test: _analysis.Test, sets: Sets, pcpus: int, *, bounds: bool) -> Judged:
    verdicts = np.empty(len(sets), dtype=np.int8)
    slots = np.empty(len(sets.loads), dtype=np.int64) if bounds else None
    _analysis.judge_batch(test, sets.loads, sets.starts, pcpus, verdicts, slots)
    return Judged(verdicts, slots)


def _rows(given: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of all fields, from rows of the first few."""
    if given.ndim != 2 or not 2 <= given.shape[1] <= FIELDS:
        raise ValueError(f"rows of {given.shape}, not of two to {FIELDS} fields")
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"times of {given.dtype}, not integers")
    rows = np.zeros((len(given), FIELDS), dtype=np.int64)
    rows[:, : given.shape[1]] = given
    if given.shape[1] == 2:
        rows[:, 2] = rows[:, 1]
    return rows
