# SPDX-License-Identifier: BSD-2-Clause
"""A finished job has run for at least its least and at most its worst execution time.

With overheads (picks may come late, by L at most) a job's pieces on the pcpu are longer than what
it executed, by what the host did in them. It does that at the ends of a piece, and wherever
anything is recorded inside: what comes before a pick (the interrupt, the pick) takes at most L,
that is how L is measured, and what comes after one (the switch, the way back) is taken to be no
longer. So a job may have run longer by

    L * (2 for each piece, 2 for each instant inside a piece at which anything is recorded)

but not shorter. Where the header has `job_overhead_ns` a job may miss its range by that much more,
both ways: what the guest itself needs for a job lies in part outside the pieces that name the job.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from hyperperiod.trace.format import NONE, Header, Kind, Records, task_name
from hyperperiod.trace.properties.finding import Finding, lateness_ns, skipped
from hyperperiod.trace.replay import each
from hyperperiod.trace.spans import Spans, all_spans


def check(header: Header, records: Records) -> Finding:
    """Add up the spans of each job."""
    if header.get("timing") == "host":
        return skipped("execution times are those of a busy machine")
    finding = Finding()
    late_ns, own_ns = lateness_ns(header), header.get("job_overhead_ns", 0)
    ran_ns: dict[tuple[int, int], int] = defaultdict(int)
    sides: dict[tuple[int, int], int] = defaultdict(int)
    instants = _instants(records) if late_ns > 0 else np.empty(0, np.uint64)
    for spans in all_spans(header, records):
        ran = spans[(spans["kind"] == Kind.RUN) & (spans["task"] != NONE)]
        lengths = ran["end_ns"] - ran["start_ns"]
        columns = (ran["task"], ran["job"], lengths, _inside(ran, instants))
        for task, job, length_ns, inside in zip(*(one.tolist() for one in columns), strict=True):
            ran_ns[task, job] += length_ns
            sides[task, job] += 2 + 2 * inside
    for record in each(records[records["kind"] == Kind.COMPLETE]):
        entry = header["tasks"][record.task]
        if entry["bcet_ns"] is None or entry["wcet_ns"] is None:
            continue
        key = (record.task, record.job)
        least_ns = max(0, entry["bcet_ns"] - own_ns)
        most_ns = entry["wcet_ns"] + own_ns + late_ns * sides[key]
        if not least_ns <= ran_ns[key] <= most_ns:
            who = f"{task_name(header, record.task)} job {record.job}"
            text = f"{who} ran {ran_ns[key]} ns; its range is {least_ns} to {most_ns}"
            finding.add(record.time_ns, text)
    return finding


def _instants(records: Records) -> NDArray[np.uint64]:
    """When anything is recorded, each instant once."""
    times = records["time_ns"]
    different: NDArray[np.uint64] = times[np.append(True, times[1:] != times[:-1])[: len(times)]]
    return different


def _inside(spans: Spans, instants: NDArray[np.uint64]) -> NDArray[np.intp]:
    """How many of the instants lie inside each span, its ends not counted."""
    before = np.searchsorted(instants, spans["start_ns"], side="right")
    after = np.searchsorted(instants, spans["end_ns"], side="left")
    inside: NDArray[np.intp] = np.maximum(after - before, 0)
    return inside
