# SPDX-License-Identifier: BSD-2-Clause
"""Jobs are released when the kind of their task says so.

Periodic: at offset + k * period, up to `jitter` later. Sporadic: at least one period after the
release before, less the jitter. Event: exactly one period after the job before has finished.
A release never overtakes the one before it.
"""

from hyperperiod.trace.format import Header, Kind, Records, TaskEntry, task_name
from hyperperiod.trace.properties.finding import Finding
from hyperperiod.trace.replay import Record, each


def check(header: Header, records: Records) -> Finding:
    """Check each release against the one before it and against the task."""
    finding = Finding()
    tasks = header["tasks"]
    last_ns: list[int | None] = [None] * len(tasks)
    count = [0] * len(tasks)
    finished_ns: list[int | None] = [None] * len(tasks)
    kinds = records["kind"]
    for record in each(records[(kinds == Kind.RELEASE) | (kinds == Kind.COMPLETE)]):
        task = record.task
        if record.kind == Kind.COMPLETE:
            finished_ns[task] = record.time_ns
            continue
        low_ns, high_ns = _range(tasks[task], count[task], last_ns[task], finished_ns[task])
        if record.time_ns < low_ns or (high_ns is not None and record.time_ns > high_ns):
            finding.add(record.time_ns, _text(header, record, low_ns, high_ns))
        last_ns[task] = record.time_ns
        count[task] += 1
    return finding


def _range(
    entry: TaskEntry, index: int, last_ns: int | None, finished_ns: int | None
) -> tuple[int, int | None]:
    """The earliest and the latest instant for a release; None: no latest."""
    period_ns, jitter_ns, offset_ns = entry["period_ns"], entry["jitter_ns"], entry["offset_ns"]
    if entry["kind"] == "periodic" and period_ns is not None:
        own_ns = offset_ns + index * period_ns
        before_ns = last_ns or 0
        return max(own_ns, before_ns), max(own_ns + jitter_ns, before_ns)
    if last_ns is None:
        return offset_ns, offset_ns + jitter_ns
    if entry["kind"] == "sporadic" and period_ns is not None:
        return max(last_ns, last_ns + period_ns - jitter_ns), None
    if entry["kind"] == "event" and period_ns is not None and finished_ns is not None:
        return finished_ns + period_ns, finished_ns + period_ns + jitter_ns
    return last_ns, None


def _text(header: Header, record: Record, low_ns: int, high_ns: int | None) -> str:
    who = f"{task_name(header, record.task)} job {record.job}"
    until = "" if high_ns is None else f" to {high_ns}"
    return f"{who} is released outside {low_ns}{until}"
