# SPDX-License-Identifier: BSD-2-Clause
"""An explanation as a picture: demand against supply, with the place that decides marked.

Made from the object under "explain" of `analyze --json`, as one SVG file or as a page that holds
the picture, the text and the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hyperperiod.analysis.explain.text import headline
from hyperperiod.analysis.explain_result import ExplainCurves, Explanation
from hyperperiod.model import InputError, System, format_time
from hyperperiod.report.folding import fold
from hyperperiod.report.frame import time_scale
from hyperperiod.report.lines import Band, Dot, Gap, LineChart, LineSeries, Ruler, line_svg
from hyperperiod.report.page import render
from hyperperiod.report.playground import open_in_playground

_DEMAND = {
    "fixed priority": "work of {name} and all above it",
    "edf": "work that is due",
    "fifo": "work released",
    "executor": "work of all callbacks",
    "deferrable edf": "others at their most, and {name}",
    "deferrable grid": "others at their most, and {name}",
    "iterative bcl": "others at their most, and {name}",
    "global fixed priority": "others at their most, and {name}",
    "cbs fixed priority": "others at their most, and {name}",
    "gedf": "others at their most, and {name}",
    "budget in hand": "work of {name} and all above it",
    "gfb": "all bandwidths",
    "a pcpu each": "{name} alone",
    "queue": "work released before {name}, and all above it",
    "busy window": "work of all tasks of the vcpu",
    "backlog": "pending items, and all above {name}",
    "polling windows": "what runs before {name} is done",
}


def explain_picture(path: Path, found: Explanation, file: str) -> None:
    """Write the picture; an InputError about `file` if there is nothing to draw."""
    path.write_text(line_svg(_chart(found, file)), encoding="utf-8")


def explain_page(path: Path, found: Explanation, file: str, system: System | None = None) -> None:
    """Write the page; an InputError about `file` if there is nothing to draw.

    With the `system` that it is about it leads to the playground.
    """
    render(
        path,
        "explain.html.j2",
        title=found.subject,
        found=found,
        windows=[
            (window, fold(window.shares, [share.time_ns for share in window.shares]))
            for window in found.windows
        ],
        verdict={True: "good", False: "bad", None: "open"}[found.schedulable],
        head=headline(found),
        playground=open_in_playground(path, system),
        words=_paragraphs(found),
        picture=line_svg(_chart(found, file), switched=True),
    )


def _paragraphs(found: Explanation) -> list[str]:
    """Returns what goes before the picture: the critical instant, and the story."""
    return [f"Critical instant: {found.critical_instant}.", " ".join(found.story)]


def _chart(found: Explanation, file: str) -> LineChart:
    curves = found.curves
    if curves is None:
        reason = found.reason or "nothing to draw"
        raise InputError(file, None, "--plot", reason, "a task or server with a test to draw")
    name = found.subject.rpartition(".")[2] if found.task else found.subject
    demand = LineSeries(
        _DEMAND[found.account].format(name=name), _pairs(curves.demand), curves.stairs
    )
    supply = LineSeries(_supply_name(found, curves), _pairs(curves.supply))
    max_ns = max(amount for _, amount in curves.demand + curves.supply)
    return LineChart(
        title=_title(found),
        subtitle=_subtitle(found),
        x_scale=time_scale("length of the window", curves.end_ns),
        y_scale=time_scale("time on the pcpu", max_ns),
        curves=[demand, supply],
        bands=_bands(curves),
        rulers=_rulers(found, curves),
        gaps=_gaps(found),
        dots=_dots(found, curves),
        x_max=curves.end_ns,
    )


def _title(found: Explanation) -> str:
    words = {True: "surely in time", False: "may be late", None: "not proved"}
    if found.task is None:
        words = {True: "surely gets its budget", False: "may not get its budget", None: words[None]}
    return f"{found.subject}: {words[found.schedulable]}"


def _subtitle(found: Explanation) -> str:
    window = found.windows[0]
    length = format_time(window.window_ns)
    if window.short_ns > 0:
        return f"in the window of {length}, {format_time(window.short_ns)} are missing"
    if found.account in (
        "fixed priority",
        "fifo",
        "executor",
        "queue",
        "busy window",
        "backlog",
        "polling windows",
        "budget in hand",
    ):
        return f"the work is covered after {length}"
    return f"the window of {length} leaves {format_time(-window.short_ns)}"


def _supply_name(found: Explanation, curves: ExplainCurves) -> str:
    server = found.server
    if found.account == "gfb":
        return "what the bound allows"
    if server is None or server.blackout_ns is None:
        return "the pcpu"
    if curves.blackout_ns == 0 and server.budget_ns == server.period_ns:
        return "a whole pcpu"
    lost = " less overheads" if server.lost_ns else ""
    budget, period = format_time(server.budget_ns), format_time(server.period_ns)
    each = ", of all vcpus together" if found.account == "gedf" else ""
    return f"least supply of {budget} in {period}{lost}{each}"


def _pairs(corners: Sequence[Sequence[int]]) -> list[tuple[float, float]]:
    return [(corner[0], corner[1]) for corner in corners]


def _bands(curves: ExplainCurves) -> list[Band]:
    dark_ns = min(curves.blackout_ns, curves.end_ns)
    if dark_ns == 0:
        return []
    wide = dark_ns / curves.end_ns > 0.2
    return [Band(0, dark_ns, f"blackout {format_time(dark_ns)}" if wide else "blackout")]


def _rulers(found: Explanation, curves: ExplainCurves) -> list[Ruler]:
    if found.account == "edf":
        return []
    word = "deadline" if found.task else "next refill"
    rulers = [Ruler(curves.deadline_ns, f"{word} {format_time(curves.deadline_ns)}")]
    if curves.release_ns:
        rulers.append(Ruler(curves.release_ns, "release"))
    return rulers


def _gaps(found: Explanation) -> list[Gap]:
    """Returns what is missing in each window that is short, or left in the one that decides."""
    gaps = []
    for window in found.windows:
        short_ns = window.short_ns
        if short_ns > 0:
            text = f"short by {format_time(short_ns)}"
            gaps.append(Gap(window.window_ns, window.supply_ns, window.demand_ns, text, left=True))
        elif short_ns < 0:
            text = f"{format_time(-short_ns)} left"
            low, high = window.demand_ns, window.supply_ns
            gaps.append(Gap(window.window_ns, low, high, text, "good"))
    return gaps


def _dots(found: Explanation, curves: ExplainCurves) -> list[Dot]:
    """Returns the dots where supply and demand meet, if that is in the picture."""
    finish_ns = curves.finish_ns
    window = found.windows[0]
    if finish_ns is None or finish_ns > curves.end_ns:
        return []
    late = finish_ns > curves.deadline_ns
    place_ns = finish_ns if late else window.window_ns
    text = f"{'only ' if late else ''}done at {format_time(place_ns)}"
    return [Dot(place_ns, _height(curves, place_ns), text, "bad" if late else "good")]


def _height(curves: ExplainCurves, at: int) -> float:
    """The supply at a window, between the corners that are drawn."""
    corners = curves.supply
    for (left, low), (right, high) in pairwise(corners):
        if left <= at <= right:
            return float(low + (high - low) * (at - left) / max(1, right - left))
    return float(corners[-1][1])
