# SPDX-License-Identifier: BSD-2-Clause
"""A program that runs and prints, watched by what it prints until its block ends."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from hyperperiod.model import FailedError

PATIENCE_S = 60.0
"""Wall time without a sign of life after which a program counts as hung."""
LOOK_EVERY_S = 0.1
END_S = 60.0
TAIL_LINES = 15

Found = TypeVar("Found")


class SilentError(FailedError):
    """A program that was asked something does not answer; maybe it is about to end."""


class Watched:
    """A program that runs, until its block ends; `console` is the file of what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], console: Path, name: str) -> None:
        """`name` is what the program is called in messages."""
        self._process = process
        self._console = console
        self._name = name

    def console(self) -> str:
        """What was printed so far."""
        return self._console.read_text(errors="replace") if self._console.exists() else ""

    def wait_for(
        self,
        pattern: str,
        *,
        patience_s: float = PATIENCE_S,
        look: Callable[[], object] | None = None,
    ) -> re.Match[str]:
        """Wait until the console shows `pattern`; else as `wait_until`."""
        what, wanted = f"the console showed {pattern!r}", re.compile(pattern)
        return self.wait_until(wanted.search, what, patience_s=patience_s, look=look)

    def wait_until(
        self,
        find: Callable[[str], Found | None],
        what: str,
        *,
        patience_s: float = PATIENCE_S,
        look: Callable[[], object] | None = None,
    ) -> Found:
        """Wait until `find` finds something, in what the console shows or elsewhere; returns that.

        `what` it waits for is for messages. `look` is called now and then; when what it returns
        changes, or the console grows, the program lives. One that is silent may have ended since
        the console was read, which is then read again. FailedError when neither happens for
        `patience_s` of wall time, and when the program ends or fails. After Ctrl-C a
        KeyboardInterrupt, with the program as usable as before.
        """
        last: tuple[int, object] = (0, None)
        since = time.monotonic()
        with _interrupts_wait() as interrupted:
            while not interrupted():
                ended = self._process.poll() is not None
                text = self.console()
                found = find(text)
                if found is not None:
                    return found
                self.require_sound(text)
                if ended:
                    raise self.failed(f"{self._name} ended before {what}")
                state = (len(text), _seen(look))
                if state != last:
                    last, since = state, time.monotonic()
                elif time.monotonic() - since > patience_s:
                    raise self.failed(f"no sign of life for {patience_s:.0f} s")
                time.sleep(LOOK_EVERY_S)
        raise KeyboardInterrupt

    def require_sound(self, text: str) -> None:
        """Raises FailedError if what was printed says that all is over."""

    def wait_for_end(self) -> None:
        """Waits until the program has ended."""
        until = time.monotonic() + END_S
        while self._process.poll() is None:
            if time.monotonic() > until:
                raise self.failed(f"{self._name} does not end")
            time.sleep(0.02)

    def failed(self, what: str, kind: type[FailedError] = FailedError) -> FailedError:
        """The error to be raised for what went wrong, with the end of what was printed."""
        lines = self.console().splitlines()[-TAIL_LINES:]
        where = f"; the whole console is in {self._console}" if lines else ""
        return kind(f"{what}{where}", "\n".join([*lines, *self.said()]))

    def said(self) -> list[str]:
        """What the program has said elsewhere than on the console."""
        return []


def _seen(look: Callable[[], object] | None) -> object:
    """What a look returns; None without one, and where nobody answers."""
    if look is None:
        return None
    try:
        return look()
    except SilentError:
        return None


def tied_to_us(ending: str = "KILL") -> list[str]:
    """What makes a program end, by a signal, with this process, even when that is killed."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", ending, "--"]


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C comes after the block: what puts a machine in order is not broken off."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, _frame: seen.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is only noted in here, so that it breaks no conversation; the second one breaks all.

    In another thread than the main one nothing is to be done: Ctrl-C does not come there.
    """
    seen: list[int] = []

    def remember(number: int, _frame: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)
