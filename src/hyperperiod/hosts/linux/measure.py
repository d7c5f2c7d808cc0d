# SPDX-License-Identifier: BSD-2-Clause
"""What the kernel takes on the Linux host: of a cpu, beside the servers, and of their jobs.

One machine that counts instructions is booted. The two tasks of `hosts.gaps` run in a server that
is never out of budget for long, and beside them, without a server, processes that do nothing but
come and go, so that the kernel has something to do.

    theft N   a `[[stolen]]` table of a system file: all tables together bound what the kernel's own
              threads took of the cpu (`thefts`)
    wake, job, preempt, tick   the gaps, less thefts: what interrupts, wakes, switches and decisions
              take of the jobs
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts.costs import kernel_costs
from hyperperiod.hosts.gaps import TASKS, gaps
from hyperperiod.hosts.linux.attend import ExtraLoad, LinuxOptions
from hyperperiod.hosts.linux.machine import BOARDS
from hyperperiod.hosts.linux.run import record
from hyperperiod.hosts.linux.thefts import Theft, bound, thefts_in
from hyperperiod.hosts.recorded_run import RunRecording, RunRequest
from hyperperiod.measured import LINUX_KERNEL, Number, Section, command, version
from hyperperiod.model import (
    Domain,
    FailedError,
    Interface,
    Scheduler,
    Stolen,
    System,
    parse_policy,
)

HORIZON_NS: Final = 8_000_000_000
PERIOD_NS: Final = 10_000_000
BUDGET_NS: Final = 9_000_000
STORM: Final = ExtraLoad("while :; do busybox true; done &\n")
"""Processes that come and go, one at a time."""
GAPS: Final = ("wake", "job", "preempt", "tick")


class KernelCosts(NamedTuple):
    """What was measured: tables that bound the thefts, and all numbers for `measured.toml`."""

    stolen: tuple[Stolen, ...]
    section: Section

    def table(self) -> str:
        """What the kernel takes, as the tables of a system file."""
        numbers = {name: int(number.value) for name, number in self.section.numbers.items()}
        return kernel_costs(numbers).table()


def measure() -> KernelCosts:
    """Boot, look, and say what was found.

    Raises MissingError when a tool or an image is not there, FailedError when the machine does not
    do what it should.
    """
    recording = observe(STORM, HORIZON_NS)
    thefts = thefts_in(recording.decisions[0])
    (jobs,) = recording.guests
    longest: dict[str, int] = defaultdict(int)
    for name, span_ns in gaps(jobs.since_epoch(), _taken(thefts)):
        longest[name] = max(span_ns, longest[name])
    missing = [name for name in GAPS if name not in longest]
    if missing or not thefts:
        raise FailedError(f"nothing was seen of: {', '.join(missing or ['thefts'])}")
    stolen = bound(thefts)
    numbers = {name: Number(longest[name], "ns") for name in GAPS}
    for number, one in enumerate(stolen, 1):
        numbers[f"theft {number}: period"] = Number(one.period_ns, "ns")
        numbers[f"theft {number}: duration"] = Number(one.duration_ns, "ns")
    qemu = version(BOARDS["amd64"].program)
    on = f"Debian's kernel in {qemu}, where an instruction takes a nanosecond"
    return KernelCosts(stolen, Section(command(LINUX_KERNEL), on, numbers))


def observe(load: ExtraLoad, horizon_ns: int) -> RunRecording:
    """What a machine records on which this runs beside the two tasks.

    The policy is a global one: there thefts are told whether they meet a server or not.
    """
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        options = LinuxOptions(folder=Path(folder), load=load)
        (recording,) = record([RunRequest(_system(), horizon_ns)], options)
    return recording


def _system() -> System:
    domain = Domain(
        name="linux",
        scheduler=Scheduler.FP,
        interface=Interface(period_ns=PERIOD_NS, budget_ns=BUDGET_NS),
        tasks=TASKS,
    )
    return System(name="measured", policy=parse_policy("rtds"), domains=(domain,))


def _taken(thefts: Sequence[Theft]) -> Callable[[int, int], int]:
    """Returns what tells how much thefts took of the time between two instants (ns)."""

    def taken_ns(begin_ns: int, end_ns: int) -> int:
        return sum(max(0, min(one.end_ns, end_ns) - max(one.begin_ns, begin_ns)) for one in thefts)

    return taken_ns
