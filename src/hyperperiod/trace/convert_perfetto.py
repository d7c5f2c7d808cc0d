# SPDX-License-Identifier: BSD-2-Clause
"""A trace for https://ui.perfetto.dev: tracks, slices, counters and instants.

- `pcpus` has one track per pcpu: a slice per stretch of a vcpu and task, with who pays, and one
  named `idle` where a server pays for time that nobody uses.
- One track per domain holds a track per task: a slice per job, from its release (or from the end
  of the job before it: jobs of a task are served in order) to its completion. A missed deadline
  is an instant on it.
- `budgets` has one counter per server: what it has left, a step at each charge and refill, and
  an instant for each refill and each depletion.
- `machine` has an instant for each swap of the policy.

Packets are written one by one; nothing is kept in memory but what is open.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any, Final

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from hyperperiod.trace.format import (
    EXTRA,
    NONE,
    SECOND_PAYER,
    SPARE,
    Header,
    Kind,
    Progress,
    Records,
    chunks,
    counted,
    end_ns,
    has_one_spare,
    server_name,
    signed,
    task_name,
)
from hyperperiod.trace.replay import BUDGETS, ORDERS, SLACKS, Record, each

SEQUENCE: Final = 1
"""All packets come from one writer."""
RECORDS_AT_ONCE: Final = 1 << 14
"""Between two looks at progress: some tenth of a second."""


def write_perfetto(header: Header, records: Records, path: Path, progress: Progress) -> None:
    """Writes the trace to `path` as one that Perfetto reads."""
    with path.open("wb") as file:
        writer = _Writer(header, file)
        for chunk in counted(chunks(records, RECORDS_AT_ONCE), progress):
            for record in each(chunk):
                writer.see(record)
        writer.close(end_ns(records))


class _Writer:
    def __init__(self, header: Header, file: IO[bytes]) -> None:
        self.header = header
        self.builder = StreamingTraceProtoBuilder(file)
        self.ids: Iterator[int] = count(1)
        self.open_pcpus: set[int] = set()
        self.waiting: list[list[Record]] = [[] for _ in header["tasks"]]
        self.remaining_ns = {
            vcpu: 0 for vcpu, entry in enumerate(header["vcpus"]) if not entry["best_effort"]
        }
        if has_one_spare(header):
            self.remaining_ns[SPARE] = 0
        self._add_tracks()

    def see(self, record: Record) -> None:
        """Convert one record; kinds without a case here show in the slices of others."""
        match record.kind:
            case Kind.RUN | Kind.IDLE:
                self._decide(record)
            case Kind.CHARGE:
                self._charge(record)
            case Kind.REPLENISH | Kind.DEPLETE:
                self._refill_or_deplete(record)
            case Kind.RELEASE:
                self._release(record)
            case Kind.COMPLETE:
                self._complete(record)
            case Kind.MISS:
                name = f"miss: {task_name(self.header, record.task)} job {record.job}"
                notes = {"deadline_ns": record.value}
                self._event(record.time_ns, self.task_tracks[record.task], name, notes=notes)
            case Kind.SWAP:
                where = "" if record.pcpu == NONE else f" on pcpu {record.pcpu}"
                name = f"swap to {_policy(record.value)}{where}"
                self._event(record.time_ns, self.machine, name)
            case Kind.MOVE:
                where = "away" if record.pcpu == NONE else f"to pcpu {record.pcpu}"
                name = f"{server_name(self.header, record.vcpu)} moves {where}"
                self._event(record.time_ns, self.machine, name)

    def close(self, last_ns: int) -> None:
        """Ends every slice that is still open, at `last_ns`."""
        for pcpu in self.open_pcpus:
            self._end(last_ns, self.pcpu_tracks[pcpu])
        for task, waiting in enumerate(self.waiting):
            if waiting:
                self._end(last_ns, self.task_tracks[task])

    def _add_tracks(self) -> None:
        header = self.header
        self.machine = self._track("machine")
        pcpus = self._track("pcpus")
        self.pcpu_tracks = [
            self._track(f"pcpu {pcpu}", pcpus, rank=pcpu) for pcpu in range(header["pcpus"])
        ]
        domains: dict[str, int] = {}
        self.task_tracks = []
        for rank, entry in enumerate(header["tasks"]):
            if entry["domain"] not in domains:
                domains[entry["domain"]] = self._track(f"domain {entry['domain']}")
            parent = domains[entry["domain"]]
            self.task_tracks.append(self._track(entry["name"], parent, rank=rank))
        budgets = self._track("budgets")
        self.counters = {}
        self.server_tracks = {}
        for server in self.remaining_ns:
            name = server_name(header, server)
            self.counters[server] = self._track(f"{name} remaining", budgets, counter=True)
            self.server_tracks[server] = self._track(name, budgets)

    def _track(
        self, name: str, parent: int | None = None, *, rank: int = 0, counter: bool = False
    ) -> int:
        packet = TracePacket(trusted_packet_sequence_id=SEQUENCE)
        descriptor = packet.track_descriptor
        descriptor.uuid = next(self.ids)
        descriptor.name = name
        descriptor.sibling_order_rank = rank
        descriptor.child_ordering = descriptor.EXPLICIT
        if parent is not None:
            descriptor.parent_uuid = parent
        if counter:
            descriptor.counter.unit = descriptor.counter.UNIT_TIME_NS
        self.builder.write_packet(packet)
        return int(descriptor.uuid)

    def _event(
        self,
        time_ns: int,
        track: int,
        name: str,
        kind: int = TrackEvent.TYPE_INSTANT,
        notes: Mapping[str, int | str] | None = None,
    ) -> None:
        packet = self._packet(time_ns, track, kind)
        packet.track_event.name = name
        for key, value in (notes or {}).items():
            note = packet.track_event.debug_annotations.add(name=key)
            if isinstance(value, str):
                note.string_value = value
            else:
                note.uint_value = value
        self.builder.write_packet(packet)

    def _end(self, time_ns: int, track: int) -> None:
        self.builder.write_packet(self._packet(time_ns, track, TrackEvent.TYPE_SLICE_END))

    def _packet(self, time_ns: int, track: int, kind: int) -> Any:
        packet = TracePacket(timestamp=time_ns, trusted_packet_sequence_id=SEQUENCE)
        packet.track_event.track_uuid = track
        packet.track_event.type = kind
        return packet

    def _decide(self, record: Record) -> None:
        track = self.pcpu_tracks[record.pcpu]
        if record.pcpu in self.open_pcpus:
            self._end(record.time_ns, track)
            self.open_pcpus.discard(record.pcpu)
        if record.kind == Kind.IDLE and record.payer == NONE:
            return
        self.open_pcpus.add(record.pcpu)
        name = "idle"
        notes: dict[str, int | str] = {"until_ns": record.value, "pays": self._payers(record)}
        if record.kind == Kind.RUN:
            name = server_name(self.header, record.vcpu)
            if record.task != NONE:
                task = self.header["tasks"][record.task]["name"]
                name = f"{name} · {task}"
                notes["job"] = record.job
        self._event(record.time_ns, track, name, TrackEvent.TYPE_SLICE_BEGIN, notes)

    def _payers(self, record: Record) -> str:
        names = [] if record.payer == NONE else [server_name(self.header, record.payer)]
        if record.kind == Kind.RUN and record.flags & SECOND_PAYER:
            names.append(server_name(self.header, record.vcpu))
        return ", ".join(names) or "nobody"

    def _charge(self, record: Record) -> None:
        if record.payer in self.remaining_ns and not record.flags & EXTRA:
            self.remaining_ns[record.payer] -= record.value
            self._count(record.time_ns, record.payer)

    def _refill_or_deplete(self, record: Record) -> None:
        if record.vcpu not in self.remaining_ns:
            return
        refilled = record.kind == Kind.REPLENISH
        self.remaining_ns[record.vcpu] = signed(record.value) if refilled else 0
        self._count(record.time_ns, record.vcpu)
        name = "replenish" if refilled else "deplete"
        self._event(record.time_ns, self.server_tracks[record.vcpu], name)

    def _count(self, time_ns: int, server: int) -> None:
        packet = self._packet(time_ns, self.counters[server], TrackEvent.TYPE_COUNTER)
        packet.track_event.counter_value = self.remaining_ns[server]
        self.builder.write_packet(packet)

    def _release(self, record: Record) -> None:
        waiting = self.waiting[record.task]
        waiting.append(record)
        if len(waiting) == 1:
            self._begin_job(record.time_ns, record)

    def _begin_job(self, time_ns: int, release: Record) -> None:
        notes: dict[str, int | str] = {"release_ns": release.time_ns}
        if release.value:
            notes["deadline_ns"] = release.value
        track = self.task_tracks[release.task]
        self._event(time_ns, track, f"job {release.job}", TrackEvent.TYPE_SLICE_BEGIN, notes)

    def _complete(self, record: Record) -> None:
        waiting = self.waiting[record.task]
        if not waiting:
            return
        self._end(record.time_ns, self.task_tracks[record.task])
        waiting.pop(0)
        if waiting:
            self._begin_job(record.time_ns, waiting[0])


def _policy(value: int) -> str:
    rules = (BUDGETS[value & 0xFF], ORDERS[value >> 8 & 0xFF], SLACKS[value >> 16 & 0xFF])
    return " + ".join(rules)
