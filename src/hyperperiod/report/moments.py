# SPDX-License-Identifier: BSD-2-Clause
"""The moments of a run worth looking at: first misses, drops, worst misses, longest responses.

They are found in one pass over a trace of any length. A job that missed its deadline and never
finished counts as one that finishes at the end of the trace: no response is longer. The first job
whose response is the shortest one, the median or the 99th percentile is a moment too, so that
these numbers lead somewhere; where a percentile is rounded, it is the first of the closest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.result import Responses
from hyperperiod.report.distribution import Distribution, ResponseCounts, Task, by_task
from hyperperiod.report.meter import Meter
from hyperperiod.report.numbers import duration
from hyperperiod.report.overview import Overview
from hyperperiod.report.state import job_keys, unfinished
from hyperperiod.trace.format import (
    RECORD,
    Header,
    Kind,
    Records,
    end_ns,
    first_after,
    items_of,
    of_kinds,
)

FIRST_MISS: Final = "first miss"
WORST_MISS: Final = "worst miss"
LONGEST: Final = "longest response"
FIRST_DROP: Final = "first drop"
FIRST_DIFFERENCE: Final = "first difference"
TYPICAL: Final = {
    "shortest response": "min",
    "median response": "p50",
    "p99 response": "p99",
}
"""Moments of which one wants to see an example, and the fields of `Responses` that they show."""
PASSES: Final = 2
"""How often a page reads a trace at most: for its moments and, up to the last, for its timeline."""
_BEYOND_NS: Final = 1 << 62
"""Longer than any response: the longest one is the closest to it."""
_KINDS: Final = (Kind.RELEASE, Kind.COMPLETE, Kind.MISS, Kind.ITEM, Kind.DROP)
"""Records that say how jobs and items fare."""

_STEP: Final = 1 << 14
"""Records of the first run that are compared at once: most runs differ early."""

Who = tuple[str, str]
"""A task by domain and name; a flow by "", which no domain is called, and its name."""


@dataclass(frozen=True)
class ReportMoment:
    """One job of a task, or one item of a flow, from its release to its finish.

    `task` is the id of the task whose row shows it, None for an item; `number` is that of the job
    or item. `finish_ns` is None for what never finished; `deadline_ns` is absolute, 0 for none.
    """

    reason: str
    who: Who
    task: int | None
    number: int
    release_ns: int
    deadline_ns: int
    finish_ns: int | None

    @property
    def name(self) -> str:
        """Whose job or item it is, as in `brakes.wheel` or `flow command`."""
        return f"flow {self.who[1]}" if self.task is None else ".".join(self.who)

    @property
    def title(self) -> str:
        """The moment in words, such as `first miss of brakes.wheel at 12.3 s`."""
        at_ns = self.deadline_ns if self.reason == FIRST_MISS else self.finish_ns
        when = "never done" if at_ns is None else f"at {duration(at_ns)}"
        return f"{self.reason} of {self.name}, {when}"

    @property
    def closest(self) -> str:
        """The title of the moment that came closest to a miss."""
        return f"closest to its deadline: {self.name}, at {duration(self.finish_ns)}"

    def until_ns(self, last_ns: int) -> int:
        """Returns when it finished; `last_ns`, the end of the trace, if it never did."""
        return last_ns if self.finish_ns is None else self.finish_ns

    def ratio(self, last_ns: int) -> float:
        """Response time / deadline; 0 for what has no deadline."""
        if self.deadline_ns <= self.release_ns:
            return 0.0
        spent_ns = self.until_ns(last_ns) - self.release_ns
        return spent_ns / (self.deadline_ns - self.release_ns)

    def is_late(self, last_ns: int) -> bool:
        """Returns whether its deadline came before it was done."""
        if self.finish_ns is None:
            return 0 < self.deadline_ns <= last_ns
        return 0 < self.deadline_ns < self.finish_ns


Seen = Mapping[Who, Responses | None]
"""The response times of tasks and flows in the result of a run."""


def _wanted(seen: Seen, who: Who) -> dict[str, int]:
    """Returns the responses (ns) of which the moments of a task or flow are the closest."""
    one = seen.get(who)
    typical = {reason: getattr(one, field) for reason, field in TYPICAL.items()} if one else {}
    return {LONGEST: _BEYOND_NS, **typical}


class Survey:
    """Looks for the first miss and the longest response of every task, chunk by chunk.

    And for the first with each typical response that was `seen`. Items of flows are looked at as
    jobs, each flow being a task that is numbered after the real ones: an item is released when it
    comes to its first hop, and complete when its job at the last hop is.
    """

    def __init__(self, header: Header, seen: Seen) -> None:
        flows = header.get("flows", [])
        self._tasks = len(header["tasks"])
        self._who = [(one["domain"], one["name"]) for one in header["tasks"]]
        self._who += [("", flow["name"]) for flow in flows]
        self._deadlines_ns = np.array(
            [one["deadline_ns"] or 0 for one in (*header["tasks"], *flows)], np.uint64
        )
        self._last_hop = np.array([len(flow["hops"]) - 1 for flow in flows], np.uint64)
        self._wanted = [_wanted(seen, who) for who in self._who]
        self._closest: dict[tuple[int, str], tuple[int, ReportMoment]] = {}
        self._missed: dict[int, ReportMoment] = {}
        self._dropped: dict[int, ReportMoment] = {}
        self._in_flight: Records = np.empty(0, RECORD)
        self._at_last_hop: Records = np.empty(0, RECORD)
        self._last_ns = 0

    def add(self, chunk: Records) -> None:
        """Looks for moments in these records, which follow those of the call before."""
        self._last_ns = end_ns(chunk)
        chunk = of_kinds(chunk, *_KINDS)
        if len(self._last_hop):
            chunk = np.concatenate((chunk, *self._items(chunk)))
        released = np.concatenate((self._in_flight, of_kinds(chunk, Kind.RELEASE)))
        self._in_flight = unfinished(self._in_flight, chunk)
        for task, done in by_task(of_kinds(chunk, Kind.COMPLETE)):
            self._see_closest(task, done)
        for task, missed in by_task(of_kinds(chunk, Kind.MISS)):
            if task not in self._missed:
                own = released[released["task"] == task]
                self._see_missed(task, own[own["job"] == missed["job"][0]])
        self._see_finished(chunk)

    def found(self) -> list[ReportMoment]:
        """The first miss of each task and flow, the first drop, the responses, and each task's
        first late job that never ended; of a flow without another miss that is its first one."""
        missed, late = dict(self._missed), []
        for task, jobs in by_task(self._in_flight):
            moment = self._of_release(WORST_MISS, jobs[0])
            if moment.is_late(self._last_ns) and moment.task is None:
                missed.setdefault(task, replace(moment, reason=FIRST_MISS))
            elif moment.is_late(self._last_ns):
                late.append(moment)
        closest = (moment for _, moment in self._closest.values())
        return [*missed.values(), *self._dropped.values(), *closest, *late]

    def _items(self, chunk: Records) -> tuple[Records, Records, Records]:
        """The releases, completions and misses of items, as of jobs; notes what was dropped."""
        came = of_kinds(chunk, Kind.ITEM)
        flow, hop, _ = items_of(came["value"])
        released = self._as_jobs(came.compress(hop == 0), Kind.RELEASE)
        released["value"] = released["time_ns"] + self._deadlines_ns[released["task"]]
        at_last_hop = np.concatenate(
            (self._at_last_hop, came.compress(hop == self._last_hop[flow]))
        )
        done = of_kinds(chunk, Kind.COMPLETE)
        _, left, by = np.intersect1d(job_keys(at_last_hop), job_keys(done), return_indices=True)
        self._at_last_hop = np.delete(at_last_hop, left)
        finished = self._as_jobs(at_last_hop.take(left), Kind.COMPLETE)
        finished["time_ns"] = done["time_ns"][by]
        begun = np.concatenate((self._in_flight, released))
        _, first, last = np.intersect1d(job_keys(begun), job_keys(finished), return_indices=True)
        finished = finished.take(last)
        finished["value"] = finished["time_ns"] - begun["time_ns"][first]
        finished = finished.take(np.argsort(finished["time_ns"], kind="stable"))
        missed = finished[finished["value"] > self._deadlines_ns[finished["task"]]]
        missed["kind"] = Kind.MISS
        for task, lost in by_task(self._as_jobs(of_kinds(chunk, Kind.DROP), Kind.DROP)):
            at_ns = int(lost["time_ns"][0])
            moment = self._moment(task, FIRST_DROP, int(lost["job"][0]), at_ns, 0)
            self._dropped.setdefault(task, replace(moment, finish_ns=at_ns))
        return released, finished, missed

    def _as_jobs(self, items: Records, kind: Kind) -> Records:
        """The records of items as records of this kind of the jobs that stand for them."""
        flow, _, number = items_of(items["value"])
        jobs = items.copy()
        jobs["task"], jobs["job"], jobs["kind"] = self._tasks + flow, number, kind
        return jobs

    def _see_missed(self, task: int, release: Records) -> None:
        """Keep the job with this release as the first of its task that missed."""
        if len(release):
            self._missed[task] = self._of_release(FIRST_MISS, release[0])

    def _see_closest(self, task: int, done: Records) -> None:
        """Keep the first jobs whose responses are closest to what is wanted of their task."""
        responses_ns = done["value"].astype(np.int64)
        for reason, wanted_ns in self._wanted[task].items():
            at = int(np.argmin(np.abs(responses_ns - wanted_ns)))
            gap_ns, before = (
                abs(int(responses_ns[at]) - wanted_ns),
                self._closest.get((task, reason)),
            )
            if before is None or gap_ns < before[0]:
                job, response_ns, finish_ns = (
                    int(done[key][at]) for key in ("job", "value", "time_ns")
                )
                release_ns = finish_ns - response_ns
                relative_ns = int(self._deadlines_ns[task])
                deadline_ns = release_ns + relative_ns if relative_ns else 0
                moment = self._moment(task, reason, job, release_ns, deadline_ns)
                self._closest[task, reason] = gap_ns, replace(moment, finish_ns=finish_ns)

    def _see_finished(self, chunk: Records) -> None:
        """Note when the jobs that missed first are done."""
        for task, moment in self._missed.items():
            if moment.finish_ns is None:
                done = (chunk["kind"] == Kind.COMPLETE) & (chunk["task"] == task)
                place = np.flatnonzero(done & (chunk["job"] == moment.number))
                if len(place):
                    finish_ns = int(chunk["time_ns"][place[0]])
                    self._missed[task] = replace(moment, finish_ns=finish_ns)

    def _of_release(self, reason: str, release: np.void) -> ReportMoment:
        """Returns the moment of a job that is not finished yet, from its release on."""
        job, release_ns, deadline_ns = (int(release[key]) for key in ("job", "time_ns", "value"))
        return self._moment(int(release["task"]), reason, job, release_ns, deadline_ns)

    def _moment(
        self, task: int, reason: str, job: int, release_ns: int, deadline_ns: int
    ) -> ReportMoment:
        own = task if task < self._tasks else None
        return ReportMoment(reason, self._who[task], own, job, release_ns, deadline_ns, None)


def first_difference(
    header: Header, records: Records, first: Records, meter: Meter
) -> ReportMoment | None:
    """Returns the first job of a run that ends and does not end then in the first run, if any.

    What only one of them saw, the other having been interrupted, is no difference. Both are read
    up to the same instants, so that of one instant all ends are compared, in whatever order they
    were recorded.
    """
    last_ns = min(end_ns(records), end_ns(first))
    places, time_ns = [0, 0], 0
    while time_ns < last_ns:
        ahead = min(places[1] + _STEP, len(first) - 1)
        time_ns = min(int(first["time_ns"][ahead]), last_ns)
        before, places = places, [first_after(one, time_ns) for one in (records, first)]
        own, other = (
            _ends(meter.chunks(one[start:end]))
            for one, start, end in zip((records, first), before, places, strict=True)
        )
        if np.array_equal(own, other):
            continue
        if differing := set(map(tuple, own.tolist())) - set(map(tuple, other.tolist())):
            finish_ns, task, job, response_ns = min(differing)
            who = header["tasks"][task]["domain"], header["tasks"][task]["name"]
            release_ns = finish_ns - response_ns
            return ReportMoment(FIRST_DIFFERENCE, who, task, job, release_ns, 0, finish_ns)
    return None


def _ends(pieces: Iterable[Records]) -> NDArray[np.uint64]:
    """When jobs end, with their task, number and response, a row each, in this order."""
    done = [of_kinds(piece, Kind.COMPLETE) for piece in pieces]
    columns = [
        np.concatenate([np.empty(0, np.uint64), *(one[key] for one in done)])
        for key in ("time_ns", "task", "job", "value")
    ]
    rows = np.stack(columns, axis=1)
    return rows[np.lexsort(columns[::-1])]


def read_through(
    header: Header,
    records: Records,
    meter: Meter,
    seen: Seen,
    overview: Overview | None = None,
) -> tuple[dict[Task, Distribution], list[ReportMoment]]:
    """Returns how responses are distributed in a whole trace, and the moments worth looking at.

    The overview sees the trace too, which is read once.
    """
    responses, survey = ResponseCounts(header), Survey(header, seen)
    for chunk in meter.chunks(records):
        responses.add(chunk)
        survey.add(chunk)
        if overview:
            overview.add(chunk)
    return responses.found(), survey.found()
