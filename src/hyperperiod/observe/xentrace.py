# SPDX-License-Identifier: BSD-2-Clause
"""Reads the records of Xen's trace buffers, as `xentrace` writes them into a file.

A file is a row of windows: a record that names a pcpu and says how many bytes of that pcpu's
records follow (xen/include/public/trace.h). What is read is which states vcpus change to (class
`TRC_SCHED_MIN`); other records are passed over. A vcpu is a thread, called `d1v0` for vcpu 0 of
domain 1, and a domain is a process. Times are those of the machine's counter, whose frequency no
file says: one that cannot be is the end of the trace. The windows of a pcpu are in order, those of
several are put into order: all of a file is in memory for that.
"""

from __future__ import annotations

import heapq
import io
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.observe.events import Event, Events, Switch, Thread, Wake

WINDOW: Final = 0x2001_F003
"""The first word of a file, and of each window: TRC_TRACE_CPU_CHANGE with two more words."""
_HEAD: Final = struct.Struct("<III")
"""A window's first word, pcpu and size."""
_IDLE_DOMAIN: Final = 0x7FFF
_LOST: Final = 0x1F001
_STATE_CHANGE: Final = 0x21001
_EVENT, _STATES = 0x0FFF_FFFF, 0xFF0
"""Bits of a record's first word: its event, of which some say from which state to which."""
_RUNNING, _RUNNABLE = 0, 1
_PRIORITY: Final = 120
"""That of a thread without one of its own."""
NS_PER_S: Final = 1_000_000_000


class _Record(NamedTuple):
    ticks: int
    pcpu: int
    event: int
    words: tuple[int, ...]


class XenTrace(Events):
    """The records of one trace as events, and what was noticed about the whole on the way."""

    def __init__(self, file: io.BufferedIOBase, counter_hz: int) -> None:
        super().__init__(resolution_ns=max(1, NS_PER_S // counter_hz))
        # No record names who wakes a vcpu, so nobody is taken for another one.
        self.has_flags = True
        self._data = memoryview(file.read())
        self._hz = counter_hz

    def read(self) -> Iterator[Event]:
        """Yields the events of the trace in order."""
        before: dict[int, tuple[Thread, bool]] = {}
        for ticks, pcpu, event, words in heapq.merge(*self._streams()):
            time_ns = ticks * NS_PER_S // self._hz
            if time_ns >= TIME_LIMIT_NS:
                self.is_cut = True
                return
            if event == _LOST and words:
                self.lose(words[0])
                before.clear()
            elif event & ~_STATES == _STATE_CHANGE and words:
                if gap := self.reach(time_ns):
                    yield gap
                old, new, who = event >> 8 & 3, event >> 4 & 3, self._thread(words[0])
                if old == _RUNNING:
                    before[pcpu] = who, new != _RUNNABLE
                elif new == _RUNNING:
                    self.switches += 1
                    left, sleeps = before.pop(pcpu, (("", 0, _PRIORITY), False))
                    yield Switch(time_ns, pcpu, left, sleeps, False, who)
                elif new == _RUNNABLE:
                    yield Wake(time_ns, pcpu, who, None, True)

    def _thread(self, word: int) -> Thread:
        vcpu, domain = word & 0xFFFF, word >> 16
        if domain == _IDLE_DOMAIN:
            return ("idle", 0, _PRIORITY)
        number = (domain << 16 | vcpu) + 1
        self.processes[number] = (domain << 16) + 1
        return (f"d{domain}v{vcpu}", number, _PRIORITY)

    def _streams(self) -> list[Iterator[_Record]]:
        """The records of each pcpu."""
        windows: dict[int, list[memoryview]] = {}
        at, end = 0, len(self._data)
        while at + _HEAD.size <= end:
            word, pcpu, size = _HEAD.unpack_from(self._data, at)
            if word != WINDOW:
                break
            at += _HEAD.size
            windows.setdefault(pcpu, []).append(self._data[at : at + size])
            at += size
        self.is_cut = at != end
        return [self._records(pcpu, parts) for pcpu, parts in windows.items()]

    def _records(self, pcpu: int, windows: list[memoryview]) -> Iterator[_Record]:
        ticks = 0
        for data in windows:
            at = 0
            while at + 4 <= len(data):
                (word,) = struct.unpack_from("<I", data, at)
                extra, timed = word >> 28 & 7, word >> 31
                size = 4 + 8 * timed + 4 * extra
                if at + size > len(data):
                    break
                if timed:
                    (ticks,) = struct.unpack_from("<Q", data, at + 4)
                words = struct.unpack_from(f"<{extra}I", data, at + 4 + 8 * timed)
                yield _Record(ticks, pcpu, word & _EVENT, words)
                at += size
            self.is_cut |= at != len(data)


def is_xentrace(start: bytes) -> bool:
    """Whether a file that begins with these bytes is one of `xentrace`."""
    return start.startswith(struct.pack("<I", WINDOW))


def window(pcpu: int, records: bytes) -> bytes:
    """Returns records of a pcpu as they stand in a file."""
    return _HEAD.pack(WINDOW, pcpu, len(records)) + records
