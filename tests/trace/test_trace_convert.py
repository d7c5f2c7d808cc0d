# SPDX-License-Identifier: BSD-2-Clause
"""Conversions: what a reader of each format finds is what the trace says."""

import csv
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pa_parquet
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from tests.trace import examples
from tests.trace.examples import H
from tests.trace.writer import Script, make_header, task, vcpu

from hyperperiod.model import MissingError
from hyperperiod.trace.convert import writer_for
from hyperperiod.trace.format import Kind


def converted(script: Script, folder: Path, suffix: str) -> Path:
    target = folder / f"out{suffix}"
    writer_for(suffix)(*script.trace(folder), target, lambda _done: None)
    return target


def perfetto(script: Script, folder: Path) -> tuple[dict[int, str], list[Any]]:
    """Track names by id, and all events."""
    trace = Trace()
    trace.ParseFromString(converted(script, folder, ".pftrace").read_bytes())
    tracks = {}
    events = []
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        else:
            events.append(packet)
    return tracks, events


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
        (0, "TYPE_SLICE_BEGIN", "job 0"),
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
        (7, "swap to periodic + fp + reclaim")
    ]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_csv_has_names_and_leaves_out_what_does_not_apply(tmp_path: Path) -> None:
    rows = rows_of(converted(examples.ptps(), tmp_path, ".csv"))
    assert rows[0] == {
        "time_ns": "0", "kind": "release", "pcpu": "", "vcpu": "", "payer": "", "task": "high.t",
        "job": "0", "value": "20", "also_pays": "false", "extra_time": "false",
    }  # fmt: skip
    assert rows[4]["kind"] == "run"
    assert (rows[4]["vcpu"], rows[4]["payer"], rows[4]["pcpu"]) == ("high", "high", "0")
    assert rows[-1]["kind"] == "end"


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    for example in examples.GOOD:
        folder = tmp_path / example.__name__
        (folder / "csv").mkdir(parents=True)
        (folder / "parquet").mkdir()
        rows = rows_of(converted(example(), folder / "csv", ".csv"))
        table = pa_parquet.read_table(converted(example(), folder / "parquet", ".parquet"))
        found = [
            {key: "" if value is None else str(value).lower() for key, value in row.items()}
            for row in table.to_pylist()
        ]
        assert found == rows


@pytest.mark.parametrize(
    ("suffix", "library", "extra"),
    [(".csv", "pyarrow", "parquet"), (".parquet", "pyarrow", "parquet"),
     (".pftrace", "perfetto", "perfetto")],
)  # fmt: skip
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, suffix: str, library: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.startswith("hyperperiod.trace.convert_")]:
        monkeypatch.delitem(sys.modules, name)
    # None says to Python that a module is not to be found.
    for name in [library, *(name for name in sys.modules if name.startswith(f"{library}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingError) as error:
        writer_for(suffix)
    assert error.value.install == f"pip install 'hyperperiod[{extra}]'"
    assert library in error.value.what
