# SPDX-License-Identifier: BSD-2-Clause
"""The moments of a run worth looking at: first misses, drops, worst misses, longest responses.

They are found in one pass over a trace of any length. A job that missed its deadline and never
finished counts as one that finishes at the end of the trace: no response is longer. The first job
whose response is the shortest one, the median or the 99th percentile is a moment too, so that
these numbers lead somewhere; where a percentile is rounded, it is the first of the closest.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

import numpy as np

from hyperperiod.hosts.result import Responses
from hyperperiod.report.distribution import Distribution, ResponseCounts, Task, by_task
from hyperperiod.report.meter import Meter
from hyperperiod.report.numbers import duration
from hyperperiod.report.overview import Overview
from hyperperiod.report.state import unfinished
from hyperperiod.trace.format import RECORD, Header, Kind, Records, chunks, end_ns
from hyperperiod.trace.items import visits_in

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
_BEYOND_NS: Final = 1 << 62
"""Longer than any response: the longest one is the closest to it."""

Who = tuple[str, str]
"""A task by domain and name, or ("flow", its name)."""


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
        return (" " if self.task is None else ".").join(self.who)

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

    And for the first with each typical response that was `seen`.
    """

    def __init__(self, header: Header, seen: Seen) -> None:
        self._header = header
        self._wanted = [_wanted(seen, (one["domain"], one["name"])) for one in header["tasks"]]
        self._closest: dict[tuple[int, str], tuple[int, ReportMoment]] = {}
        self._missed: dict[int, ReportMoment] = {}
        self._in_flight: Records = np.empty(0, RECORD)
        self._last_ns = 0

    def add(self, chunk: Records) -> None:
        """Looks for moments in these records, which follow those of the call before."""
        released = np.concatenate((self._in_flight, chunk[chunk["kind"] == Kind.RELEASE]))
        self._in_flight = unfinished(self._in_flight, chunk)
        self._last_ns = end_ns(chunk)
        for task, done in by_task(chunk[chunk["kind"] == Kind.COMPLETE]):
            self._see_closest(task, done)
        for task, missed in by_task(chunk[chunk["kind"] == Kind.MISS]):
            if task not in self._missed:
                own = released[released["task"] == task]
                self._see_missed(task, own[own["job"] == missed["job"][0]])
        self._see_finished(chunk)

    def found(self) -> list[ReportMoment]:
        """Each task's first miss, its responses and its first late job that never ended."""
        stuck = [self._of_release(WORST_MISS, jobs[0]) for _, jobs in by_task(self._in_flight)]
        late = [moment for moment in stuck if moment.is_late(self._last_ns)]
        return [*self._missed.values(), *(moment for _, moment in self._closest.values()), *late]

    def _see_missed(self, task: int, release: Records) -> None:
        """Keep the job with this release as the first of its task that missed."""
        if len(release):
            self._missed[task] = self._of_release(FIRST_MISS, release[0])

    def _see_closest(self, task: int, done: Records) -> None:
        """Keep the first jobs whose responses are closest to what is wanted of their task."""
        for reason, wanted_ns in self._wanted[task].items():
            gaps_ns = np.abs(done["value"].astype(np.int64) - wanted_ns)
            at = int(np.argmin(gaps_ns))
            gap_ns, before = int(gaps_ns[at]), self._closest.get((task, reason))
            if before is None or gap_ns < before[0]:
                job, response_ns, finish_ns = (
                    int(done[key][at]) for key in ("job", "value", "time_ns")
                )
                release_ns = finish_ns - response_ns
                relative_ns = self._header["tasks"][task]["deadline_ns"]
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
        entry = self._header["tasks"][task]
        who = (entry["domain"], entry["name"])
        return ReportMoment(reason, who, task, job, release_ns, deadline_ns, None)


def flow_moments(
    header: Header, pieces: Iterable[Records], last_ns: int, seen: Seen
) -> list[ReportMoment]:
    """Returns each flow's first late item, the first dropped one, and its responses."""
    first: dict[int, ReportMoment] = {}
    dropped: dict[int, ReportMoment] = {}
    closest: dict[tuple[int, str], tuple[int, ReportMoment]] = {}
    wanted = [_wanted(seen, ("flow", flow["name"])) for flow in header.get("flows", [])]
    for flow, item in _items(header, pieces):
        if item.reason == FIRST_DROP:
            dropped.setdefault(flow, item)
        elif item.finish_ns is not None:
            for reason, wanted_ns in wanted[flow].items():
                gap_ns = abs(item.finish_ns - item.release_ns - wanted_ns)
                if (flow, reason) not in closest or gap_ns < closest[flow, reason][0]:
                    closest[flow, reason] = gap_ns, replace(item, reason=reason)
        if item.is_late(last_ns):
            before = first.get(flow)
            if before is None or item.deadline_ns < before.deadline_ns:
                first[flow] = replace(item, reason=FIRST_MISS)
    return [*first.values(), *dropped.values(), *(moment for _, moment in closest.values())]


def _items(header: Header, pieces: Iterable[Records]) -> Iterator[tuple[int, ReportMoment]]:
    """Every item with its flow's number, once it is through or dropped; then those that are not."""
    flows = header.get("flows", [])
    open_items: dict[tuple[int, int], ReportMoment] = {}
    for record, item in visits_in(pieces):
        key = (item.flow, item.number)
        flow = flows[item.flow]
        who = ("flow", flow["name"])
        if record.kind == Kind.DROP:
            at_ns = record.time_ns
            yield item.flow, ReportMoment(FIRST_DROP, who, None, item.number, at_ns, 0, at_ns)
        elif record.kind == Kind.ITEM and item.hop == 0:
            deadline_ns = record.time_ns + flow["deadline_ns"]
            open_items[key] = ReportMoment(
                LONGEST, who, None, item.number, record.time_ns, deadline_ns, None
            )
        elif item.hop + 1 == len(flow["hops"]) and record.kind == Kind.COMPLETE:
            moment = open_items.pop(key, None)
            if moment is not None:
                yield item.flow, replace(moment, finish_ns=record.time_ns)
    for (number, _), moment in open_items.items():
        yield number, moment


def first_difference(header: Header, records: Records, first: Records) -> ReportMoment | None:
    """Returns the first job that ends in one of two runs and not then in the other, if any.

    What only one of them saw, the other having been interrupted, is no difference.
    """
    for ends in zip_longest(_ends(records), _ends(first)):
        if ends[0] != ends[1]:
            finish_ns, task, job, response_ns = min(end for end in ends if end is not None)
            if finish_ns > min(end_ns(records), end_ns(first)):
                break
            who = header["tasks"][task]["domain"], header["tasks"][task]["name"]
            release_ns = finish_ns - response_ns
            return ReportMoment(FIRST_DIFFERENCE, who, task, job, release_ns, 0, finish_ns)
    return None


def _ends(records: Records) -> Iterator[tuple[int, int, int, int]]:
    """When jobs end, with their task, number and response."""
    for chunk in chunks(records):
        done = chunk[chunk["kind"] == Kind.COMPLETE]
        yield from zip(
            *(done[key].tolist() for key in ("time_ns", "task", "job", "value")), strict=True
        )


def read_through(
    header: Header,
    records: Records,
    meter: Meter,
    seen: Seen,
    overview: Overview | None = None,
) -> tuple[dict[Task, Distribution], list[ReportMoment]]:
    """Returns how responses are distributed in a whole trace, and the moments worth looking at.

    The overview sees the trace too. It is read once, and once more if there are flows.
    """
    responses, survey = ResponseCounts(header), Survey(header, seen)
    for chunk in meter.chunks(records):
        responses.add(chunk)
        survey.add(chunk)
        if overview:
            overview.add(chunk)
    moments = survey.found()
    if header.get("flows"):
        moments += flow_moments(header, meter.chunks(records), end_ns(records), seen)
    return responses.found(), moments


def passes(header: Header) -> int:
    """Returns how often a page reads a trace at most, the timeline included."""
    return 3 if header.get("flows") else 2
