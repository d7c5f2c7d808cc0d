# SPDX-License-Identifier: BSD-2-Clause
"""A bar on standard error while a run lasts; nothing when nobody looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Progress = Callable[[int], None]


@contextlib.contextmanager
def bar(title: str, total_ns: int) -> Iterator[Progress]:
    """A function to call with the instant that the run has reached."""
    if not sys.stderr.isatty():
        yield lambda _now_ns: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    with RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as shown:
        task = shown.add_task(title, total=total_ns)
        yield lambda now_ns: shown.update(task, completed=now_ns)


@contextlib.contextmanager
def reading_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how much has been read and how much there is to read."""
    with bar(title, 1000) as progress:
        yield lambda done, total: progress(done * 1000 // max(1, total))
