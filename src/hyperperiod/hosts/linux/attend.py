# SPDX-License-Identifier: BSD-2-Clause
"""Attends runs on Linux until they are over, and takes what they left: of a machine that is booted,
or on the kernel of this one (`here`).

Where getting ready took longer than thought, it is tried again with more time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.here import Here
from hyperperiod.hosts.linux.machine import Machine, Running, boot
from hyperperiod.hosts.qemu import console_log
from hyperperiod.hosts.watched import PATIENCE_S
from hyperperiod.model import FailedError

COMPLAINT: Final = re.compile(
    rf"^({script.COMPLAINT}|tasks: |events: |supervise: |clients: ).*", re.MULTILINE
)
START_S: Final = (2, 8, 30)
"""How long (s) from when the programs are loaded to the epoch, one try after the other: all threads
must be there. A machine that counts leaps over what is left of it."""


class LateError(FailedError):
    """The epoch had passed before all was ready."""


class Beside(NamedTuple):
    """What else runs on a machine: lines of its script, and programs for its folder /bin."""

    lines: str = ""
    programs: Mapping[str, bytes] = {}


@dataclass(frozen=True)
class RunOptions:
    """How to run, other than the system says: `folder` keeps the console's log.

    `here`: on the kernel of this machine, whose `cpus` are the pcpus; None: the first ones.
    `counts`: the kernel counts how often the scheduler's programs run, and for how long.
    `beside`: what else runs on a machine that is booted.
    `thefts`: threads of real time take from servers what the `[[stolen]]` tables of a system say,
    beside what the machine itself takes, which such tables bound otherwise.
    """

    folder: Path | None = None
    here: bool = False
    cpus: tuple[int, ...] | None = None
    icount: bool | None = None
    counts: bool = False
    patience_s: float = 4 * PATIENCE_S
    beside: Beside | None = None
    thefts: bool = False


class Left(NamedTuple):
    """What runs have left, and whether Ctrl-C ended them."""

    files: Mapping[str, bytes]
    interrupted: bool

    def of_run(self, number: int) -> dict[str, bytes]:
        """What the run of that number (from 0) has left, by name."""
        folder = f"{number}/"
        return {
            name.removeprefix(folder): data
            for name, data in self.files.items()
            if name.startswith(folder)
        }


def perform(
    machine: Callable[[int], Machine],
    watch: Callable[[str, int], None],
    options: RunOptions,
    *,
    alone: bool,
) -> Left:
    """Boots the machine whose epochs are so many seconds after its runs begin, until it is off.

    `watch` is called now and then with what the console shows and for how long (s) it has been on.
    `alone`: there is one run, which Ctrl-C ends early; it breaks several off (KeyboardInterrupt),
    for no part of them is what was asked for.
    """
    return attended(
        lambda start_s, console: boot(machine(start_s), console), watch, options, alone=alone
    )


def attended(
    begin: Callable[[int, Path], AbstractContextManager[Running | Here]],
    watch: Callable[[str, int], None],
    options: RunOptions,
    *,
    alone: bool,
) -> Left:
    """The same for whatever begins runs, given those seconds and the file of the console's log."""
    for start_s in START_S:
        try:
            with console_log(options.folder) as console, begin(start_s, console) as running:
                interrupted = _attend(running, watch, options.patience_s, alone=alone)
                require_no_complaint(running.console())
                return Left(running.files(), interrupted)
        except LateError:
            if start_s == START_S[-1]:
                raise
    raise AssertionError("the last try returns or raises")


def _attend(
    running: Running | Here,
    watch: Callable[[str, int], None],
    patience_s: float,
    *,
    alone: bool,
) -> bool:
    """Lets the runs come to their end, or the only one to Ctrl-C; whether it was the latter."""

    def look() -> int:
        require_no_complaint(running.console())
        now_s = running.since_start_s()
        watch(running.console(), now_s)
        return now_s

    try:
        running.wait_for(script.DONE, patience_s=patience_s, look=look)
    except FailedError:
        require_no_complaint(running.console())
        raise
    except KeyboardInterrupt:
        if not alone or script.BEGUN not in running.console():
            raise
        running.order_end()
        return True
    running.wait_for_end()
    return False


def require_no_complaint(console: str) -> None:
    """FailedError if the script or a process has said that something is wrong."""
    complaints = [match[0] for match in COMPLAINT.finditer(console[: console.rfind("\n") + 1])]
    if any(script.LATE in complaint for complaint in complaints):
        raise LateError("the machine was not ready at the epoch", "\n".join(complaints))
    if complaints:
        raise FailedError("Linux does not run this system", "\n".join(complaints))
