# SPDX-License-Identifier: BSD-2-Clause
"""Two traces of one system: do they show the same schedule, up to a bound?

Hosts that take the same decisions still act at slightly different instants. Two schedules agree
within a bound when at every instant that is farther than the bound from a boundary of either,
the same vcpu runs, or nobody does, or the pcpu is stolen, and the same servers pay; and when the
response times of all jobs differ by no more than it. A boundary is where an interval of
`trace intervals` ends and the next begins.

On some hosts it is the guest that says what is released. One that is granted no time from a release
to the end of the run cannot: there is no difference if the job that it says nothing of has not
begun in the other trace either.

Beside the verdict there is a measure: the least bound within which the two would agree, and the
share of time that was compared at all. A bound so large that it covers everything proves
nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hyperperiod.model.errors import InputError
from hyperperiod.model.units import format_time
from hyperperiod.trace.format import Header, Kind, Records, end_ns
from hyperperiod.trace.interval_arrays import interval_array
from hyperperiod.trace.intervals import IntervalRow, intervals
from hyperperiod.trace.jobs import Job, jobs
from hyperperiod.trace.result import DivergenceResult, TraceDiffResult

Trace = tuple[Header, Records]

AROUND = 4
"""Intervals shown on each side of a divergence."""


@dataclass(frozen=True)
class Divergence:
    """A stretch of time in which two schedules say different things."""

    pcpu: int
    start_ns: int
    end_ns: int
    first: IntervalRow | None
    second: IntervalRow | None

    @property
    def result(self) -> DivergenceResult:
        """The stretch, with what each schedule says in words."""
        return DivergenceResult(
            pcpu=self.pcpu,
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            first=_interval_text(self.first),
            second=_interval_text(self.second),
        )


@dataclass(frozen=True)
class Comparison:
    """The differences between the schedules of two traces, or that there are none."""

    hosts: tuple[str, str]
    bound_ns: int
    total_ns: int
    compared_ns: int
    """Time farther than the bound from every boundary, of `total_ns` on all pcpus together."""
    least_bound_ns: int
    """The least bound within which the schedules agree."""
    jobs: int
    """Jobs that finished in both."""
    response_ns: int
    """The most by which their response times differ."""
    divergence: Divergence | None
    """The first one that the bound does not cover."""
    unequal_jobs: tuple[str, ...]
    """Jobs that differ by more than the bound, in words."""
    rows: tuple[tuple[IntervalRow, ...], tuple[IntervalRow, ...]]
    """The intervals of each trace around the divergence."""

    @property
    def agrees(self) -> bool:
        """Returns whether the two traces show the same schedule within the bound."""
        return self.divergence is None and not self.unequal_jobs

    @property
    def result(self) -> TraceDiffResult:
        """The object that `trace diff --json` prints."""
        return TraceDiffResult(
            hosts=self.hosts,
            agrees=self.agrees,
            bound_ns=self.bound_ns,
            total_ns=self.total_ns,
            compared_ns=self.compared_ns,
            least_bound_ns=self.least_bound_ns,
            jobs=self.jobs,
            response_ns=self.response_ns,
            divergence=None if self.divergence is None else self.divergence.result,
            unequal_jobs=self.unequal_jobs,
        )

    def text(self) -> str:
        """The result in words; on a divergence with both schedules around it."""
        share = _percent(self.compared_ns, self.total_ns)
        lines = [
            f"{share} of the time lies farther than {format_time(self.bound_ns)} from a boundary",
            f"the schedules agree within {format_time(self.least_bound_ns)}",
            f"the response times of {self.jobs} jobs within {format_time(self.response_ns)}",
        ]
        if self.divergence is not None:
            lines += self._divergence_text(self.divergence)
        lines += self.unequal_jobs[:AROUND]
        if len(self.unequal_jobs) > AROUND:
            lines.append(f"... {len(self.unequal_jobs)} such jobs in all")
        return "\n".join(lines)

    def _divergence_text(self, found: Divergence) -> Iterator[str]:
        first, second = _interval_text(found.first), _interval_text(found.second)
        yield (
            f"first divergence: pcpu {found.pcpu}, {found.start_ns} to {found.end_ns} ns: "
            f"{self.hosts[0]} {first}, {self.hosts[1]} {second}"
        )
        for host, rows in zip(self.hosts, self.rows, strict=True):
            yield f"{host}:"
            for row in rows:
                mark = ">" if row.start_ns < found.end_ns and row.end_ns > found.start_ns else " "
                yield f" {mark} {row.start_ns:>14} {row.end_ns:>14}  {_interval_text(row)}"


def compare(first: Trace, second: Trace, bound_ns: int) -> Comparison:
    """Compares the schedules of two traces of one system.

    Raises InputError when they are not of one: other vcpus, tasks or pcpus.
    """
    _require_comparable(first[0], second[0])
    until_ns = min(end_ns(first[1]), end_ns(second[1]))
    rows = [list(intervals(*trace)) for trace in (first, second)]
    stretches = [
        stretch
        for pcpu in range(first[0]["pcpus"])
        for stretch in _stretches(pcpu, until_ns, *(_of(every, pcpu) for every in rows))
    ]
    unequal = [it for it in stretches if _says(it.first) != _says(it.second)]
    divergence = next((it for it in unequal if _covered_by_ns(it, until_ns) > bound_ns), None)
    count, response_ns, unequal_jobs = _compare_jobs(first, second, until_ns, bound_ns)
    return Comparison(
        hosts=(first[0]["host"], second[0]["host"]),
        bound_ns=bound_ns,
        total_ns=until_ns * first[0]["pcpus"],
        compared_ns=sum(_inner_ns(it, until_ns, bound_ns) for it in stretches),
        least_bound_ns=max((_covered_by_ns(it, until_ns) for it in unequal), default=0),
        jobs=count,
        response_ns=response_ns,
        divergence=divergence,
        unequal_jobs=tuple(unequal_jobs),
        rows=(_around(rows[0], divergence), _around(rows[1], divergence)),
    )


def _require_comparable(first: Header, second: Header) -> None:
    for key, own, other in (
        ("pcpus", first["pcpus"], second["pcpus"]),
        ("vcpus", _names(first["vcpus"]), _names(second["vcpus"])),
        ("tasks", _names(first["tasks"]), _names(second["tasks"])),
    ):
        if own != other:
            raise InputError(second["system"], None, key, str(other), f"{own}, as in the other")


def _names(entries: Any) -> list[str]:
    return [f"{entry['domain']}.{entry['name']}" for entry in entries]


def _of(rows: list[IntervalRow], pcpu: int) -> list[IntervalRow]:
    return [row for row in rows if row.pcpu == pcpu]


def _stretches(
    pcpu: int, until_ns: int, first: list[IntervalRow], second: list[IntervalRow]
) -> Iterator[Divergence]:
    """Time cut at the boundaries of both, with what each says in every piece."""
    cuts = {0, until_ns}
    for row in (*first, *second):
        cuts |= {row.start_ns, row.end_ns}
    edges = sorted(cut for cut in cuts if cut <= until_ns)
    starts = [[row.start_ns for row in rows] for rows in (first, second)]
    for start_ns, end in pairwise(edges):
        own, other = _at(first, starts[0], start_ns), _at(second, starts[1], start_ns)
        yield Divergence(pcpu, start_ns, end, own, other)


def _at(rows: list[IntervalRow], starts: list[int], time_ns: int) -> IntervalRow | None:
    index = bisect_right(starts, time_ns) - 1
    return rows[index] if index >= 0 and time_ns < rows[index].end_ns else None


def _says(row: IntervalRow | None) -> tuple[str, str] | None:
    """Returns who runs and who pays in an interval; None where there is none."""
    return None if row is None else (row.run, row.pay)


def _interval_text(row: IntervalRow | None) -> str:
    if row is None:
        return "nothing"
    return f"{row.run} ({row.pay or 'nobody'} pays)"


def _sides(stretch: Divergence, until_ns: int) -> int:
    """Returns how many ends of a stretch are boundaries; begin and end of the run are none."""
    return (stretch.start_ns > 0) + (stretch.end_ns < until_ns)


def _inner_ns(stretch: Divergence, until_ns: int, bound_ns: int) -> int:
    """Returns how much (ns) of a stretch is farther than the bound from its ends."""
    length_ns = stretch.end_ns - stretch.start_ns
    return max(0, length_ns - _sides(stretch, until_ns) * bound_ns)


def _covered_by_ns(stretch: Divergence, until_ns: int) -> int:
    """Returns the least bound (ns) that covers a stretch from its ends."""
    return -(-(stretch.end_ns - stretch.start_ns) // max(1, _sides(stretch, until_ns)))


def _around(rows: list[IntervalRow], found: Divergence | None) -> tuple[IntervalRow, ...]:
    if found is None:
        return ()
    own = _of(rows, found.pcpu)
    index = bisect_right([row.start_ns for row in own], found.start_ns)
    return tuple(own[max(0, index - AROUND) : index + AROUND])


def _compare_jobs(
    first: Trace, second: Trace, until_ns: int, bound_ns: int
) -> tuple[int, int, list[str]]:
    """Jobs finished in both, the largest difference of responses, and what is beyond the bound."""
    theirs = [
        {(job.domain, job.task, job.job): job for job in jobs(*trace)} for trace in (first, second)
    ]
    hosts = (first[0]["host"], second[0]["host"])
    ran_ns = [_last_ran_ns(trace) for trace in (first, second)]
    count, max_ns = 0, 0
    unequal = []
    for key in sorted(theirs[0].keys() | theirs[1].keys()):
        name = f"{key[0]}.{key[1]} job {key[2]}"
        job, other = (its.get(key) for its in theirs)
        responses = [_response_ns(job), _response_ns(other)]
        if responses[0] is not None and responses[1] is not None:
            count += 1
            apart_ns = abs(responses[0] - responses[1])
            max_ns = max(max_ns, apart_ns)
            if apart_ns > bound_ns:
                unequal.append(
                    f"{name}: responds in {responses[0]} ns on {hosts[0]}, "
                    f"{responses[1]} ns on {hosts[1]}"
                )
        for index, own, has in ((0, job, other), (1, other, job)):
            if own is None and has is not None and _is_unsaid(has, ran_ns[index], bound_ns):
                continue
            if not _may_lack(own, has, until_ns - bound_ns):
                unequal.append(f"{name}: not the same on {hosts[index]}, which has {own}")
    return count, max_ns, unequal


def _last_ran_ns(trace: Trace) -> dict[str, int]:
    """Returns until when (ns) each domain ran that did at all."""
    header, records = trace
    last_ns = np.zeros(len(header["vcpus"]), np.uint64)
    for pcpu in range(header["pcpus"]):
        rows = interval_array(records, pcpu)
        runs = rows[rows["kind"] == Kind.RUN]
        np.maximum.at(last_ns, runs["vcpu"], runs["end_ns"])
    found: dict[str, int] = {}
    for vcpu, end in zip(header["vcpus"], last_ns.tolist(), strict=True):
        if end > 0:
            found[vcpu["domain"]] = max(found.get(vcpu["domain"], 0), end)
    return found


def _is_unsaid(job: Job, ran_ns: Mapping[str, int], bound_ns: int) -> bool:
    """Whether a job of the other trace has not begun there, and its domain does not run here after
    the release: then nobody can have said that it was released."""
    return job.start_ns is None and ran_ns.get(job.domain, 0) <= job.release_ns + bound_ns


def _response_ns(job: Job | None) -> int | None:
    return None if job is None or job.finish_ns is None else job.finish_ns - job.release_ns


def _may_lack(job: Job | None, other: Job | None, late_ns: int) -> bool:
    """Returns whether a job may be missing or unfinished here: the other's is only just not."""
    if other is None:
        return True
    if job is None:
        return other.release_ns >= late_ns
    return job.finish_ns is not None or other.finish_ns is None or other.finish_ns >= late_ns


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:.2f} %"
