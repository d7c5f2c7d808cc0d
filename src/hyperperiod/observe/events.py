# SPDX-License-Identifier: BSD-2-Clause
"""What a scheduler's events say, whatever they were recorded with, in the order of their times.

After a gap nothing is known of what was before. Nothing is kept but counts, and the process of each
thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

Thread = tuple[str, int, int]
"""What a thread is called, its number and its priority."""
WAKES: Final = {"sched_waking": False, "sched_wakeup": True, "sched_wakeup_new": True}
"""Events that wake a thread, and whether it is on a queue by then."""
INTERRUPTS: Final = {
    "irq_handler_entry": ("irq", True),
    "irq_handler_exit": ("irq", False),
    "softirq_entry": ("softirq", True),
    "softirq_exit": ("softirq", False),
}
"""Events of handlers: what kind, and whether one begins."""

_PREEMPTED = 0x100 | 0x200 | 0x400 | 0x800 | 0x1000
"""Bits of a thread's state that say so, of which each kernel has one: since 4.14 the first, before
it the others, the later the kernel the higher."""
_ENDED = 0x10 | 0x20 | 0x40
"""Bits of a thread's state: a zombie, and dead. The last is that of a dead thread before 4.14, and
since then of a parked one of the kernel's: what that does later is then read as another's."""
_UNCERTAIN = (0x200, 0x402)
"""States in which a thread is preempted up to 3.8 and 4.1, and sleeps in later kernels: parked, or
idle. All others with these bits are states of the older ones."""


class Switch(NamedTuple):
    """A cpu goes from one thread to another; the first sleeps, ends, or (neither) is preempted."""

    time_ns: int
    cpu: int
    before: Thread
    sleeps: bool
    ends: bool
    after: Thread


class Wake(NamedTuple):
    """A thread is woken by another, by an interrupt (0) or by who knows whom (None); final if it is
    on a queue by now."""

    time_ns: int
    cpu: int
    who: Thread
    waker: int | None
    final: bool


class Exit(NamedTuple):
    """A thread is about to end."""

    time_ns: int
    pid: int


class Interrupt(NamedTuple):
    """A handler begins or ends on a cpu: `irq` or `softirq`."""

    time_ns: int
    cpu: int
    kind: str
    begins: bool


class Gap(NamedTuple):
    """Nothing is known of what was before: the trace begins, events were lost, time went back."""

    time_ns: int


Event = Switch | Wake | Exit | Interrupt | Gap


class Events:
    """The events of one trace, and what was noticed about the whole on the way."""

    def __init__(self, *, resolution_ns: int) -> None:
        self.resolution_ns = resolution_ns
        self.events = 0
        self.switches = 0
        self.damaged = 0
        self.first_damaged: tuple[int, str] | None = None
        self.is_cut = False
        self.damaged_from: int | None = None
        """The first byte from which on nothing could be read."""
        self.gaps = 0
        self.lost = 0
        self.overwritten = 0
        self.backward = 0
        self.has_flags = False
        self.first_ns: int | None = None
        self.last_ns = 0
        self.misses = True
        """Whether something may be missing before the next event."""
        self.processes: dict[int, int] = {}
        self.other_machines = 0
        self._now_ns = 0

    def read(self) -> Iterator[Event]:
        """Yields the events of the trace in order."""
        raise NotImplementedError

    def lose(self, count: int) -> None:
        """Takes note that so many events are lost here, or (0) that nobody knows how many."""
        self.gaps += 1
        self.lost += count
        self.misses = True

    def reach(self, time_ns: int) -> Gap | None:
        """Takes note of an event; returns a gap if something may be missing before it."""
        self.events += 1
        if self.first_ns is None:
            self.first_ns = time_ns
        if self._now_ns > time_ns:
            self.backward += 1
            self.misses = True
            self.first_ns = min(time_ns, self.first_ns)
        else:
            self.last_ns = max(time_ns, self.last_ns)
        self._now_ns = time_ns
        if not self.misses:
            return None
        self.misses = False
        return Gap(time_ns)


def sleeps_and_ends(state: int) -> tuple[bool, bool]:
    """Returns whether a thread that gives way in this state of the kernel's sleeps, and ends.

    Raises ValueError if that depends on the kernel, or no kernel has such a state.
    """
    if state in _UNCERTAIN or not 0 <= state < 0x2000:
        raise ValueError("no state that says whether a thread sleeps")
    sleeps = state != 0 and not state & _PREEMPTED
    return sleeps, sleeps and state & _ENDED != 0


def shown(line: str) -> str:
    """Returns the line without what would steer a terminal: names may have anything in them."""
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in line)
