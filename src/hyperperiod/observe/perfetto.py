# SPDX-License-Identifier: BSD-2-Clause
"""Reads the scheduler's events out of a trace of Perfetto (.pftrace, .perfetto-trace).

Such a file is one message of Protocol Buffers: packets, of which those with `ftrace_events` have a
bundle of what one cpu did, and others say which threads are of one process. Bundles of one cpu
stand in the order of time, those of several do not. So where they are is noted first, and then
they are read side by side, one of each cpu at a time. A bundle has events one by one, or switches
and wake-ups in columns (compact_sched), with times as differences and names by their numbers; who
gives way there is who came last on that cpu, and so is who wakes others.

Where the events of a cpu begin is a gap. From its last event before lost ones, or before a packet
that was dropped or cannot be read, up to its next event nothing of any cpu is believed: threads go
from one cpu to another. A number that is of two processes in the course of time is of none. What
other machines did is passed over. Packets may be packed; then what is in them stays in memory.
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from heapq import merge
from io import BufferedReader
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

from hyperperiod.model.errors import InputError
from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.observe.events import (
    INTERRUPTS,
    WAKES,
    Event,
    Events,
    Exit,
    Interrupt,
    Switch,
    Thread,
    Wake,
    shown,
    sleeps_and_ends,
)

# Messages and fields as in Perfetto's protos; a test compares them. The wake-ups have one form, and
# of handlers nothing is read. Behind : are numbers of fields that have a length, behind = others.
_PROTOS = """
Trace packet:1
TracePacket ftrace_events:1 process_tree:2 trusted_packet_sequence_id=10
TracePacket previous_packet_dropped=42 compressed_packets:50 machine_id=98
ProcessTree processes:1 threads:2
ProcessTree.Process pid=1
ProcessTree.Thread tid=1 tgid=3
FtraceEventBundle cpu=1 event:2 lost_events=3 compact_sched:4 ftrace_clock=5
FtraceEventBundle.CompactSched switch_timestamp:1 switch_prev_state:2 switch_next_pid:3
FtraceEventBundle.CompactSched switch_next_prio:4 intern_table:5 switch_next_comm_index:6
FtraceEventBundle.CompactSched waking_timestamp:7 waking_pid:8 waking_prio:10
FtraceEventBundle.CompactSched waking_comm_index:11 waking_common_flags:12
FtraceEvent timestamp=1 pid=2 sched_switch:4 common_flags=5 sched_wakeup:17 sched_waking:20
FtraceEvent softirq_entry:24 softirq_exit:25 irq_handler_entry:36 irq_handler_exit:37
FtraceEvent sched_wakeup_new:114 sched_process_exit:238
SchedSwitchFtraceEvent prev_comm:1 prev_pid=2 prev_prio=3 prev_state=4
SchedSwitchFtraceEvent next_comm:5 next_pid=6 next_prio=7
SchedWakingFtraceEvent comm:1 pid=2 prio=3
SchedProcessExitFtraceEvent pid=2
"""
FIELDS: defaultdict[str, dict[int, str]] = defaultdict(dict)
"""The names of fields that are read, by message and number."""
_WIRES: dict[str, int] = {}
"""How a field of such a name is written: 0 is a number, 2 has a length."""
for _message_name, *_words in map(str.split, _PROTOS.strip().splitlines()):
    for _word in _words:
        _name, _colon, _number_text = re.split("([:=])", _word)
        FIELDS[_message_name][int(_number_text)] = _name
        _WIRES[_name] = 2 if _colon == ":" else 0
_KINDS = {
    "sched_switch": "SchedSwitchFtraceEvent",
    "sched_process_exit": "SchedProcessExitFtraceEvent",
    **dict.fromkeys(WAKES, "SchedWakingFtraceEvent"),
    **dict.fromkeys(INTERRUPTS, "IrqHandlerEntryFtraceEvent"),
}
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, zlib.error)
"""What comes of reading bytes that are not such a message."""
_IDLE: Thread = ("", 0, 0)
_IN_INTERRUPT = 0x08 | 0x10
"""Bits of common_flags: a handler, a softirq."""
_LOCAL = 3
"""The ftrace_clock that each cpu has for itself."""
_UNPACKED_LIMIT = 1 << 30
"""So many bytes may come out of packed packets."""


class _Raw(NamedTuple):
    """An event as it stands in a bundle: its time (ns), what it is, what it says, by whom."""

    time_ns: int
    name: str
    said: dict[str, Any]
    pid: int | None
    flags: int | None


class _Loss(NamedTuple):
    """From here on events of a cpu are missing, or (not `begins`) they are there again."""

    time_ns: int
    cpu: int
    begins: bool


def is_perfetto(start: bytes) -> bool:
    """Whether a file that begins like this is a trace of Perfetto: a packet, and no text."""
    return start.startswith(b"\n") and any(byte < 9 for byte in start)


class PerfettoEvents(Events):
    """The events of one trace of Perfetto, and what was noticed about the whole on the way."""

    def __init__(self, file: BufferedReader) -> None:
        super().__init__(resolution_ns=1)
        self.file = file
        self._names: dict[bytes, str] = {}
        # The bundles of each cpu, None where packets are missing, and who wrote them.
        self._bundles: defaultdict[int, list[memoryview | None]] = defaultdict(list)
        self._writers: dict[int, int] = {}
        self._sequences: set[int] = set()
        self._reused: set[int] = set()
        self._unpacked = 0

    def read(self) -> Iterator[Event]:
        """Yields the events of the trace in order; InputError if they have none."""
        data = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._collect(memoryview(data))
        except _BROKEN:
            self.is_cut = True
        for pid in self._reused:
            self.processes.pop(pid, None)
        each = [self._events_of(cpu, own) for cpu, own in self._bundles.items()]
        missing: set[int] = set()
        for event in merge(*each, key=itemgetter(0)):
            if isinstance(event, _Loss):
                self.misses = True
                (missing.add if event.begins else missing.discard)(event.cpu)
            elif not missing:
                if gap := self.reach(event.time_ns):
                    yield gap
                self.switches += isinstance(event, Switch)
                yield event

    def _collect(self, data: memoryview, *, is_packed: bool = False) -> None:
        """Takes note of where bundles are, and of processes."""
        for _, packet in _fields(data, "Trace"):
            try:
                self._packet(_message(packet, "TracePacket"), is_packed=is_packed)
            except _BROKEN:
                self._lose(set(self._bundles))

    def _packet(self, packet: dict[str, Any], *, is_packed: bool) -> None:
        if packet.get("machine_id", 0):
            self.other_machines += 1
            return
        sequence = packet.get("trusted_packet_sequence_id", 0)
        # The first of a sequence says so in any case.
        if packet.get("previous_packet_dropped") and sequence in self._sequences:
            self._lose({cpu for cpu, writer in self._writers.items() if writer == sequence})
        self._sequences.add(sequence)
        if "process_tree" in packet:
            self._processes(packet["process_tree"])
        if "ftrace_events" in packet:
            bundle = packet["ftrace_events"]
            fields = _fields(bundle, "FtraceEventBundle")
            cpu = next((value for name, value in fields if name == "cpu"), 0)
            if self._writers.setdefault(cpu, sequence) != sequence:
                allowed = "one data source linux.ftrace: two say everything twice"
                raise self._wrong(f"two sequences of packets with events of cpu {cpu}", allowed)
            self._bundles[cpu].append(bundle)
        if "compressed_packets" in packet:
            if is_packed:
                raise ValueError("packed twice")
            unpacked = self._unpack(packet["compressed_packets"])
            self._collect(memoryview(unpacked), is_packed=True)

    def _unpack(self, data: memoryview) -> bytes:
        unpacker = zlib.decompressobj()
        unpacked = unpacker.decompress(data, _UNPACKED_LIMIT - self._unpacked + 1)
        self._unpacked += len(unpacked)
        if self._unpacked > _UNPACKED_LIMIT:
            raise self._wrong(
                "packets of more than 1 GiB, packed", "so many if they are not packed"
            )
        if not unpacker.eof:
            raise ValueError("cut off")
        return unpacked

    def _wrong(self, found: str, allowed: str) -> InputError:
        return InputError(str(self.file.name), None, "", found, allowed)

    def _lose(self, cpus: set[int]) -> None:
        """Takes note that here, for all that is known, events of these cpus are missing."""
        self.gaps += bool(cpus)
        for cpu in cpus:
            if self._bundles[cpu][-1] is not None:
                self._bundles[cpu].append(None)

    def _processes(self, data: memoryview) -> None:
        for name, part in _fields(data, "ProcessTree"):
            if name == "processes":
                tid = pid = _message(part, "ProcessTree.Process").get("pid", 0)
            else:
                thread = _message(part, "ProcessTree.Thread")
                tid, pid = thread.get("tid", 0), thread.get("tgid", 0)
            if self.processes.setdefault(tid, pid) != pid:
                self._reused.add(tid)

    def _events_of(self, cpu: int, bundles: list[memoryview | None]) -> Iterator[Event | _Loss]:
        """Yields the events of a cpu, and where some may be missing."""
        is_missing, last_ns = False, 0
        on: Thread | None = None
        for number, bundle in enumerate(bundles):
            fields = []
            try:
                fields = list(_fields(bytes(bundle or b""), "FtraceEventBundle"))
                is_lost = bundle is None or ("lost_events", 1) in fields
                events = list(self._events(cpu, fields, None if is_lost else on))
            except _BROKEN:
                is_lost, events = True, []
            if ("ftrace_clock", _LOCAL) in fields:
                raise self._wrong(f"times of cpu {cpu} by a clock of its own", "the clock boot")
            self.gaps += is_lost and bundle is not None
            if is_lost and not is_missing:
                is_missing, on = True, None
                yield _Loss(last_ns, cpu, begins=True)
            if not events:
                continue
            if is_missing or number == 0:
                is_missing = False
                yield _Loss(events[0].time_ns, cpu, begins=False)
            yield from events
            last_ns = events[-1].time_ns
            on = next((one.after for one in reversed(events) if isinstance(one, Switch)), on)

    def _events(
        self, cpu: int, fields: list[tuple[str, Any]], on: Thread | None
    ) -> Iterator[Event]:
        """Yields the events of a bundle of a cpu that such a thread is on, if that is known."""
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

    def _event(self, cpu: int, raw: _Raw, on: Thread | None) -> Event:
        time_ns, kind, said, pid, flags = raw
        if time_ns >= TIME_LIMIT_NS:
            raise ValueError("no time")
        if kind == "sched_switch":
            before = self._thread(said, "prev_") if "prev_pid" in said else on or _IDLE
            sleeps, ends = sleeps_and_ends(said.get("prev_state", 0))
            return Switch(time_ns, cpu, before, sleeps, ends, self._thread(said, "next_"))
        if kind in WAKES:
            self.has_flags |= flags is not None
            waker = pid if pid is not None else on and on[1]
            if (flags or 0) & _IN_INTERRUPT:
                waker = 0
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
        name = known.get(key >> 3)
        is_wrong = name is not None and wire != _WIRES[name]
        if at > end or wire in (3, 4, 6, 7) or key < 8 or is_wrong:
            raise ValueError("no field of a message")
        if name is not None:
            yield name, value


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
        if shift > 63:
            raise ValueError("no number of 64 bits")
    return number | byte << shift, at + 1
