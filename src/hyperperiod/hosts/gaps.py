# SPDX-License-Identifier: BSD-2-Clause
"""What a kernel takes of its threads' jobs, seen in the record of two of them.

A short thread, and a longer one below it, whose jobs are a little shorter than the time between two
ticks. Of each gap the longest counts.

    wake      a release while nobody runs, up to the job's first instruction
    job       a job that nobody disturbs, from its release to its completion, less what it executes
    preempt   a release while the longer thread runs, until that goes on, less the short job
    tick      what a job of the longer thread that nobody preempts takes more than it executes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from hyperperiod.model import Task
from hyperperiod.trace.format import Kind, Records

SHORT: Final = Task(
    name="short", period_ns=7_000_000, wcet_ns=300_000, offset_ns=500_000, priority=0
)
LONGER: Final = Task(
    name="longer", period_ns=20_000_000, wcet_ns=3_900_000, offset_ns=2_000_000, priority=1
)
TASKS: Final = (SHORT, LONGER)


def _nothing(_begin_ns: int, _end_ns: int) -> int:
    return 0


def gaps(
    records: Records, taken_ns: Callable[[int, int], int] = _nothing
) -> Iterator[tuple[str, int]]:
    """The gaps that a process of these two tasks recorded, by name (ns).

    `taken_ns` says what of the time between two instants was somebody else's; that is left out.
    """

    def span(begin_ns: int, end_ns: int) -> int:
        return end_ns - begin_ns - taken_ns(begin_ns, end_ns)

    runs = records[records["kind"] == Kind.RUN]
    runs = runs[runs["time_ns"].argsort(kind="stable")]
    done = records[records["kind"] == Kind.COMPLETE]
    for number, task in enumerate(TASKS):
        assert task.period_ns is not None, "the tasks here are periodic"
        assert task.wcet_ns is not None, "the tasks here end"
        for row in done[done["task"] == number]:
            release_ns = task.offset_ns + int(row["job"]) * task.period_ns
            end_ns = int(row["time_ns"])
            inside = runs[(runs["time_ns"] >= release_ns) & (runs["time_ns"] < end_ns)]
            before = runs[runs["time_ns"] < release_ns]
            asleep = len(before) == 0 or not _under_way(before[-1], done, release_ns)
            if not asleep and number == 0:
                resumed = runs[runs["time_ns"] > end_ns]
                yield "preempt", span(release_ns, int(resumed[0]["time_ns"])) - task.wcet_ns
            if not asleep or len(inside) != 1:
                continue
            start_ns = int(inside[0]["time_ns"])
            yield "wake", span(release_ns, start_ns)
            if number == 0:
                yield "job", span(release_ns, end_ns) - task.wcet_ns
            else:
                yield "tick", span(start_ns, end_ns) - task.wcet_ns


def _under_way(run: Records, done: Records, time_ns: int) -> bool:
    """Whether the job that this record says to run has not ended by then."""
    same = (done["task"] == run["task"]) & (done["job"] == run["job"])
    return not (done["time_ns"][same] < time_ns).any()
