# SPDX-License-Identifier: BSD-2-Clause
"""What is shown on standard error while work lasts: nothing when nobody looks or when it is short.

A timer shows it once the work has lasted DELAY_S, whether or not the work says how far it is; only
then the library that draws is loaded.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int], None]

DELAY_S = 1.0
"""Work that ends sooner shows nothing."""


@contextlib.contextmanager
def bar(title: str, total: int, rate: str = "") -> Iterator[Progress]:
    """A function to call with how far the work is, from 0 to `total`.

    With `rate` (a unit, "systems/s") it is shown how fast it goes, and how far it is in numbers.
    """
    with _late(title, total, rate) as shown:
        yield lambda done: shown.update(completed=done)


@contextlib.contextmanager
def reading_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how much has been read and how much there is to read."""
    with bar(title, 1000) as progress:
        yield lambda done, total: progress(done * 1000 // max(1, total))


@contextlib.contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """A line that moves while the work lasts; a function to call with what is being done."""
    with _late(title, None) as shown:
        yield lambda text: shown.update(description=text)


@contextlib.contextmanager
def _late(title: str, total: int | None, rate: str = "") -> Iterator[_Shown]:
    shown = _Shown(title, total, rate)
    if not sys.stderr.isatty():
        yield shown
        return
    timer = threading.Timer(DELAY_S, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield shown
    finally:
        timer.cancel()
        timer.join()
        shown.stop()


class _Shown:
    """The state of some work, and a bar of it on standard error once that has been started."""

    def __init__(self, title: str, total: int | None, rate: str) -> None:
        self._rate = rate
        self._state: dict[str, Any] = {"description": title, "total": total, "completed": 0}
        self._drawn: Any = None

    def update(self, **changed: Any) -> None:
        """Notes what has changed of the bar: `completed` or `description`."""
        self._state.update(changed)
        if self._drawn is not None:
            self._drawn.update(0, **changed)

    def start(self) -> None:
        """Draws the bar from now on, in a thread of its own."""
        from rich import progress
        from rich.console import Console

        columns: tuple[progress.ProgressColumn, ...] = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.TimeElapsedColumn(),
        )
        if self._state["total"] is not None:
            columns = (
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.TextColumn("{task.percentage:>3.0f}%"),
                progress.TimeRemainingColumn(),
            )
        if self._rate:
            columns = (*columns, progress.MofNCompleteColumn(), _rate_column(self._rate))
        drawn = progress.Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        drawn.add_task(**self._state)
        drawn.start()
        self._drawn = drawn

    def stop(self) -> None:
        """Removes the progress bar from the terminal, if one was drawn."""
        if self._drawn is not None:
            self._drawn.stop()


def _rate_column(unit: str) -> Any:
    """A column that says how fast the work goes, once that is known."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f} {unit}")

    return Rate()
