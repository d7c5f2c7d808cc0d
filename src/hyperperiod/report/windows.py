# SPDX-License-Identifier: BSD-2-Clause
"""Which parts of a trace a page holds: the start, and the surroundings of what is worth a look.

A page must stay small, however long the run, so it holds the first records of a trace and windows
of a few hundred records around moments: the first miss of all, the worst, and the first miss and
longest response of each task and flow, and its first dropped item, as many as fit, then those with
typical responses. Tables link to them by instants.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hyperperiod.report.moments import (
    FIRST_MISS,
    LONGEST,
    TYPICAL,
    WORST_MISS,
    ReportMoment,
    Who,
)
from hyperperiod.trace.format import Records, end_ns

START: Final = 20_000
"""Records of the first window."""
MIN_RECORDS: Final = 1_000
"""Records of each other window: at least so many, so that it shows what led to its moment ..."""
MAX_RECORDS: Final = 2_400
"""... and at most so many, a little more where an instant would be cut in two."""
MAX_HEADLINE_RECORDS: Final = 8_000
"""The same for the first miss of all and the worst: systems of 1,024 domains are busy."""
WINDOWS: Final = 16
"""How many other windows a page holds at most ..."""
RECORDS: Final = 24_000
"""... and how many records they may have together; the last one to fit may go beyond that."""

Span = tuple[int, int]
"""Two instants: what the timeline shows."""


@dataclass
class ReportWindow:
    """Records [first, last) of the trace and what to look at in them; whole instants."""

    title: str
    first: int
    last: int
    start_ns: int
    end_ns: int
    view: Span
    moments: list[ReportMoment] = field(default_factory=list)

    def holds(self, moment: ReportMoment, last_ns: int) -> bool:
        """Returns whether the moment is in the window from its release to its finish."""
        return self.start_ns <= moment.release_ns and moment.until_ns(last_ns) <= self.end_ns


@dataclass(frozen=True)
class Chosen:
    """The windows of a page by time, those that matter most, and the views that tables link to.

    `headline` has indexes into `windows`, with a view each. `links` are by task or flow and what
    is asked for, as in `links[("brakes", "wheel"), FIRST_MISS]`.
    """

    windows: list[ReportWindow]
    headline: list[tuple[int, Span, str]]
    links: Mapping[tuple[Who, str], Span]


def choose(records: Records, moments: Sequence[ReportMoment], first_view_ns: int) -> Chosen:
    """The windows for the moments of a run; `first_view_ns`: how much of the start is shown."""
    last_ns = end_ns(records)
    wishes = _by_importance(moments, last_ns)
    windows = _windows(records, wishes, first_view_ns)
    views: dict[ReportMoment, tuple[int, Span]] = {}
    links: dict[tuple[Who, str], Span] = {}
    for place, window in enumerate(windows):
        for moment in window.moments:
            views[moment] = place, view_of(moment, window, last_ns)
    for moment in (one for one in wishes if one in views):
        if moment.reason == FIRST_MISS or moment.finish_ns is not None:
            asked = LONGEST if moment.reason == WORST_MISS else moment.reason
            links.setdefault((moment.who, asked), views[moment][1])
    start = (0, windows[0].view, windows[0].title)
    first_two = [moment for moment in wishes[:2] if moment in views]
    heads = [(*views[moment], title) for moment, title in _headline(first_two, last_ns)]
    return Chosen(windows, [start, *heads], links)


def is_whole(*runs: Records) -> bool:
    """Whether a page holds all of its runs: they are no longer than all windows together."""
    return sum(map(len, runs)) <= START + RECORDS


def starts(runs: Sequence[Records], first_view_ns: int) -> list[ReportWindow]:
    """The first records of the runs on one page: whole instants, at most START if it can be.

    The windows of all runs end at one instant, or with their runs.
    """
    lasts = [len(records) for records in runs]
    if not is_whole(*runs):
        share = START // len(runs)
        cut_ns = min(int(records["time_ns"][share]) for records in runs if len(records) > share)
        lasts = [_first_of(records, cut_ns) or share for records in runs]
    shown = [records[:last] for records, last in zip(runs, lasts, strict=True)]
    until_ns = max(map(end_ns, shown))
    view = (0, min(until_ns, first_view_ns or until_ns))
    return [
        ReportWindow("start", 0, last, 0, min(until_ns, end_ns(records)), view)
        for records, last in zip(runs, lasts, strict=True)
    ]


def _windows(
    records: Records, wishes: Sequence[ReportMoment], first_view_ns: int
) -> list[ReportWindow]:
    """The start and windows for as many of the wishes as fit, by time; none overlaps another."""
    last_ns = end_ns(records)
    windows = starts([records], first_view_ns)
    for moment in wishes:
        window = next((one for one in windows if one.holds(moment, last_ns)), None)
        held = sum(one.last - one.first for one in windows[1:])
        if window is None and len(windows) <= WINDOWS and held < RECORDS:
            limit = MAX_RECORDS if len(windows) > 2 else MAX_HEADLINE_RECORDS
            window = _around(records, moment, limit)
            windows.append(window)
        if window is not None:
            window.moments.append(moment)
    windows.sort(key=lambda window: window.first)
    merged = windows[:1]
    for window in windows[1:]:
        before = merged[-1]
        if window.first > before.last:
            merged.append(window)
            continue
        before.moments += window.moments
        if window.last > before.last:
            before.last, before.end_ns = window.last, window.end_ns
    return merged


def _by_importance(moments: Sequence[ReportMoment], last_ns: int) -> list[ReportMoment]:
    """The first miss of all, the worst, then the others; without a miss the longest comes first."""
    ranked = sorted(moments, key=lambda one: (one.reason in TYPICAL, -one.ratio(last_ns)))
    named = [_named(moment, last_ns) for moment in ranked]
    misses = [moment for moment in named if moment.reason == FIRST_MISS]
    first = min(misses, key=lambda moment: moment.deadline_ns, default=None)
    worst = next((moment for moment in named if moment.reason != FIRST_MISS), None)
    heads = [moment for moment in (first, worst) if moment is not None]
    return [*heads, *(moment for moment in named if moment not in heads)]


def _headline(first_two: Sequence[ReportMoment], last_ns: int) -> list[tuple[ReportMoment, str]]:
    """Returns the moments that are offered above the timeline, with their titles."""
    misses = [moment for moment in first_two if moment.is_late(last_ns)]
    if len({(moment.who, moment.number) for moment in misses}) < len(misses):
        return [(misses[0], misses[0].title.replace("first miss", "first and worst miss", 1))]
    closest = [moment for moment in first_two[:1] if moment.ratio(last_ns) > 0]
    return [(moment, moment.title) for moment in misses] or [
        (moment, moment.closest) for moment in closest
    ]


def _named(moment: ReportMoment, last_ns: int) -> ReportMoment:
    """The longest response is the worst miss if it was late."""
    late = moment.reason == LONGEST and moment.is_late(last_ns)
    return replace(moment, reason=WORST_MISS) if late else moment


def _around(records: Records, moment: ReportMoment, limit: int) -> ReportWindow:
    """A window with at least LEAST and about `limit` records at most around a moment.

    The decisive instant is surely in it, and the whole moment if that has no more records.
    """
    until_ns = moment.until_ns(end_ns(records))
    decisive_ns = moment.deadline_ns if moment.reason == FIRST_MISS else until_ns
    margin_ns = (until_ns - moment.release_ns) // 2
    first = _first_of(records, max(0, moment.release_ns - margin_ns))
    last = _first_after(records, until_ns + margin_ns)
    if last - first < MIN_RECORDS:
        spare = MIN_RECORDS - (last - first)
        first, last = first - spare * 2 // 3, last + spare // 3
    elif last - first > limit:
        last = min(last, _first_after(records, decisive_ns) + limit // 8)
        first = max(first, last - limit)
    first, last = max(0, first), min(last, len(records))
    start_ns = int(records["time_ns"][first])
    if last < len(records):
        last = _first_of(records, int(records["time_ns"][last]))
    last = max(last, _first_after(records, decisive_ns))
    first = _first_of(records, start_ns)
    until_ns = int(records["time_ns"][last - 1])
    return ReportWindow(moment.title, first, last, start_ns, until_ns, (start_ns, until_ns))


def view_of(moment: ReportMoment, window: ReportWindow, last_ns: int) -> Span:
    """The moment with half as much around it, as far as the window goes if that has a length.

    Of a response many times as long as its deadline, as in an overload, only the decisive end.
    """
    until_ns = max(moment.until_ns(last_ns), moment.deadline_ns)
    span_ns = until_ns - moment.release_ns
    if moment.deadline_ns:
        span_ns = min(span_ns, 4 * (moment.deadline_ns - moment.release_ns))
    margin_ns = max(span_ns // 2, 50)
    start_ns = moment.release_ns if moment.reason == FIRST_MISS else until_ns - span_ns
    if window.start_ns == window.end_ns:  # one busy instant: some columns before it
        return max(0, window.end_ns - last_ns // 64), window.end_ns
    return (
        max(window.start_ns, start_ns - margin_ns),
        min(window.end_ns, start_ns + span_ns + margin_ns),
    )


def _first_of(records: Records, time_ns: int) -> int:
    """The place of the first record that is not before the instant."""
    times = records["time_ns"]
    return bisect_left(range(len(records)), time_ns, key=lambda at: int(times[at]))


def _first_after(records: Records, time_ns: int) -> int:
    """The place of the first record after the instant."""
    times = records["time_ns"]
    return bisect_right(range(len(records)), time_ns, key=lambda at: int(times[at]))
