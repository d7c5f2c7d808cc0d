# SPDX-License-Identifier: BSD-2-Clause
"""A finished job has run for at least its least and at most its worst execution time.

With overheads (picks may come late, by L at most) a job's pieces on the pcpu are longer than what
it executed, by what the host did in them. It does that at the ends of a piece, and wherever
something happens inside that leaves the piece whole. What comes before a pick (the interrupt, what
wakes or is refilled) takes at most L, that is how L is measured. What comes after one (the pick
itself, the way back) is not in L: it takes at most A, and C more if the pcpu was another vcpu's
before. The header has A as `resume_ns` and C as `switch_ns`; without them A is L and C is 0. So a
job may have run longer by

    (L + A) * (1 for each piece, 1 for each event inside a piece)
    + C * (pieces after another vcpu, vcpus that leave this pcpu for another during a piece)

but not shorter. Where a vcpu leaves that was not running, the one that runs is interrupted by more
than a decision: on the pcpu that is left the host takes it out of one lock domain, points its
interrupts at the other pcpu and puts it into the lock domain there. That is the way out of one
context and into another, which C bounds for a switch. The pcpu where it arrives only picks. The
events inside a piece are

- the instants at which anything is recorded, except what names another pcpu or has a vcpu leave
  another one;
- where nobody pays, the ends of quanta and of shares (the slack rule weights): a pick there leaves
  no charge, and no record if the same job goes on. The first is due when the piece's record says,
  and each quantum begins anew with a pick. One that is due less than L before the piece ends is not
  counted: what is left of the piece is no longer than the L for its end.

The jobs that the `overrun` of a task names have as many thousandths of that range.

Where the header has `job_overhead_ns` a job may miss its range by that much more, both ways: what
the guest itself needs for a job lies in part outside the pieces that name the job.

A guest with a kernel of its own does more in the pieces of its jobs, and at the same times: it
takes interrupts, wakes threads and switches. Where a task has `kernel_ns`, its jobs may have run
longer by that for each piece, each event inside one, and each `kernel_period_ns` of one (a tick).
Where it is null no bound is known: with several vcpus a kernel waits for locks of one that has no
pcpu.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from tests.trace.oracle.finding import PropertyVerdict, lateness_ns, skipped
from tests.trace.oracle.shares import SHARE_NS

from hyperperiod.trace.format import NONE, Header, Kind, Records, TaskEntry, task_name
from hyperperiod.trace.interval_arrays import IntervalArray, interval_arrays
from hyperperiod.trace.records import SLACKS, each


def check(header: Header, records: Records) -> PropertyVerdict:
    """Compares what each job got, the sum of its intervals, with what it needs."""
    if header.get("timing") == "host":
        return skipped("execution times are those of a busy machine")
    finding = PropertyVerdict()
    own_ns = header.get("job_overhead_ns", 0)
    ran_ns: dict[tuple[int, int], int] = defaultdict(int)
    host_ns: dict[tuple[int, int], int] = defaultdict(int)
    for pcpu, found in enumerate(interval_arrays(header, records)):
        ran = (found["kind"] == Kind.RUN) & (found["task"] != NONE)
        lengths = found["end_ns"] - found["start_ns"]
        more_ns = _more_ns(header, records, pcpu, found)
        columns = (found["task"], found["job"], lengths, more_ns)
        chosen = (column[ran].tolist() for column in columns)
        for task, job, length_ns, max_ns in zip(*chosen, strict=True):
            ran_ns[task, job] += length_ns
            host_ns[task, job] += max_ns
    for record in each(records[records["kind"] == Kind.COMPLETE]):
        entry = header["tasks"][record.task]
        if entry["bcet_ns"] is None or entry["wcet_ns"] is None:
            continue
        key = (record.task, record.job)
        share = _thousandths(entry, record.job, record.time_ns - record.value)
        min_ns = max(0, -(-entry["bcet_ns"] * share // 1000) - own_ns)
        max_ns = -(-entry["wcet_ns"] * share // 1000) + own_ns + host_ns[key]
        is_bounded = entry.get("kernel_ns", 0) is not None
        if ran_ns[key] < min_ns or (is_bounded and ran_ns[key] > max_ns):
            who = f"{task_name(header, record.task)} job {record.job}"
            text = f"{who} ran {ran_ns[key]} ns; its range is {min_ns} to {max_ns}"
            finding.add(record.time_ns, text)
    return finding


def _thousandths(entry: TaskEntry, job: int, release_ns: int) -> int:
    """The factor of a job's execution time, 1000 unless it overruns."""
    overrun = entry.get("overrun")
    if overrun is None or (job + 1) % overrun["every"]:
        return 1000
    to_ns = overrun["to_ns"]
    inside = overrun["from_ns"] <= release_ns and (to_ns is None or release_ns < to_ns)
    return overrun["thousandths"] if inside else 1000


def _more_ns(
    header: Header, records: Records, pcpu: int, intervals: IntervalArray
) -> NDArray[np.intp]:
    """The most that the host and the guest's kernel took of each of a pcpu's intervals."""
    late_ns = lateness_ns(header)
    if late_ns == 0:
        return np.zeros(len(intervals), np.intp)
    left = _left(header, records)
    events = 1 + _inside(intervals, _instants(records, left, pcpu))
    events += _unrecorded(intervals, _round_ns(header, records), late_ns)
    switched = np.ones(len(intervals), bool)
    switched[1:] = intervals["vcpu"][1:] != intervals["vcpu"][:-1]
    event_ns = late_ns + header.get("resume_ns", late_ns)
    switches = switched + _within(intervals, records["time_ns"][left == pcpu])
    most: NDArray[np.intp] = event_ns * events + header.get("switch_ns", 0) * switches
    for task, entry in enumerate(header["tasks"]):
        kernel_ns = entry.get("kernel_ns")
        if kernel_ns:
            own = intervals["task"] == task
            lengths = (intervals["end_ns"] - intervals["start_ns"])[own]
            ticks = lengths // entry.get("kernel_period_ns", header["horizon_ns"])
            most[own] += kernel_ns * (events[own] + ticks.astype(np.intp))
    return most


def _left(header: Header, records: Records) -> NDArray[np.intp]:
    """For each record by which a vcpu leaves for another pcpu the one that it was on, else NONE."""
    found = np.full(len(records), NONE, np.intp)
    homes = [entry["pcpu"] or 0 for entry in header["vcpus"]]
    for index in np.flatnonzero(records["kind"] == Kind.MOVE).tolist():
        vcpu, to = int(records["vcpu"][index]), int(records["pcpu"][index])
        if to == NONE:
            found[index] = homes[vcpu]
        else:
            homes[vcpu] = to
    return found


def _within(intervals: IntervalArray, times: NDArray[np.uint64]) -> NDArray[np.intp]:
    """How many of these times lie in each interval, its start counted."""
    before = np.searchsorted(times, intervals["start_ns"], side="left")
    found: NDArray[np.intp] = np.searchsorted(times, intervals["end_ns"], side="left") - before
    return found


def _round_ns(header: Header, records: Records) -> int | None:
    """How often a pick comes where nobody pays: at the end of each quantum, or of each share."""
    swaps = records[records["kind"] == Kind.SWAP]["value"].tolist()
    slacks = {header["slack"], *(SLACKS[value >> 16 & 0xFF] for value in swaps)}
    rounds = [SHARE_NS] if "weights" in slacks else []
    return min([*rounds, *([header["quantum_ns"]] if header["quantum_ns"] else [])], default=None)


def _unrecorded(intervals: IntervalArray, quantum_ns: int | None, late_ns: int) -> NDArray[np.intp]:
    """How many ends of quanta or shares lie inside each interval of which no record tells."""
    if quantum_ns is None:
        return np.zeros(len(intervals), np.intp)
    left_ns = intervals["end_ns"] - np.minimum(intervals["until_ns"], intervals["end_ns"])
    left_ns = np.maximum(left_ns.astype(np.intp) - late_ns, 0)
    ends: NDArray[np.intp] = np.where(intervals["payer"] == NONE, -(-left_ns // quantum_ns), 0)
    return ends


def _instants(records: Records, left: NDArray[np.intp], pcpu: int) -> NDArray[np.uint64]:
    """When anything is recorded that may concern a pcpu, each instant once."""
    times = records["time_ns"][np.isin(records["pcpu"], (pcpu, NONE)) & np.isin(left, (pcpu, NONE))]
    different: NDArray[np.uint64] = times[np.append(True, times[1:] != times[:-1])[: len(times)]]
    return different


def _inside(intervals: IntervalArray, instants: NDArray[np.uint64]) -> NDArray[np.intp]:
    """How many of the instants lie inside each interval, its ends not counted."""
    before = np.searchsorted(instants, intervals["start_ns"], side="right")
    after = np.searchsorted(instants, intervals["end_ns"], side="left")
    inside: NDArray[np.intp] = np.maximum(after - before, 0)
    return inside
