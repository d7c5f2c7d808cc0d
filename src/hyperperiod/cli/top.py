# SPDX-License-Identifier: BSD-2-Clause
"""What `hyperperiod linux top` shows: each server's budget, as a bar where there is room, who runs
where, how soon threads that woke up ran, in how many periods it was short of its budget, what was
stolen, and how often a decision came too late.

For a number of looks these are tables one after the other, for scripts and logs. Else they are a
screen that answers to keys (top_screen.py).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperperiod.cli.table import shortened
from hyperperiod.cli.tables.cells import NO_VALUE, share_text
from hyperperiod.cli.tables.linux import promised_text, summary, woke_text
from hyperperiod.hosts.linux.rates import ServerRate, rates

if TYPE_CHECKING:
    from hyperperiod.hosts.linux.client import Client

BAR: Final = 20
FULL, PART, EMPTY = "█", "▌", "·"
LATE: Final = 1.0005
"""Above this part of what was promised a server has had more than that: by late decisions."""


COLUMNS: Final = (
    "server",
    "promised",
    "had",
    "left now",
    "of a cpu",
    "99% woke",
    "short",
    "stolen",
    "late",
    "runnable",
)
WORDS: Final = COLUMNS[:4]
WIDE: Final = 140
"""A terminal of so many columns has room for bars, for long names and for all of the table."""
NAME: Final = 10
"""Else a name has so many."""


def columns(width: int) -> Sequence[str]:
    """Returns those of COLUMNS that a terminal of this width shows; all fit into 80."""
    return COLUMNS if width >= WIDE else COLUMNS[:-1]


def print_looks(daemon: Client, every_s: float, looks: int) -> None:
    """Prints the table of servers `looks` times, every `every_s` seconds."""
    before = daemon.status()
    console = Console()
    for _ in range(looks):
        time.sleep(every_s)
        after = daemon.status()
        console.print(view(before, after, console.width))
        before = after


def view(before: dict[str, Any], after: dict[str, Any], width: int) -> Table:
    """The table of all servers, from what the daemon said at two looks one after the other."""
    found = rates(before, after)
    table = Table(
        title=summary(after),
        caption=who_runs(found),
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    for name in columns(width):
        table.add_column(name, justify="left" if name in WORDS else "right", no_wrap=True)
    servers = {server["name"]: server for server in after.get("servers", [])}
    for rate in found:
        table.add_row(*cells(rate, servers[rate.name], width))
    return table


def cells(rate: ServerRate, server: dict[str, Any], width: int) -> Sequence[str | Text]:
    """Returns the row of a server, with a cell for each of the columns that the width has."""
    drawn = BAR if width >= WIDE else 0
    row = (
        rate.name if width >= WIDE else shortened(rate.name, NAME),
        promised_text(server),
        bar(rate.used, drawn),
        bar(rate.remaining, drawn),
        share_text(rate.share),
        woke_text(rate.woke_p99_ns),
        Text(str(rate.short), "red" if rate.short else ""),
        share_text(rate.stolen),
        Text(str(rate.overruns), "yellow" if rate.overruns else ""),
        str(rate.runnable),
    )
    return row[: len(columns(width))]


def bar(part: float | None, width: int = BAR) -> Text:
    """A part of a whole in percent, behind a bar of so many columns; a debt is said in words."""
    if part is None:
        return Text(NO_VALUE)
    if part < 0:
        return Text(f"debt {-part:.1%}", "red")
    halves = round(2 * width * min(part, 1.0))
    drawn = FULL * (halves // 2) + PART * (halves % 2)
    style = "red" if part > LATE else "green"
    return Text(drawn.ljust(width, EMPTY), style).append(f" {part:.1%}" if width else f"{part:.1%}")


def who_runs(found: Sequence[ServerRate]) -> str:
    """Returns the server that each cpu is granted to at the second look."""
    at = sorted((rate.runs_at, rate.name) for rate in found if rate.runs_at is not None)
    return "granted now: " + (", ".join(f"cpu {cpu} to {name}" for cpu, name in at) or "none")
