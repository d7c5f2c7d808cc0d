# SPDX-License-Identifier: BSD-2-Clause
"""Phases of a script on one machine with Linux's scheduler, and what each of them left.

A phase is shell: it makes servers, starts the scheduler, lets loads run (`load.c`) and keeps the
rings. The machine is booted, and the programs are loaded, once for all phases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.support.on_linux import TOP, files_left, load_program

from hyperperiod.hosts import rings
from hyperperiod.hosts.linux.build import KERNEL
from hyperperiod.hosts.replay import Replayed, replay
from hyperperiod.trace.format import Kind

END_OF_TIME_NS = 1 << 62
PERIOD_NS = 10_000_000
FIRST_NS, SECOND_NS = 3_000_000, 2_000_000
LATE_NS = 20_000
"""At most so much later than it should a grant ends; its payer has that less in the next period."""

SERVERS = """\
ask policy name=ds pcpus=0
ask record on
ask server first pcpu=0 period_ns=10000000 budget_ns=3000000 priority=1 inside=turns
ask server second pcpu=0 period_ns=10000000 budget_ns=2000000 priority=2 inside=turns
"""
HOGS = """\
load hog
ask attach first pid=$it
load hog
ask attach second pid=$it
load hog
ask start force=1
"""
MOVED = f"""{SERVERS}
load hog
one=$it
load hog
ask start force=1
ask attach first pid=$one
busybox sleep 1
ask detach first pid=$one
ask attach second pid=$one
busybox sleep 1
"""
"""A thread that never sleeps changes its server."""
PRELUDE = """\
# A load in the background, whose number is in $it.
load() {
    /bin/load "$@" &
    it=$!
    loads="$loads $it"
}
begin() {
    phase=$1
    loads=
    busybox mkdir -p /left/$phase
}
# What was recorded, and what hyperperiodd says; then the next phase finds nothing.
end() {
    ask rings path=/left/$phase/rings
    ask status
    busybox cp /tmp/answer /left/$phase/status
    ask stop
    ask clear
    kill $loads
}
"""


class Left(NamedTuple):
    """What a phase left: the daemon's status, each lock domain played again, and other files."""

    status: dict[str, Any]
    domains: list[Replayed]
    files: Mapping[str, bytes]

    def number(self, file: str) -> int:
        """The first number of a file."""
        return int(self.files[file].split()[0])

    def paid_ns(self, number: int, period_ns: int, domain: int = 0) -> np.ndarray:
        """What a server paid in each period of its own, from the first to the last whole one."""
        records = self.domains[domain].records
        # What is granted when the ring ends is charged at the end of time.
        records = records[records["time_ns"] < END_OF_TIME_NS]
        charges = records[(records["kind"] == Kind.CHARGE) & (records["payer"] == number)]
        arrived = records[(records["kind"] == Kind.ARRIVE) & (records["vcpu"] == number)]
        first = int(arrived["time_ns"][0]) // period_ns + 1
        last = int(records["time_ns"].max()) // period_ns
        paid = np.zeros(last - first, np.int64)
        for end_ns, span_ns in zip(charges["time_ns"], charges["value"], strict=True):
            at_ns, end = int(end_ns) - int(span_ns), int(end_ns)
            while at_ns < end:
                period = at_ns // period_ns
                until_ns = min(end, (period + 1) * period_ns)
                if first <= period < last:
                    paid[period - first] += until_ns - at_ns
                at_ns = until_ns
        return paid


def run_phases(
    phases: Mapping[str, str],
    folder: Path,
    *,
    cpus: int = 1,
    caches: int = 1,
    counts: bool = False,
    arguments: str = "",
    kernel: str = KERNEL,
) -> dict[str, Left]:
    """Run the phases, one after the other; every decision is played again, with the core's laws.

    One cpu counts instructions. Several run as they can, or count in turns if `counts` says so.
    `arguments` are more of the kernel's, whose name is `kernel`.
    """
    parts = [f"begin {name}\n{text}end\n" for name, text in phases.items()]
    programs = {"bin/load": load_program(folder, kernel)}
    script = "".join([PRELUDE, *parts])
    icount = counts or cpus == 1
    left = files_left(
        script,
        folder,
        cpus=cpus,
        caches=caches,
        icount=icount,
        arguments=arguments,
        programs=programs,
        kernel=kernel,
    )
    return {name: left_in(_own(name, left)) for name in phases}


def _own(name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a phase, by their names in its folder."""
    folder = f"{name}/"
    return {path.removeprefix(folder): files[path] for path in files if path.startswith(folder)}


def left_in(files: Mapping[str, bytes]) -> Left:
    """What is in the daemon's status and the file of its rings, and all files."""
    data = files["rings"]
    found = []
    while data:
        ring = rings.read_ring(_reader(data), 0, "the scheduler's ring")
        found.append(replay(ring, END_OF_TIME_NS, "Linux"))
        data = data[ring.header.header_bytes + ring.records.nbytes :]
    return Left(json.loads(files["status"]), found, files)


def _reader(data: bytes) -> rings.Read:
    return lambda start, size: data[start : start + size]


def cpus_of(left: Left, server: int) -> set[int]:
    """Where a server was granted a cpu, as long as both were there."""
    records = left.domains[0].records
    granted = (records["kind"] == Kind.RUN) & (records["vcpu"] == server)
    return {int(pcpu) for pcpu in records["pcpu"][granted]}


def require_budgets(paid_ns: np.ndarray, budget_ns: int, periods: int) -> None:
    """In all whole periods, of which there are so many at least, this much was paid."""
    assert len(paid_ns) >= periods
    assert paid_ns.min() >= budget_ns - LATE_NS
    assert paid_ns.max() <= budget_ns + LATE_NS
    assert abs(paid_ns.mean() - budget_ns) <= budget_ns / 1000


CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "SYSLOG": 34, "PERFMON": 38, "BPF": 39,
                "SYS_ADMIN": 21, "SYS_PTRACE": 19, "SYS_RESOURCE": 24}  # fmt: skip


def capabilities() -> int:
    """The capabilities that the systemd unit leaves the daemon, as a mask."""
    unit = (TOP / "hosts/linux/daemon/hyperperiodd.service").read_text()
    (words,) = (line for line in unit.splitlines() if line.startswith("CapabilityBoundingSet="))
    return sum(1 << CAPABILITIES[word.removeprefix("CAP_")] for word in words.split("=")[1].split())
