# SPDX-License-Identifier: BSD-2-Clause
"""The events of a trace of Linux as Perfetto would have recorded them, by its own protos."""

from __future__ import annotations

import zlib
from collections import defaultdict
from io import BytesIO
from itertools import groupby
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEventBundle, Trace

from hyperperiod.observe.events import Event, Exit, Gap, Interrupt, Switch, Wake
from hyperperiod.observe.ftrace import TraceLines

FORMS = ("events", "compact", "packed")
CYCLE_NS = 100_000_000
"""So often the buffers of all cpus are read, one after the other."""


def as_perfetto(text: bytes, form: str) -> bytes:
    """Returns the trace whose text that is in one of FORMS: packed ones are compact, too."""
    lines = TraceLines(BytesIO(text))
    events = [event for event in lines.read() if not isinstance(event, Gap)]
    trace = Trace()
    for _, cycle in groupby(events, key=lambda event: event.time_ns // CYCLE_NS):
        each: defaultdict[int, list[Event]] = defaultdict(list)
        for event in cycle:
            # On which cpu a thread ends does not matter.
            each[getattr(event, "cpu", 0)].append(event)
        for cpu, own in sorted(each.items()):
            bundle = trace.packet.add().ftrace_events
            bundle.cpu = cpu
            fill(bundle, own, is_compact=form != "events")
    tree = trace.packet.add().process_tree
    for thread, process in lines.processes.items():
        if thread == process:
            tree.processes.add().pid = process
        else:
            tree.threads.add(tid=thread, tgid=process)
    if form == "packed":
        packed = zlib.compress(trace.SerializeToString())
        trace = Trace()
        trace.packet.add().compressed_packets = packed
    return bytes(trace.SerializeToString())


def fill(bundle: FtraceEventBundle, events: list[Event], *, is_compact: bool) -> None:
    """Puts events of one cpu into a bundle, one by one or switches and wake-ups in columns."""
    last_ns: defaultdict[str, int] = defaultdict(int)
    compact = bundle.compact_sched
    for event in events:
        if is_compact and (
            isinstance(event, Switch) or (isinstance(event, Wake) and not event.final)
        ):
            _add_column(compact, event, last_ns)
            continue
        one = bundle.event.add(timestamp=event.time_ns)
        match event:
            case Switch():
                name, pid, priority = event.before
                one.pid = pid
                said: Any = one.sched_switch
                said.prev_comm, said.prev_pid, said.prev_prio = name, pid, priority
                said.prev_state = _state(event)
                said.next_comm, said.next_pid, said.next_prio = event.after
            case Wake():
                said = one.sched_wakeup if event.final else one.sched_waking
                said.comm, said.pid, said.prio = event.who
                one.pid, one.common_flags = event.waker, 0 if event.waker else 8
            case Interrupt():
                name = "irq_handler" if event.kind == "irq" else "softirq"
                getattr(one, f"{name}_{'entry' if event.begins else 'exit'}").SetInParent()
            case Exit():
                one.sched_process_exit.pid = event.pid


def _add_column(compact: Any, event: Switch | Wake, last_ns: dict[str, int]) -> None:
    what = "switch" if isinstance(event, Switch) else "waking"
    name, pid, priority = event.after if isinstance(event, Switch) else event.who
    if name not in compact.intern_table:
        compact.intern_table.append(name)
    place = list(compact.intern_table).index(name)
    getattr(compact, f"{what}_timestamp").append(event.time_ns - last_ns[what])
    last_ns[what] = event.time_ns
    if isinstance(event, Switch):
        compact.switch_prev_state.append(_state(event))
        compact.switch_next_pid.append(pid)
        compact.switch_next_prio.append(priority)
        compact.switch_next_comm_index.append(place)
    else:
        compact.waking_pid.append(pid)
        compact.waking_target_cpu.append(event.cpu)
        compact.waking_prio.append(priority)
        compact.waking_comm_index.append(place)
        compact.waking_common_flags.append(0 if event.waker else 8)


def _state(event: Switch) -> int:
    """Returns what the kernel says of who gives way: 0x100 is preempted."""
    if event.ends:
        return 0x10
    return 1 if event.sleeps else 0x100
