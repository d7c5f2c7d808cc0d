# SPDX-License-Identifier: BSD-2-Clause
"""Progress: shown on a terminal once work has lasted a while; Ctrl-C leaves nothing half done."""

from __future__ import annotations

import contextlib
import io
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support import example_traces as examples

from hyperperiod.cli import main
from hyperperiod.cli.progress import bar, status
from hyperperiod.trace.format import counted, read
from hyperperiod.trace.properties import WORK, check_all


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def delay_s(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets how long work must last to be shown, on a terminal of 80 columns."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return lambda seconds: monkeypatch.setattr("hyperperiod.cli.progress.DELAY_S", seconds)


def timers() -> list[threading.Timer]:
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def wait_for_the_timer() -> None:
    for timer in timers():
        timer.join()


def test_short_work_shows_nothing(delay_s: Callable[[float], None]) -> None:
    delay_s(3600.0)
    with contextlib.redirect_stderr(Terminal()) as shown:
        with bar("counting", 10) as progress:
            progress(10)
            assert len(timers()) == 1
        with status("thinking") as say:
            say("still thinking")
    assert shown.getvalue() == ""
    assert not timers()


def test_long_work_is_shown_and_taken_away(delay_s: Callable[[float], None]) -> None:
    delay_s(0.0)
    with contextlib.redirect_stderr(Terminal()) as shown, bar("counting [all]", 10) as progress:
        wait_for_the_timer()
        progress(5)
    assert "counting [all]" in shown.getvalue()
    assert "50%" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K"), "the line is cleared"


def test_what_is_being_done_is_shown(delay_s: Callable[[float], None]) -> None:
    delay_s(0.0)
    with contextlib.redirect_stderr(Terminal()) as shown, status("thinking") as say:
        wait_for_the_timer()
        say("still at it")
    assert "thinking" in shown.getvalue()
    assert "still at it" in shown.getvalue()


def test_nobody_looks(delay_s: Callable[[float], None]) -> None:
    delay_s(0.0)
    with contextlib.redirect_stderr(io.StringIO()) as shown, bar("counting", 10) as progress:
        progress(5)
        assert not timers()
    assert shown.getvalue() == ""


def test_a_check_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperperiod.trace.properties.AT_ONCE", 2)
    seen: list[int] = []
    header, records = examples.ptps().trace(tmp_path)
    check_all(header, records, seen.append)
    assert seen == sorted(seen)
    assert len(set(seen)) > 10
    assert (seen[0], seen[-1]) == (0, WORK)


def test_a_conversion_says_how_far_it_is(tmp_path: Path) -> None:
    _, records = read(examples.ptps().write(tmp_path / "run.hpt"))
    seen: list[int] = []
    assert len(list(counted([records[:5], records[5:]], seen.append))) == 2
    assert seen == [5, len(records)]


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The user presses Ctrl-C when a command shows its progress; the titles that were shown."""
    titles: list[str] = []

    def press(_done: int) -> None:
        signal.raise_signal(signal.SIGINT)

    @contextlib.contextmanager
    def pressed(title: str, _total: int) -> Iterator[Callable[[int], None]]:
        titles.append(title)
        yield press

    monkeypatch.setattr("hyperperiod.cli.trace.bar", pressed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield titles
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("output", [None, "out.csv", "out.parquet", "out.pftrace"])
def test_ctrl_c_leaves_nothing(output: str | None, ctrl_c: list[str], tmp_path: Path) -> None:
    trace = examples.ptps().write(tmp_path / "run.hpt")
    command = ["check", str(trace)] if output is None else ["convert", str(trace), output]
    with contextlib.chdir(tmp_path):
        done = CliRunner().invoke(main, ["trace", *command])
    assert (done.exit_code, done.stdout) == (130, "")
    assert "interrupted" in done.stderr
    assert len(ctrl_c) == 1
    assert list(tmp_path.iterdir()) == [trace]
