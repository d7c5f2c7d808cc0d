# SPDX-License-Identifier: BSD-2-Clause
"""Traces of Perfetto say what the text of the same events says, in each of their encodings."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEventBundle
from tests.support.as_ftrace import as_ftrace
from tests.support.as_perfetto import FORMS, as_perfetto, fill
from tests.support.drawn_threads import MS, drawn
from tests.support.worlds import Run, run

from hyperperiod.cli.tables.observe import observation_lines
from hyperperiod.model import InputError
from hyperperiod.observe import perfetto
from hyperperiod.observe.events import Event, Switch, Wake
from hyperperiod.observe.observe import Asked, observe
from hyperperiod.observe.perfetto import FIELDS, is_perfetto
from hyperperiod.observe.result import ObservationResult, ObservedThread
from hyperperiod.trace.format import NONE
from hyperperiod.trace.interval_arrays import interval_arrays, merged
from tools import trace_processor

_TIME = re.compile(rb"(?<= )(\d+\.\d{6})(?=: \w+: )")


def plant() -> bytes:
    """The trace of a real machine, whose times get nanoseconds, as Perfetto's have."""
    number = count()
    text = gzip.decompress(Path("docs/examples/plant.txt.gz").read_bytes())
    return _TIME.sub(lambda time: time[0] + b"%03d" % (next(number) % 1000), text)


def found(path: Path, data: bytes) -> ObservationResult:
    path.write_bytes(data)
    return observe(str(path), Asked()).result


@cache
def drawn_run() -> Run:
    return run(drawn(1), 500 * MS, check=False)


def simulated() -> bytes:
    one = drawn_run()
    text = as_ftrace((one.header, one.records), "ftrace with processes", 9)
    return text.replace("sched_wakeup", "sched_waking").encode()


@pytest.mark.parametrize(
    ("source", "form"), [(plant, "events"), *((simulated, form) for form in FORMS)]
)
def test_a_trace_of_perfetto_is_read_as_its_text(
    source: Callable[[], bytes], form: str, tmp_path: Path
) -> None:
    """All is the same but for jobs where the events of the second cpu begin: there is a gap."""
    text = source()
    wanted = found(tmp_path / "trace.txt", text)
    read = found(tmp_path / "trace.pftrace", as_perfetto(text, form))
    assert (read.cpus, read.events, read.resolution_ns) == (wanted.cpus, wanted.events, 1)
    assert (read.damaged, read.gaps, read.cut, read.flags) == (0, 0, False, True)
    assert any(one.task and one.woken_by for one in read.threads)
    assert len(read.threads) == len(wanted.threads)
    for one, other in zip(read.threads, wanted.threads, strict=True):
        if one.partial == other.partial:
            assert one == other
        else:
            assert (one.name, one.process, one.kind) == (other.name, other.process, other.kind)
            assert one.activations == other.activations - 1
    partial = [sum(one.partial for one in result.threads) for result in (read, wanted)]
    assert partial[0] <= partial[1] + 2


@pytest.mark.slow
@pytest.mark.skipif(trace_processor.missing() is not None, reason=str(trace_processor.missing()))
def test_perfetto_reads_these_encodings_as_they_are_meant(tmp_path: Path) -> None:
    """Its own trace processor finds the running times of the run.

    In columns it passes over what a cpu does first; no encoding has an end of what it does last.
    """
    header, records = drawn_run().header, drawn_run().records
    ran_ns: Counter[str] = Counter()
    for each in interval_arrays(header, records):
        runs = merged(each, ("kind", "task"))[:-1]
        for one in runs[(runs["task"] != NONE) & (runs["start_ns"] > 10 * MS)]:
            ran_ns[header["tasks"][one["task"]]["name"]] += int(one["end_ns"] - one["start_ns"])
    query = "select name, sum(dur) from sched join thread using(utid)"
    query += " where tid >= 100 and dur > 0 and ts > 10000000 group by name"
    files = [tmp_path / form for form in FORMS]
    for file in files:
        file.write_bytes(as_perfetto(simulated(), file.name))
    for (answer,) in trace_processor.ask([(file, [query]) for file in files]):
        assert {str(name): found_ns for name, found_ns in answer.rows} == ran_ns


JOB_NS, EVERY_NS = MS, 10 * MS
SEVEN, EIGHT, IDLE = ("seven", 7, 50), ("eight", 8, 50), ("swapper", 0, 120)


def whole_job(cpu: int, start_ns: int) -> list[Event]:
    return [
        Wake(start_ns, cpu, SEVEN, 0, final=False),
        Switch(start_ns + 1000, cpu, IDLE, sleeps=False, ends=False, after=SEVEN),
        Switch(start_ns + 1000 + JOB_NS, cpu, SEVEN, sleeps=True, ends=False, after=IDLE),
    ]


def bundle(
    trace: Any, events: Sequence[Event], *, is_compact: bool = False, **packet: Any
) -> FtraceEventBundle:
    one = trace.packet.add(**packet)
    one.ftrace_events.cpu = getattr(events[0], "cpu", 0)
    fill(one.ftrace_events, list(events), is_compact=is_compact)
    return one.ftrace_events


def with_jobs(count: int = 30, cpu: int = 1, **packet: Any) -> Any:
    """A trace with jobs of one thread, every 10 ms, a bundle for each."""
    trace = perfetto_trace_pb2.Trace()
    for number in range(count):
        bundle(trace, whole_job(cpu, (number + 1) * EVERY_NS), **packet)
    return trace


def seven(result: ObservationResult) -> ObservedThread:
    (thread,) = [one for one in result.threads if one.pid == 7]
    return thread


def longest(result: ObservationResult) -> tuple[int, int]:
    return seven(result).activations, seven(result).cost_max_ns


def test_behind_dropped_packets_is_a_gap(tmp_path: Path) -> None:
    """A thread that was on the cpu before them was not there all the time."""
    trace = with_jobs(cpu=0)
    del trace.packet[10].ftrace_events.event[2:]
    del trace.packet[19].ftrace_events.event[:2]
    trace.packet[19].previous_packet_dropped = 1
    del trace.packet[11:19]
    # The first packet of a sequence says so even if nothing was dropped.
    trace.packet[0].previous_packet_dropped = 1
    read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
    assert (longest(read), read.gaps) == ((20, JOB_NS), 1)


def test_packets_of_others_may_be_dropped(tmp_path: Path) -> None:
    trace = with_jobs(trusted_packet_sequence_id=2)
    for _ in range(2):
        trace.packet.add(trusted_packet_sequence_id=3, previous_packet_dropped=1)
    read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
    assert (longest(read), read.gaps) == ((30, JOB_NS), 0)


def test_nothing_is_believed_between_what_is_around_a_loss(tmp_path: Path) -> None:
    """Preempted on cpu 0, it ends there unseen; on cpu 1 the next job does not go on with it."""
    trace = with_jobs(cpu=0)
    start_ns = 400 * MS
    first = whole_job(0, start_ns)[:2]
    first.append(Switch(start_ns + 501_000, 0, SEVEN, sleeps=False, ends=False, after=EIGHT))
    bundle(trace, first)
    bundle(trace, whole_job(1, start_ns + 4 * MS))
    bundle(trace, whole_job(0, start_ns + 8 * MS)).lost_events = True
    read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
    assert (longest(read), read.gaps) == ((31, JOB_NS), 1)


def field(number: int, data: bytes) -> bytes:
    """A field that has a length, as it is written."""
    key, out = number << 3 | 2, b""
    for one in (key, len(data)):
        while one > 0x7F:
            out, one = out + bytes([one & 0x7F | 0x80]), one >> 7
        out += bytes([one])
    return out + data


def with_bundles(trace: Any, broken: dict[int, Callable[[bytes], bytes]]) -> bytes:
    """The trace with some of its bundles made others, by their places."""
    parts = [one.ftrace_events.SerializeToString() for one in trace.packet]
    for place, change in broken.items():
        parts[place] = change(parts[place])
    return b"".join(field(1, field(1, part)) for part in parts)


@pytest.mark.parametrize(
    "broken",
    [
        lambda data: data[:-3],
        lambda data: data[:-1] + b"\xff",
        lambda data: data + b"\x12" + b"\xff" * 12,
        lambda data: data + field(2, b"\x09" + bytes(8)),
        lambda data: data + field(2, b"\x0a\x02ab" + field(4, b"")),
        lambda data: data + field(2, b"\x08\x05" + field(4, field(2, b"ab"))),
        lambda data: data + bytes(2),
        lambda data: data[:0],
    ],
)
def test_a_bundle_that_cannot_be_read_is_a_gap(
    broken: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    read = found(tmp_path / "trace.pftrace", with_bundles(with_jobs(cpu=0), {10: broken}))
    assert (longest(read), read.cut) == ((29, JOB_NS), False)
    assert read.gaps == (broken(b"1234") != b"")


def test_nothing_is_believed_behind_the_last_bundle_of_a_cpu_if_it_is_broken(
    tmp_path: Path,
) -> None:
    trace = with_jobs(cpu=0)
    for number in (31, 32, 33):
        bundle(trace, whole_job(1, number * EVERY_NS))
    bundle(trace, whole_job(0, 32 * EVERY_NS))
    data = with_bundles(trace, {33: lambda data: data[:-1] + b"\xff"})
    read = found(tmp_path / "trace.pftrace", data)
    assert (longest(read), read.gaps) == ((30, JOB_NS), 1)
    with pytest.raises(InputError, match="between lost ones"):
        found(tmp_path / "one", with_bundles(with_jobs(), {0: lambda data: data[:20]})[:30])


def test_times_that_are_none_are_not_read(tmp_path: Path) -> None:
    trace = with_jobs()
    bundle(trace, whole_job(1, 2**62))
    read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
    assert (longest(read), read.gaps) == ((30, JOB_NS), 1)


def test_other_machines_are_passed_over(tmp_path: Path) -> None:
    trace = with_jobs()
    trace.MergeFrom(with_jobs(20, cpu=0, machine_id=5))
    read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
    assert (longest(read), read.other_machines, len(read.cpus)) == ((30, JOB_NS), 20, 1)
    assert "20 packets of other machines were passed over" in "".join(
        f"{line}" for line in observation_lines(read) if isinstance(line, str)
    )


def test_what_is_recorded_twice_or_by_several_clocks_is_refused(tmp_path: Path) -> None:
    trace = with_jobs(trusted_packet_sequence_id=2)
    trace.MergeFrom(with_jobs(trusted_packet_sequence_id=3))
    with pytest.raises(InputError, match="two sequences of packets with events of cpu 1"):
        found(tmp_path / "trace.pftrace", trace.SerializeToString())
    trace = with_jobs()
    trace.packet[3].ftrace_events.ftrace_clock = perfetto_trace_pb2.FTRACE_CLOCK_LOCAL
    with pytest.raises(InputError, match="times of cpu 1 by a clock of its own"):
        found(tmp_path / "trace.pftrace", trace.SerializeToString())


def test_a_number_that_two_processes_had_is_of_none(tmp_path: Path) -> None:
    trace = with_jobs()
    for process, expected in ((7, "seven"), (8, None)):
        trace.packet.add().process_tree.threads.add(tid=7, tgid=process)
        read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
        assert seven(read).process == expected


def test_packed_packets_have_a_limit_and_no_packed_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = with_jobs().SerializeToString()
    packed = field(1, field(50, zlib.compress(data)))
    assert longest(found(tmp_path / "trace", packed)) == (30, JOB_NS)
    twice = field(1, field(50, zlib.compress(packed)))
    with pytest.raises(InputError, match="no event"):
        found(tmp_path / "trace", twice)
    monkeypatch.setattr(perfetto, "_UNPACKED_LIMIT", 2 * len(data) - 1)
    assert longest(found(tmp_path / "trace", packed)) == (30, JOB_NS)
    with pytest.raises(InputError, match="more than 1 GiB"):
        found(tmp_path / "trace", packed + packed)
    with pytest.raises(InputError, match="packed by gzip; allowed: unpacked"):
        found(tmp_path / "trace.gz", gzip.compress(data))


def test_behind_a_loss_nobody_knows_who_wakes(tmp_path: Path) -> None:
    """In columns it is who is on the cpu, and flags say that it is no interrupt."""
    trace = perfetto_trace_pb2.Trace()
    for number in range(1, 31):
        wake = Wake(number * EVERY_NS, 0, SEVEN, 8, final=False)
        switches = whole_job(0, number * EVERY_NS)[1:]
        bundle(trace, [wake, *switches], is_compact=True).lost_events = True
    read = found(tmp_path / "trace.pftrace", trace.SerializeToString())
    assert (longest(read), seven(read).woken_by) == ((30, JOB_NS), ())


def test_text_that_begins_with_an_empty_line_is_text() -> None:
    assert not is_perfetto("\n pömp-7 [000]".encode())
    assert is_perfetto(with_jobs().SerializeToString()[:64])


def test_lost_events_are_gaps_and_a_cut_file_is_read_up_to_there(tmp_path: Path) -> None:
    trace = perfetto_trace_pb2.Trace.FromString(as_perfetto(plant(), "compact"))
    bundles = [one.ftrace_events for one in trace.packet if one.HasField("ftrace_events")]
    bundles[len(bundles) // 2].lost_events = True
    bundles[-1].compact_sched.switch_next_pid.append(1)
    data = trace.SerializeToString()
    read = found(tmp_path / "trace.pftrace", data)
    assert (read.gaps, read.cut) == (2, False)
    read = found(tmp_path / "trace.pftrace", data[: len(data) // 2])
    assert (read.gaps, read.cut) == (0, True)
    assert read.threads


@pytest.mark.parametrize("form", FORMS)
def test_damaged_traces_are_read_or_refused(form: str, tmp_path: Path) -> None:
    data, draw = as_perfetto(plant()[:60_000], form), random.Random(form)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(draw.choice((1, 1, 30))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            found(tmp_path / "trace.pftrace", bytes(damaged[: draw.randrange(1, len(damaged))]))
        except InputError:
            continue


def test_a_trace_without_switches_is_refused(tmp_path: Path) -> None:
    trace = perfetto_trace_pb2.Trace()
    trace.packet.add().process_tree.processes.add().pid = 1
    with pytest.raises(InputError, match="no event"):
        found(tmp_path / "trace.pftrace", trace.SerializeToString())


def test_fields_have_the_numbers_of_perfetto() -> None:
    for kind, fields in FIELDS.items():
        message = perfetto_trace_pb2
        for name in kind.split("."):
            message = getattr(message, name)
        numbers = {field.number: field.name for field in message.DESCRIPTOR.fields}
        assert fields.items() <= numbers.items(), kind
    wakes = ("SchedWakingFtraceEvent", "SchedWakeupFtraceEvent", "SchedWakeupNewFtraceEvent")
    for kind in wakes:
        fields = getattr(perfetto_trace_pb2, kind).DESCRIPTOR.fields_by_name
        assert [fields[name].number for name in ("comm", "pid", "prio")] == [1, 2, 3]
