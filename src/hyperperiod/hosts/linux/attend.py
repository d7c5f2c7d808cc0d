# SPDX-License-Identifier: BSD-2-Clause
"""Waits for runs on Linux until they are done, and takes what they left: of a machine that is
booted, or on the kernel of this one (`here`).

Where getting ready took longer than thought, it is tried again with more time. A script that is no
run (`run_script`) just has its end waited for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts import STOCK, Stock, scheduler_of
from hyperperiod.hosts.guests import Workload
from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.build import KERNEL
from hyperperiod.hosts.linux.here import LocalRun
from hyperperiod.hosts.linux.machine import LinuxMachine, RunningLinux, boot
from hyperperiod.hosts.qemu import console_log
from hyperperiod.hosts.recorded_run import Complaints, RunOptions, until_ready
from hyperperiod.hosts.watched import PATIENCE_S
from hyperperiod.model import FailedError, InputError

COMPLAINTS: Final = Complaints(
    re.compile(rf"^({script.COMPLAINT}|tasks: |events: |supervise: |clients: ).*", re.MULTILINE),
    "the machine",
    "Linux",
)
"""What the script and processes say when something is wrong."""
START_S: Final = (2, 8, 30)
"""How long (s) from when the programs are loaded to the epoch, one try after the other: all threads
must be there. A machine that counts leaps over what is left of it."""


class ExtraLoad(NamedTuple):
    """What else runs on a machine: lines of its script, and programs for its folder /bin."""

    lines: str = ""
    programs: Mapping[str, bytes] = {}


NO_LOAD: Final = ExtraLoad()


@dataclass(frozen=True)
class LinuxOptions(RunOptions):
    """How to run on Linux.

    `here`: on the kernel of this machine, whose `cpus` are the pcpus; None: the first ones.
    `kernel`: the name of the one that is booted (build.KERNELS).
    `counts`: the kernel counts how often the scheduler's programs run, and for how long.
    `load`: what else runs on a machine that is booted.
    `thefts`: threads of real time take from servers what the `[[stolen]]` tables of a system say,
    beside what the machine itself takes, which such tables bound otherwise.
    `workloads`: what domains, by their numbers from 0, do in place of their tasks; what they
    recorded is no jobs.
    `scheduler`: one of the kernel's own, in place of ours.
    """

    patience_s: float = 4 * PATIENCE_S
    here: bool = False
    cpus: tuple[int, ...] | None = None
    kernel: str = KERNEL
    counts: bool = False
    load: ExtraLoad = NO_LOAD
    thefts: bool = False
    workloads: Mapping[int, Workload] = field(default_factory=dict)
    scheduler: Stock | None = None

    def under(self, host: str) -> LinuxOptions:
        """Returns the same options for the scheduler of a host, ours or another (hosts.STOCK).

        InputError for options that do not fit it.
        """
        scheduler = Stock(scheduler_of(host)) if host in STOCK else None
        if scheduler is Stock.DEADLINE:
            if self.here:
                allowed = f"vm: all of the machine is set up for {host}"
                raise InputError("", None, "--in", "here", allowed)
            if self.thefts:
                allowed = "another host: threads of SCHED_DEADLINE come before those of real time"
                raise InputError("", None, "--thefts", f"on {host}", allowed)
        return replace(self, scheduler=scheduler)


class RunFiles(NamedTuple):
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


def run_script(
    machine: LinuxMachine, console: Path, patience_s: float, *, silent: bool = False
) -> dict[str, bytes]:
    """The files, by name, that the script of a machine has left when it is done.

    `console` is the file of the console's log. FailedError with what the script complains of, and
    where nothing is printed for `patience_s` of wall time, and, if it is `silent`, the machine's
    clock stands as well.
    """
    with boot(machine, console) as running:
        look = running.since_start_s if silent else None
        over = f"{script.DONE}|{script.COMPLAINT}.*\n"
        running.wait_for(over, patience_s=patience_s, look=look)
        COMPLAINTS.require_none(running.console())
        running.wait_for_end()
        return running.files()


def run_until_done(
    begin: Callable[[int, Path], AbstractContextManager[RunningLinux | LocalRun]],
    watch: Callable[[str, int], None],
    options: LinuxOptions,
    *,
    alone: bool,
) -> RunFiles:
    """Returns what runs left that `begin` begins, whose epochs are so many seconds after that.

    It is given those seconds and the file of the console's log. `watch` is called now and then with
    what the console shows and for how long (s) the machine has been on. `alone`: there is one run,
    which Ctrl-C ends early; it breaks several off (KeyboardInterrupt), for no part of them is what
    was asked for.
    """

    def attempt(start_s: int) -> RunFiles:
        with console_log(options.folder) as console, begin(start_s, console) as running:
            interrupted = _wait(running, watch, options.patience_s, alone=alone)
            COMPLAINTS.require_none(running.console())
            return RunFiles(running.files(), interrupted)

    return until_ready(START_S, attempt)


def _wait(
    running: RunningLinux | LocalRun,
    watch: Callable[[str, int], None],
    patience_s: float,
    *,
    alone: bool,
) -> bool:
    """Lets the runs come to their end, or the only one to Ctrl-C; whether it was the latter."""

    def look() -> int:
        COMPLAINTS.require_none(running.console())
        now_s = running.since_start_s()
        watch(running.console(), now_s)
        return now_s

    try:
        running.wait_for(script.DONE, patience_s=patience_s, look=look)
    except FailedError:
        COMPLAINTS.require_none(running.console())
        raise
    except KeyboardInterrupt:
        if not alone or script.BEGUN not in running.console():
            raise
        running.order_end()
        return True
    running.wait_for_end()
    return False
