# SPDX-License-Identifier: BSD-2-Clause
"""Which parts of a trace a page holds: the start, and the surroundings of what is worth a look.

A page must stay small, however long the run, so it holds the first records of a trace and windows
of a few hundred records around moments: the first miss of all, the worst, and the first miss and
longest response of each task and flow, and its first dropped item, as many as fit, then those with
typical responses. Tables link to them by instants. Runs that stand on one page have windows at the
same instants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from hyperperiod.report.moments import (
    FIRST_DIFFERENCE,
    FIRST_MISS,
    LONGEST,
    TYPICAL,
    WORST_MISS,
    ReportMoment,
    Who,
)
from hyperperiod.trace.format import Records, end_ns, first_after, first_of

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
"""... and how many records they may have together; the last one to fit may go beyond that.

Several runs on one page share all of these numbers.
"""

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
    is asked for, as in `links[("brakes", "wheel"), FIRST_MISS]`: a view, and the title of the
    moment, for several moments may have the same view.
    """

    windows: list[ReportWindow]
    headline: list[tuple[int, Span, str]]
    links: Mapping[tuple[Who, str], tuple[Span, str]]


def choose(records: Records, moments: Sequence[ReportMoment], first_view_ns: int) -> Chosen:
    """The windows for the moments of a run; `first_view_ns`: how much of the start is shown."""
    return choose_each([records], [moments], first_view_ns)[0]


def choose_each(
    runs: Sequence[Records], moments: Sequence[Sequence[ReportMoment]], first_view_ns: int
) -> list[Chosen]:
    """The same for runs on one page, and the moments of each; their windows are those of all."""
    wishes = [
        _by_importance(own, end_ns(records)) for records, own in zip(runs, moments, strict=True)
    ]
    windows = zip(*_windows(runs, wishes, first_view_ns), strict=True)
    return [
        _chosen(list(own), wished, end_ns(records))
        for records, own, wished in zip(runs, windows, wishes, strict=True)
    ]


def _chosen(windows: list[ReportWindow], wishes: Sequence[ReportMoment], last_ns: int) -> Chosen:
    """The windows of a run with the views of their moments, which are among the wishes."""
    views: dict[ReportMoment, tuple[int, Span]] = {}
    links: dict[tuple[Who, str], tuple[Span, str]] = {}
    for place, window in enumerate(windows):
        for moment in window.moments:
            views[moment] = place, view_of(moment, window, last_ns)
    for moment in (one for one in wishes if one in views):
        if moment.reason == FIRST_MISS or moment.finish_ns is not None:
            asked = LONGEST if moment.reason == WORST_MISS else moment.reason
            links.setdefault((moment.who, asked), (views[moment][1], moment.title))
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
        lasts = [first_of(records, cut_ns) or share for records in runs]
    shown = [records[:last] for records, last in zip(runs, lasts, strict=True)]
    until_ns = max(map(end_ns, shown))
    view = (0, min(until_ns, first_view_ns or until_ns))
    return [
        ReportWindow("start", 0, last, 0, min(until_ns, end_ns(records)), view)
        for records, last in zip(runs, lasts, strict=True)
    ]


def _windows(
    runs: Sequence[Records], wishes: Sequence[Sequence[ReportMoment]], first_view_ns: int
) -> list[list[ReportWindow]]:
    """The start and windows for as many of the wishes as fit, by time; none overlaps another.

    Each is a list of its parts, one of each run, and so are the wishes, of which the first of all
    runs come before their second ones.
    """
    windows = [starts(runs, first_view_ns)]
    ranked = [pair for same in zip_longest(*wishes) for pair in enumerate(same)]
    for run, moment in ranked:
        if moment is None:
            continue
        last_ns = end_ns(runs[run])
        own = next((parts[run] for parts in windows if parts[run].holds(moment, last_ns)), None)
        held = sum(one.last - one.first for parts in windows[1:] for one in parts)
        if own is None and len(windows) <= WINDOWS and held < RECORDS:
            limit = MAX_RECORDS if len(windows) > 2 else MAX_HEADLINE_RECORDS
            own = _around(runs[run], moment, MIN_RECORDS // len(runs), limit // len(runs))
            parts = [_beside(records, own) for records in runs]
            windows.append([*parts[:run], own, *parts[run + 1 :]])
        if own is not None:
            own.moments.append(moment)
    windows.sort(key=lambda parts: max(one.start_ns for one in parts))
    merged = windows[:1]
    for parts in windows[1:]:
        pairs = list(zip(merged[-1], parts, strict=True))
        if any(one.first > before.last for before, one in pairs):
            merged.append(parts)
            continue
        for before, one in pairs:
            before.moments += one.moments
            before.last, before.end_ns = max(before.last, one.last), max(before.end_ns, one.end_ns)
    return merged


def _beside(records: Records, window: ReportWindow) -> ReportWindow:
    """The part of another run between the instants of a window, or up to the end of that run."""
    start_ns, until_ns = (min(at, end_ns(records)) for at in (window.start_ns, window.end_ns))
    first, last = first_of(records, window.start_ns), first_after(records, until_ns)
    return replace(
        window, first=min(first, last), last=last, start_ns=start_ns, end_ns=until_ns, moments=[]
    )


def _by_importance(moments: Sequence[ReportMoment], last_ns: int) -> list[ReportMoment]:
    """The first miss of all, the worst, then the others; without a miss the longest comes first.

    What differs first from another run goes before all.
    """
    ranked = sorted(moments, key=lambda one: (one.reason in TYPICAL, -one.ratio(last_ns)))
    named = [_named(moment, last_ns) for moment in ranked]
    misses = [moment for moment in named if moment.reason == FIRST_MISS]
    first = min(misses, key=lambda moment: moment.deadline_ns, default=None)
    differs = [moment for moment in named if moment.reason == FIRST_DIFFERENCE]
    others = (moment for moment in named if moment.reason not in (FIRST_MISS, FIRST_DIFFERENCE))
    worst = next(others, None)
    heads = [moment for moment in (*differs, first, worst) if moment is not None]
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


def _around(records: Records, moment: ReportMoment, least: int, limit: int) -> ReportWindow:
    """A window with at least `least` and about `limit` records at most around a moment.

    The decisive instant is surely in it, and the whole moment if that has no more records.
    """
    until_ns = moment.until_ns(end_ns(records))
    decisive_ns = moment.deadline_ns if moment.reason == FIRST_MISS else until_ns
    margin_ns = (until_ns - moment.release_ns) // 2
    first = first_of(records, max(0, moment.release_ns - margin_ns))
    last = first_after(records, until_ns + margin_ns)
    if last - first < least:
        spare = least - (last - first)
        first, last = first - spare * 2 // 3, last + spare // 3
    elif last - first > limit:
        last = min(last, first_after(records, decisive_ns) + limit // 8)
        first = max(first, last - limit)
    first, last = max(0, first), min(last, len(records))
    start_ns = int(records["time_ns"][first])
    if last < len(records):
        last = first_of(records, int(records["time_ns"][last]))
    last = max(last, first_after(records, decisive_ns))
    first = first_of(records, start_ns)
    until_ns = int(records["time_ns"][last - 1])
    return ReportWindow(moment.title, first, last, start_ns, until_ns, (start_ns, until_ns))


def view_of(moment: ReportMoment, window: ReportWindow, last_ns: int) -> Span:
    """The moment with half as much around it, as far as the window goes if that has a length.

    Of an instant, such as that of a drop, with a sixteenth of the window on each side.
    Of a response many times as long as its deadline, as in an overload, only the decisive end.
    """
    until_ns = max(moment.until_ns(last_ns), moment.deadline_ns)
    span_ns = until_ns - moment.release_ns
    if moment.deadline_ns:
        span_ns = min(span_ns, 4 * (moment.deadline_ns - moment.release_ns))
    margin_ns = max(span_ns // 2, 50) if span_ns else (window.end_ns - window.start_ns) // 16
    start_ns = moment.release_ns if moment.reason == FIRST_MISS else until_ns - span_ns
    if window.start_ns == window.end_ns:  # one busy instant: some columns before it
        return max(0, window.end_ns - last_ns // 64), window.end_ns
    return (
        max(window.start_ns, start_ns - margin_ns),
        min(window.end_ns, start_ns + span_ns + margin_ns),
    )
