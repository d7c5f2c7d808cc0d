# SPDX-License-Identifier: BSD-2-Clause
"""An explanation as text: what is so, why, who takes how much, and what would be enough.

It is made of the object that `analyze --json` prints and of nothing else, and fits into 100
columns, or as many as are asked for.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from hyperperiod.analysis.explain_result import (
    ExplainEnough,
    ExplainServer,
    ExplainShare,
    ExplainWindow,
    Explanation,
)
from hyperperiod.model import format_time
from hyperperiod.model.absent import ABSENT

WIDTH = 100
ROWS = 24
NAME_WIDTH = 40

_WINDOWS = {
    "closest": "closest window",
    "deadline": "up to the deadline",
    "done": "until it is done",
    "first": "first short window",
    "far": "a short window",
    "tightest": "tightest window",
    "period": "its period",
}
_ROLES = {
    "own": " itself",
    "higher": " (above)",
    "equal": " (of equal priority)",
}


def format_text(found: Explanation, width: int = WIDTH) -> str:
    """The whole text, in lines of at most so many columns."""

    def wrapped(text: str, indent: str = "") -> list[str]:
        return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=True)

    lines = wrapped(headline(found))
    lines += [line for fact in _facts(found) for line in wrapped(f"  {fact}", indent="    ")]
    if found.critical_instant:
        lines += ["", *wrapped(f"Critical instant: {found.critical_instant}.")]
    if found.story:
        lines += ["", *wrapped(" ".join(found.story))]
    if found.windows:
        lines += ["", *_table(found.windows, width)]
    enough = list(_enough(found))
    if enough:
        lines += ["", *(line for one in enough for line in wrapped(one))]
    return "\n".join(lines)


def headline(found: Explanation) -> str:
    """Whether the subject is in time, and why not, in one sentence."""
    name = found.subject
    what = "gets its budget" if found.kind == "server" else "meets its deadline"
    if found.schedulable:
        return f"{name} surely {what}"
    reason = f": {found.reason}" if found.reason else ""
    if found.schedulable is None:
        return f"{name}: not proved that it {what}{reason}"
    missed = what.replace("gets", "get").replace("meets", "meet")
    return f"{name} may not {missed}{reason}"


def _facts(found: Explanation) -> Iterator[str]:
    task, server = found.task, found.server
    if task is not None:
        extras = {"jitter": task.jitter_ns, "offset": task.offset_ns, "blocking": task.blocking_ns}
        yield ", ".join(
            [
                f"task: wcet {format_time(task.wcet_ns)} in {format_time(task.period_ns)}",
                f"deadline {format_time(task.deadline_ns)}",
                *(f"{name} {format_time(time_ns)}" for name, time_ns in extras.items() if time_ns),
                f"under {found.test}" if found.test else "no test",
            ]
        )
    if server is not None:
        lost = f", less {format_time(server.lost_ns)} for overheads" if server.lost_ns else ""
        dark_ns = server.blackout_ns
        dark = f", blackout {format_time(dark_ns)}" if dark_ns is not None else ""
        yield (
            f"server: {format_time(server.budget_ns)} in every"
            f" {format_time(server.period_ns)}{lost}{dark}"
        )


def _table(windows: Sequence[ExplainWindow], width: int) -> list[str]:
    """One row per share, one column per window; the largest shares if there are many."""
    shown = list(windows)
    rows = _rows(shown)
    widths = _widths(rows)
    if sum(widths) + 2 * len(widths) > width and len(shown) > 1:
        shown = shown[:1]
        rows = _rows(shown)
        widths = _widths(rows)
    widths[0] = max(12, min(widths[0], width - sum(widths[1:]) - 2 * len(shown)))
    lines = []
    for row in rows:
        if not any(row):
            lines.append(" " + "─" * (sum(widths) + 2 * len(shown) - 1))
            continue
        first = row[0] if len(row[0]) <= widths[0] else row[0][: widths[0] - 1] + "…"
        cells = [f"{cell:>{wide}}" for cell, wide in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())
    return lines


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]


def _rows(windows: Sequence[ExplainWindow]) -> list[list[str]]:
    blank = [""] * (len(windows) + 1)
    rows = [["", *(_WINDOWS[window.what] for window in windows)]]
    rows.append([" window", *(format_time(window.window_ns) for window in windows)])
    rows.append(blank)
    rows += [
        [f" {who}", *(_cell(_share(window.lost, who)) for window in windows)]
        for who in _names([window.lost for window in windows])
    ]
    rows.append([" supply", *(_time(window.supply_ns) for window in windows)])
    rows.append(blank)
    names = _names([window.shares for window in windows])
    for who in names[:ROWS]:
        shown = _share(windows[-1].shares, who) or _share(windows[0].shares, who)
        label = f" {who[:NAME_WIDTH]}{_ROLES.get(shown.role, '') if shown else ''}"
        rows.append([label, *(_cell(_share(window.shares, who)) for window in windows)])
    if len(names) > ROWS:
        rest = [_rest(window, names[:ROWS]) for window in windows]
        rows.append([f" {len(names) - ROWS} others", *(_time(time_ns) for time_ns in rest)])
    rows.append([" asked for", *(_time(window.demand_ns) for window in windows)])
    rows.append(blank)
    short = [window.short_ns for window in windows]
    texts = ["short by" if time_ns > 0 else "left" for time_ns in short]
    label = texts[0] if len(set(texts)) == 1 else "short by (or left)"
    rows.append([f" {label}", *(_short(time_ns, label) for time_ns in short)])
    return rows


def _short(time_ns: int, label: str) -> str:
    text = _time(abs(time_ns))
    return f"({text})" if time_ns <= 0 and "or left" in label else text


def _names(windows: Sequence[Sequence[ExplainShare]]) -> list[str]:
    """Returns who takes a share in any window; the largest first if not all can be shown."""
    max_ns: dict[str, int] = {}
    for shares in windows:
        for share in shares:
            max_ns[share.who] = max(max_ns.get(share.who, 0), share.time_ns)
    names = list(max_ns)
    return sorted(names, key=lambda who: -max_ns[who]) if len(names) > ROWS else names


def _share(shares: Sequence[ExplainShare], who: str) -> ExplainShare | None:
    """Returns the shares of that name added up to one; None if there is none."""
    found = [share for share in shares if share.who == who]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    total_ns = sum(share.time_ns for share in found)
    return found[0].replace(time_ns=total_ns, jobs=None)


def _rest(window: ExplainWindow, shown: Sequence[str]) -> int:
    return sum(share.time_ns for share in window.shares if share.who not in shown)


def _time(time_ns: int) -> str:
    return format_time(time_ns) if time_ns else "0"


def _cell(share: ExplainShare | None) -> str:
    if share is None:
        return "0"
    time = _time(share.time_ns)
    if share.jobs is None or share.each_ns is None:
        return time
    return f"{share.jobs} x {format_time(share.each_ns)} = {time}"


def _enough(found: Explanation) -> Iterator[str]:
    enough, server, task = found.enough, found.server, found.task
    if enough.budget_ns is ABSENT or server is None:
        return
    if task is None:
        yield from _enough_for_server(enough, server)
        return
    yield from _enough_budget(enough, server)
    wcet_ns, has = enough.wcet_ns or None, format_time(task.wcet_ns)
    name = found.subject.rpartition(".")[2]
    below = " with all others still in time" if enough.others_hold else ""
    if wcet_ns is None:
        yield f"No wcet of {name} would be short enough: {_in_the_way(found.windows)}."
    elif wcet_ns < task.wcet_ns:
        yield f"A wcet of {name} of at most {format_time(wcet_ns)} instead of {has} would do too."
    elif wcet_ns == task.wcet_ns:
        yield f"The wcet of {name} may not grow at all{below}."
    else:
        yield f"The wcet of {name} may grow from {has} to {format_time(wcet_ns)}{below}."


def _in_the_way(windows: Sequence[ExplainWindow]) -> str:
    """Returns the reason why a task is late that asks for next to nothing."""
    others = any(share.role != "own" for window in windows for share in window.shares)
    return "the rest alone is too much" if others else "the supply comes too late for any"


def _enough_budget(enough: ExplainEnough, server: ExplainServer) -> Iterator[str]:
    period, budget_ns = format_time(server.period_ns), enough.budget_ns or None
    if budget_ns is None:
        yield f"No budget in {period} would be enough for the whole domain."
    elif budget_ns == server.budget_ns:
        yield f"The budget is the least in {period} that serves the whole domain."
    elif budget_ns < server.budget_ns:
        yield f"A budget of {format_time(budget_ns)} in {period} would serve the whole domain too."
    else:
        text = f"A budget of {format_time(budget_ns)} in {period} would serve the whole domain"
        yield f"{text}{_HOST[enough.host or None]}."
    alone_ns = enough.task_budget_ns or None
    if alone_ns is not None and alone_ns != budget_ns:
        yield f"For this task alone {format_time(alone_ns)} would be enough."


_HOST = {
    "holds": "; all servers would still get their budgets",
    "breaks": ", but then not all servers would surely get their budgets",
    "broken": ", but not all servers surely get their budgets even now",
    None: "",
}


def _enough_for_server(enough: ExplainEnough, server: ExplainServer) -> Iterator[str]:
    period, budget_ns = format_time(server.period_ns), enough.budget_ns or None
    if budget_ns is None:
        yield f"Beside the others no budget in {period} is sure."
    elif budget_ns < server.budget_ns:
        yield f"Beside the others a budget of {format_time(budget_ns)} in {period} is sure."
    else:
        yield f"Beside the others it would get up to {format_time(budget_ns)} in {period}."
