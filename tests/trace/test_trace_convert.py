# SPDX-License-Identifier: BSD-2-Clause
"""Conversions: what a reader of each format finds is what the trace says."""

import csv
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pa_parquet
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from tests.support import example_traces as examples
from tests.support.example_traces import H
from tests.support.trace_writer import Script, make_header, task, vcpu

from hyperperiod._convert import PERFETTO_FIELDS, PERFETTO_VALUES
from hyperperiod.model import MissingError
from hyperperiod.trace import convert_perfetto
from hyperperiod.trace.convert import writer_for
from hyperperiod.trace.format import (
    NONE,
    SECOND_PAYER,
    SPARE,
    STOLEN,
    Kind,
    signed,
)

JOB_KINDS = (Kind.RUN, Kind.RELEASE, Kind.COMPLETE, Kind.MISS, Kind.ITEM)
"""Whose job field says which job of their task they are about."""


def converted(script: Script, folder: Path, suffix: str) -> Path:
    target = folder / f"out{suffix}"
    writer_for(suffix)(*script.trace(folder), target, lambda _done: None)
    return target


def perfetto(script: Script, folder: Path) -> tuple[dict[int, str], list[Any]]:
    """Track names by id, and all events, with names where the packets have numbers of names."""
    trace = Trace()
    trace.ParseFromString(converted(script, folder, ".pftrace").read_bytes())
    tracks = {}
    events = []
    known: dict[str, dict[int, str]] = {}
    for packet in trace.packet:
        for field, entries in packet.interned_data.ListFields():
            for entry in entries:
                text = (
                    entry.str.decode() if "str" in entry.DESCRIPTOR.fields_by_name else entry.name
                )
                assert entry.iid not in known.setdefault(field.name, {}), (field.name, entry.iid)
                known[field.name][entry.iid] = text
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        if packet.HasField("track_event"):
            name_texts(packet.track_event, known)
            events.append(packet)
    return tracks, events


def name_texts(event: Any, known: dict[str, dict[int, str]]) -> None:
    """Puts the texts that an event has by their numbers into it."""
    event.categories.extend(known["event_categories"][iid] for iid in event.category_iids)
    if event.name_iid:
        event.name = known["event_names"][event.name_iid]
    for note in event.debug_annotations:
        note.name = known["debug_annotation_names"][note.name_iid]
        if note.HasField("string_value_iid"):
            note.string_value = known["debug_annotation_string_values"][note.string_value_iid]


def notes_of(event: Any) -> dict[str, int | str]:
    """The arguments of an event."""
    return {
        note.name: note.uint_value if note.HasField("uint_value") else note.string_value
        for note in event.track_event.debug_annotations
    }


def on_track(tracks: dict[int, str], events: list[Any], name: str) -> list[Any]:
    return [event for event in events if tracks[event.track_event.track_uuid] == name]


def test_perfetto_has_a_track_for_everything(tmp_path: Path) -> None:
    tracks, _ = perfetto(examples.ptps(), tmp_path)
    assert set(tracks.values()) == {
        "machine", "pcpus", "pcpu 0", "domain high", "t", "domain low", "u",
        "budgets", "high remaining", "high", "low remaining", "low",
    }  # fmt: skip


def test_perfetto_slices_are_the_schedule(tmp_path: Path) -> None:
    tracks, events = perfetto(examples.ptps(), tmp_path)
    found = [
        (event.timestamp, event.track_event.name)
        for event in on_track(tracks, events, "pcpu 0")
        if event.track_event.type == TrackEvent.TYPE_SLICE_BEGIN
    ]
    assert found[:4] == [(0, "high · t"), (3, "idle"), (4, "low · u"), (10, "idle")]


def test_perfetto_slices_name_what_they_show(tmp_path: Path) -> None:
    vcpus = [vcpu("high", 10, 4), vcpu("low", 20, 10)]
    script = Script(make_header("wcps", vcpus, [task("low", "u", 40, 8)]))
    script.release(0, 0, 7, 40).run(0, H + 1, H, task=0, job=7, value=4, flags=SECOND_PAYER)
    script.run(4, H + 1, NONE, value=9).run(5, H + 1, NONE, value=9, flags=SECOND_PAYER)
    script.idle(6, H).idle(7, value=8, flags=STOLEN).idle(8)
    script.complete(9, 0, 7, 9, vcpu=H + 1)
    tracks, events = perfetto(script.run(9, H, H + 1, value=20).end(20), tmp_path)
    begun = [one for one in events if one.track_event.type == TrackEvent.TYPE_SLICE_BEGIN]
    found = [(one.track_event.name, *one.track_event.categories, notes_of(one)) for one in begun]
    low = {"vcpu": "low", "until_ns": 9}
    assert found == [
        ("job 7", "job", {"task": "low.u", "job": 7, "release_ns": 0, "deadline_ns": 40}),
        (
            "low · u",
            "run",
            {"vcpu": "low", "task": "low.u", "job": 7, "pays": "high, low", "until_ns": 4},
        ),
        ("low", "run", {**low, "pays": "nobody"}),
        ("low", "run", {**low, "pays": "low"}),
        ("idle", "idle", {"pays": "high", "until_ns": 0}),
        ("stolen", "stolen", {"pays": "nobody", "until_ns": 8}),
        ("high", "run", {"vcpu": "high", "pays": "low", "until_ns": 20}),
    ]
    assert {tracks[one.track_event.track_uuid] for one in begun} == {"u", "pcpu 0"}


def test_perfetto_texts_of_any_length_and_numbers_of_any_size(tmp_path: Path) -> None:
    """Lengths of one, two and three bytes, and times and jobs up to the largest."""
    names = [name * count for name, count in (("a", 1), ("b", 120), ("c", 127), ("d", 20_000))]
    script = Script(make_header("ds", [vcpu(name, 10, 4) for name in names]))
    script.header["tasks"] = [task(name, f"{name}t", 10, 4) for name in names]
    last = 1 << 62
    for place in range(len(names)):
        script.release(last, place, 0xFFFFFFFF, last + 1)
        script.run(last, place, task=place, job=0xFFFFFFFF).miss(last, place, 0xFFFFFFFF, last)
    tracks, events = perfetto(script.end(last), tmp_path)
    assert {*names, *(f"{name}t" for name in names)} <= set(tracks.values())
    found = {event.track_event.name for event in events}
    assert {f"miss: {name}.{name}t job 4294967295" for name in names} <= found
    assert {f"{name} · {name}t" for name in names} <= found
    assert {event.timestamp for event in events} == {last}
    assert {notes_of(event).get("job", 0xFFFFFFFF) for event in events} == {0xFFFFFFFF}


def test_perfetto_debts_are_below_zero(tmp_path: Path) -> None:
    script = Script(make_header("ds", [vcpu("high", 10, 4)])).run(0, H).idle(7)
    script.add(10, Kind.REPLENISH, vcpu=H, value=(1 << 64) - 3).end(20)
    tracks, events = perfetto(script, tmp_path)
    found = [one.track_event.counter_value for one in on_track(tracks, events, "high remaining")]
    assert found == [-7, -3]


def test_perfetto_pieces_make_one_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = converted(examples.ptps(), tmp_path, ".pftrace").read_bytes()
    for records in (1, 2, 7):
        monkeypatch.setattr(convert_perfetto, "RECORDS_AT_ONCE", records)
        assert converted(examples.ptps(), tmp_path, ".pftrace").read_bytes() == whole


def test_numbers_are_those_of_perfettos_own_definitions() -> None:
    messages = messages_below(Trace.DESCRIPTOR)
    package = Trace.DESCRIPTOR.file.package
    for message, name, number in PERFETTO_FIELDS:
        assert messages[f"{package}.{message}"].fields_by_name[name].number == number, (
            message,
            name,
        )
    for message, name, number in PERFETTO_VALUES:
        values = [
            value.number
            for enum in messages[f"{package}.{message}"].enum_types
            for value in enum.values
            if value.name == name
        ]
        assert values == [number], (message, name)


def messages_below(top: Any) -> dict[str, Any]:
    """All messages that one can hold, at any depth, by their full names."""
    found: dict[str, Any] = {}
    waiting = [top]
    while waiting:
        one = waiting.pop()
        if one.full_name not in found:
            found[one.full_name] = one
            waiting.extend(field.message_type for field in one.fields if field.message_type)
    return found


def test_perfetto_slices_are_all_closed(tmp_path: Path) -> None:
    for example in examples.GOOD:
        folder = tmp_path / example.__name__
        folder.mkdir()
        depth: dict[int, int] = {}
        for event in perfetto(example(), folder)[1]:
            change = {TrackEvent.TYPE_SLICE_BEGIN: 1, TrackEvent.TYPE_SLICE_END: -1}
            track = event.track_event.track_uuid
            depth[track] = depth.get(track, 0) + change.get(event.track_event.type, 0)
            assert 0 <= depth[track] <= 1
        assert set(depth.values()) <= {0}


def test_perfetto_job_slices_wait_for_the_job_before(tmp_path: Path) -> None:
    script = Script(make_header("ds", [vcpu("high", 10, 4)], [task("high", "t", 10, 4)]))
    script.release(0, 0, 0, 10).release(10, 0, 1, 20).miss(12, 0, 0, 10).complete(12, 0, 0, 12)
    tracks, events = perfetto(script.complete(16, 0, 1, 6).end(20), tmp_path)
    kinds = TrackEvent.Type.Name
    found = [
        (event.timestamp, kinds(event.track_event.type), event.track_event.name)
        for event in on_track(tracks, events, "t")
    ]
    assert found == [
        (0, "TYPE_INSTANT", "release"),
        (0, "TYPE_SLICE_BEGIN", "job 0"),
        (10, "TYPE_INSTANT", "release"),
        (12, "TYPE_INSTANT", "miss: high.t job 0"),
        (12, "TYPE_SLICE_END", ""),
        (12, "TYPE_SLICE_BEGIN", "job 1"),
        (16, "TYPE_SLICE_END", ""),
    ]


def test_perfetto_counts_the_remaining_budget(tmp_path: Path) -> None:
    script = Script(make_header("ds", [vcpu("high", 10, 4)]))
    script.add(0, Kind.REPLENISH, vcpu=H, value=4).run(0, H).idle(3).run(5, H).idle(6)
    script.add(6, Kind.DEPLETE, vcpu=H).add(10, Kind.REPLENISH, vcpu=H, value=4).end(20)
    tracks, events = perfetto(script, tmp_path)
    found = [
        (event.timestamp, event.track_event.counter_value)
        for event in on_track(tracks, events, "high remaining")
    ]
    assert found == [(0, 4), (3, 1), (6, 0), (6, 0), (10, 4)]
    assert [event.track_event.name for event in on_track(tracks, events, "high")] == [
        "replenish", "deplete", "replenish",
    ]  # fmt: skip


def test_perfetto_shows_swaps(tmp_path: Path) -> None:
    script = Script(make_header("ptps", examples.PAIR)).add(7, Kind.SWAP, value=2 << 16).end(9)
    tracks, events = perfetto(script, tmp_path)
    found = on_track(tracks, events, "machine")
    assert [(event.timestamp, event.track_event.name) for event in found] == [
        (7, "swap to periodic + fp + reclaim"),
        (9, "end of the run"),
    ]


def test_perfetto_shows_what_moves_and_what_is_dropped(tmp_path: Path) -> None:
    flows: list[Any] = [
        {"name": name, "kind": "periodic", "period_ns": 10, "offset_ns": 0, "jitter_ns": 0,
         "burst": 1, "queue": 1, "deadline_ns": 10, "hops": []}
        for name in ("audio", "video")
    ]  # fmt: skip
    script = Script(make_header("ptps", examples.PAIR, flows=flows))
    script.add(3, Kind.MOVE, vcpu=H).add(5, Kind.MOVE, vcpu=H, pcpu=0)
    tracks, events = perfetto(script.add(7, Kind.DROP, value=1 << 48 | 9).end(9), tmp_path)
    assert [one.track_event.name for one in on_track(tracks, events, "machine")] == [
        "high moves away", "high moves to pcpu 0", "drop: video item 9", "end of the run",
    ]  # fmt: skip


def test_perfetto_jobs_that_are_not_completed_have_no_end(tmp_path: Path) -> None:
    script = Script(make_header("ds", [vcpu("high", 10, 4)], [task("high", "t", 10, 4)]))
    script.release(0, 0, 0, 10).run(0, H, task=0).complete(9, 0, 0, 9).release(10, 0, 1, 20)
    tracks, events = perfetto(script.end(20), tmp_path)
    kinds = [one.track_event.type for one in on_track(tracks, events, "t")]
    assert kinds.count(TrackEvent.TYPE_SLICE_BEGIN) == 2
    assert kinds.count(TrackEvent.TYPE_SLICE_END) == 1
    (begin, end) = on_track(tracks, events, "pcpu 0")
    assert (begin.timestamp, end.timestamp) == (0, 20)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_csv_has_names_and_leaves_out_what_does_not_apply(tmp_path: Path) -> None:
    rows = rows_of(converted(examples.ptps(), tmp_path, ".csv"))
    assert rows[0] == {
        "time_ns": "0", "kind": "release", "pcpu": "", "vcpu": "", "payer": "", "task": "high.t",
        "job": "0", "value": "20", "also_pays": "false", "extra_time": "false",
        "stolen": "false",
    }  # fmt: skip
    assert rows[4]["kind"] == "run"
    assert (rows[4]["vcpu"], rows[4]["payer"], rows[4]["pcpu"]) == ("high", "high", "0")
    assert rows[-1]["kind"] == "end"


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    for example in examples.GOOD:
        rows = rows_of(converted(example(), tmp_path, ".csv"))
        assert rows_of_parquet(converted(example(), tmp_path, ".parquet")) == rows


def rows_of_parquet(path: Path) -> list[dict[str, str]]:
    return [
        {key: "" if value is None else str(value).lower() for key, value in row.items()}
        for row in pa_parquet.read_table(path).to_pylist()
    ]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 15, 1022, 1023, 1024, 1025, 2050])
def test_tables_of_any_length_say_what_the_records_say(count: int, tmp_path: Path) -> None:
    """Any fields that a trace may have; lengths around those that are gone through at once."""
    header = make_header("ptps", [vcpu("a", 10, 4), vcpu("b", 20, 4)], [task("b", "t", 40, 8)])
    header["pcpus"] = 2
    random = Random(count)
    script = Script(header)
    for now in range(count):
        kind = random.choice([one for one in Kind if one not in (Kind.SWAP, Kind.END)])
        script.add(
            now,
            kind,
            value=random.choice((0, 5, (1 << 64) - 3)),
            job=random.randrange(1 << 32),
            pcpu=random.choice((0, 1)),
            vcpu=random.choice((0, 1)),
            payer=random.choice((0, 1, SPARE) if kind == Kind.CHARGE else (0, 1, SPARE, NONE)),
            task=random.choice((0, NONE) if kind in (Kind.RUN, Kind.KICK) else (0,)),
            flags=random.randrange(8 if kind == Kind.IDLE else 4),
        )
    script.add(count, Kind.END)
    names = {0: "a", 1: "b", SPARE: "spare", NONE: ""}
    expected = [
        {
            "time_ns": str(time_ns),
            "kind": Kind(kind).name.lower(),
            "pcpu": "" if pcpu == NONE else str(pcpu),
            "vcpu": names[runs],
            "payer": names[payer],
            "task": "" if of_task == NONE else "b.t",
            "job": str(job) if kind in JOB_KINDS and of_task != NONE else "",
            "value": str(signed(value)),
            "also_pays": str(flags & 1 != 0).lower(),
            "extra_time": str(flags & 2 != 0).lower(),
            "stolen": str(flags & 4 != 0).lower(),
        }
        for time_ns, value, job, pcpu, runs, payer, of_task, kind, flags, _ in script.rows
    ]
    assert rows_of_parquet(converted(script, tmp_path, ".parquet")) == expected
    assert rows_of(converted(script, tmp_path, ".csv")) == expected


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hyperperiod.trace.convert_parquet", raising=False)
    # None says to Python that a module is not to be found.
    for name in ["pyarrow", *(name for name in sys.modules if name.startswith("pyarrow."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingError) as error:
        writer_for(".parquet")
    assert error.value.install == "pip install 'hyperperiod[parquet]'"
    assert "pyarrow" in error.value.what


def test_names_in_csv_are_quoted_where_they_must(tmp_path: Path) -> None:
    names = ["plain", "a,b", 'say "x"', "two\nlines"]
    vcpus = [vcpu(name, 10, 4) for name in names]
    script = Script(make_header("ds", vcpus, [task(names[2], names[3], 10, 4)]))
    script.arrive(0, *range(len(names))).release(0, 0, 0)
    target = converted(script.end(9), tmp_path, ".csv")
    rows = rows_of(target)
    assert [row["vcpu"] for row in rows] == [*names, "", ""]
    assert rows[4]["task"] == f"{names[2]}.{names[3]}"
    assert target.read_text().splitlines()[1] == "0,arrive,,plain,,,,0,false,false,false"
