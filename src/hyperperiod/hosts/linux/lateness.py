# SPDX-License-Identifier: BSD-2-Clause
"""How late a thread wakes up that sleeps until instants of the clock, on each of some cpus.

The thread is this one, of the class and in the server that it is in: started by `chrt -f 90` it
sees the machine alone, started by `hyperperiod linux exec SERVER` what a member of a server sees.
What Python adds to each lateness is about 2 us: the same loop in C is that much earlier.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hyperperiod.hosts.linux.obstacles import Finding, Verdict
from hyperperiod.model import MissingError

EVERY_NS: Final = 1_000_000
LATE_NS: Final = 100_000
"""What is later at worst costs: a tenth of the period of the shortest usual servers, 1 ms."""
NS_PER_S: Final = 1_000_000_000
_TIMER_ABSTIME: Final = 1
_SET_TIMER_SLACK: Final = 29


class _Instant(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


@dataclass(frozen=True)
class WakeUps:
    """How late the wake-ups on a cpu were: half of them, 99 in 100, and all at most so late."""

    cpu: int
    count: int
    p50_ns: int
    p99_ns: int
    max_ns: int


def measure(cpus: Sequence[int], duration_ns: int) -> list[WakeUps]:
    """The wake-ups of this thread on one cpu after the other, which share the time."""
    before = os.sched_getaffinity(0)
    found = []
    collects = gc.isenabled()
    gc.disable()
    try:
        for cpu in cpus:
            try:
                os.sched_setaffinity(0, {cpu})
            except OSError:
                raise MissingError(f"this process may not run on cpu {cpu}") from None
            found.append(_of(cpu, late_ns(max(1, duration_ns // len(cpus) // EVERY_NS))))
    finally:
        os.sched_setaffinity(0, before)
        if collects:
            gc.enable()
    return found


def late_ns(count: int) -> list[int]:
    """How late so many wake-ups of this thread are, one in a millisecond."""
    library = ctypes.CDLL(None)
    library.prctl(_SET_TIMER_SLACK, 1, 0, 0, 0)
    sleep, clock = library.clock_nanosleep, time.clock_gettime_ns
    instant = _Instant()
    place = ctypes.byref(instant)
    late = []
    at_ns = clock(time.CLOCK_MONOTONIC) + EVERY_NS
    for _ in range(count):
        instant.s, instant.ns = divmod(at_ns, NS_PER_S)
        sleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, place, None)
        late.append(clock(time.CLOCK_MONOTONIC) - at_ns)
        # An instant that has passed meanwhile is not slept for.
        at_ns += EVERY_NS * (1 + late[-1] // EVERY_NS)
    return late


def _of(cpu: int, late: list[int]) -> WakeUps:
    late.sort()
    count = len(late)
    return WakeUps(cpu, count, late[count // 2], late[count * 99 // 100], late[-1])


def judged(wake_ups: WakeUps) -> Finding:
    """The wake-ups on a cpu as a finding."""
    at_us = [f"{ns / 1000:.1f}" for ns in (wake_ups.p50_ns, wake_ups.p99_ns, wake_ups.max_ns)]
    found = f"late by {at_us[0]} us (half), {at_us[1]} us (99 in 100), {at_us[2]} us"
    found = f"{found} (all {wake_ups.count})"
    if wake_ups.max_ns <= LATE_NS:
        return Finding(Verdict.GOOD, found)
    advice = (
        "what costs above comes first; `rtla timerlat hist -c LIST` says what made a thread late"
    )
    return Finding(Verdict.COSTS, found, advice)
