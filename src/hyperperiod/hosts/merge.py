# SPDX-License-Identifier: BSD-2-Clause
"""One trace from what a host and its guests recorded.

The host, as a hypervisor, knows which vcpu ran when, a guest knows which job was on its vcpu. A
grant is cut where the job changes: a piece in which the guest was busy with itself (waking up,
releasing, going to sleep) names no task. Jobs are taken from the guests as they say. When a job is
released is known without them, where it does not hang on others: a guest must have said the same,
and what one that never had the time did not say is added. Items are followed from guest to guest
(item_paths.py). Misses follow from the deadlines.

A guest's time is that of the tick in which it looked at the counter; all machines read the same
counter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.item_paths import Sources, follow
from hyperperiod.hosts.replay import Replayed
from hyperperiod.hosts.rings import Ring, new_records
from hyperperiod.model import FailedError, System, tasks_of
from hyperperiod.trace.format import NONE, RECORD, STEPS, Kind, Records

_STEP_OF = np.array(STEPS, np.uint8)

_SAME = ("kind", "vcpu", "payer", "task", "job", "flags")
"""A grant like the one before in all of these is not recorded again."""


@dataclass(frozen=True)
class Jobs:
    """What the guests recorded of their jobs, with the numbers of the whole system.

    `changes`: from when on which job is on which vcpu, in order for each of them.
    """

    releases: Records
    completions: Records
    changes: Records
    items: Records = dataclasses.field(default_factory=lambda: np.empty(0, RECORD))


def merge(system: System, replayed: Sequence[Replayed], jobs: Jobs, end_ns: int) -> Records:
    """All records of a run from 0 to `end_ns`, in the order of a trace file."""
    parts = [_with_tasks(part, jobs.changes, end_ns) for part in replayed]
    if len(parts) > 1:
        parts = [
            _with_own_swaps(part, one.first_pcpu) for part, one in zip(parts, replayed, strict=True)
        ]
    misses = _misses(system, jobs, end_ns)
    end = new_records(1, Kind.END, end_ns)
    every = np.concatenate([*parts, jobs.releases, jobs.items, misses, jobs.completions, end])
    order = np.lexsort((np.arange(len(every)), _STEP_OF[every["kind"]], every["time_ns"]))
    result: Records = every[order]
    return result


@dataclass(frozen=True)
class Draws:
    """What the draws determine: releases of each task, and of sources when items have left."""

    tasks: Sequence[Sequence[int]]
    sources: Sources | None = None


def jobs_of(system: System, rings: Sequence[Ring], drawn: Draws, end_ns: int) -> Jobs:
    """The jobs of all guests, whose rings are in file order."""
    releases, completions, changes, items = [], [], [], []
    first_vcpu = first_task = 0
    for domain, ring in zip(system.domains, rings, strict=True):
        records = ring.since_epoch()
        records["pcpu"] = NONE
        records["payer"] = NONE
        _shift(records, "vcpu", first_vcpu)
        _shift(records, "task", first_task)
        first_vcpu += domain.vcpus
        first_task += len(domain.tasks)
        kinds = records["kind"]
        done = records[kinds == Kind.COMPLETE]
        releases.append(records[kinds == Kind.RELEASE])
        completions.append(done[done["time_ns"] <= end_ns])
        changes.append(_changes(records[np.isin(kinds, (Kind.RUN, Kind.IDLE, Kind.COMPLETE))]))
        items.append(records[np.isin(kinds, (Kind.ITEM, Kind.DROP))])
    released = _exact(system, np.concatenate(releases), drawn.tasks)
    released = released[released["time_ns"] < end_ns]
    jobs = Jobs(
        np.concatenate([released, *_missing_releases(system, released, drawn.tasks)]),
        np.concatenate(completions),
        np.concatenate(changes),
    )
    if drawn.sources is None:
        return jobs
    passed = follow(
        system, jobs.releases, jobs.completions, np.concatenate(items), drawn.sources, end_ns
    )
    return dataclasses.replace(
        jobs, releases=passed.releases, completions=passed.completions, items=passed.items
    )


def _changes(records: Records) -> Records:
    """A job that completes is on its vcpu no more, whatever the guest does next."""
    records = records.copy()
    over = records["kind"] != Kind.RUN
    records["task"] = np.where(over, NONE, records["task"])
    records["job"] = np.where(over, 0, records["job"])
    return records


def _shift(records: Records, field: str, by: int) -> None:
    known = records[field] != NONE
    records[field] = np.where(known, records[field] + by, NONE)


def _exact(system: System, releases: Records, drawn: Sequence[Sequence[int]]) -> Records:
    """Releases at their instants, not at the tick after: the deadline tells, or else the draws."""
    relative = _deadlines(system)
    own = relative[releases["task"]]
    known = (releases["value"] > 0) & (own > 0)
    releases["time_ns"] = np.where(known, releases["value"] - own, releases["time_ns"])
    for task in np.flatnonzero(relative == 0).tolist():
        first = (releases["task"] == task) & (releases["job"] == 0)
        releases["time_ns"][first] = drawn[task][0] if drawn[task] else 0
    return releases


def _missing_releases(
    system: System, released: Records, drawn: Sequence[Sequence[int]]
) -> Iterator[Records]:
    """The releases that a guest had no time to record; FailedError for one at another time."""
    relative = _deadlines(system)
    for task, times in enumerate(drawn):
        own = released[released["task"] == task]
        instants = np.array(times, np.uint64)
        known = own[own["job"] < len(times)]
        wrong = np.flatnonzero(known["time_ns"] != instants[known["job"]])
        if len(wrong):
            record = known[wrong[0]]
            job, name = int(record["job"]), tasks_of(system)[task].task.name
            raise FailedError(
                f"a guest released job {job} of {name} at {int(record['time_ns'])} ns;"
                f" the draws say {times[job]} ns"
            )
        missing = np.setdiff1d(np.arange(len(times), dtype=np.uint32), own["job"])
        more = new_records(len(missing), Kind.RELEASE, 0)
        more["task"] = task
        more["job"] = missing
        more["time_ns"] = instants[missing]
        if relative[task] > 0:
            more["value"] = more["time_ns"] + relative[task]
        yield more


def _deadlines(system: System) -> NDArray[np.uint64]:
    """Returns the deadline of each task in ns after the release, by number; 0 where it has none."""
    tasks = (task for domain in system.domains for task in domain.tasks)
    return np.array([task.deadline_ns or 0 for task in tasks], np.uint64)


def _misses(system: System, jobs: Jobs, end_ns: int) -> Records:
    """Returns the MISS records of jobs that finished late or had not finished at their deadline."""
    relative = _deadlines(system)
    done = jobs.completions
    deadline = done["time_ns"] - done["value"] + relative[done["task"]]
    late = done[(relative[done["task"]] > 0) & (done["time_ns"] > deadline)].copy()
    late["value"] = late["time_ns"] - late["value"] + relative[late["task"]]
    late["kind"] = Kind.MISS
    released = jobs.releases
    overdue = (released["value"] > 0) & (released["value"] <= end_ns)
    unfinished = overdue & ~np.isin(_keys(released), _keys(done))
    never = new_records(int(unfinished.sum()), Kind.MISS, end_ns)
    for field in ("task", "job", "value"):
        never[field] = released[field][unfinished]
    return np.concatenate([late, never])


def _keys(records: Records) -> NDArray[np.uint64]:
    """A number for each record's job: equal for records of one job."""
    return records["task"].astype(np.uint64) << np.uint64(32) | records["job"].astype(np.uint64)


def _with_own_swaps(records: Records, pcpu: int) -> Records:
    """A swap names its pcpu where others make theirs a little earlier or later."""
    records["pcpu"] = np.where(records["kind"] == Kind.SWAP, pcpu, records["pcpu"])
    return records


def _with_tasks(part: Replayed, changes: Records, end_ns: int) -> Records:
    """A lock domain's records, its grants cut where jobs change."""
    records = part.records
    decisions = np.isin(records["kind"], (Kind.RUN, Kind.IDLE))
    grants: list[Records] = []
    for pcpu in range(part.first_pcpu, part.first_pcpu + part.pcpus):
        own = records[decisions & (records["pcpu"] == pcpu) & (records["time_ns"] < end_ns)]
        grants.append(_cut(_last_of_instant(own), changes, end_ns))
    return np.concatenate([records[~decisions], *grants])


def _last_of_instant(grants: Records) -> Records:
    """Returns the grants that lasted: the last one of each instant."""
    times = grants["time_ns"]
    lasting: Records = grants[np.append(times[1:] != times[:-1], True)[: len(grants)]]
    return lasting


def _cut(grants: Records, changes: Records, end_ns: int) -> Records:
    """The grants of one pcpu, each as the pieces in which one job was on its vcpu."""
    if len(grants) == 0:
        return grants
    ends = np.append(grants["time_ns"][1:], np.uint64(end_ns))
    pieces = [grants[grants["vcpu"] == NONE]]
    for vcpu in np.unique(grants["vcpu"][grants["vcpu"] != NONE]).tolist():
        mine = grants["vcpu"] == vcpu
        pieces.append(_cut_vcpu(grants[mine], ends[mine], changes[changes["vcpu"] == vcpu]))
    cut = np.concatenate(pieces)
    cut = cut[np.argsort(cut["time_ns"], kind="stable")]
    same = np.ones(len(cut), bool)
    same[0] = False
    for field in _SAME:
        same[1:] &= cut[field][1:] == cut[field][:-1]
    return cut[~same]


def _cut_vcpu(grants: Records, ends: NDArray[np.uint64], changes: Records) -> Records:
    """The grants of one vcpu; `changes` says from when on which job is on it."""
    changes = changes[np.argsort(changes["time_ns"], kind="stable")]
    changes = _last_of_instant(changes)
    starts = grants["time_ns"]
    at_start = np.searchsorted(changes["time_ns"], starts, side="right") - 1
    whole = grants.copy()
    for field, nothing in (("task", NONE), ("job", 0)):
        known = changes[field][np.maximum(at_start, 0)] if len(changes) else nothing
        whole[field] = np.where(at_start >= 0, known, nothing)
    place = np.searchsorted(starts, changes["time_ns"], side="right") - 1
    inside = (place >= 0) & (changes["time_ns"] > starts[place])
    inside &= changes["time_ns"] < ends[place]
    more = grants[place[inside]].copy()
    for field in ("time_ns", "task", "job"):
        more[field] = changes[field][inside]
    return np.concatenate([whole, more])


def lateness_ns(replayed: Iterable[Replayed]) -> int:
    """How late a pcpu did at most what it should.

    Where several pcpus share a core up to three late picks follow one another: one pcpu sees that
    a budget came back, kicks the one that has the vcpu, and that one the pcpu that waits for it.
    """
    return max(part.lateness_ns * (1 if part.pcpus == 1 else 3) for part in replayed)
