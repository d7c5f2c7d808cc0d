# SPDX-License-Identifier: BSD-2-Clause
"""Figures of papers measured again: the rows of `reproduce`, and those of `latency`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hyperperiod.cli.table import Column, Table, numbers, words
from hyperperiod.cli.tables.cells import NO_VALUE, share_text, time_text
from hyperperiod.experiments.confidence import Interval
from hyperperiod.model.result_object import ResultObject, to_json

if TYPE_CHECKING:
    from hyperperiod.papers.latency.result import LatencyRow, LatencySettingResult
    from hyperperiod.papers.printed import Printed


def figure_table(
    title: str, columns: Sequence[str], keys: int, rows: Sequence[ResultObject]
) -> Table:
    """The rows of a figure, nothing left out; the first `keys` columns name a row."""
    shown = [_figure_column(column, at < keys, rows) for at, column in enumerate(columns)]
    table = Table(title, shown, in_blocks=True)
    for row in rows:
        table.add_row(*(_figure_cell(column, getattr(row, column)) for column in columns))
    return table


def _figure_column(column: str, key: bool, rows: Sequence[ResultObject]) -> Column:
    """A column; its name in words: what ends in _ns or _hz is shown with its unit."""
    name = column.removesuffix("_ns").replace("interval", "95 %")
    name = name.replace("_hz", "/s").replace("_", " ")
    word = key and all(isinstance(getattr(row, column), str) for row in rows)
    return Column(name, right=not word, rank=0 if key else 1)


def _figure_cell(column: str, value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, Interval):
        return " .. ".join(_figure_cell(column, end) for end in (value.low, value.high))
    if isinstance(value, ResultObject):
        return " / ".join(time_text(one) for one in to_json(value).values())
    if column.endswith("_ns"):
        return time_text(value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def printed_table(printed: Sequence[Printed]) -> Table:
    """Every table and figure of the papers, a section for each paper."""
    columns = [
        *words("name", "paper", "where"),
        Column("what", rank=2, folds=24),
        Column("shown by", folds=24),
        *words("on", rank=1),
    ]
    table = Table("", columns)
    papers: set[str] = set()
    for one in printed:
        if one.paper not in papers:
            papers.add(one.paper)
            table.add_section()
        hosts = ", ".join(one.hosts) or NO_VALUE
        table.add_row(one.name, one.paper, one.place, one.about, one.shown_by, hosts)
    return table


def latency_table(title: str, settings: Sequence[LatencySettingResult], test: str) -> Table:
    """One row per setting and server, the paper's before ours."""
    cells, figures = _clocktick_cells, _CLOCKTICK
    if test == "response":
        cells, figures = _response_cells, _RESPONSE
        if any(row.handler_ns for setting in settings for row in setting.rows):
            cells, figures = _handler_cells, [*_RESPONSE[:2], *_HANDLER, *_RESPONSE[2:]]
    table = Table(title, [_SETTING, *words("server", "from"), *figures])
    for setting in settings:
        name = setting.name
        table.add_section()
        for row in setting.rows:
            table.add_row(name, row.label, row.source, *cells(row))
            name = ""
    return table


_SETTING = Column("setting", folds=24)
_CLOCKTICK = [
    *numbers("tests", rank=3),
    *numbers("ticks only", rank=1),
    *numbers("95 %", rank=3),
    *numbers("longest tick", rank=2),
    *numbers("longest loop", "times as long", rank=1),
]
_RESPONSE = [
    *numbers("interrupts", rank=3),
    *numbers("unanswered", rank=1),
    *numbers("min", rank=2),
    *numbers("mean", "max", rank=1),
]
_HANDLER = numbers("handler's mean", "handler's max", rank=1)


def _share_interval_text(interval: Interval | None) -> str:
    """The ends of a share's interval, in whole percent."""
    if interval is None:
        return NO_VALUE
    return f"{100 * interval.low:.0f} .. {100 * interval.high:.0f} %"


def _clocktick_cells(row: LatencyRow) -> tuple[str, ...]:
    stretch = row.stretch
    return (
        str(row.runs),
        share_text(row.tick_only),
        _share_interval_text(row.tick_only_interval),
        time_text(row.longest_tick_ns),
        time_text(row.longest_ns),
        NO_VALUE if stretch is None else f"{stretch:.2f}",
    )


def _response_cells(row: LatencyRow) -> tuple[str, ...]:
    found = row.response_ns
    known = row.source != "paper"
    # Without a response all of them are waiting.
    waiting = row.unanswered if found else row.runs
    return (
        str(row.runs) if known else NO_VALUE,
        str(waiting) if known else NO_VALUE,
        *(time_text(getattr(found, key, None)) for key in ("min", "mean", "max")),
    )


def _handler_cells(row: LatencyRow) -> tuple[str, ...]:
    """What there is of an answer by a thread, and before it of the handler."""
    cells = _response_cells(row)
    handler = (time_text(getattr(row.handler_ns, key, None)) for key in ("mean", "max"))
    return (*cells[:2], *handler, *cells[2:])
