# SPDX-License-Identifier: BSD-2-Clause
"""Reads the text of Linux's scheduler events, line by line, from any of four tools.

    <idle>-0     [001] d..2. 12.345678: sched_waking: comm=pump pid=42 prio=49 target_cpu=001

So the kernel writes it (`/sys/kernel/tracing/trace`), with the columns of flags and of the process
or without them; so do `trace-cmd report`, which may write a thread as `pump:42 [49]`, the cpu and
flags as `1d..2.` (-l) and states as numbers (-R), and `perf script`; lines of `babeltrace2` are
turned into such ones first. Other events are passed over, and so are comments and stacks. A line
that is none of these is damaged: it is counted, and the first is kept with its number; if it names
an event of the scheduler, that is missing. A last line without an end was cut off and is not
believed. Nothing is kept but counts, and the process of each thread.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache

from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.observe.babeltrace import Babeltrace
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

LINE_LIMIT = 4096
"""No line of these tools is longer, and no search in one takes long."""
_ENDLESS = 1 << 20
"""What has so many bytes without an end of line is no line: a device, or blocks of zeros."""
_REMEMBERED = 4096
"""So many texts of switches, and of threads, are read once for all the lines that have them."""
_NO_TRACE = 100_000
"""What has so many lines without an event is no trace."""

# Thread, process (perf: before the thread), cpu, flags, time, event, and what is said of it.
_LINE = re.compile(
    r"\s*+(?:\S.{0,40}?)(?:-|\s+)(\d{1,10})(?:/(\d{1,10}))?\s+(?:\(\s*(\d{1,10}|-+)\)\s+)?"
    r"(?:\[(\d{1,5})\]\s+(?:(\S{4,8})\s+)?|(\d{1,5})([^\s\d]\S{3,7})\s+)"
    r"(\d{1,10})\.(\d{6,9}):\s+(?:\w+:)?(\w+):\s*(.*)"
)
_SWITCH = (
    re.compile(
        r"prev_comm=(.*?) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+)(?: ==>)?"
        r" next_comm=(.*?) next_pid=(\d+) next_prio=(-?\d+)"
    ),
    re.compile(r"(.*?):(\d+) \[(-?\d+)\] (\S+) ==> (.*):(\d+) \[(-?\d+)\]"),
)
_THREAD = (
    re.compile(r"comm=(.*?) pid=(\d+) prio=(-?\d+)"),
    re.compile(r"(.*):(\d+) \[(-?\d+)\]"),
)
# As letters, or as a number. Older kernels mark with + any state in which a thread is preempted.
_STATE = re.compile(r"(R|[SDTtXZxPIKWNn](?:\|[SDTtXZxPIKWNn])*)(\+?)|(0x[0-9a-f]+|[0-9]+)")
_LOST = re.compile(r"\bLOST (?:lost )?(\d*)|\[(?:(\d+) )?EVENTS DROPPED|r discarded (\d+) [ep]")
_OVERWRITTEN = re.compile(r"#\s+entries-in-buffer/entries-written:\s*(\d+)/(\d+)")
# What stands between events: comments, what trace-cmd says of the file, and stacks.
_BETWEEN = re.compile(r"\s*$|\s*#|cpus=\d|version = |CPU \d+ is empty| => |\s+[0-9a-f]{6,16} ")


class TraceLines(Events):
    """The lines of one trace as events, and what was noticed about the whole on the way."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        super().__init__(resolution_ns=1000)
        self.file = file
        self.lines = 0
        self._babeltrace = Babeltrace()

    def read(self) -> Iterator[Event]:
        """Yields the events of the trace in order."""
        for line in self.whole_lines():
            self.lines += 1
            if self.lines > _NO_TRACE and not self.events:
                return
            match = _LINE.match(self._kernel_line(line) if line.startswith("[") else line)
            if match is None:
                self.pass_over(line)
                continue
            seconds, decimals = match.group(8, 9)
            unit_ns: int = 10 ** (9 - len(decimals))
            time_ns = int(seconds) * 10**9 + int(decimals) * unit_ns
            if time_ns >= TIME_LIMIT_NS:
                self._damage(line)
                continue
            if unit_ns < self.resolution_ns:
                self.resolution_ns = unit_ns
            if gap := self.reach(time_ns):
                yield gap
            if event := self._event(match, time_ns, line):
                yield event

    def _kernel_line(self, line: str) -> str:
        """Returns a line of babeltrace2 as the kernel writes it, or else as it is."""
        try:
            return self._babeltrace.kernel_line(line) or line
        except (KeyError, ValueError):
            return line

    def whole_lines(self) -> Iterator[str]:
        """Yields lines without their ends, a long one cut short; the last only if it has an end."""
        try:
            while data := self.file.readline(LINE_LIMIT):
                rest, length = data, 0
                while not rest.endswith(b"\n"):
                    rest = self.file.readline(LINE_LIMIT)
                    length += len(rest)
                    if not rest or length > _ENDLESS:
                        self.is_cut = True
                        return
                yield shown(data.decode("utf-8", "replace").rstrip("\r\n"))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.is_cut = True

    def _event(self, match: re.Match[str], time_ns: int, line: str) -> Event | None:
        """Returns what a line says, if that is about threads; takes note of their processes."""
        first, second, process, cpu, flags, same_cpu, same_flags, _, _, event, said = match.groups()
        cpu, flags = cpu or same_cpu, flags or same_flags
        pid = int(second or first)
        if second is not None or (process is not None and process[0] != "-"):
            self.processes[pid] = int(first if second is not None else process)
        if event == "sched_switch":
            switch = _switch(said)
            if switch is None:
                self._damage(line)
                return None
            self.switches += 1
            return Switch(time_ns, int(cpu), *switch)
        if event in INTERRUPTS:
            return Interrupt(time_ns, int(cpu), *INTERRUPTS[event])
        if event not in WAKES and event != "sched_process_exit":
            return None
        who = _thread(said)
        if who is None:
            self._damage(line)
            return None
        if event == "sched_process_exit":
            return Exit(time_ns, who[1])
        # The third flag says in what the cpu is: h and H a handler, s a softirq.
        self.has_flags |= flags is not None
        waker = 0 if flags and flags[2] in "hHsZz" else pid
        return Wake(time_ns, int(cpu), who, waker, WAKES[event])

    def pass_over(self, line: str) -> None:
        """Takes note of a line without an event: of a loss, or that it is damaged."""
        lost = _LOST.search(line)
        overwritten = _OVERWRITTEN.match(line)
        if overwritten:
            self.overwritten = int(overwritten[2]) - int(overwritten[1])
        elif lost:
            self.lose(int(lost[1] or lost[2] or lost[3] or 0))
        elif not _BETWEEN.match(line):
            self._damage(line)

    def _damage(self, line: str) -> None:
        self.damaged += 1
        self.misses |= "sched_" in line
        if self.first_damaged is None:
            self.first_damaged = (self.lines, line.strip()[:60])


def _either(forms: tuple[re.Pattern[str], re.Pattern[str]], said: str) -> re.Match[str] | None:
    return forms[0].match(said) or forms[1].match(said)


# The same threads give way to one another again and again.
@lru_cache(_REMEMBERED)
def _thread(said: str) -> Thread | None:
    found = _either(_THREAD, said)
    return found and (found[1], int(found[2]), int(found[3]))


@lru_cache(_REMEMBERED)
def _switch(said: str) -> tuple[Thread, bool, bool, Thread] | None:
    """Returns who gives way, whether to sleep, whether for good, and to whom; None if the text
    does not say it."""
    found = _either(_SWITCH, said)
    if found is None:
        return None
    before, pid, prio, state, after, next_pid, next_prio = found.groups()
    known = _STATE.fullmatch(state)
    if known is None:
        return None
    letters, preempted, number = known.groups()
    if number is not None:
        try:
            sleeps, ends = sleeps_and_ends(int(number, 16 if number.startswith("0x") else 10))
        except ValueError:
            return None
    else:
        sleeps = letters != "R" and not preempted
        ends = sleeps and letters[0] in "XxZ"
    return (before, int(pid), int(prio)), sleeps, ends, (after, int(next_pid), int(next_prio))
