# SPDX-License-Identifier: BSD-2-Clause
"""What the timeline of a report draws, cut to what a page can carry.

A page holds windows of a trace (windows.py); the trace file holds the rest. What is older than a
window and still true in it comes from the state at its start (state.py). Everything is numbers in
flat lists, so that 20,000 records stay below a megabyte or two. The drawing itself is in
templates/timeline.js and its parts, which name these keys.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, TypedDict

import numpy as np

from hyperperiod.report.meter import Meter
from hyperperiod.report.overview import Overview, OverviewData
from hyperperiod.report.palette import color, pattern
from hyperperiod.report.state import State, job_keys, states_before
from hyperperiod.report.swaps import swaps
from hyperperiod.report.windows import Chosen, ReportWindow, is_whole, view_of
from hyperperiod.trace.format import (
    EXTRA,
    NONE,
    RECORD,
    SECOND_PAYER,
    SPARE,
    STOLEN,
    Header,
    Kind,
    Records,
    end_ns,
    has_one_spare,
    item_of,
    server_name,
    signed,
)
from hyperperiod.trace.interval_arrays import interval_arrays
from hyperperiod.trace.records import Record, each

OLDER: Final = 64
"""Jobs of one task, released before a window and not finished in it, that the window shows."""
_NO_END: Final = (1 << 64) - 1
"""What a decision without an end holds until."""


class DomainData(TypedDict):
    """A domain as the timeline draws it."""

    name: str
    color: str
    pattern: int


class VcpuData(TypedDict):
    """A vcpu; `domain` is its place among the domains."""

    name: str
    domain: int
    bestEffort: bool


class TaskData(TypedDict):
    """A task; `domain` is its place among the domains, `deadline` 0 where it has none."""

    name: str
    domain: int
    deadline: int


class ServerData(TypedDict):
    """A server by the id that intervals and points use for it, with its run and interface (ns)."""

    vcpu: int
    run: int
    name: str
    budget: int
    period: int


class MomentData(TypedDict):
    """A moment that is offered, and what of the window is seen then.

    It is a job, `flow` being -1, or an item of a flow, `task` being -1 and `job` its number.
    """

    title: str
    task: int
    flow: int
    job: int
    release: int
    finish: int
    view: list[int]


class WindowData(TypedDict):
    """One window of the trace; lists of numbers are flat, see the functions that make them."""

    title: str
    start: int
    end: int
    records: int
    view: list[int]
    pcpus: list[list[int]]
    points: list[list[int]]
    jobs: list[list[int]]
    waiting: list[int]
    items: list[int]
    swaps: list[list[int | str]]
    moments: list[MomentData]


class TimelineData(TypedDict):
    """All that the timeline draws: templates/timeline.js and its parts read these keys.

    `runs` has the names of several runs on one page (stacked.py), and one without a name else.
    """

    wholeEnd: int
    allRecords: int
    runs: list[str]
    domains: list[DomainData]
    vcpus: list[VcpuData]
    tasks: list[TaskData]
    servers: list[ServerData]
    flows: list[str]
    windows: list[WindowData]
    overview: OverviewData | None


def overview_of(
    header: Header, records: Records, beside: Sequence[Records] = ()
) -> Overview | None:
    """What collects the columns of a run; None for one whose records are all in the page.

    Columns of runs `beside` it, on the same page, are as long.
    """
    if is_whole(records, *beside):
        return None
    last_ns = max(map(end_ns, (records, *beside)))
    domains, servers = domain_names(header), list(_interfaces(header))
    return Overview(header, domains, servers, last_ns, 1 + len(beside))


def timeline(
    header: Header,
    records: Records,
    chosen: Chosen,
    meter: Meter,
    overview: OverviewData | None = None,
) -> TimelineData:
    """The data of the timeline with the chosen windows, ready for JSON."""
    domains = domain_names(header)
    place = {name: index for index, name in enumerate(domains)}
    vcpus: list[VcpuData] = [
        {
            "name": entry["name"],
            "domain": place[entry["domain"]],
            "bestEffort": entry["best_effort"],
        }
        for entry in header["vcpus"]
    ]
    tasks: list[TaskData] = [
        {
            "name": entry["name"],
            "domain": place[entry["domain"]],
            "deadline": entry["deadline_ns"] or 0,
        }
        for entry in header["tasks"]
    ]
    interfaces = _interfaces(header)
    budgets = {server: budget_ns for server, (budget_ns, _) in interfaces.items()}
    starts = [window.first for window in chosen.windows]
    states = states_before(header, records, starts, meter)
    return {
        "wholeEnd": end_ns(records),
        "allRecords": len(records),
        "runs": [""],
        "domains": [
            {"name": name, "color": color(index), "pattern": pattern(index)}
            for index, name in enumerate(domains)
        ],
        "vcpus": vcpus,
        "tasks": tasks,
        "servers": [
            {
                "vcpu": _id(server),
                "run": 0,
                "name": server_name(header, server),
                "budget": budget_ns,
                "period": period_ns,
            }
            for server, (budget_ns, period_ns) in interfaces.items()
        ],
        "flows": _flow_names(header),
        "windows": [
            _window(header, records, window, state, budgets)
            for window, state in zip(chosen.windows, states, strict=True)
        ],
        "overview": overview,
    }


def _window(
    header: Header, records: Records, window: ReportWindow, state: State, budgets: dict[int, int]
) -> WindowData:
    """Returns what is drawn of one window; what began before it keeps its true beginning."""
    shown = records[window.first : window.last]
    last_ns = end_ns(records)
    jobs, waiting = _jobs(header, state.in_flight, shown, window.end_ns)
    end = np.zeros(1, RECORD)  # a record of no kind: what goes on goes on until then
    end["time_ns"] = window.end_ns
    return {
        "title": window.title,
        "start": window.start_ns,
        "end": window.end_ns,
        "records": len(shown),
        "view": list(window.view),
        "pcpus": [
            _intervals(intervals[intervals["end_ns"] > window.start_ns])
            for intervals in interval_arrays(header, np.concatenate((state.decisions, shown, end)))
        ],
        "points": _points(state, shown, window, budgets),
        "jobs": jobs,
        "waiting": waiting,
        "items": _items(np.concatenate((state.carried, shown[shown["kind"] == Kind.ITEM]))),
        "swaps": [list(swap) for swap in swaps(header, shown)],
        "moments": [
            {
                "title": moment.title,
                "task": -1 if moment.task is None else moment.task,
                "flow": _flow_names(header).index(moment.who[1]) if moment.task is None else -1,
                "job": moment.number,
                "release": moment.release_ns,
                "finish": moment.until_ns(last_ns),
                "view": list(view_of(moment, window, last_ns)),
            }
            for moment in window.moments
        ],
    }


def domain_names(header: Header) -> list[str]:
    """Returns the names of the domains in the order of the file."""
    entries = [*header["vcpus"], *header["tasks"]]
    return list(dict.fromkeys(entry["domain"] for entry in entries))


def _flow_names(header: Header) -> list[str]:
    return [flow["name"] for flow in header.get("flows", [])]


def first_view_ns(header: Header) -> int:
    """Returns how much (ns) is shown at first: two periods of the slowest server, if any."""
    periods = [entry["period_ns"] or 0 for entry in header["vcpus"]]
    if not any(periods):
        periods = [entry["period_ns"] or 0 for entry in header["tasks"]]
    return 2 * max(periods, default=0)


def _intervals(intervals: Any) -> list[int]:
    """start, end, vcpu, payer, flags, task, job, until per span; -1 is nobody, -2 the spare."""
    flat: list[int] = []
    for interval in intervals.tolist():
        start, end, until, job, vcpu, payer, task, kind, flags = interval
        run = -1 if kind == Kind.IDLE else _id(vcpu)
        promised = -1 if until == _NO_END else until
        flat += [
            start,
            end,
            run,
            _id(payer),
            flags & (SECOND_PAYER | EXTRA | STOLEN),
            _id(task),
            job,
            promised,
        ]
    return flat


def _id(number: int) -> int:
    return {NONE: -1, SPARE: -2}.get(number, number)


def _interfaces(header: Header) -> dict[int, tuple[int, int]]:
    """Budget and period of each server that has them; a spare counts if there is only one.

    None under the sporadic rule: refills of a server without work are not in the trace, so what
    it has left cannot be told from the records.
    """
    if header["budget"] == "sporadic":
        return {}
    found = {
        vcpu: (entry["budget_ns"], entry["period_ns"])
        for vcpu, entry in enumerate(header["vcpus"])
        if entry["budget_ns"] is not None and entry["period_ns"] is not None
    }
    if has_one_spare(header) and header["spare"] is not None:
        found[SPARE] = header["spare"]["budget_ns"], header["spare"]["period_ns"]
    return found


def _points(
    state: State, shown: Records, window: ReportWindow, budgets: dict[int, int]
) -> list[list[int]]:
    """Each server's remaining budget as points (time, remaining), straight lines between.

    Charges are recorded when they end, so that the first one in a window says what its payer had
    used before the window began. A server that nothing happens to has its level alone.
    """
    points: dict[int, list[int]] = defaultdict(list)
    for server in budgets:
        left_ns = state.remaining_ns(server)
        if left_ns is not None:
            points[server] = [0, left_ns]
    for record in each(shown[np.isin(shown["kind"], (Kind.CHARGE, Kind.REPLENISH))]):
        if record.kind == Kind.REPLENISH:
            _refill(points[record.vcpu], record)
        elif not record.flags & EXTRA:
            _fall(points[record.payer], record.time_ns, record.value)
    after = state.copy()
    after.add(shown)
    for payer, spent_ns in after.uncharged(window.end_ns):
        _fall(points[payer], window.end_ns, spent_ns)
    rows = []
    for server, budget_ns in budgets.items():
        line = points[server] or [window.start_ns, budget_ns]
        if len(line) == 2:
            rows.append([line[1]])
        else:
            rows.append(_from(window.start_ns, [*line, window.end_ns, line[-1]]))
    return rows


def _from(start_ns: int, line: list[int]) -> list[int]:
    """The part of a line of points that does not lie before the instant."""
    after = 0
    while line[after] < start_ns:
        after += 2
    if after == 0:
        return line
    left, low, right, high = line[after - 2 : after + 2]
    level = low if left == right else low + (high - low) * (start_ns - left) // (right - left)
    return [start_ns, level, *line[after:]]


def _refill(line: list[int], record: Record) -> None:
    """Adds the two points of a refill: the line of a budget jumps there."""
    if line:
        line += [record.time_ns, line[-1]]
    line += [record.time_ns, signed(record.value)]


def _fall(line: list[int], time_ns: int, spent_ns: int) -> None:
    """Lets the line fall by what was paid until the instant; there is none before a refill."""
    if line and spent_ns:
        start_ns = max(time_ns - spent_ns, line[-2])
        line += [start_ns, line[-1], time_ns, line[-1] - spent_ns]


def _items(came: Records) -> list[int]:
    """flow, number, hop, task, job of each item at each of its hops, as it came there."""
    flat: list[int] = []
    for record in each(came):
        item = item_of(record.value)
        flat += [item.flow, item.number, item.hop, record.task, record.job]
    return flat


def _jobs(
    header: Header, in_flight: Records, shown: Records, until_ns: int
) -> tuple[list[list[int]], list[int]]:
    """Per task release, deadline, finish, job, missed of each job; 0 or -1 where there is none.

    A miss is recorded when the job is done, so one that ends later misses its deadline here too.
    And per task how many of the jobs in flight at the start are left out: of those that do not
    finish here only the oldest are kept.
    """
    found: dict[tuple[int, int], list[int]] = {}
    waiting = [0] * len(header["tasks"])
    rank = [0] * len(header["tasks"])
    done = job_keys(shown[shown["kind"] == Kind.COMPLETE])
    finishing = np.isin(job_keys(in_flight), done)
    for record, finishes in zip(each(in_flight), finishing.tolist(), strict=True):
        if not finishes and rank[record.task] == OLDER:
            waiting[record.task] += 1
            continue
        rank[record.task] += not finishes
        found[record.task, record.job] = [record.time_ns, record.value, -1, record.job, 0]
    for record in each(shown[np.isin(shown["kind"], (Kind.RELEASE, Kind.COMPLETE, Kind.MISS))]):
        key = (record.task, record.job)
        if record.kind == Kind.RELEASE:
            found[key] = [record.time_ns, record.value, -1, record.job, 0]
        elif key in found and record.kind == Kind.COMPLETE:
            found[key][2] = record.time_ns
        elif key in found:
            found[key][4] = 1
    rows: list[list[int]] = [[] for _ in header["tasks"]]
    for (task, _), job in found.items():
        _, deadline_ns, finish_ns, _, _ = job
        if 0 < deadline_ns < until_ns and not 0 <= finish_ns <= deadline_ns:
            job[4] = 1
        rows[task] += job
    return rows, waiting
