# SPDX-License-Identifier: BSD-2-Clause
"""The comparison of several runs of one system: policies, or hosts, side by side.

All runs have the same releases, execution times and interfaces. Where hosts differ, sentences say
what a difference comes from: a system may be on an edge, where the least overhead costs a period.
Traces tell how response times are distributed; a run without one shows only the numbers
of its result.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.hosts.result import RunFlow, RunResult, RunTask, series_names
from hyperperiod.model import System
from hyperperiod.report.charts import LARGE, CdfChart, Series, box_chart, cdf_chart, points_each
from hyperperiod.report.distribution import (
    Distribution,
    Task,
    pooled,
)
from hyperperiod.report.folding import fold
from hyperperiod.report.meter import Meter, Progress, silent
from hyperperiod.report.moments import PASSES, ReportMoment, first_difference, read_through
from hyperperiod.report.numbers import duration, percent
from hyperperiod.report.page import render
from hyperperiod.report.palette import color, dash
from hyperperiod.report.playground import open_in_playground
from hyperperiod.report.stacked import same_rows, stacked
from hyperperiod.report.timeline import first_view_ns, overview_of
from hyperperiod.report.windows import Chosen, choose_each
from hyperperiod.trace.format import Header, Records, read


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs, as the page names and colours it."""

    name: str
    color: str
    dash: str
    result: RunResult
    found: Mapping[Task, Distribution]

    @property
    def jobs(self) -> int:
        return sum(task.jobs for task in self.result.tasks)

    @property
    def misses(self) -> int:
        return sum(task.misses for task in self.result.tasks)

    @property
    def donated(self) -> float:
        """Share of the horizon that vcpus ran without their own servers paying."""
        return sum(domain.donated_ns for domain in self.result.domains) / self.result.horizon_ns

    @property
    def idle(self) -> float:
        """The share of all pcpu time that nobody used, from 0 to 1."""
        pcpus = self.result.pcpus
        return sum(pcpu.idle_ns for pcpu in pcpus) / len(pcpus) / self.result.horizon_ns

    @property
    def switches(self) -> int:
        return sum(pcpu.switches for pcpu in self.result.pcpus)

    @property
    def worst(self) -> float | None:
        """The largest response time / deadline of all jobs."""
        return max((found.largest for found in self.found.values()), default=None)


@dataclass(frozen=True)
class ComparedRow:
    """One task, or a flow, whose domain is "", in every run.

    `best` is the least of the longest responses that differ.
    """

    domain: str
    task: str
    cells: Sequence[RunTask | RunFlow]
    best: int | None
    trouble: float

    @property
    def missed_spread(self) -> float:
        """By how much the share of missed deadlines differs between runs, from 0 to 1.

        Runs where no deadline passed do not count; 0 where all shares read the same.
        """
        shares = [cell.dmr for cell in self.cells if cell.dmr is not None]
        return max(shares) - min(shares) if len(set(map(percent, shares))) > 1 else 0.0

    @property
    def longest_ratio(self) -> float:
        """The longest of the longest responses by the shortest; 1 if they differ by less than 1 %.

        Infinite where no job finished in one run and some did in another.
        """
        known = [cell.response_ns.max for cell in self.cells if cell.response_ns]
        if len(known) < len(self.cells):
            return math.inf if known else 1.0
        ratio = max(known) / (min(known) or 1)
        return ratio if ratio >= 1.01 else 1.0


@dataclass(frozen=True)
class Difference:
    """What differs most: a sentence, and of each run its amount, as a share of the most and words.

    That is a task's share of missed deadlines, or its longest response.
    """

    sentence: str
    shares: tuple[float, ...]
    words: tuple[str, ...]


def compare_report(
    path: Path,
    results: Sequence[RunResult],
    traces: Sequence[Path | None] | None = None,
    progress: Progress = silent,
    sentences: Sequence[str] = (),
    system: System | None = None,
) -> None:
    """Write the comparison of `results`, runs of one system; `traces` are one per result.

    With the `system` as the first of them ran it the page leads to the playground, beside it.
    `sentences` say what lies between hosts (`host_differences`).
    `progress` is called with the records read so far and all to read.
    """
    opened = [None if trace is None else read(trace) for trace in traces or [None] * len(results)]
    # Two more passes for differences: over each run, and over the first for each other.
    meter = Meter(progress, sum(len(one[1]) * (PASSES + 2) for one in opened if one))
    names, stack = series_names(results), [one for one in opened if one]
    if len(stack) < len(results) or not same_rows([header for header, _ in stack]):
        stack = []
    overviews = [
        overview_of(*one, [other[1] for other in stack if other is not one]) for one in stack
    ]
    found = [
        read_through(*one, meter, {}, overview) if one else ({}, [])
        for one, overview in zip(opened, overviews or [None] * len(results), strict=True)
    ]
    runs = [
        ComparedRun(name, color(index), dash(index), result, distributions)
        for index, (name, result, (distributions, _)) in enumerate(
            zip(names, results, found, strict=True)
        )
    ]
    chosen = _windows(stack, [moments for _, moments in found], meter) if stack else []
    keys = [(domain.name, task.name) for domain in results[0].domains for task in domain.tasks]
    rows = _task_rows(results) + _flow_rows(results)
    drawn = [(key, series) for key in keys if (series := _series(runs, key))]
    points = points_each(len(drawn) * len(runs))
    trouble = [max(one.found.largest for one in series) for _, series in drawn]
    charts = [cdf_chart(" · ".join(key), series, points=points) for key, series in drawn]
    boxes = [box_chart(" · ".join(key), series) for key, series in drawn]
    data = stacked(names, stack, overviews, chosen, meter) if stack else None
    meter.finish()
    render(
        path,
        "compare.html.j2",
        title=results[0].system,
        differs=_differs(results),
        sentences=sentences,
        playground=open_in_playground(path, system, results[0].seed),
        difference=_difference(rows, [run.name for run in runs]),
        runs=runs,
        rows=fold(rows, [row.trouble for row in rows]),
        overall=_overall(runs),
        charts=fold(charts, trouble),
        boxes_of=fold(boxes, trouble),
        data=data,
        links=[one.links for one in chosen] or [{}] * len(runs),
    )


def _windows(
    traces: Sequence[tuple[Header, Records]], moments: Sequence[list[ReportMoment]], meter: Meter
) -> list[Chosen]:
    """The windows for the moments of runs, and for where each first differs from the first one."""
    (_, first), *_ = traces
    for (header, records), own in zip(traces[1:], moments[1:], strict=True):
        own += filter(None, [first_difference(header, records, first, meter)])
    first_ns = max(first_view_ns(header) for header, _ in traces)
    return choose_each([records for _, records in traces], moments, first_ns)


def _differs(results: Sequence[RunResult]) -> list[str]:
    """Returns what is not the same in all runs; one run alone is about its policy."""
    found = [
        key for key in ("policy", "host") if len({getattr(result, key) for result in results}) > 1
    ]
    return found or ["policy"]


def _difference(rows: Sequence[ComparedRow], names: Sequence[str]) -> Difference | None:
    """Returns what differs most between runs of these names; None if no task differs in it.

    Missed deadlines go before the longest responses, of which that with the largest ratio counts:
    a task that finishes nothing in one run, and something in another, before all ratios.
    """
    if not rows:
        return None
    row = max(rows, key=lambda row: (row.missed_spread, row.longest_ratio))
    amounts: list[float | None]
    if row.missed_spread:
        amounts = [cell.dmr for cell in row.cells]
        what, words, ratio = "Missed deadlines", [percent(one) for one in amounts], ""
    elif row.longest_ratio > 1:
        longest = [cell.response_ns.max if cell.response_ns else None for cell in row.cells]
        amounts = [math.inf if one is None else one for one in longest]
        what = "Longest response"
        words = ["none finished" if one is None else duration(one) for one in longest]
        finite = math.isfinite(row.longest_ratio)
        ratio = f", {row.longest_ratio:.3g} times as long" if finite else ""
    else:
        return None
    known = [one for one in amounts if one is not None]
    ends = [
        f"{words[amounts.index(end)]} with "
        + _together([name for name, amount in zip(names, amounts, strict=True) if amount == end])
        for end in (max(known), min(known))
    ]
    full = max(filter(math.isfinite, known)) or 1
    return Difference(
        f"{what} of {row.domain or 'flow'} · {row.task}: {', '.join(ends)}{ratio}.",
        tuple(min(1.0, (amount or 0.0) / full) for amount in amounts),
        tuple(words),
    )


def _together(names: Sequence[str]) -> str:
    *most, last = names
    return " and ".join(filter(None, [", ".join(most), last]))


def _task_rows(results: Sequence[RunResult]) -> list[ComparedRow]:
    """Returns a row for each task, with a cell for each run."""
    domains = zip(*(result.domains for result in results), strict=True)
    return [
        _row_of(same[0].name, tasks[0].name, tasks)
        for same in domains
        for tasks in zip(*(domain.tasks for domain in same), strict=True)
    ]


def _flow_rows(results: Sequence[RunResult]) -> list[ComparedRow]:
    """Returns a row for each flow, with a cell for each run."""
    flows = zip(*(result.flows for result in results), strict=True)
    return [_row_of("", same[0].name, same) for same in flows]


def _row_of(domain: str, task: str, results: Sequence[RunTask | RunFlow]) -> ComparedRow:
    """One task or flow; the best longest response is marked."""
    known = [one.response_ns.max for one in results if one.response_ns]
    best = min(known) if known and len(set(known)) > 1 else None
    trouble = sum(one.dmr or 0 for one in results) * 1e6
    trouble += max(known) / min(known) if best else 0
    return ComparedRow(domain, task, results, best, trouble)


def _overall(runs: Sequence[ComparedRun]) -> CdfChart | None:
    """All jobs of a run in one distribution, one line per run."""
    series = [
        Series(run.name, pooled(list(run.found.values())), run.color, run.dash)
        for run in runs
        if run.found
    ]
    return cdf_chart("all tasks", series, size=LARGE) if series else None


def _series(runs: Sequence[ComparedRun], key: Task) -> list[Series]:
    return [
        Series(run.name, run.found[key], run.color, run.dash) for run in runs if key in run.found
    ]
