# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to, counted from its trace: for hosts that record first and count afterwards.

The words are those of `result`, and the numbers are what the simulator would have counted on the
way. Percentiles are exact: the response of the job at the nearest rank.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Required, TypedDict

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.replay import Replayed
from hyperperiod.hosts.result import FlowCount, PcpuCount, PeriodCount, TaskCount, VcpuCount
from hyperperiod.model import Flow, System, tasks_of, vcpus_of
from hyperperiod.trace.format import NONE, SECOND_PAYER, STOLEN, Item, Kind, Records
from hyperperiod.trace.interval_arrays import IntervalArray, interval_array, merged
from hyperperiod.trace.items import visits
from hyperperiod.trace.records import Record


def count_tasks(system: System, records: Records, end_ns: int) -> list[TaskCount]:
    """What each task did in a run that ended at `end_ns`, in the order of the file."""
    return [_task(_of_task(records, placed.id), end_ns) for placed in tasks_of(system)]


def count_flows(system: System, records: Records, end_ns: int) -> list[FlowCount]:
    """What each flow did in a run that ended at `end_ns`, in the order of the file."""
    found: list[list[tuple[Record, Item]]] = [[] for _ in system.flows]
    for record, item in visits(records):
        found[item.flow].append((record, item))
    return [_flow(own, flow, end_ns) for own, flow in zip(found, system.flows, strict=True)]


def count_vcpus(system: System, records: Records, replayed: Sequence[Replayed]) -> list[VcpuCount]:
    """What each vcpu got in a run, in the order of the file; periods were counted in the replay."""
    found = _every_interval(system, records)
    running = found[found["kind"] == Kind.RUN]
    lengths = running["end_ns"] - running["start_ns"]
    own = (running["payer"] == running["vcpu"]) | (running["flags"] & SECOND_PAYER > 0)
    counts = []
    for vcpu in vcpus_of(system):
        here = running["vcpu"] == vcpu.id
        supply = int(lengths[here].sum())
        periods = (part.periods[vcpu.id] for part in replayed if vcpu.id in part.periods)
        counts.append(
            VcpuCount(
                supply,
                int(lengths[here & ~own].sum()),
                periods=functools.reduce(operator.or_, periods, PeriodCount()),
            )
        )
    return counts


def count_pcpus(system: System, records: Records, picks: Sequence[int]) -> list[PcpuCount]:
    """All pcpus; how often each was asked to pick is not in a trace."""
    finished = _finish_times(records)
    first_on = _migrations(system, records)
    return [
        _pcpu(interval_array(records, pcpu), picks[pcpu], finished, first_on[pcpu])
        for pcpu in range(system.pcpus)
    ]


def _of_task(records: Records, task: int) -> Records:
    found: Records = records[records["task"] == task]
    return found


def _task(records: Records, end_ns: int) -> TaskCount:
    kinds = records["kind"]
    deadlines = records["value"][kinds == Kind.RELEASE]
    responses = np.sort(records["value"][kinds == Kind.COMPLETE])
    return TaskCount(
        jobs=len(deadlines),
        misses=int((kinds == Kind.MISS).sum()),
        due=int(((deadlines > 0) & (deadlines <= end_ns)).sum()),
        **_responses(responses),
    )


def _flow(records: Sequence[tuple[Record, Item]], flow: Flow, end_ns: int) -> FlowCount:
    """What a flow did, from its item, drop and complete records."""
    released: dict[int, int] = {}
    finished: dict[int, int] = {}
    dropped = 0
    for record, item in records:
        if record.kind == Kind.COMPLETE:
            if item.hop + 1 == len(flow.hops):
                finished[item.number] = record.time_ns
        elif record.kind == Kind.DROP:
            dropped += 1
        elif item.hop == 0:
            released[item.number] = record.time_ns
    deadlines = {number: time_ns + flow.deadline_ns for number, time_ns in released.items()}
    return FlowCount(
        items=len(released) + dropped,
        dropped=dropped,
        misses=sum(
            finished.get(number, end_ns + 1) > deadline_ns and deadline_ns <= end_ns
            for number, deadline_ns in deadlines.items()
        ),
        due=sum(deadline_ns <= end_ns for deadline_ns in deadlines.values()),
        **_responses(np.sort([left - released[number] for number, left in finished.items()])),
    )


class _Responses(TypedDict, total=False):
    """What a count has of response times."""

    finished: Required[int]
    sum_ns: int
    min_ns: int
    max_ns: int
    p50_ns: int
    p99_ns: int


def _responses(ordered: NDArray[Any]) -> _Responses:
    if len(ordered) == 0:
        return _Responses(finished=0)
    return _Responses(
        finished=len(ordered),
        sum_ns=sum(ordered.tolist()),
        min_ns=int(ordered[0]),
        max_ns=int(ordered[-1]),
        p50_ns=_nearest_rank(ordered, 50),
        p99_ns=_nearest_rank(ordered, 99),
    )


def _nearest_rank(ordered: NDArray[Any], percent: int) -> int:
    rank = -(-percent * len(ordered) // 100)
    return int(ordered[max(rank, 1) - 1])


def _every_interval(system: System, records: Records) -> IntervalArray:
    return np.concatenate([interval_array(records, pcpu) for pcpu in range(system.pcpus)])


def _pcpu(
    found: IntervalArray, picks: int, finished: dict[tuple[int, int], int], migrations: int
) -> PcpuCount:
    lengths = found["end_ns"] - found["start_ns"]
    stolen = (found["kind"] == Kind.IDLE) & (found["flags"] & STOLEN > 0)
    return PcpuCount(
        busy_ns=int(lengths[found["kind"] == Kind.RUN].sum()),
        stolen_ns=int(lengths[stolen].sum()),
        switches=_switches(found),
        picks=picks,
        preemptions=_preemptions(found, finished),
        migrations=migrations,
    )


def _switches(found: IntervalArray) -> int:
    """How often another vcpu, or none, has the pcpu than before; it idles at first."""
    found = found.copy()
    found["vcpu"] = np.where(found["kind"] == Kind.RUN, found["vcpu"], NONE)
    rows = merged(found, ("vcpu",))
    return len(rows) - int(len(rows) > 0 and rows["vcpu"][0] == NONE)


def _finish_times(records: Records) -> dict[tuple[int, int], int]:
    done = records[records["kind"] == Kind.COMPLETE]
    jobs = zip(done["task"].tolist(), done["job"].tolist(), strict=True)
    return dict(zip(jobs, done["time_ns"].tolist(), strict=True))


def _jobs_in_turn(found: IntervalArray) -> Iterable[tuple[tuple[int, int] | None, int]]:
    """Which job a pcpu is busy with from when on; None: it idles. A guest's own work is no job."""
    rows = found[(found["kind"] == Kind.IDLE) | (found["task"] != NONE)]
    columns = (rows[name].tolist() for name in ("kind", "task", "job", "start_ns"))
    for kind, task, job, start_ns in zip(*columns, strict=True):
        yield (None if kind == Kind.IDLE else (task, job)), start_ns


def _preemptions(found: IntervalArray, finished: dict[tuple[int, int], int]) -> int:
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
    """How often a job went on that had run on another pcpu, by the pcpu where it went on."""
    counts = [0] * system.pcpus
    if system.pcpus == 1:
        return counts
    starts = sorted(
        (start_ns, pcpu, job)
        for pcpu in range(system.pcpus)
        for job, start_ns in _jobs_in_turn(interval_array(records, pcpu))
        if job is not None
    )
    last: dict[tuple[int, int], int] = {}
    for _, pcpu, job in starts:
        counts[pcpu] += last.get(job, pcpu) != pcpu
        last[job] = pcpu
    return counts
