# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to, counted from its trace: for hosts that record first and count afterwards.

The words are those of `result`, and the numbers are what the simulator would have counted on the
way. Percentiles are exact: the response of the job at the nearest rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.result import DomainCount, PcpuCount, TaskCount
from hyperperiod.model import System, tasks_of, vcpus_of
from hyperperiod.trace.format import ALSO, NONE, Kind, Records
from hyperperiod.trace.spans import Spans, merged, spans


def count_tasks(system: System, records: Records, end_ns: int) -> list[TaskCount]:
    """All tasks, in file order."""
    return [_task(_of_task(records, placed.id), end_ns) for placed in tasks_of(system)]


def count_domains(system: System, records: Records) -> list[DomainCount]:
    """All domains, in file order."""
    found = _every_span(system, records)
    running = found[found["kind"] == Kind.RUN]
    lengths = running["end_ns"] - running["start_ns"]
    own = (running["payer"] == running["vcpu"]) | (running["flags"] & ALSO > 0)
    domain_of = np.array([vcpu.domain_index for vcpu in vcpus_of(system)], np.intp)
    counts = []
    for index in range(len(system.domains)):
        here = domain_of[running["vcpu"]] == index
        supply = int(lengths[here].sum())
        counts.append(DomainCount(supply, int(lengths[here & ~own].sum())))
    return counts


def count_pcpus(system: System, records: Records, picks: Sequence[int]) -> list[PcpuCount]:
    """All pcpus; how often each was asked to pick is not in a trace."""
    finished = _finish_times(records)
    first_on = _migrations(system, records)
    return [
        _pcpu(spans(records, pcpu), picks[pcpu], finished, first_on[pcpu])
        for pcpu in range(system.pcpus)
    ]


def _of_task(records: Records, task: int) -> Records:
    found: Records = records[records["task"] == task]
    return found


def _task(records: Records, end_ns: int) -> TaskCount:
    kinds = records["kind"]
    deadlines = records["value"][kinds == Kind.RELEASE]
    responses = np.sort(records["value"][kinds == Kind.COMPLETE])
    count = TaskCount(
        jobs=len(deadlines),
        finished=len(responses),
        misses=int((kinds == Kind.MISS).sum()),
        due=int(((deadlines > 0) & (deadlines <= end_ns)).sum()),
    )
    if len(responses) == 0:
        return count
    return TaskCount(
        jobs=count.jobs,
        finished=count.finished,
        misses=count.misses,
        due=count.due,
        sum_ns=sum(responses.tolist()),
        min_ns=int(responses[0]),
        max_ns=int(responses[-1]),
        p50_ns=_nearest_rank(responses, 50),
        p99_ns=_nearest_rank(responses, 99),
    )


def _nearest_rank(ordered: NDArray[np.uint64], percent: int) -> int:
    rank = -(-percent * len(ordered) // 100)
    return int(ordered[max(rank, 1) - 1])


def _every_span(system: System, records: Records) -> Spans:
    return np.concatenate([spans(records, pcpu) for pcpu in range(system.pcpus)])


def _pcpu(
    found: Spans, picks: int, finished: dict[tuple[int, int], int], migrations: int
) -> PcpuCount:
    runs = found[found["kind"] == Kind.RUN]
    return PcpuCount(
        busy_ns=int((runs["end_ns"] - runs["start_ns"]).sum()),
        switches=_switches(found),
        picks=picks,
        preemptions=_preemptions(found, finished),
        migrations=migrations,
    )


def _switches(found: Spans) -> int:
    """How often another vcpu, or none, has the pcpu than before; it idles at first."""
    found = found.copy()
    found["vcpu"] = np.where(found["kind"] == Kind.RUN, found["vcpu"], NONE)
    rows = merged(found, ("vcpu",))
    return len(rows) - int(len(rows) > 0 and rows["vcpu"][0] == NONE)


def _finish_times(records: Records) -> dict[tuple[int, int], int]:
    done = records[records["kind"] == Kind.COMPLETE]
    jobs = zip(done["task"].tolist(), done["job"].tolist(), strict=True)
    return dict(zip(jobs, done["time_ns"].tolist(), strict=True))


def _jobs_in_turn(found: Spans) -> Iterable[tuple[tuple[int, int] | None, int]]:
    """Which job a pcpu is busy with from when on; None: it idles. A guest's own work is no job."""
    rows = found[(found["kind"] == Kind.IDLE) | (found["task"] != NONE)]
    columns = (rows[name].tolist() for name in ("kind", "task", "job", "start_ns"))
    for kind, task, job, start_ns in zip(*columns, strict=True):
        yield (None if kind == Kind.IDLE else (task, job)), start_ns


def _preemptions(found: Spans, finished: dict[tuple[int, int], int]) -> int:
    """How often an unfinished job gave way to another one."""
    count = 0
    before: tuple[int, int] | None = None
    for job, start_ns in _jobs_in_turn(found):
        if job is not None and before is not None and job != before:
            over_ns = finished.get(before)
            count += over_ns is None or over_ns > start_ns
        before = job
    return count


def _migrations(system: System, records: Records) -> list[int]:
    """By pcpu, how often a job went on there that had run on another one."""
    counts = [0] * system.pcpus
    if system.pcpus == 1:
        return counts
    starts = sorted(
        (start_ns, pcpu, job)
        for pcpu in range(system.pcpus)
        for job, start_ns in _jobs_in_turn(spans(records, pcpu))
        if job is not None
    )
    last: dict[tuple[int, int], int] = {}
    for _, pcpu, job in starts:
        counts[pcpu] += last.get(job, pcpu) != pcpu
        last[job] = pcpu
    return counts
