# SPDX-License-Identifier: BSD-2-Clause
"""Reads the records of Xen's trace buffers, as `xentrace` writes them into a file.

A file is a row of windows: a record that names a pcpu and says how many bytes of that pcpu's
records follow (xen/include/public/trace.h). What is read is which states vcpus change to (class
`TRC_SCHED_MIN`); other records are passed over. A vcpu is a thread, called `d1v0` for vcpu 0 of
domain 1, and a domain is a process. Times are those of the machine's counter, whose frequency no
file says. The windows of a pcpu are in order, those of several are put into order.

Where Xen lost records, or some cannot be read, those of a pcpu are missing from its last one on up
to its next one with a time. Meanwhile nothing of any pcpu is believed, as vcpus go from one to
another. What begins no window is the end of what can be read.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from mmap import mmap
from typing import Final, NamedTuple

from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.observe.events import Event, Events, Switch, Thread, Wake

WINDOW: Final = 0x2001_F003
"""The first word of a file, and of each window: TRC_TRACE_CPU_CHANGE with two more words."""
_FIRST: Final = struct.pack("<I", WINDOW)
_HEAD: Final = struct.Struct("<III")
"""A window's first word, pcpu and size."""
_IDLE_DOMAIN: Final = 0x7FFF
_LOST: Final = 0x1F001
"""Its words: how many, a vcpu, and when the first of them was, in two words."""
_MISSING, _THERE = 0, 1
"""From here on records are missing, so many (0: nobody knows), or there again. No event of Xen's
has such a number."""
_STATE_CHANGE: Final = 0x21001
_EVENT, _STATES = 0x0FFF_FFFF, 0xFF0
"""Bits of a record's first word: its event, of which some say from which state to which."""
_TIMED: Final = 8
_FORMS: Final = [struct.Struct(f"<{form // _TIMED}Q{form % _TIMED}I") for form in range(16)]
"""What is behind the first word, by its highest bits: a time or none, and so many words."""
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

    def __init__(self, data: bytes | mmap, counter_hz: int) -> None:
        super().__init__(resolution_ns=max(1, NS_PER_S // counter_hz))
        # No record names who wakes a vcpu, so nobody is taken for another one.
        self.has_flags = True
        self._data = memoryview(data)
        self._hz = counter_hz

    def read(self) -> Iterator[Event]:
        """Yields the events of the trace in order."""
        before: dict[int, tuple[Thread, bool]] = {}
        missing: set[int] = set()
        for ticks, pcpu, event, words in heapq.merge(*self._streams()):
            time_ns = ticks * NS_PER_S // self._hz
            if event == _MISSING:
                self.lose(words[0])
                before.clear()
                missing.add(pcpu)
            elif event == _THERE:
                missing.discard(pcpu)
            elif not missing and event & ~_STATES == _STATE_CHANGE and words:
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
        while at < end:
            head = self._data[at : at + _HEAD.size]
            if not _FIRST.startswith(head[:4]):
                self.damaged_from = at
                break
            if len(head) < _HEAD.size:
                self.is_cut = True
                break
            _, pcpu, size = _HEAD.unpack(head)
            start, at = at + _HEAD.size, at + _HEAD.size + size
            self.is_cut = at > end
            windows.setdefault(pcpu, []).append(self._data[start:at])
        return [self._records(pcpu, parts) for pcpu, parts in windows.items()]

    def _records(self, pcpu: int, windows: list[memoryview]) -> Iterator[_Record]:
        """The records of a pcpu from its first one with a time on, and where some are missing."""
        limit = TIME_LIMIT_NS * self._hz // NS_PER_S
        ticks, is_known = 0, False
        for data in windows:
            at = 0
            while at < len(data):
                end, time, event, words = _read(data, at)
                if end == at or (time or 0) >= limit:
                    yield _Record(ticks, pcpu, _MISSING, (0,))
                    is_known = False
                    break
                if time is not None:
                    if event == _LOST:
                        first = min(words[2] | words[3] << 32, time)
                        yield _Record(max(ticks, first), pcpu, _MISSING, words)
                        is_known = False
                    ticks = time
                    if not is_known:
                        yield _Record(ticks, pcpu, _THERE, ())
                        is_known = True
                if is_known:
                    yield _Record(ticks, pcpu, event, words)
                at = end


def _read(data: memoryview, at: int) -> tuple[int, int | None, int, tuple[int, ...]]:
    """Where a record ends, its time in ticks if it has one, its event and words; it ends where it
    begins if there is none."""
    none = at, None, 0, ()
    if at + 4 > len(data):
        return none
    (word,) = struct.unpack_from("<I", data, at)
    event, form = word & _EVENT, word >> 28
    end = at + 4 + _FORMS[form].size
    if end > len(data) or event <= _THERE or (event == _LOST and form < _TIMED + 4):
        return none
    words = _FORMS[form].unpack_from(data, at + 4)
    return (end, words[0], event, words[1:]) if form & _TIMED else (end, None, event, words)


def is_xentrace(start: bytes) -> bool:
    """Whether a file that begins with these bytes is one of `xentrace`."""
    return start.startswith(_FIRST)


def window(pcpu: int, records: bytes) -> bytes:
    """Returns records of a pcpu as they stand in a file."""
    return _HEAD.pack(WINDOW, pcpu, len(records)) + records
