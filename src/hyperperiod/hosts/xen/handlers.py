# SPDX-License-Identifier: BSD-2-Clause
"""What the scheduler's handlers take in a run on Xen: how often they ran, and their instructions.

A handler is a function of the scheduler that the hypervisor calls. A plugin of QEMU's
(hosts/xen/handlers) counts what each executes in the scheduler's own source files, from the first
decision after the epoch to the horizon. Under icount an instruction takes a nanosecond.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts.qemu import quoted
from hyperperiod.hosts.recorded_run import CallTime
from hyperperiod.hosts.xen.images import READELF, current_hypervisor, handlers, tool
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.model import FailedError

HANDLERS: Final = ("schedule", "wake", "sleep", "context_saved")
"""What the hypervisor calls while a system runs, as struct scheduler names it."""
FILES: Final = frozenset({"scheduler.c", "units.c", "lifetime.c", "toolstack.c", "options.c"})
"""The scheduler's source files."""
GLOBAL_NAMES: Final = "hyperperiod_"
"""How the names of functions begin that these files share: their symbols name no file."""
BEGIN, END = "start_phase", "reach_horizon"
"""Functions in which the core's time begins, and in which the run ends."""


class Function(NamedTuple):
    """A function of the hypervisor: where it is, and the file it is from ("" if unknown)."""

    name: str
    start: int
    end: int
    file: str

    @property
    def is_ours(self) -> bool:
        """Whether it is in the scheduler's own source files."""
        return self.file in FILES or (not self.file and self.name.startswith(GLOBAL_NAMES))


class Counter:
    """Counts one run: its options go into the run, and its numbers come after."""

    def __init__(self, folder: Path) -> None:
        """Raises MissingError if hypervisor, plugin or readelf is not there."""
        self._out = folder / "handlers"
        hypervisor = current_hypervisor()
        own = [one for one in functions(hypervisor.with_name("xen-syms")) if one.is_ours]
        at = {function.name: function.start for function in own}
        ranges = folder / "own"
        ranges.write_text("".join(f"{one.start:x} {one.end:x}\n" for one in own))
        words = [
            f"file={quoted(handlers())}",
            f"own={quoted(ranges)}",
            *(f"handler={at[f'hyperperiod_{name}']:x}" for name in HANDLERS),
            f"begin={at[BEGIN]:x}",
            f"end={at[END]:x}",
            f"out={quoted(self._out)}",
        ]
        self._plugin = ("-plugin", ",".join(words))

    def options(self, options: XenOptions) -> XenOptions:
        """The options of a run that is counted."""
        return replace(options, qemu_arguments=(*options.qemu_arguments, *self._plugin))

    def counted(self) -> Mapping[str, CallTime]:
        """What each handler took in the run that has ended; FailedError if it was not counted."""
        if not self._out.exists():
            raise FailedError("the instructions of the run were not counted")
        lines = self._out.read_text().splitlines()
        pairs = (map(int, line.split()) for line in lines)
        return {name: CallTime(*pair) for name, pair in zip(HANDLERS, pairs, strict=True)}


def functions(symbols: Path) -> list[Function]:
    """The functions of a hypervisor, in the order of their places."""
    listing = subprocess.run(
        [tool(READELF), "-sW", symbols], check=True, capture_output=True, text=True
    ).stdout
    file = ""
    found: dict[int, Function] = {}
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) != 8 or not fields[0].endswith(":"):
            continue
        _, value, size, kind, binding, _, _, name = fields
        if kind == "FILE":
            file = name
        elif kind == "FUNC" and int(size, 0) > 0:
            start = int(value, 16)
            of_file = file if binding == "LOCAL" else ""
            found[start] = Function(name, start, start + int(size, 0), of_file)
    return [found[start] for start in sorted(found)]
