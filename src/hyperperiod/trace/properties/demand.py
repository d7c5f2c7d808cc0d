# SPDX-License-Identifier: BSD-2-Clause
"""A finished job has run for at least its least and at most its worst execution time."""

from collections import defaultdict

from hyperperiod.trace.format import NONE, Header, Kind, Records, task_name
from hyperperiod.trace.properties.finding import Finding, lateness_ns, skipped
from hyperperiod.trace.replay import each
from hyperperiod.trace.spans import all_spans


def check(header: Header, records: Records) -> Finding:
    """Add up the spans of each job."""
    if lateness_ns(header) > 0:
        return skipped("overheads are part of the time on the pcpu")
    finding = Finding()
    ran_ns: dict[tuple[int, int], int] = defaultdict(int)
    for spans in all_spans(header, records):
        ran = spans[(spans["kind"] == Kind.RUN) & (spans["task"] != NONE)]
        lengths = (ran["end_ns"] - ran["start_ns"]).tolist()
        for task, job, length_ns in zip(
            ran["task"].tolist(), ran["job"].tolist(), lengths, strict=True
        ):
            ran_ns[task, job] += length_ns
    for record in each(records[records["kind"] == Kind.COMPLETE]):
        entry = header["tasks"][record.task]
        least_ns, most_ns = entry["bcet_ns"], entry["wcet_ns"]
        if least_ns is None or most_ns is None:
            continue
        actual_ns = ran_ns[record.task, record.job]
        if not least_ns <= actual_ns <= most_ns:
            who = f"{task_name(header, record.task)} job {record.job}"
            text = f"{who} ran {actual_ns} ns; its range is {least_ns} to {most_ns}"
            finding.add(record.time_ns, text)
    return finding
