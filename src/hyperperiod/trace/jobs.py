# SPDX-License-Identifier: BSD-2-Clause
"""Every job of a run: when it was released, first ran, finished, and had to be finished.

A job that never finished has an empty finish, one that never ran an empty start, one without
a deadline an empty deadline. Jobs are sorted by task, in file order, and then by number. What a job
ran is its time on pcpus, with what the host did in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hyperperiod.trace.format import NONE, Header, Kind, Records, chunks
from hyperperiod.trace.interval_arrays import interval_arrays


@dataclass(slots=True)
class Job:
    """One row of `trace jobs`. None: it did not happen, or there is no deadline."""

    domain: str
    task: str
    job: int
    release_ns: int
    start_ns: int | None
    finish_ns: int | None
    deadline_ns: int | None


@dataclass(slots=True)
class RecordedJob(Job):
    """The same with how long it ran: what `simulate --jobs` reads."""

    ran_ns: int = 0


def jobs(header: Header, records: Records) -> list[RecordedJob]:
    """Returns all jobs that were released in the run, by task and number."""
    found: dict[tuple[int, int], RecordedJob] = {}
    names = [(entry["domain"], entry["name"]) for entry in header["tasks"]]
    release, complete = int(Kind.RELEASE), int(Kind.COMPLETE)
    for time_ns, value, job, task, kind in _job_records(records):
        key = (task, job)
        if kind == release and key not in found:
            found[key] = RecordedJob(*names[task], job, time_ns, None, None, value or None)
        elif kind == complete and key in found:
            found[key].finish_ns = time_ns
    for task, job, start_ns, length_ns in _runs(header, records):
        one = found.get((task, job))
        if one is not None:
            one.start_ns = start_ns if one.start_ns is None else min(start_ns, one.start_ns)
            one.ran_ns += length_ns
    return [found[key] for key in sorted(found)]


def _job_records(records: Records) -> Iterator[tuple[int, int, int, int, int]]:
    for chunk in chunks(records):
        kinds = chunk["kind"]
        wanted = chunk[(kinds == Kind.RELEASE) | (kinds == Kind.COMPLETE)]
        yield from zip(
            wanted["time_ns"].tolist(),
            wanted["value"].tolist(),
            wanted["job"].tolist(),
            wanted["task"].tolist(),
            wanted["kind"].tolist(),
            strict=True,
        )


def _runs(header: Header, records: Records) -> Iterator[tuple[int, int, int, int]]:
    """Yields task, job, start and length (ns) wherever a job had a pcpu for a while."""
    for found in interval_arrays(header, records):
        ran = found[(found["kind"] == Kind.RUN) & (found["task"] != NONE)]
        yield from zip(
            ran["task"].tolist(),
            ran["job"].tolist(),
            ran["start_ns"].tolist(),
            (ran["end_ns"] - ran["start_ns"]).tolist(),
            strict=True,
        )
