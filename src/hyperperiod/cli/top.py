# SPDX-License-Identifier: BSD-2-Clause
"""The live view of `hyperperiod linux top`: each server's budget as a bar, who runs where, what was
stolen, and how often a decision came too late."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hyperperiod.cli.tables.cells import NO_VALUE, share_text
from hyperperiod.cli.tables.linux import promised_text, summary
from hyperperiod.hosts.linux.rates import Rate, rates

if TYPE_CHECKING:
    from hyperperiod.hosts.linux.client import Client

BAR: Final = 20
FULL, PART, EMPTY = "█", "▌", "·"
LATE: Final = 1.0005
"""Above this part of what was promised a server has had more than that: by late decisions."""


def watch(daemon: Client, every_s: float, looks: int | None) -> None:
    """Shows the servers until Ctrl-C, or so many times."""
    before = daemon.status()
    shown = 0
    with Live(auto_refresh=False, screen=looks is None, console=Console()) as live:
        while looks is None or shown < looks:
            time.sleep(every_s)
            after = daemon.status()
            live.update(view(before, after), refresh=True)
            before = after
            shown += 1


def view(before: dict[str, Any], after: dict[str, Any]) -> Table:
    """The table of all servers, from what the daemon said at two looks one after the other."""
    found = rates(before, after)
    table = Table(title=summary(after), caption=_who_runs(found), title_justify="left", box=None)
    for name in ("server", "promised", "had of that", "left now", "of a cpu", "stolen"):
        right = name in ("of a cpu", "stolen")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    table.add_column("late", justify="right")
    table.add_column("runnable", justify="right")
    servers = {server["name"]: server for server in after.get("servers", [])}
    for rate in found:
        table.add_row(
            rate.name,
            promised_text(servers[rate.name]),
            bar(rate.used),
            bar(rate.remaining),
            share_text(rate.share),
            share_text(rate.stolen),
            Text(str(rate.overruns), "yellow" if rate.overruns else ""),
            str(rate.runnable),
        )
    return table


def bar(part: float | None) -> Text:
    """A part of a whole as a bar and in percent; a debt is said in words."""
    if part is None:
        return Text(NO_VALUE)
    if part < 0:
        return Text(f"debt {-part:.1%}", "red")
    halves = round(2 * BAR * min(part, 1.0))
    drawn = FULL * (halves // 2) + PART * (halves % 2)
    style = "red" if part > LATE else "green"
    return Text(drawn.ljust(BAR, EMPTY), style).append(f" {part:.1%}", "")


def _who_runs(found: Sequence[Rate]) -> str:
    """Which server each cpu is granted to at the second look."""
    at = sorted((rate.runs_at, rate.name) for rate in found if rate.runs_at is not None)
    return "granted now: " + (", ".join(f"cpu {cpu} to {name}" for cpu, name in at) or "none")
