# SPDX-License-Identifier: BSD-2-Clause
"""What the timeline of a report draws, cut to what a page can carry.

A page holds the first records of a trace, up to a stated instant; the trace file holds the rest.
Everything is numbers in flat lists, so that 20,000 records stay below a megabyte or two. The
drawing itself is in templates/timeline.js, which names these keys.
"""

from collections import defaultdict
from typing import Any, Final

import numpy as np

from hyperperiod.report.palette import color, pattern
from hyperperiod.trace.format import (
    ALSO,
    EXTRA,
    NONE,
    SPARE,
    Header,
    Kind,
    Records,
    end_ns,
    has_one_spare,
    server_name,
    signed,
)
from hyperperiod.trace.replay import BUDGETS, ORDERS, SLACKS, Record, each
from hyperperiod.trace.servers import NEVER
from hyperperiod.trace.spans import all_spans

RECORDS: Final = 20_000
ROWS: Final = 64
"""Servers and tasks that get a row each; a page with more is no picture any more."""


def timeline(header: Header, records: Records) -> dict[str, Any]:
    """The data of the timeline, ready for JSON."""
    shown = first_records(records)
    domains = domain_names(header)
    place = {name: index for index, name in enumerate(domains)}
    vcpus = [
        {
            "name": entry["name"],
            "domain": place[entry["domain"]],
            "bestEffort": entry["best_effort"],
        }
        for entry in header["vcpus"]
    ]
    tasks = [{"name": entry["name"], "domain": place[entry["domain"]]} for entry in header["tasks"]]
    return {
        "end": end_ns(shown),
        "wholeEnd": end_ns(records),
        "records": len(shown),
        "allRecords": len(records),
        "domains": [
            {"name": name, "color": color(index), "pattern": pattern(index)}
            for index, name in enumerate(domains)
        ],
        "vcpus": vcpus,
        "tasks": tasks,
        "pcpus": [_spans(spans) for spans in all_spans(header, shown)],
        "servers": _servers(header, shown),
        "jobs": _jobs(header, shown),
        "swaps": _swaps(shown),
        "view": first_view_ns(header, end_ns(shown)),
    }


def domain_names(header: Header) -> list[str]:
    """The domains in the order of the file."""
    entries = [*header["vcpus"], *header["tasks"]]
    return list(dict.fromkeys(entry["domain"] for entry in entries))


def first_records(records: Records) -> Records:
    """The records that a page carries: whole instants, at most RECORDS records if it can be."""
    if len(records) <= RECORDS:
        return records
    last_ns = records["time_ns"][RECORDS]
    count = int(np.searchsorted(records["time_ns"][: RECORDS + 1], last_ns, side="left"))
    return records[: count or RECORDS]


def first_view_ns(header: Header, last_ns: int) -> int:
    """How much the timeline shows at first: two periods of the slowest server, if there is one."""
    periods = [entry["period_ns"] or 0 for entry in header["vcpus"]]
    if not any(periods):
        periods = [entry["period_ns"] or 0 for entry in header["tasks"]]
    return min(last_ns, 2 * max(periods, default=0) or last_ns)


def _spans(spans: Any) -> list[int]:
    """start, end, vcpu, payer, flags, task, job, until per span; -1 is nobody, -2 the spare."""
    flat: list[int] = []
    for span in spans.tolist():
        start, end, until, job, vcpu, payer, task, kind, flags = span
        run = -1 if kind == Kind.IDLE else _id(vcpu)
        promised = -1 if until == NEVER else until
        flat += [start, end, run, _id(payer), flags & (ALSO | EXTRA), _id(task), job, promised]
    return flat


def _id(number: int) -> int:
    return {NONE: -1, SPARE: -2}.get(number, number)


def _servers(header: Header, records: Records) -> list[dict[str, Any]]:
    """Each server's remaining budget as points (time, remaining), straight lines between."""
    budgets = {
        vcpu: entry["budget_ns"]
        for vcpu, entry in enumerate(header["vcpus"])
        if entry["budget_ns"] is not None
    }
    if has_one_spare(header) and header["spare"] is not None:
        budgets[SPARE] = header["spare"]["budget_ns"]
    points: dict[int, list[int]] = defaultdict(list)
    wanted = np.isin(records["kind"], (Kind.CHARGE, Kind.REPLENISH))
    for record in each(records[wanted]):
        _bend(points, record)
    last_ns = end_ns(records)
    rows = []
    for server, budget_ns in list(budgets.items())[:ROWS]:
        line = points[server] or [0, budget_ns]
        rows.append(
            {
                "vcpu": _id(server),
                "name": server_name(header, server),
                "budget": budget_ns,
                "points": [*line, last_ns, line[-1]],
            }
        )
    return rows


def _bend(points: dict[int, list[int]], record: Record) -> None:
    """Let a charge or a refill change the line of its server."""
    if record.kind == Kind.REPLENISH:
        line = points[record.vcpu]
        if line:
            line += [record.time_ns, line[-1]]
        line += [record.time_ns, signed(record.value)]
        return
    line = points[record.payer]
    if record.flags & EXTRA or not line or record.value == 0:
        return
    start_ns = max(record.time_ns - record.value, line[-2])
    line += [start_ns, line[-1], record.time_ns, line[-1] - record.value]


def _jobs(header: Header, records: Records) -> list[list[int]]:
    """Per task: release, deadline, finish, job, missed per job; 0 or -1 where there is none."""
    found: dict[tuple[int, int], list[int]] = {}
    wanted = np.isin(records["kind"], (Kind.RELEASE, Kind.COMPLETE, Kind.MISS))
    for record in each(records[wanted]):
        key = (record.task, record.job)
        if record.kind == Kind.RELEASE:
            found[key] = [record.time_ns, record.value, -1, record.job, 0]
        elif key in found and record.kind == Kind.COMPLETE:
            found[key][2] = record.time_ns
        elif key in found:
            found[key][4] = 1
    rows: list[list[int]] = [[] for _ in header["tasks"]]
    for (task, _), job in found.items():
        rows[task] += job
    return rows[:ROWS]


def _swaps(records: Records) -> list[list[int | str]]:
    """Each once: pcpus that swap one by one do so at nearly the same time."""
    swaps: list[list[int | str]] = []
    first = (records["kind"] == Kind.SWAP) & np.isin(records["pcpu"], (0, NONE))
    for record in each(records[first]):
        rules = (
            BUDGETS[record.value & 0xFF],
            ORDERS[record.value >> 8 & 0xFF],
            SLACKS[record.value >> 16 & 0xFF],
        )
        swaps.append([record.time_ns, " + ".join(rules)])
    return swaps
