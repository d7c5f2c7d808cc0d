# SPDX-License-Identifier: BSD-2-Clause
"""What `linux top` shows and `linux metrics` serves is what the daemon said."""

from __future__ import annotations

import asyncio
import io
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.linux.daemons import Daemon, daemon_in
from tests.support.building import TOP
from textual.pilot import Pilot
from textual.widgets import DataTable, Static
from textual.worker import WorkerCancelled

from hyperperiod.cli import main
from hyperperiod.cli.tables.linux import servers_table
from hyperperiod.cli.top import WIDE, bar, columns, view
from hyperperiod.cli.top_screen import ORDERS, TopScreen
from hyperperiod.hosts.linux.exporter import exporter
from hyperperiod.hosts.linux.rates import (
    METRICS,
    PREFIX,
    WAKEUPS,
    ServerRate,
    metrics,
    quantile_ns,
    rates,
)
from hyperperiod.model import FailedError, InputError

MS = 1_000_000


def server(**changed: Any) -> dict[str, Any]:
    return {
        "name": "control", "pcpu": 0, "period_ns": 10 * MS, "budget_ns": 4 * MS, "priority": 0,
        "extra": False, "inside": "fp", "used_ns": 0, "donated_ns": 0, "extra_ns": 0,
        "stolen_ns": 0, "overrun_ns": 0, "overrun_ns_max": 0, "overruns": 0, "thefts": 0,
        "arrivals": 1, "runnable": 2, "remaining_ns": MS, "now_ns": 1000 * MS, "members": [],
        "periods": 0, "short_periods": 0, "wakeups": 0, "wakeups_depleted": 0, "wakeup_ns": 0,
        "wakeup_ns_max": 0, "wakeup_counts": [],
        **changed,
    }  # fmt: skip


def look(*servers: dict[str, Any], **changed: Any) -> dict[str, Any]:
    policy = {"rules": "deferrable+fp+none", "global": False}
    return {
        "running": True, "ends": 2, "base_ns": 5, "policy": policy, "cpus": [0],
        "servers": [*servers],
        **changed,
    }  # fmt: skip


def test_rates_are_differences() -> None:
    """In 100 ms, of 40 that it was promised, it had 30 and 5 more; others had 2 of that."""
    after = server(
        now_ns=1100 * MS, used_ns=30 * MS, extra_ns=5 * MS, donated_ns=2 * MS, stolen_ns=MS,
        overruns=3, remaining_ns=-2 * MS, runs_at=0, short_periods=2, wakeup_counts=[9, 0, 2, 1],
        wakeup_ns_max=7000,
    )  # fmt: skip
    (rate,) = rates(look(server(wakeup_counts=[9, 0, 1])), look(after))
    assert rate == ServerRate(
        name="control", share=0.33, used=0.75, remaining=-0.5, stolen=0.01, overruns=3,
        short=2, woke_p99_ns=7000, runnable=2, runs_at=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "percent", "time_ns"),
    [([], 99, None), ([0, 0], 99, None), ([1], 99, 1024), ([99, 1], 99, 1024),
     ([98, 2], 99, 2048), ([98, 2], 50, 1024), ([1, 0, 0, 1], 100, 5000),
     ([0] * 23 + [1], 99, 5000)],
)  # fmt: skip
def test_quantiles_are_limits_of_classes(
    counts: list[int], percent: int, time_ns: int | None
) -> None:
    """What may be the longest wait of all is no longer than that."""
    assert quantile_ns(counts, percent, 5000) == time_ns


def test_what_has_no_difference_is_left_out() -> None:
    """A server that is new, one that was not in force, and one that began anew."""
    new = server(name="new", now_ns=1100 * MS)
    idle = {"name": "idle", "period_ns": 1, "budget_ns": 1, "members": []}
    assert rates(look(idle), look(new, server(name="idle", now_ns=1100 * MS))) == []
    assert rates(look(server()), look(server(now_ns=1100 * MS), base_ns=6)) == []
    assert rates(look(server()), look(server())) == []


def test_the_view_shows_budgets_who_runs_and_what_was_stolen() -> None:
    after = server(now_ns=1100 * MS, used_ns=20 * MS, stolen_ns=MS, overruns=3, runs_at=2)
    rest = {**server(name="rest", now_ns=1100 * MS), "best_effort": True}
    before = look(server(), {**rest, "now_ns": 1000 * MS})
    output = io.StringIO()
    Console(file=output, width=140).print(view(before, look(after, rest), 140))
    text = output.getvalue()
    assert "in force: deferrable+fp+none on cpus 0" in text
    row = next(line for line in text.splitlines() if "control" in line and "in 10ms" in line)
    assert "██████████··········" in row
    assert "50.0%" in row
    assert "1.00 %" in row
    assert "granted now: cpu 2 to control" in text
    assert next(line for line in text.splitlines() if "rest" in line).split()[1:3] == [
        "best",
        "effort",
    ]


def test_80_columns_show_the_numbers_that_matter() -> None:
    after = server(
        name="machine-of-the-web", now_ns=1100 * MS, used_ns=20 * MS, stolen_ns=MS, overruns=104,
        short_periods=12, wakeup_counts=[0, 7], wakeup_ns_max=1500, remaining_ns=-10_000,
    )  # fmt: skip
    output = io.StringIO()
    before = look(server(name="machine-of-the-web"))
    Console(file=output, width=80).print(view(before, look(after), 80))
    *_, heading, row, _caption = output.getvalue().splitlines()
    assert " ".join(heading.split()) == " ".join(columns(80))
    cells = "machi…-web 4ms in 10ms 50.0% debt 0.2% 20.00 % ≤1.5 us 12 1.00 % 104"
    assert " ".join(row.split()) == cells
    assert max(map(len, output.getvalue().splitlines())) <= 80


def test_the_table_of_a_status_has_short_periods_and_wake_ups() -> None:
    one = server(periods=50, short_periods=3, wakeup_counts=[0, 7], wakeup_ns_max=1500)
    idle = {"name": "idle", "period_ns": 1, "budget_ns": 1, "inside": "fp", "members": []}
    heading, _rule, first, off = list(servers_table(look(one, server(), idle)).lines())[2:6]
    assert heading.split()[4:7] == ["short", "99%", "woke"]
    assert first.split()[7:10] == ["3", "≤1.5", "us"]
    assert off.split()[7:9] == ["-", "-"], "nothing was counted yet"


@pytest.mark.parametrize(
    ("part", "text"),
    [(0.0, "·" * 20 + " 0.0%"), (0.525, "█" * 10 + "▌" + "·" * 9 + " 52.5%"),
     (1.2, "█" * 20 + " 120.0%"), (-0.1, "debt 10.0%"), (None, "-")],
)  # fmt: skip
def test_bars(part: float | None, text: str) -> None:
    assert bar(part).plain == text


def parsed(text: str) -> dict[tuple[str, str], str]:
    """The samples of Prometheus's text format; each must have its type before it."""
    found: dict[tuple[str, str], str] = {}
    types: set[str] = set()
    for line in text.splitlines():
        if match := re.fullmatch(r"# TYPE (\w+) (gauge|counter|histogram)", line):
            parts = ("_bucket", "_sum", "_count") if match[2] == "histogram" else ("",)
            types |= {match[1] + part for part in parts}
        elif not line.startswith("# HELP "):
            match = re.fullmatch(
                r'(\w+)(?:\{server="([^"]*)",cpu="\w+"(?:,le="([^"]+)")?\})? (-?[\d.]+)', line
            )
            assert match, line
            assert match[1] in types
            found[match[1], " ".join(filter(None, match.groups()[1:3]))] = match[4]
    return found


def test_metrics_are_the_numbers_of_the_status() -> None:
    text = metrics(look(server(used_ns=12_345_678_901, remaining_ns=-5), server(name="b")))
    found = parsed(text)
    assert found["hyperperiod_running", ""] == "1"
    assert found["hyperperiod_ends_total", ""] == "2"
    assert found[f"{PREFIX}used_seconds_total", "control"] == "12.345678901"
    assert found[f"{PREFIX}remaining_seconds", "control"] == "-0.000000005"
    assert found[f"{PREFIX}budget_seconds", "b"] == "0.004000000"
    assert len(found) == 2 + 2 * (len(METRICS) - 1 + 26), "none has a whole period yet"


def test_a_histogram_has_all_classes() -> None:
    """So many waits are not longer than a limit; the last class has no limit."""
    waits = {"wakeup_counts": [3, 0, 4] + 20 * [0] + [1], "wakeup_ns": 5_000_000_123}
    found = parsed(metrics(look(server(**waits), {"name": "off", "members": []})))
    limits = [key[1].split()[1] for key in found if key[0] == f"{WAKEUPS}_bucket"]
    assert limits == [f"{2 ** (10 + number) / 1e9:.9f}" for number in range(23)] + ["+Inf"]
    assert found[f"{WAKEUPS}_bucket", "control 0.000001024"] == "3"
    assert found[f"{WAKEUPS}_bucket", "control 0.000002048"] == "3"
    assert found[f"{WAKEUPS}_bucket", "control 4.294967296"] == "7"
    assert found[f"{WAKEUPS}_bucket", "control +Inf"] == found[f"{WAKEUPS}_count", "control"] == "8"
    assert found[f"{WAKEUPS}_sum", "control"] == "5.000000123"


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((TOP / "hosts/linux/grafana.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"hyperperiod_\w+", target["expr"])
    }
    assert asked
    assert asked <= {PREFIX + metric.name for metric in METRICS} | {f"{WAKEUPS}_bucket"}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with daemon_in(tmp_path) as one:
        one.does("policy name=ptps pcpus=0", "server a pcpu=0 period_ns=9000000 budget_ns=1000000")
        one.does("start")
        yield one


def test_the_exporter_answers_at_loopback_alone(daemon: Daemon) -> None:
    with exporter(0, daemon.folder / "control") as web:
        assert web.server_address[0] == "127.0.0.1"
        threading.Thread(target=web.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{web.server_port}"
        with urllib.request.urlopen(f"{at}/metrics", timeout=60) as answer:
            found = parsed(answer.read().decode())
        assert found[f"{PREFIX}used_seconds_total", "a"] == "0.001000000"
        with pytest.raises(urllib.error.HTTPError) as wrong:
            urllib.request.urlopen(f"{at}/other", timeout=60)
        assert wrong.value.code == 404
        wrong.value.close()
        daemon.end()
        with pytest.raises(urllib.error.HTTPError) as gone:
            urllib.request.urlopen(f"{at}/metrics", timeout=60)
        assert gone.value.code == 503
        gone.value.close()
        web.shutdown()


def test_nothing_is_served_where_no_daemon_is(tmp_path: Path) -> None:
    words = ["linux", "metrics", "--port", "0", "--socket", str(tmp_path / "control")]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 3
    assert "http" not in said.output


def test_top_looks_at_the_daemon(daemon: Daemon) -> None:
    words = ["linux", "top", "--every", "1ms", "--looks", "2", "--socket"]
    done = CliRunner().invoke(main, [*words, str(daemon.folder / "control")])
    assert done.exit_code == 0, done.exception
    assert "in force: periodic+fp+none on cpus 0" in done.output


class Daemons:
    """Looks at two servers, each 100 ms of their time after the last; `b` takes more of the cpu."""

    def __init__(self) -> None:
        self.looks = 0
        self.error: InputError | FailedError | None = None

    def look(self) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        self.looks += 1
        now_ns = (1000 + 100 * self.looks) * MS
        members = [{"cgroup": "/sys/fs/cgroup/pilot"}]
        return look(
            server(name="a", now_ns=now_ns, used_ns=10 * MS * self.looks, members=members),
            server(name="b", now_ns=now_ns, used_ns=40 * MS * self.looks, runs_at=0),
        )


def names(screen: TopScreen) -> list[str]:
    table = screen.query_one(DataTable)
    return [str(table.get_row_at(row)[0]) for row in range(table.row_count)]


def said(screen: TopScreen, where: str) -> str:
    return str(screen.query_one(where, Static).render())


async def look_again(screen: TopScreen, pilot: Pilot[None], looks: int) -> None:
    """Asks so many times, as the clock would."""
    for _ in range(looks):
        screen.ask()
        await screen.workers.wait_for_complete()
        await pilot.pause()


def on_screen(
    daemons: Daemons,
    then: Callable[[TopScreen, Pilot[None]], Awaitable[None]],
    width: int = 140,
) -> None:
    """Shows a screen whose own clock never asks, and does something with it."""

    async def show() -> None:
        screen = TopScreen(daemons.look, every_s=3600.0)
        async with screen.run_test(size=(width, 30)) as pilot:
            await screen.workers.wait_for_complete()
            await pilot.pause()
            await then(screen, pilot)

    asyncio.run(show())


def test_the_screen_sorts_servers_and_shows_the_marked_one() -> None:
    async def use(screen: TopScreen, pilot: Pilot[None]) -> None:
        assert names(screen) == []
        await look_again(screen, pilot, 3)
        assert names(screen) == ["a", "b"]
        assert "granted now: cpu 0 to b" in said(screen, "#summary")
        assert "a: of a cpu in the last 3 looks, at most 10.0%" in said(screen, "#server")
        assert "cgroup:/sys/fs/cgroup/pilot" in said(screen, "#members")
        await pilot.press("s")
        assert names(screen) == ["b", "a"]
        assert "most of a cpu first" in said(screen, "#summary")
        await pilot.pause()
        assert "a: of a cpu" in said(screen, "#server"), "the mark stays on its server"
        await pilot.press("up")
        await pilot.pause()
        assert "b: of a cpu in the last 3 looks, at most 40.0%" in said(screen, "#server")
        assert "members: none" in said(screen, "#members")
        for _ in ORDERS[1:]:
            await pilot.press("s")
        assert names(screen) == ["a", "b"]

    on_screen(Daemons(), use)


def test_a_screen_of_80_columns_cuts_nothing_and_has_axes() -> None:
    async def use(screen: TopScreen, pilot: Pilot[None]) -> None:
        await look_again(screen, pilot, 3)
        table = screen.query_one(DataTable)
        assert table.virtual_size.width <= 80
        headings = [str(column.label).strip() for column in table.columns.values()]
        assert headings == list(columns(80))
        assert said(screen, "#most").split() == ["10.0%", "0%"]
        assert said(screen, "#since") == "-7200 s"
        await pilot.resize_terminal(WIDE, 30)
        await pilot.pause()
        assert len(table.columns) == len(columns(WIDE)) > len(headings)
        assert screen.title == "hyperperiod linux top"

    on_screen(Daemons(), use, 80)


def test_a_paused_screen_keeps_what_it_shows() -> None:
    async def use(screen: TopScreen, pilot: Pilot[None]) -> None:
        await look_again(screen, pilot, 2)
        await pilot.press("p")
        await look_again(screen, pilot, 2)
        assert "PAUSED" in said(screen, "#summary")
        assert "last 2 looks" in said(screen, "#server")
        await pilot.press("p")
        await look_again(screen, pilot, 1)
        assert "PAUSED" not in said(screen, "#summary")
        assert "last 3 looks" in said(screen, "#server")

    on_screen(Daemons(), use)


def test_a_screen_ends_with_the_daemon() -> None:
    daemons = Daemons()

    async def use(screen: TopScreen, pilot: Pilot[None]) -> None:
        await look_again(screen, pilot, 1)
        daemons.error = FailedError("hyperperiodd has ended the connection")
        with pytest.raises(WorkerCancelled):
            await look_again(screen, pilot, 1)
        assert screen.error is daemons.error

    on_screen(daemons, use)


def test_a_screen_without_its_library_says_what_to_do(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hyperperiod.libraries.find_spec", lambda _name: None)
    words = ["linux", "top", "--socket", str(daemon.folder / "control")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 3
    assert "pip install 'hyperperiod[top]'; --looks N does without" in done.output
