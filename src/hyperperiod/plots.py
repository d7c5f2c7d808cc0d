# SPDX-License-Identifier: BSD-2-Clause
"""The drawings of results, on axes of matplotlib, which is loaded with this module.

Each function draws rows of a result (`tabular`) and sets titles of axes; nothing is computed here.
Hues are those of Okabe and Ito, which stay apart for colour-blind eyes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter

from hyperperiod.model.units import format_time

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b8a800")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
"""As many as have no factor in common with the hues: a hue comes back with another dash."""
BAD = "#d55e00"
WIDE = 20
"""From this ratio of the longest time to the shortest on, an axis of times is logarithmic."""


class Span(NamedTuple):
    """Response times (ns) of a task in runs: the extremes of all, and the mean and max of each."""

    min_ns: int
    max_ns: int
    means_ns: Sequence[int]
    maxima_ns: Sequence[int]


class Curve(NamedTuple):
    """A share over numbers, with the ends of its interval."""

    x: Sequence[float]
    share: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def axes() -> Axes:
    """Returns axes of matplotlib on a figure of their own."""
    _, ax = plt.subplots(layout="constrained")
    return ax


def draw_spans(ax: Axes, tasks: Sequence[str], series: Mapping[str, Sequence[Span | None]]) -> None:
    """A line from the shortest to the longest response of each task, one beside another per series.

    Means are ticks and longest responses dots, one for each run.
    """
    height = 0.7 / len(series)
    times = [span for spans in series.values() for span in spans if span is not None]
    for index, (name, spans) in enumerate(series.items()):
        color = COLORS[index % len(COLORS)]
        label: str | None = name
        for place, span in enumerate(spans):
            if span is None:
                continue
            y = place + (index - (len(series) - 1) / 2) * height
            ax.plot([span.min_ns, span.max_ns], [y, y], color=color, linewidth=1.5)
            ax.plot(span.means_ns, [y] * len(span.means_ns), "|", color=color, markersize=8)
            marker = MARKERS[index % len(MARKERS)]
            dots = [y] * len(span.maxima_ns)
            ax.plot(span.maxima_ns, dots, marker, color=color, markersize=5, label=label)
            label = None
    _name_rows(ax, tasks)
    if times and max(one.max_ns for one in times) >= WIDE * max(
        1, min(one.min_ns for one in times)
    ):
        ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_time(round(value))))
    ax.set_xlabel("response (tick: mean, mark: longest of a run)")
    if len(series) > 1:
        ax.legend()


def draw_shares(ax: Axes, names: Sequence[str], shares: Sequence[float | None], what: str) -> None:
    """A bar for each share of an allowance of 1, where a line stands; None is said in words."""
    for place, share in enumerate(shares):
        if share is None:
            ax.text(0.01, place, "no bound", va="center")
        else:
            ax.barh(place, share, height=0.6, color=BAD if share > 1 else COLORS[0])
    ax.axvline(1, color="black", linewidth=1)
    _name_rows(ax, names)
    ax.set_xlim(0, max([1.05, *(1.05 * share for share in shares if share is not None)]))
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel(what)


def draw_stacks(ax: Axes, stacks: Mapping[str, Sequence[tuple[str, float]]], what: str) -> None:
    """A bar for each stack, of named shares one on the other; the whole is 1."""
    colors: dict[str, str] = {}
    for place, stack in enumerate(stacks.values()):
        left = 0.0
        for name, share in stack:
            color = colors.setdefault(name, COLORS[len(colors) % len(COLORS)])
            ax.barh(place, share, left=left, height=0.6, color=color, edgecolor="white")
            ax.text(left + share / 2, place, name, ha="center", va="center", color="white")
            left += share
    ax.axvline(1, color="black", linewidth=1)
    _name_rows(ax, list(stacks))
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel(what)


def draw_curves(ax: Axes, curves: Mapping[str, Curve], x: str, what: str) -> None:
    """A line for each share over numbers, with its interval as a band; names stand outside.

    Neighbouring curves differ in hue, dash and marker; the first 55 differ in dash or marker, as
    they must in grey print.
    """
    for index, (name, curve) in enumerate(curves.items()):
        ax.plot(
            curve.x,
            curve.share,
            color=COLORS[index % len(COLORS)],
            linestyle=DASHES[index % len(DASHES)],
            marker=MARKERS[index % len(MARKERS)],
            label=name,
        )
        color = COLORS[index % len(COLORS)]
        ax.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.15, linewidth=0)
    ax.set_ylim(-0.02, 1.02)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel(x)
    ax.set_ylabel(what)
    ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names the rows of a chart of bars, the first at the top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
