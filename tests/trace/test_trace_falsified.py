# SPDX-License-Identifier: BSD-2-Clause
"""What is falsified in a trace is found: by the property that is broken, at its time.

Traces are those of drawn systems in the simulator: every policy, several pcpus, swaps, changes,
moves, thefts, late picks, flows and domains that schedule globally. They have every property. Then
one record is falsified, or what the header says of a task or flow, so that it is known what is
wrong with the trace now. (`test_trace_naive.py` does the same with decisions.)
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.support.drawn_runs import DRAWN

from hyperperiod.model import System
from hyperperiod.runs import simulate
from hyperperiod.trace.format import RECORD, Kind, item_of, read
from hyperperiod.trace.interval_arrays import interval_arrays
from hyperperiod.trace.properties import PROPERTIES, PropertyVerdict, Status, check_all
from hyperperiod.trace.records import Record, each


class Fault(NamedTuple):
    """A falsified trace, the property that it breaks, and when (ns): None is at some time."""

    property: str
    time_ns: int | None
    records: list[Record]
    header: Any


class Trace:
    """A trace as it was recorded, and what may be falsified in it."""

    def __init__(self, header: Any, rows: list[Record], draw: random.Random) -> None:
        self.header, self.rows, self.draw = header, rows, draw
        self.end_ns = rows[-1].time_ns
        self.arrays = interval_arrays(header, np.array(rows, RECORD))

    def of_kind(self, *kinds: Kind) -> list[int]:
        return [at for at, row in enumerate(self.rows) if row.kind in kinds]

    def without(self, at: int, name: str, time_ns: int | None) -> Fault:
        return Fault(name, time_ns, [*self.rows[:at], *self.rows[at + 1 :]], self.header)

    def twice(self, at: int, name: str) -> Fault:
        row = self.rows[at]
        return Fault(name, row.time_ns, [*self.rows[:at], row, *self.rows[at:]], self.header)

    def other(self, at: int, name: str, time_ns: int | None = None, **fields: int) -> Fault:
        row = self.rows[at]._replace(**fields)
        time_ns = row.time_ns if time_ns is None else time_ns
        return Fault(name, time_ns, [*self.rows[:at], row, *self.rows[at + 1 :]], self.header)

    def says(self, group: str, index: int, name: str, time_ns: int, **fields: Any) -> Fault:
        """The header says something else of a task or a flow."""
        entries = [dict(entry) for entry in self.header[group]]
        entries[index] |= fields
        return Fault(name, time_ns, self.rows, {**self.header, group: entries})


def charges(trace: Trace) -> Iterator[Fault]:
    """A charge is too long, too short, that of another server, left out or there twice."""
    if any(trace.header["overheads"].values()):
        return
    for at in trace.of_kind(Kind.CHARGE):
        row = trace.rows[at]
        start_ns = row.time_ns - row.value
        if row.value == 0:
            continue
        yield trace.twice(at, "paid-time")._replace(time_ns=start_ns)
        if start_ns > 0:
            longer_ns = start_ns - 1
            yield trace.other(at, "paid-time", longer_ns, value=row.value + 1)
        if row.time_ns == trace.end_ns:
            continue
        yield trace.without(at, "paid-time", start_ns)
        yield trace.other(at, "paid-time", start_ns, value=row.value - 1)
        payer = (row.payer + 1) % len(trace.header["vcpus"])
        if payer != row.payer:
            yield trace.other(at, "paid-time", start_ns, payer=payer)


def jobs(trace: Trace) -> Iterator[Fault]:
    """Jobs that finish twice, at another time, unreleased or before they run."""
    released: set[tuple[int, int]] = set()
    tasks = trace.header["tasks"]
    busy = {number for number, entry in enumerate(tasks) if entry["kind"] == "busy"}
    done = {(trace.rows[at].task, trace.rows[at].job) for at in trace.of_kind(Kind.COMPLETE)}
    for at, row in enumerate(trace.rows):
        job = (row.task, row.job)
        if row.kind == Kind.RELEASE:
            released.add(job)
            yield trace.twice(at, "jobs")
            if job in done:
                yield trace.without(at, "jobs", None)
            early = row._replace(kind=Kind.MISS)
            if row.value > row.time_ns:
                rows = [*trace.rows[: at + 1], early, *trace.rows[at + 1 :]]
                yield Fault("jobs", row.time_ns, rows, trace.header)
        elif row.kind == Kind.COMPLETE:
            yield trace.twice(at, "jobs")
            yield trace.other(at, "jobs", value=row.value + trace.draw.choice((-1, 1)))
            yield trace.other(at, "jobs", job=row.job + 1)
        elif row.kind == Kind.MISS:
            yield trace.without(at, "jobs", None)
            yield trace.other(at, "jobs", value=row.value + 1)
        elif row.kind == Kind.RUN and job in released and job[0] not in busy:
            yield trace.other(at, "jobs", job=row.job + 1)


def demand(trace: Trace) -> Iterator[Fault]:
    """Jobs ran longer or shorter than the header says."""
    if any(trace.header["overheads"].values()):
        return
    for at in trace.of_kind(Kind.COMPLETE):
        row = trace.rows[at]
        entry = trace.header["tasks"][row.task]
        if entry["wcet_ns"] is None or entry.get("overrun"):
            continue
        ran_ns = sum(
            int((found["end_ns"] - found["start_ns"])[own].sum())
            for found in trace.arrays
            for own in [(found["task"] == row.task) & (found["job"] == row.job)]
        )
        for low_ns, high_ns in ((ran_ns + 1, ran_ns + 9), (1, ran_ns - 1)):
            yield trace.says(
                "tasks", row.task, "demand", row.time_ns, bcet_ns=low_ns, wcet_ns=high_ns
            )


def releases(trace: Trace) -> Iterator[Fault]:
    """The header has another offset or period than the releases of a task or a flow."""
    came: dict[tuple[str, int], list[int]] = {}
    for row in trace.rows:
        if row.kind == Kind.RELEASE:
            came.setdefault(("tasks", row.task), []).append(row.time_ns)
        elif row.kind in (Kind.ITEM, Kind.DROP) and item_of(row.value).hop == 0:
            came.setdefault(("flows", item_of(row.value).flow), []).append(row.time_ns)
    hops = {task for flow in trace.header.get("flows", ()) for task in flow["hops"]}
    for (group, index), times in came.items():
        entry = trace.header[group][index]
        if (group == "tasks" and index in hops) or entry["kind"] not in ("periodic", "sporadic"):
            continue
        yield trace.says(group, index, "releases", times[0], offset_ns=times[0] + 1)
        early_ns = times[0] - entry["jitter_ns"] - 1
        if early_ns >= 0:
            yield trace.says(group, index, "releases", times[0], offset_ns=early_ns)
        after = times[entry.get("burst", 1) :]
        if after and after[0] > times[0]:
            from_ns = times[0] if entry["kind"] == "sporadic" else entry["offset_ns"]
            period_ns = after[0] - from_ns + entry["jitter_ns"] + 1
            yield trace.says(group, index, "releases", after[0], period_ns=period_ns)
            if group == "flows":
                yield trace.says(group, index, "releases", after[0], burst=entry["burst"] + 1)


def flows(trace: Trace) -> Iterator[Fault]:
    """Items that are not who they should be, where they should be, or how many there may be."""
    for at in trace.of_kind(Kind.ITEM, Kind.DROP):
        row = trace.rows[at]
        item = item_of(row.value)
        flow = trace.header["flows"][item.flow]
        yield trace.other(at, "releases", value=row.value + 1)
        yield trace.other(at, "releases", value=row.value + (len(flow["hops"]) << 32))
        yield trace.other(at, "releases", value=row.value | 1 << 63)
        if row.kind == Kind.DROP:
            yield trace.says("flows", item.flow, "releases", row.time_ns, queue=flow["queue"] + 1)
            continue
        yield trace.without(at, "releases", trace.end_ns)
        yield trace.twice(at, "releases")
        hops = flow["hops"][:]
        hops[item.hop] = (hops[item.hop] + 1) % len(trace.header["tasks"])
        if hops != flow["hops"]:
            yield trace.says("flows", item.flow, "releases", row.time_ns, hops=hops)
        if item.hop == 0 and item.number == 0:
            for fields in of_first(flow, row.time_ns, trace.end_ns):
                yield trace.says("flows", item.flow, "releases", row.time_ns, **fields)
    for at in trace.of_kind(Kind.RELEASE):
        row = trace.rows[at]
        if any(row.task in flow["hops"] for flow in trace.header.get("flows", ())):
            yield trace.without(at, "releases", row.time_ns)


def of_first(flow: Any, time_ns: int, end_ns: int) -> Iterator[dict[str, int]]:
    """What a header may not say of a flow whose first item has come at that time."""
    yield {"queue": 0}
    thought_ns = time_ns - flow["offset_ns"]
    if "clients" in flow:
        yield {"think_least_ns": thought_ns + 1, "think_most_ns": end_ns}
        if thought_ns > 0:
            yield {"think_least_ns": 0, "think_most_ns": thought_ns - 1}


FAULTS = (charges, jobs, demand, releases, flows)


def verdicts(header: Any, rows: list[Record]) -> dict[str, PropertyVerdict]:
    """The verdict on each property, by its name."""
    found = check_all(header, np.array(rows, RECORD))
    return {one.name: verdict for one, verdict in zip(PROPERTIES, found, strict=True)}


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records come a few at a time: what is found does not depend on where windows end."""
    monkeypatch.setattr("hyperperiod.trace.properties.AT_ONCE", 50)


@pytest.mark.parametrize(
    "seed",
    [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 42))],
)
@pytest.mark.parametrize("draw_it", DRAWN)
def test_what_is_falsified_is_found(
    draw_it: Callable[[int, random.Random], tuple[System, int]], seed: int, tmp_path: Path
) -> None:
    draw = random.Random(f"{draw_it.__name__} {seed}")
    system, horizon_ns = draw_it(seed, draw)
    simulate(system, horizon_ns, seed, tmp_path / "run.hpt")
    header, records = read(tmp_path / "run.hpt")
    trace = Trace(header, list(each(records)), draw)
    for name, found in verdicts(header, trace.rows).items():
        assert found.status is not Status.FAILS, (name, found.violations)
    for kind in FAULTS:
        faults = list(kind(trace))
        for fault in draw.sample(faults, min(len(faults), 12)):
            found = verdicts(fault.header, fault.records)[fault.property]
            times = [one.time_ns for one in found.violations]
            what = (kind.__name__, fault.property, fault.time_ns, times)
            assert found.status is Status.FAILS, what
            is_told = fault.time_ns is None or fault.time_ns in times
            assert is_told or found.count > len(times), what
