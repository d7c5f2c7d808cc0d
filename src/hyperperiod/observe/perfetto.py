# SPDX-License-Identifier: BSD-2-Clause
"""Reads the scheduler's events out of a trace of Perfetto (.pftrace, .perfetto-trace).

Such a file is one message of Protocol Buffers: packets, of which those with `ftrace_events` have a
bundle of what one cpu did, and others say which threads are of one process. Bundles of one cpu
stand in the order of time, those of several do not. So where they are is noted first, and then
they are read side by side, one of each cpu at a time. A bundle has events one by one, or switches
and wake-ups in columns (compact_sched), with times as differences and names by their numbers; who
gives way there is who came last on that cpu, and so is who wakes others.

What is not known of a cpu before its first bundle, behind lost events and behind a bundle that
cannot be read is a gap. Packets may be packed; then what is in them stays in memory.
"""

from __future__ import annotations

import mmap
import zlib
from collections import defaultdict
from collections.abc import Iterator
from heapq import merge
from io import BufferedReader
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

from hyperperiod.observe.events import (
    INTERRUPTS,
    WAKES,
    Event,
    Events,
    Exit,
    Gap,
    Interrupt,
    Switch,
    Thread,
    Wake,
    shown,
    sleeps_and_ends,
)

# Messages and fields as in Perfetto's protos; a test compares them. The wake-ups have one form, and
# of handlers nothing is read.
_PROTOS = """
Trace packet=1
TracePacket ftrace_events=1 process_tree=2 compressed_packets=50
ProcessTree processes=1 threads=2
ProcessTree.Process pid=1
ProcessTree.Thread tid=1 tgid=3
FtraceEventBundle cpu=1 event=2 lost_events=3 compact_sched=4
FtraceEventBundle.CompactSched switch_timestamp=1 switch_prev_state=2 switch_next_pid=3
FtraceEventBundle.CompactSched switch_next_prio=4 intern_table=5 switch_next_comm_index=6
FtraceEventBundle.CompactSched waking_timestamp=7 waking_pid=8 waking_prio=10
FtraceEventBundle.CompactSched waking_comm_index=11 waking_common_flags=12
FtraceEvent timestamp=1 pid=2 sched_switch=4 common_flags=5 sched_wakeup=17 sched_waking=20
FtraceEvent softirq_entry=24 softirq_exit=25 irq_handler_entry=36 irq_handler_exit=37
FtraceEvent sched_wakeup_new=114 sched_process_exit=238
SchedSwitchFtraceEvent prev_comm=1 prev_pid=2 prev_prio=3 prev_state=4
SchedSwitchFtraceEvent next_comm=5 next_pid=6 next_prio=7
SchedWakingFtraceEvent comm=1 pid=2 prio=3
SchedProcessExitFtraceEvent pid=2
"""
FIELDS: defaultdict[str, dict[int, str]] = defaultdict(dict)
"""The names of fields that are read, by message and number."""
for _message_name, *_words in map(str.split, _PROTOS.strip().splitlines()):
    FIELDS[_message_name] |= {int(one.partition("=")[2]): one.partition("=")[0] for one in _words}
_KINDS = {
    "sched_switch": "SchedSwitchFtraceEvent",
    "sched_process_exit": "SchedProcessExitFtraceEvent",
    **dict.fromkeys(WAKES, "SchedWakingFtraceEvent"),
    **dict.fromkeys(INTERRUPTS, "IrqHandlerEntryFtraceEvent"),
}
_BROKEN = (ValueError, LookupError, TypeError, AttributeError)
"""What comes of reading bytes that are not such a message."""
_IDLE: Thread = ("", 0, 0)
_IN_INTERRUPT = 0x08 | 0x10
"""Bits of common_flags: a handler, a softirq."""


class _Raw(NamedTuple):
    """An event as it stands in a bundle: its time (ns), what it is, what it says, by whom."""

    time_ns: int
    name: str
    said: dict[str, Any]
    pid: int | None
    flags: int | None


def is_perfetto(start: bytes) -> bool:
    """Whether a file that begins like this is a trace of Perfetto: a packet, and no text."""
    return start.startswith(b"\n") and any(byte < 9 or byte > 126 for byte in start)


class PerfettoEvents(Events):
    """The events of one trace of Perfetto, and what was noticed about the whole on the way."""

    def __init__(self, file: BufferedReader) -> None:
        super().__init__(resolution_ns=1)
        self.file = file
        self._names: dict[bytes, str] = {}

    def read(self) -> Iterator[Event]:
        """Yields the events of the trace in order."""
        data = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        bundles: defaultdict[int, list[memoryview]] = defaultdict(list)
        try:
            for bundle in self._bundles(memoryview(data)):
                bundles[_message(bundle, "FtraceEventBundle").get("cpu", 0)].append(bundle)
        except (*_BROKEN, zlib.error):
            self.is_cut = True
        each = [self._events_of(cpu, own) for cpu, own in bundles.items()]
        for event in merge(*each, key=itemgetter(0)):
            if isinstance(event, Gap):
                self.misses = True
            else:
                yield from self._reach(event.time_ns)
                self.switches += isinstance(event, Switch)
                yield event

    def _bundles(self, data: memoryview) -> Iterator[memoryview]:
        """Yields the bundles of a trace; takes note of processes on the way."""
        for _, packet in _fields(data, "Trace"):
            for name, part in _fields(packet, "TracePacket"):
                if name == "ftrace_events":
                    yield part
                elif name == "compressed_packets":
                    yield from self._bundles(memoryview(zlib.decompress(part)))
                else:
                    self._processes(part)

    def _processes(self, data: memoryview) -> None:
        for name, part in _fields(data, "ProcessTree"):
            if name == "processes":
                pid = _message(part, "ProcessTree.Process").get("pid", 0)
                self.processes[pid] = pid
            else:
                thread = _message(part, "ProcessTree.Thread")
                self.processes[thread.get("tid", 0)] = thread.get("tgid", 0)

    def _events_of(self, cpu: int, bundles: list[memoryview]) -> Iterator[Event]:
        """Yields the events of a cpu, and a gap wherever something may be missing."""
        is_gap, on = True, _IDLE
        for bundle in bundles:
            try:
                fields = list(_fields(bytes(bundle), "FtraceEventBundle"))
                is_lost = ("lost_events", 1) in fields
                events = list(self._events(cpu, fields, _IDLE if is_lost else on))
            except _BROKEN:
                is_lost, events = True, []
            self.gaps += is_lost
            is_gap |= is_lost
            if is_gap and events:
                is_gap = False
                yield Gap(events[0].time_ns)
            yield from events
            on = next((one.after for one in reversed(events) if isinstance(one, Switch)), on)

    def _events(self, cpu: int, fields: list[tuple[str, Any]], on: Thread) -> Iterator[Event]:
        """Yields the events of a bundle of a cpu that such a thread is on."""
        for raw in sorted(self._raw(fields), key=itemgetter(0)):
            event = self._event(cpu, raw, on)
            if isinstance(event, Switch):
                on = event.after
            yield event

    def _raw(self, fields: list[tuple[str, Any]]) -> Iterator[_Raw]:
        for name, part in fields:
            if name == "event":
                event = _message(part, "FtraceEvent")
                for kind in _KINDS.keys() & event.keys():
                    said = _message(event[kind], _KINDS[kind])
                    pid, flags = event.get("pid", 0), event.get("common_flags")
                    yield _Raw(event.get("timestamp", 0), kind, said, pid, flags)
            elif name == "compact_sched":
                yield from _columns(part)

    def _event(self, cpu: int, raw: _Raw, on: Thread) -> Event:
        time_ns, kind, said, pid, flags = raw
        if kind == "sched_switch":
            before = self._thread(said, "prev_") if "prev_pid" in said else on
            sleeps, ends = sleeps_and_ends(said.get("prev_state", 0))
            return Switch(time_ns, cpu, before, sleeps, ends, self._thread(said, "next_"))
        if kind in WAKES:
            self.has_flags |= flags is not None
            waker = 0 if (flags or 0) & _IN_INTERRUPT else on[1] if pid is None else pid
            return Wake(time_ns, cpu, self._thread(said, ""), waker, WAKES[kind])
        if kind == "sched_process_exit":
            return Exit(time_ns, said.get("pid", 0))
        return Interrupt(time_ns, cpu, *INTERRUPTS[kind])

    def _thread(self, said: dict[str, Any], role: str) -> Thread:
        name = said.get(f"{role}comm", b"")
        if name not in self._names:
            self._names[name] = shown(name.decode("utf-8", "replace"))
        priority = said.get(f"{role}prio", 0)
        # Numbers below 0, those of deadlines, stand as 64 bits.
        return self._names[name], said.get(f"{role}pid", 0), priority - (priority >> 63 << 64)


def _columns(data: bytes) -> Iterator[_Raw]:
    """Yields the events of a bundle in columns: times are differences, names are numbers."""
    columns: defaultdict[str, list[Any]] = defaultdict(list)
    for name, part in _fields(data, "FtraceEventBundle.CompactSched"):
        if name == "intern_table":
            columns[name].append(part)
        else:
            columns[name] += _numbers(part)
    names = columns["intern_table"]
    # At one instant a wake-up stands before the switch that it may cause.
    flags = columns["waking_common_flags"]
    for number, (time_ns, pid, priority, place) in enumerate(
        _rows(columns, "waking", "pid", "prio", "comm_index")
    ):
        said = {"pid": pid, "prio": priority, "comm": names[place]}
        yield _Raw(time_ns, "sched_waking", said, None, flags[number] if flags else None)
    for time_ns, state, pid, priority, place in _rows(
        columns, "switch", "prev_state", "next_pid", "next_prio", "next_comm_index"
    ):
        said = {"prev_state": state, "next_pid": pid, "next_prio": priority}
        yield _Raw(time_ns, "sched_switch", said | {"next_comm": names[place]}, None, None)


def _rows(columns: dict[str, list[int]], what: str, *names: str) -> Iterator[tuple[int, ...]]:
    """Yields time and the values of these columns; ValueError if they are not of one length."""
    times = accumulate(columns[f"{what}_timestamp"])
    return zip(times, *(columns[f"{what}_{name}"] for name in names), strict=True)


def _message(data: Any, kind: str) -> dict[str, Any]:
    """Returns the last value of each field that is known of such a message."""
    return dict(_fields(data, kind))


def _fields(data: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """Yields name and value of each field that is known of such a message."""
    known = FIELDS[kind]
    at, end = 0, len(data)
    while at < end:
        key, at = _number(data, at)
        value, wire = None, key & 7
        if wire == 0:
            value, at = _number(data, at)
        elif wire == 2:
            length, start = _number(data, at)
            at = start + length
            value = data[start:at]
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        if at > end or wire in (3, 4, 6, 7):
            raise ValueError("no field of a message")
        if key >> 3 in known:
            yield known[key >> 3], value


def _numbers(data: bytes) -> Iterator[int]:
    at, end = 0, len(data)
    while at < end:
        number, at = _number(data, at)
        yield number


def _number(data: Any, at: int) -> tuple[int, int]:
    """Returns the number that stands at a place, seven bits in each byte, and the place behind."""
    number = shift = 0
    while (byte := data[at]) & 0x80:
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return number | byte << shift, at + 1
