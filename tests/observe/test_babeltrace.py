# SPDX-License-Identifier: BSD-2-Clause
"""What babeltrace2 prints of LTTng's events says what the kernel's text of them says."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest
from tests.support.as_ftrace import as_ftrace
from tests.support.drawn_threads import MS, drawn
from tests.support.worlds import run

from hyperperiod.observe.events import Exit, Gap, Interrupt, Switch, Wake
from hyperperiod.observe.ftrace import TraceLines
from hyperperiod.observe.observe import Asked, observe

# Printed by babeltrace2 2.0.4.
PRINTED = """\
[{0}00.000000000] {1}plant sched_waking: { cpu_id = 3 }, { pid = 0, tid = 0 }, \
{ comm = "pump \\"x\\"", tid = 42, prio = -51, target_cpu = 3 }
[{0}00.000001000] {1}plant sched_switch: { cpu_id = 3 }, { pid = 0, tid = 0 }, \
{ prev_comm = "swapper/3", prev_tid = 0, prev_prio = 20, \
prev_state = ( "TASK_RUNNING" : container = 0 ), \
next_comm = "pump \\"x\\"", next_tid = 42, next_prio = -51 }
[{0}00.000001500] {1}plant irq_softirq_entry: { cpu_id = 3 }, { pid = 41, tid = 42 }, { vec = 1 }
[{0}00.000401000] {1}plant sched_switch: { cpu_id = 3 }, { pid = 41, tid = 42 }, \
{ prev_comm = "pump \\"x\\"", prev_tid = 42, prev_prio = -51, \
prev_state = ( <unknown> : container = 258 ), \
next_comm = "swapper/3", next_tid = 0, next_prio = 20 }
[{0}00.000501000] {1}plant ros2:callback_start: { cpu_id = 3 }, { pid = 41, tid = 42 }, \
{ callback = 0x7F }
[{0}00.000601000] {1}plant sched_process_exit: { cpu_id = 3 }, { pid = 41, tid = 42 }, \
{ comm = "pump", tid = 42, prio = -51 }
"""
PUMP = ('pump "x"', 42, 49)
IDLE = ("swapper/3", 0, 120)


@pytest.mark.parametrize(
    ("clock", "delta", "first_s"),
    [
        ("01:02:", "(+0.000001000) ", 3720),
        ("1970-01-01 00:01:", "(+?.?????????) ", 60),
        ("15", "", 1500),
    ],
)
def test_lines_are_read_in_each_form_of_time(clock: str, delta: str, first_s: int) -> None:
    lines = TraceLines(BytesIO(PRINTED.replace("{0}", clock).replace("{1}", delta).encode()))
    first_ns = first_s * 10**9
    assert list(lines.read()) == [
        Gap(first_ns),
        Wake(first_ns, 3, PUMP, 0, False),
        Switch(first_ns + 1000, 3, IDLE, False, False, PUMP),
        Interrupt(first_ns + 1500, 3, "softirq", True),
        Switch(first_ns + 401_000, 3, PUMP, False, False, IDLE),
        Exit(first_ns + 601_000, 42),
    ]
    assert (lines.damaged, lines.processes, lines.has_flags) == (0, {0: 0, 42: 41}, False)


def as_babeltrace(text: str) -> str:
    """Returns lines of the kernel as LTTng and babeltrace2 would have them, without contexts."""
    lines = []
    for event in TraceLines(BytesIO(text.encode())).read():
        if not isinstance(event, Switch | Wake):
            continue
        one, two = (event.before, event.after) if isinstance(event, Switch) else (event.who, None)
        roles = [("prev_", one), ("next_", two)] if two else [("", one)]
        said = [
            f'{role}comm = "{name}", {role}tid = {pid}, {role}prio = {priority - 100}'
            for role, (name, pid, priority) in roles
        ]
        name = "sched_waking"
        if isinstance(event, Switch):
            name = "sched_switch"
            said.insert(1, f"prev_state = {int(event.sleeps)}")
        time = f"{event.time_ns // 10**9}.{event.time_ns % 10**9:09d}"
        lines.append(
            f"[{time}] (+0.1) h {name}: {{ cpu_id = {event.cpu} }}, {{ {', '.join(said)} }}\n"
        )
    return "".join(lines)


def test_a_trace_is_read_as_its_text(tmp_path: Path) -> None:
    """Who is on a cpu, so who wakes others there, is known by the switches."""
    one = run(drawn(2), 500 * MS, check=False)
    text = re.sub("sched_wakeup", "sched_waking", as_ftrace((one.header, one.records), digits=9))
    found = []
    for form in (text, as_babeltrace(text)):
        file = tmp_path / "trace.txt"
        file.write_text(form)
        found.append(observe(str(file), Asked()).result)
    kernel, lttng = found
    assert (lttng.damaged, lttng.gaps, lttng.events, lttng.flags) == (0, 0, kernel.events, False)
    assert [one.replace(chain=()) for one in kernel.threads] == list(lttng.threads)
    assert any(one.task for one in lttng.threads)


def test_what_is_missing_is_damage_or_a_gap() -> None:
    lines = TraceLines(
        BytesIO(
            b"[0:00:01.000000000] h sched_waking: { cpu_id = 3 }, { tid = 42, prio = -51 }\n"
            b"[0:00:01.000000000] h sched_waking: { cpu_id = 3 }, { comm = x, tid = x, prio = y }\n"
            b"WARNING: Tracer discarded 12 events between [00:00:01] and [00:00:02] in\n"
            b"WARNING: Tracer discarded 3 packets between [00:00:01] and [00:00:02] in\n"
        )
    )
    assert not list(lines.read())
    assert (lines.damaged, lines.gaps, lines.lost) == (2, 2, 15)


def test_names_and_fields_may_be_anything() -> None:
    """A name that looks like fields is no fields; an event that has none is passed over."""
    text = PRINTED.replace("{0}", "1").replace("{1}", "").replace("pump", "a pid=9 prio=3 ==>")
    lines = TraceLines(BytesIO(f"{text}[100.000000000] h x: {{ cpu_id = 0 }}, {{ }}\n".encode()))
    named = [event for event in lines.read() if isinstance(event, Switch)]
    assert [event.after[1] for event in named] == [42, 0]
    assert named[0].after[0] == 'a pid?9 prio?3 ??> "x"'
    assert (lines.damaged, lines.events) == (0, 7)
