# SPDX-License-Identifier: BSD-2-Clause
"""The timelines of several runs of one system as one, so that they are moved and zoomed together.

Pcpus, vcpus, tasks and flows of the runs take turns: number n of run r of R runs is number
n * R + r, and the script finds whose one is by the remainder. Servers take turns too, but not all
policies have them, so that each says its run. Domains are the same for all. The page holds windows
of all runs between the same instants, and all of them where they are short.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, TypeVar

from hyperperiod.report.meter import Meter
from hyperperiod.report.overview import Overview, OverviewData
from hyperperiod.report.timeline import (
    MomentData,
    ServerData,
    TimelineData,
    WindowData,
    timeline,
)
from hyperperiod.report.windows import Chosen
from hyperperiod.trace.format import Header, Records

_SPAN: Final = 8
"""Numbers of an interval in the data ..."""
_IDS: Final = (2, 3, 5)
"""... and which of them name vcpus or a task."""
_ITEM: Final = 5
"""Numbers of an item at a hop in the data ..."""
_NAMES: Final = (0, 3)
"""... and which of them name the flow and the task."""

Row = TypeVar("Row")


def same_rows(headers: Sequence[Header]) -> bool:
    """Returns whether all runs have the same pcpus, vcpus and tasks, each at the same place."""
    first, *others = (
        (
            header["pcpus"],
            [(one["domain"], one["name"]) for one in header["vcpus"]],
            [(one["domain"], one["name"]) for one in header["tasks"]],
        )
        for header in headers
    )
    return all(one == first for one in others)


def stacked(
    names: Sequence[str],
    traces: Sequence[tuple[Header, Records]],
    overviews: Sequence[Overview | None],
    chosen: Sequence[Chosen],
    meter: Meter,
) -> TimelineData:
    """The data of one timeline with the rows of all runs, which are named so."""
    runs = [
        timeline(*trace, own, meter, one.found() if one else None)
        for trace, own, one in zip(traces, chosen, overviews, strict=True)
    ]
    servers = sorted(
        (one["vcpu"] < 0, one["vcpu"], run, at)
        for run, data in enumerate(runs)
        for at, one in enumerate(data["servers"])
    )
    places = [(run, at) for _, _, run, at in servers]
    return {
        "wholeEnd": max(data["wholeEnd"] for data in runs),
        "allRecords": sum(data["allRecords"] for data in runs),
        "runs": list(names),
        "domains": runs[0]["domains"],
        "vcpus": _turns([data["vcpus"] for data in runs]),
        "tasks": _turns([data["tasks"] for data in runs]),
        "servers": [_server(runs[run]["servers"][at], run, len(runs)) for run, at in places],
        "flows": _turns([data["flows"] for data in runs]),
        "windows": [
            _window(parts, places, names)
            for parts in zip(*(data["windows"] for data in runs), strict=True)
        ],
        "overview": _overview([data["overview"] for data in runs], places),
    }


def _turns(lists: Iterable[Sequence[Row]]) -> list[Row]:
    """Returns the first of each list, then the second of each, and so on."""
    return list(chain.from_iterable(zip(*lists, strict=True)))


def _number(number: int, run: int, runs: int) -> int:
    """Returns the number of a vcpu or task among those of all runs; nobody's is negative."""
    return number * runs + run if number >= 0 else number


def _server(server: ServerData, run: int, runs: int) -> ServerData:
    return {**server, "vcpu": _number(server["vcpu"], run, runs), "run": run}


def _window(
    windows: Sequence[WindowData], places: Sequence[tuple[int, int]], names: Sequence[str]
) -> WindowData:
    """Returns the windows of all runs as one; `places`: the run and place of each server."""
    moments: list[MomentData] = []
    for run, window in enumerate(windows):
        for spans in window["pcpus"]:
            _renumber(spans, _SPAN, _IDS, run, len(windows))
        _renumber(window["items"], _ITEM, _NAMES, run, len(windows))
        for moment in window["moments"]:
            task, flow = (_number(moment[key], run, len(windows)) for key in ("task", "flow"))
            title = f"{names[run]}: {moment['title']}"
            moments.append({**moment, "title": title, "task": task, "flow": flow})
    swaps = {tuple(swap) for window in windows for swap in window["swaps"]}
    return {
        **windows[0],
        "start": max(window["start"] for window in windows),
        "end": max(window["end"] for window in windows),
        "records": sum(window["records"] for window in windows),
        "pcpus": _turns([window["pcpus"] for window in windows]),
        "points": [windows[run]["points"][at] for run, at in places],
        "jobs": _turns([window["jobs"] for window in windows]),
        "waiting": _turns([window["waiting"] for window in windows]),
        "items": list(chain.from_iterable(window["items"] for window in windows)),
        "swaps": [list(swap) for swap in sorted(swaps)],
        "moments": moments,
    }


def _renumber(flat: list[int], stride: int, fields: Sequence[int], run: int, runs: int) -> None:
    """Makes numbers of a run in these fields of a flat list those among all runs."""
    for field in fields:
        flat[field::stride] = [_number(one, run, runs) for one in flat[field::stride]]


def _overview(
    given: Sequence[OverviewData | None], places: Sequence[tuple[int, int]]
) -> OverviewData | None:
    """Returns the columns of all runs as one, if the page has any."""
    columns = [one for one in given if one]
    if not columns:
        return None
    return {
        "column": columns[0]["column"],
        "octave": columns[0]["octave"],
        "pcpus": _turns([one["pcpus"] for one in columns]),
        "switches": _turns([one["switches"] for one in columns]),
        "paid": [columns[run]["paid"][at] for run, at in places],
        "misses": _turns([one["misses"] for one in columns]),
        "longest": _turns([one["longest"] for one in columns]),
    }
