# SPDX-License-Identifier: BSD-2-Clause
"""Rewrites what babeltrace2 prints of LTTng's kernel events as lines that the kernel would write.

    [11:55:34.188344105] (+0.000001234) plant sched_waking: { cpu_id = 1 }, { pid = 7, tid = 8 },
        { comm = "pump", tid = 42, prio = -51, target_cpu = 1 }

is one line there, with times of the day, or of `--clock-seconds`. Between the cpu and the fields
stands the context of who is on the cpu, if it was recorded; else that is who came there last.
LTTng counts priorities from the 100 of ordinary threads on, and says no flags of interrupts. In
names = would end what they are read by: ? stands there instead. What
ros2_tracing records of programs is among these events, and passed over (`callbacks` reads it).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hyperperiod.observe.events import sleeps_and_ends

_LINE = re.compile(
    r"\[(?:[\d-]{10} )?(?:(\d+):(\d\d):)?(\d+)(\.\d{9})\] (?:\(\+\S+\) )?(?:\S+ )?([\w:]+): "
    r"\{ cpu_id = (\d+) \}, (?:\{ (.*?) \}, )?\{(.*)\}"
)
# A text, the number of a name, or a number.
_FIELD = re.compile(r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|\( .*? : container = (-?\d+) \)|(-?\w+))')


class PrintedEvent(NamedTuple):
    """An event of any kind: its name, where and when it was, its contexts and fields."""

    name: str
    time_ns: int
    cpu: int
    said: dict[str, str]


def printed_event(line: str) -> PrintedEvent | None:
    """Returns the event in a line of babeltrace2; None if there is none in it."""
    found = _LINE.match(line)
    if found is None:
        return None
    time_ns = _seconds(found) * 10**9 + int(found[4][1:])
    said = _fields(found[7] or "") | _fields(found[8])
    return PrintedEvent(found[5], time_ns, int(found[6]), said)


class Babeltrace:
    """The lines of one trace, and who is on each cpu."""

    def __init__(self) -> None:
        self._on: dict[str, str] = {}

    def kernel_line(self, line: str) -> str | None:
        """Returns the line as the kernel writes it; None if babeltrace2 does not print such lines.

        Raises KeyError if a field is missing, ValueError if one is no number, or no state that
        says whether a thread sleeps.
        """
        found = _LINE.match(line)
        if found is None:
            return None
        decimals, event, cpu, context, text = found.groups()[3:]
        time_s = _seconds(found)
        there, said = _fields(context or ""), _fields(text)
        tid = there.get("tid", self._on.get(cpu, "0"))
        event = event.replace("irq_softirq", "softirq")
        if event == "sched_switch":
            self._on[cpu] = said["next_tid"]
            sleeps, ends = sleeps_and_ends(int(said["prev_state"]))
            state = "X" if ends else "S" if sleeps else "R"
            what = f"{_thread(said, 'prev_')} prev_state={state} ==> {_thread(said, 'next_')}"
        else:
            what = _thread(said, "") if "prio" in said else ""
        return f"x-{tid} ({there.get('pid', '-')}) [{cpu}] {time_s}{decimals}: {event}: {what}"


def _seconds(found: re.Match[str]) -> int:
    hours, minutes, seconds = found.groups("0")[:3]
    return (int(hours) * 60 + int(minutes)) * 60 + int(seconds)


def _fields(text: str) -> dict[str, str]:
    """Returns the fields by name; in texts a backslash stands before quotes and itself."""
    return {
        name: re.sub(r"\\(.)", r"\1", quoted) or number or word
        for name, quoted, number, word in _FIELD.findall(text)
    }


def _thread(said: dict[str, str], role: str) -> str:
    priority = int(said[f"{role}prio"]) + 100
    name = said[f"{role}comm"].replace("=", "?")
    return f"{role}comm={name} {role}pid={said[f'{role}tid']} {role}prio={priority}"
