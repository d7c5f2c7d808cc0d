# SPDX-License-Identifier: BSD-2-Clause
"""The screen of `hyperperiod linux top`: servers as rows that can be sorted and looked into.

Below the table is what the marked server did in the last looks, and who belongs to it. The daemon
is asked in a thread of its own, so that the screen answers to keys while a start makes the daemon
wait for the kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable, Footer, Sparkline, Static

from hyperperiod.cli.tables.linux import member_text, summary
from hyperperiod.cli.top import cells, columns, who_runs
from hyperperiod.hosts.linux.rates import ServerRate, rates
from hyperperiod.model import FailedError, InputError

if TYPE_CHECKING:
    from hyperperiod.hosts.linux.client import Client

Look = dict[str, Any]


KEPT: Final = 240
"""Looks that the picture of a server reaches back."""
ORDERS: Final[tuple[tuple[str, Callable[[ServerRate], Any]], ...]] = (
    ("as given", lambda _rate: 0),
    ("most of a cpu first", lambda rate: -rate.share),
    ("least left first", lambda rate: 2.0 if rate.remaining is None else rate.remaining),
    ("most stolen first", lambda rate: -rate.stolen),
    ("name", lambda rate: rate.name),
)


class TopScreen(App[None]):
    """Asks `look` each `every_s` until `q`; `error` is what ended it, if something did."""

    CSS = """
    #summary { height: 1; text-style: bold; }
    #servers { height: 1fr; }
    #inside { height: auto; border-top: solid $primary; padding: 0 1; }
    #history { height: 3; }
    #most { width: 8; height: 3; }
    Sparkline { height: 3; width: 1fr; }
    #since { width: 1fr; padding: 0 0 0 8; }
    #now { width: 3; }
    #times { height: 1; }
    """
    TITLE = "hyperperiod linux top"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("s", "sort", "Sort"),
        Binding("p", "pause", "Pause"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, look: Callable[[], Look], every_s: float) -> None:
        super().__init__()
        self.error: FailedError | InputError | None = None
        self._look = look
        self._every_s = every_s
        self._before: Look | None = None
        self._last: Look = {}
        self._rates: list[ServerRate] = []
        self._shares: dict[str, deque[float]] = {}
        self._order = 0
        self._paused = False
        self.asking = False

    def compose(self) -> ComposeResult:
        yield Static(id="summary", markup=False)
        # A cell begins with a space, or is the first: two between them would be too many for 80.
        yield DataTable(id="servers", cursor_type="row", zebra_stripes=True, cell_padding=0)
        with Vertical(id="inside"):
            yield Static(id="server", markup=False)
            with Horizontal(id="history"):
                yield Static(id="most")
                yield Sparkline([], summary_function=max)
            with Horizontal(id="times"):
                yield Static(id="since")
                yield Static("now", id="now")
            yield Static(id="members", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Looks at once, and again and again."""
        self.ask()
        self.set_interval(self._every_s, self.ask)

    def on_resize(self) -> None:
        """Shows what there is room for now."""
        self.call_after_refresh(self._draw)

    def action_sort(self) -> None:
        """Takes the next order of the servers."""
        self._order = (self._order + 1) % len(ORDERS)
        self._draw()

    def action_pause(self) -> None:
        """Keeps what is shown, or goes on."""
        self._paused = not self._paused
        self._draw()

    def on_data_table_row_highlighted(self, _event: DataTable.RowHighlighted) -> None:
        """Shows the server that is marked now."""
        self._draw_marked()

    @property
    def _table(self) -> DataTable[Any]:
        return self.query_one(DataTable)

    def ask(self) -> None:
        """Asks unless the answer to the last question is still to come."""
        if not self.asking:
            self.asking = True
            self._wait_for_look()

    @work(thread=True)
    def _wait_for_look(self) -> None:
        try:
            found = self._look()
        except (FailedError, InputError) as error:
            self.error = error
            self.call_from_thread(self.exit)
            return
        self.call_from_thread(self._take, found)

    def _take(self, found: Look) -> None:
        """Notes what each server did since the look before."""
        self.asking = False
        if self._paused:
            return
        self._rates = rates(self._before or found, found)
        self._before = self._last = found
        for rate in self._rates:
            self._shares.setdefault(rate.name, deque(maxlen=KEPT)).append(rate.share)
        self._draw()

    def _draw(self) -> None:
        words = [summary(self._last), who_runs(self._rates), f"order: {ORDERS[self._order][0]}"]
        if self._paused:
            words.append("PAUSED")
        self.query_one("#summary", Static).update(" · ".join(words))
        servers = {server["name"]: server for server in self._last.get("servers", [])}
        marked = self._marked()
        width = self.size.width
        self._table.clear(columns=True)
        self._table.add_columns(*_apart(columns(width)))
        for rate in sorted(self._rates, key=ORDERS[self._order][1]):
            self._table.add_row(*_apart(cells(rate, servers[rate.name], width)), key=rate.name)
        if marked in {rate.name for rate in self._rates}:
            self._table.move_cursor(row=self._table.get_row_index(marked))
        self._draw_marked()

    def _marked(self) -> str:
        """The name of the server whose row is marked, or nothing."""
        if not self._table.row_count:
            return ""
        row = self._table.coordinate_to_cell_key(self._table.cursor_coordinate).row_key
        return row.value or ""

    def _draw_marked(self) -> None:
        name = self._marked()
        server = next((one for one in self._last.get("servers", []) if one["name"] == name), None)
        shares = list(self._shares.get(name, ()))
        told, members = "no server has run between two looks yet", ""
        if server is not None:
            told = f"{name}: of a cpu in the last {len(shares)} looks, at most {max(shares):.1%}"
            members = "members: " + (" ".join(map(member_text, server["members"])) or "none")
        self.query_one("#server", Static).update(told)
        # It is drawn from the least value up, which is to be 0.
        self.query_one(Sparkline).data = [0.0, *shares]
        self.query_one("#most", Static).update(f"{max(shares, default=0.0):.1%}\n\n0%")
        self.query_one("#since", Static).update(f"-{max(len(shares) - 1, 0) * self._every_s:g} s")
        self.query_one("#members", Static).update(members)


def _apart(words: Sequence[str | Text]) -> Iterator[str | Text]:
    """The cells of a row with a space between them."""
    yield words[0]
    for word in words[1:]:
        yield Text.assemble(" ", word)


def show(daemon: Client, every_s: float) -> None:
    """Shows the servers until the user ends it; raises what the daemon's end raises."""
    daemon.status()
    screen = TopScreen(daemon.status, every_s)
    screen.run()
    if screen.error is not None:
        raise screen.error
