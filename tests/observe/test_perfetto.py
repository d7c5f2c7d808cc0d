# SPDX-License-Identifier: BSD-2-Clause
"""Traces of Perfetto say what the text of the same events says, in each of their encodings."""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from tests.support.as_ftrace import as_ftrace
from tests.support.as_perfetto import FORMS, as_perfetto
from tests.support.drawn_threads import MS, drawn
from tests.support.worlds import Run, run

from hyperperiod.model import InputError
from hyperperiod.observe.observe import Asked, observe
from hyperperiod.observe.perfetto import FIELDS
from hyperperiod.observe.result import ObservationResult
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
