# SPDX-License-Identifier: BSD-2-Clause
"""What the Linux host keeps on each kernel that can be booted by name.

Each boots twice, on machines that count instructions: one takes a nanosecond. On one cpu a server
of 3 ms and one of 2 ms in 10 ms have a process each that never sleeps, beside a third one, for 2 s:
it is said how late a grant ended at the latest, and how long the programs took to load. On two
cpus, which count in turns, so that nothing is timed, the second one goes and comes back, with a
server and two such processes on each: it is said how often.

A kernel that ends the scheduler, or on which anything of this fails, is an error. A kernel that is
not built is left out, and so are its numbers.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.environment import SkippedError
from bench.results import Row

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.attend import run_script
from hyperperiod.hosts.linux.build import KERNELS, images
from hyperperiod.hosts.linux.machine import LinuxMachine
from hyperperiod.model import FailedError, MissingError

PATIENCE_S = 600.0
TIMES = 10
LOADING, OVERRUN, HOTPLUG = "loading", "longest overrun", "a cpu goes and comes back"
BEGIN = f"""\
spin() {{
    busybox sh -c 'while :; do :; done' &
    spinning=$!
}}
busybox cp /proc/uptime /left/before
{script.START}
busybox cp /proc/uptime /left/after
"""
SERVER = """\
ask server {name} pcpu={cpu} period_ns=10000000 budget_ns={budget_ns}
spin
ask attach {name} pid=$spinning
spin
"""
LOOK = """\
ask status
busybox cp /tmp/answer /left/status
"""
BUDGETS = f"""\
{BEGIN}
ask policy name=ds pcpus=0
{SERVER.format(name="first", cpu=0, budget_ns=3_000_000)}
{SERVER.format(name="second", cpu=0, budget_ns=2_000_000)}
ask start force=1
busybox sleep 2
{LOOK}"""
TOGGLES = f"""\
{BEGIN}
ask policy name=ds pcpus=0-1
{SERVER.format(name="first", cpu=0, budget_ns=3_000_000)}
{SERVER.format(name="second", cpu=1, budget_ns=3_000_000)}
ask start force=1
online=/sys/devices/system/cpu/cpu1/online
times=0
for each in $(busybox seq {TIMES}); do
    echo 0 >$online
    busybox usleep 20000
    gone=$(busybox cat $online)
    echo 1 >$online
    busybox usleep 50000
    [ "$gone$(busybox cat $online)" = 01 ] && times=$((times + 1))
done
echo $times >/left/times
{LOOK}"""


def measure() -> Iterator[Row]:
    """Boots the kernels, one after the other; SkippedError if none of them is built."""
    lacking = []
    for kernel in KERNELS:
        try:
            images(kernel)
        except MissingError as error:
            lacking.append(f"{error}")
            continue
        yield from measured(kernel)
    if len(lacking) == len(KERNELS):
        raise SkippedError(lacking[0])


def measured(kernel: str) -> Iterator[Row]:
    """What one kernel keeps; FailedError if it ends the scheduler."""
    left = _booted(kernel, BUDGETS, cpus=1)
    before_s, after_s = (float(left[name].split()[0]) for name in ("before", "after"))
    overrun_ns = max(server["overrun_ns_max"] for server in _status(kernel, left)["servers"])
    yield Row(f"{kernel}: {LOADING}", round(1000 * (after_s - before_s)), "ms")
    yield Row(f"{kernel}: {OVERRUN}", overrun_ns, "ns")
    left = _booted(kernel, TOGGLES, cpus=2)
    _status(kernel, left)
    yield Row(f"{kernel}: {HOTPLUG}", int(left["times"]), "times")


def _booted(kernel: str, text: str, *, cpus: int) -> dict[str, bytes]:
    """What is left by a script on a machine of that kernel."""
    machine = LinuxMachine(images(kernel), f"{text}{script.END}", cpus=cpus)
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        return run_script(machine, Path(folder) / "console.log", PATIENCE_S)


def _status(kernel: str, left: Mapping[str, bytes]) -> Any:
    status = json.loads(left["status"])
    if status["ends"] or not status["running"]:
        raise FailedError(f"{kernel}: the scheduler was ended: {status['ended']}")
    return status
