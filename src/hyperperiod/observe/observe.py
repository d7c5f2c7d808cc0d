# SPDX-License-Identifier: BSD-2-Clause
"""Says what each thread of a trace is: periodic, sporadic, bursty, or seen too little to tell.

A thread whose jobs lie on a grid is periodic. Of another one the bursts are looked at: where they
lie on a grid, or fit one after the other where jobs alone do not, it is bursty, and a burst is one
job of its task. All else is sporadic, with the least gap between two releases as its period.
No task is made of a thread that was seen too little, or whose execution time, widened by the
margin, does not fit into its period.

A domain is what a process is, where the trace tells processes; else each thread has its own.
"""

from __future__ import annotations

import gzip
import io
import mmap
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hyperperiod.model.errors import InputError
from hyperperiod.model.load import STDIN, require_file, require_readable, shown_name
from hyperperiod.model.units import TIME_LIMIT_NS, format_time
from hyperperiod.model.values import NAME_LIMIT, plain_name
from hyperperiod.model.words import RESERVED_NAMES
from hyperperiod.observe.events import Events, shown
from hyperperiod.observe.ftrace import TraceLines
from hyperperiod.observe.jobs import INTERRUPT, Machine, Series, Thread
from hyperperiod.observe.perfetto import PerfettoEvents, is_perfetto
from hyperperiod.observe.printed import TRACE_DAT, printed_file, printed_folder
from hyperperiod.observe.releases import Grid
from hyperperiod.observe.result import (
    DamagedLine,
    ObservationResult,
    ObservedCpu,
    ObservedThread,
    Waker,
)
from hyperperiod.observe.xentrace import XenTrace, is_xentrace
from hyperperiod.whole_file import error_text

if TYPE_CHECKING:
    from hyperperiod.observe.callbacks import Callbacks
    from hyperperiod.trace.jobs import RecordedJob

ALLOWED = (
    "a trace: text of ftrace, trace-cmd, perf script or babeltrace2, plain or .gz; trace.dat,"
    " a folder of LTTng, .pftrace, .hpt or what xentrace wrote"
)
CALLBACKS_ALLOWED = (
    "text of babeltrace2 with events of ros2_tracing, recorded with the contexts vpid and vtid"
)
_CHAIN = Fraction(95, 100)
"""So many of a thread's wake-ups by one other thread make the two a chain."""
_WAKERS_SHOWN = 3


class Asked(NamedTuple):
    """What is asked for: the fewest activations of a task, the margin of execution times, which
    threads, the domains of threads by patterns of their names, whether to keep each job, the
    frequency (Hz) of the counter in which a trace of Xen's has its times, and whether callbacks of
    ROS 2 are looked at in place of threads."""

    least: int = 20
    margin: Fraction = Fraction(20, 100)
    only: re.Pattern[str] | None = None
    domains: Sequence[tuple[str, re.Pattern[str]]] = ()
    jobs: bool = False
    cpu_hz: int | None = None
    callbacks: bool = False


class Observed(NamedTuple):
    """What a trace says of its threads, and the jobs of those that are tasks, if they were kept.

    The jobs are those that were seen whole, or bursts, task after task. Their times count from the
    beginning of the trace; nobody knows deadlines.
    """

    result: ObservationResult
    jobs: Iterator[RecordedJob]


def observe(name: str, asked: Asked) -> Observed:
    """Returns what is found in a trace; InputError if `name` is no trace.

    `name` is a file, or `-` for standard input, which only text may come from.
    """
    with _opened(name) as file:
        lines = _events(name, file, asked.cpu_hz)
        if asked.callbacks:
            return _observe_callbacks(name, lines, asked)
        if lines is None:
            return _observe_recorded(name, asked)
        machine = Machine(asked.least, keeps=asked.jobs)
        threads = machine.follow(lines)
    if not lines.switches:
        raise _no_trace(shown_name(name), lines)
    processes = {one.pid: one.name for one in threads}
    assert lines.first_ns is not None, "there was an event"
    known = _Threads(threads, processes, lines.resolution_ns, asked, knows_wakers=lines.has_flags)
    result = ObservationResult(
        **_common(name, asked),
        **_noticed(lines),
        cpus=tuple(
            ObservedCpu(
                cpu=number,
                interrupts_ns=cpu.spent_ns["irq"],
                softirqs_ns=cpu.spent_ns["softirq"],
            )
            for number, cpu in sorted(machine.cpus.items())
        ),
        threads=known.results(),
        ended_early=machine.ended_early,
        flags=lines.has_flags,
    )
    return Observed(result, known.jobs(lines.first_ns))


def _events(name: str, file: io.BufferedReader, cpu_hz: int | None) -> Events | None:
    """Returns who reads the events of a file, by how it begins; None of a trace of ours."""
    start = file.peek(64)[:64]
    if is_xentrace(start[3::-1]):
        found, allowed = "a trace of Xen, highest byte first", "one with the lowest byte first"
        raise InputError(shown_name(name), None, "", found, allowed)
    if start.startswith(b"\x1f\x8b"):
        packed = gzip.GzipFile(fileobj=file)
        # What is damaged is said when it is read.
        with suppress(EOFError, OSError, zlib.error):
            if whose := _whose(packed.peek(64)[:64]):
                found = f"a trace of {whose}, packed by gzip"
                raise InputError(
                    shown_name(name),
                    None,
                    "",
                    found,
                    "unpacked, by gunzip: only text may be packed",
                )
        if cpu_hz is None:
            return TraceLines(packed)
    whose = _whose(start)
    if cpu_hz is not None and whose != "Xen":
        found = "--cpu-hz" if start else "an empty file"
        raise InputError(shown_name(name), None, "", found, "a trace that xentrace wrote")
    if whose is None:
        return TraceLines(file)
    if name == STDIN:
        found = f"a trace of {whose} on standard input"
        raise InputError(shown_name(name), None, "", found, "text")
    require_file(name, ALLOWED)
    if whose == "Xen":
        if cpu_hz is None:
            allowed = "--cpu-hz beside it, how fast the counter runs: `xl dmesg` says it"
            raise InputError(shown_name(name), None, "", "times of xentrace, in ticks", allowed)
        return XenTrace(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), cpu_hz)
    return PerfettoEvents(file) if whose == "Perfetto" else None


def _whose(start: bytes) -> str | None:
    """Returns whose trace begins like this, if it is no text."""
    if start.startswith(b"HPTRACE1"):
        return "ours"
    if start.startswith(TRACE_DAT):
        return "trace-cmd"
    if is_xentrace(start):
        return "Xen"
    return "Perfetto" if is_perfetto(start) else None


def _common(name: str, asked: Asked) -> dict[str, Any]:
    return {
        "trace": shown(shown_name(name)),
        "observed": plain_name(shown(Path(name).name).partition(".")[0].strip("-"), "observed"),
        "least": asked.least,
        "margin": float(asked.margin),
        "counter_hz": asked.cpu_hz,
    }


def _noticed(lines: Events) -> dict[str, Any]:
    """Returns what was noticed about a trace as a whole."""
    return {
        "span_ns": max(0, lines.last_ns - (lines.first_ns or 0)),
        "resolution_ns": lines.resolution_ns,
        "events": lines.events,
        "damaged": lines.damaged,
        "first_damaged": lines.first_damaged
        and DamagedLine(line=lines.first_damaged[0], text=lines.first_damaged[1]),
        "cut": lines.is_cut,
        "damaged_from": lines.damaged_from,
        "gaps": lines.gaps,
        "lost": lines.lost,
        "overwritten": lines.overwritten,
        "backward": lines.backward,
        "other_machines": lines.other_machines,
    }


def _observe_callbacks(name: str, lines: Events | None, asked: Asked) -> Observed:
    """The same of the callbacks in a trace of ros2_tracing, whose processes are executors."""
    from hyperperiod.observe.callbacks import Callbacks

    if not isinstance(lines, TraceLines):
        raise InputError(shown_name(name), None, "", "no text", CALLBACKS_ALLOWED)
    lines.resolution_ns = 1
    callbacks = Callbacks(lines, keeps=asked.jobs)
    threads = callbacks.read()
    if not threads:
        found = "no event ros2:callback_start with vpid and vtid"
        raise InputError(shown_name(name), None, "", found, CALLBACKS_ALLOWED)
    known = _Threads(threads, callbacks.executors, 1, asked, knows_wakers=True)
    known.callbacks = callbacks
    result = ObservationResult(
        **_common(name, asked),
        **_noticed(lines),
        cpus=tuple(
            ObservedCpu(cpu=cpu, interrupts_ns=0, softirqs_ns=0)
            for cpu in sorted({cpu for one in threads for cpu in one.cpus})
        ),
        threads=known.results(),
        executors=True,
    )
    return Observed(result, known.jobs(lines.first_ns or 0))


def _observe_recorded(name: str, asked: Asked) -> Observed:
    """The same of a trace of ours, of which nothing is lost."""
    from hyperperiod.observe.recorded import domain_names, recorded_threads
    from hyperperiod.trace.format import end_ns, read

    header, records = read(require_file(name, ALLOWED))
    threads = recorded_threads(header, records, keeps=asked.jobs)
    processes = dict(enumerate(domain_names(header), 1))
    found = _Threads(threads, processes, 1, asked, knows_wakers=False)
    result = ObservationResult(
        **_common(name, asked),
        span_ns=end_ns(records),
        resolution_ns=1,
        events=len(records),
        cpus=tuple(
            ObservedCpu(cpu=pcpu, interrupts_ns=0, softirqs_ns=0) for pcpu in range(header["pcpus"])
        ),
        threads=found.results(),
    )
    return Observed(result, found.jobs(0))


@contextmanager
def _opened(name: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file or of standard input, of which the first can be looked at; InputError if
    they cannot be read, now or later."""
    try:
        if name not in ("", STDIN) and Path(name).is_dir():
            with printed_folder(name, ALLOWED) as text:
                yield text
        elif name != STDIN:
            require_readable(name, ALLOWED)
            with Path(name).open("rb") as file:
                if not file.peek(len(TRACE_DAT)).startswith(TRACE_DAT):
                    yield file
                    return
            require_file(name, ALLOWED)
            with printed_file(name) as text:
                yield text
        elif sys.stdin is None:
            raise InputError(shown_name(name), None, "", "a closed standard input", ALLOWED)
        else:
            raw: Any = sys.stdin.buffer
            yield io.BufferedReader(raw)
    except OSError as error:
        raise InputError(shown_name(name), None, "", error_text(error), ALLOWED) from None


def _no_trace(name: str, lines: Events) -> InputError:
    """The error of a text in which no thread gives way to another."""
    if lines.gaps and not lines.events:
        found = "no event that is not between lost ones or in a part that cannot be read"
        return InputError(name, None, "", found, ALLOWED)
    if lines.events:
        return InputError(name, None, "", "no event sched_switch", "one where a thread stops")
    allowed = f"{ALLOWED}, with the columns thread-pid [cpu] seconds.micros: event"
    if lines.first_damaged is None:
        return InputError(name, None, "", "no event", allowed)
    line, text = lines.first_damaged
    return InputError(name, line, "", repr(text[:40]), allowed)


class _Found(NamedTuple):
    """What a thread is: its kind, the jobs or bursts of its task, their period and jitter."""

    kind: str
    series: Series
    period_ns: int | None
    grid: Grid | None = None


class _Threads:
    """The threads of a trace, together: they wake one another, and no two have one name."""

    def __init__(
        self,
        threads: list[Thread],
        processes: Mapping[int, str],
        resolution_ns: int,
        asked: Asked,
        *,
        knows_wakers: bool,
    ) -> None:
        self.threads = sorted(threads, key=lambda one: (-one.jobs.ran_ns, one.pid))
        self.by_pid = {one.pid: one for one in threads}
        self.processes = processes
        self.resolution_ns = resolution_ns
        self.asked = asked
        self.knows_wakers = knows_wakers
        self.callbacks: Callbacks | None = None
        self._taken = {*RESERVED_NAMES, *(name for name, _ in asked.domains)}
        self._domains: dict[int, str] = {}
        self._tasks: dict[str, set[str]] = {}
        self._series: list[tuple[str, str, Series]] = []

    def results(self) -> tuple[ObservedThread, ...]:
        """Returns what is asked for of the threads, those first that ran longest."""
        only = self.asked.only
        return tuple(
            self._result(one)
            for one in self.threads
            if (one.jobs.count or one.partial) and (only is None or only.search(one.name))
        )

    def jobs(self, first_ns: int) -> Iterator[RecordedJob]:
        """Yields the jobs that were kept of tasks, as a trace that begins at `first_ns` has them.

        Each runs for a tick of the clock at least.
        """
        from hyperperiod.trace.jobs import RecordedJob

        for domain, task, series in self._series:
            for number, (release_ns, ran_ns, end_ns) in enumerate(sorted(series.each())):
                times_ns = (release_ns - first_ns, None, end_ns - first_ns, None)
                yield RecordedJob(domain, task, number, *times_ns, max(ran_ns, self.resolution_ns))

    def _result(self, thread: Thread) -> ObservedThread:
        found = self._found(thread)
        series, grid = found.series, found.grid
        wcet_ns = self._wcet_ns(series)
        left_out = self._left_out(found, thread)
        domain = None if left_out else self._domain(thread)
        task = domain and _fresh(thread.name, thread.pid, self._tasks.setdefault(domain, set()))
        if domain and task:
            self._series.append((domain, task, series))
        process = None if thread.process is None else self.processes.get(thread.process)
        return ObservedThread(
            name=thread.name,
            other_names=tuple(thread.names[:-1]),
            pid=thread.pid,
            process=process,
            priority=thread.priority,
            cpus=tuple(sorted(thread.cpus)),
            activations=thread.jobs.count,
            partial=thread.partial,
            unreleased=series.count - series.released,
            kind=found.kind,
            jobs=series.count,
            activations_per_job_max=thread.jobs_in_burst_max if found.kind == "bursty" else 1,
            period_ns=found.period_ns,
            fitted_period_ns=None if grid is None else float(grid.fitted_ns),
            jitter_ns=0 if grid is None else grid.jitter_ns,
            gap_min_ns=series.releases.gap_min_ns,
            cost_max_ns=series.cost_max_ns,
            cost_mean_ns=series.ran_ns // max(1, series.count),
            cost_p99_ns=series.cost_quantile_ns(99),
            response_max_ns=series.response_max_ns,
            woken_by=tuple(
                Waker(name=self._name(pid), pid=pid or None, count=count)
                for pid, count in thread.wakers.most_common(_WAKERS_SHOWN)
            ),
            chain=self._chain(thread),
            wcet_ns=wcet_ns,
            domain=domain,
            task=task,
            left_out=left_out,
        )

    def _found(self, thread: Thread) -> _Found:
        """Returns the kind of a thread, by the rules above."""
        thread.part()
        jobs, bursts = thread.jobs, thread.bursts
        if jobs.count < self.asked.least:
            return _Found("rare", jobs, None)
        if self.callbacks is not None and thread.pid in self.callbacks.periods_ns:
            period_ns = self.callbacks.periods_ns[thread.pid]
            return _Found("timer", jobs, period_ns if 0 < period_ns < TIME_LIMIT_NS else None)
        grid = jobs.releases.grid(self.resolution_ns)
        if grid is not None:
            return _Found("periodic", jobs, grid.period_ns, grid)
        gap_ns = jobs.releases.gap_min_ns
        # A burst of callbacks is no job: an executor runs others between its own.
        may_burst = self.callbacks is None
        if may_burst and bursts.count >= self.asked.least and thread.jobs_in_burst_max > 1:
            grid = bursts.releases.grid(self.resolution_ns)
            if grid is not None:
                return _Found("bursty", bursts, grid.period_ns, grid)
            between_ns = bursts.releases.gap_min_ns or 0
            if self._wcet_ns(jobs) > (gap_ns or 0) and self._wcet_ns(bursts) <= between_ns:
                return _Found("bursty", bursts, between_ns)
        return _Found("sporadic", jobs, gap_ns)

    def _wcet_ns(self, series: Series) -> int:
        """The longest execution time, at least one tick of the clock, widened by the margin."""
        longest_ns = max(series.cost_max_ns, self.resolution_ns)
        return -(-longest_ns * (1 + self.asked.margin) // 1)

    def _left_out(self, found: _Found, thread: Thread) -> str:
        """Returns why no task is made of a thread, or nothing."""
        if found.kind == "rare":
            return f"{thread.jobs.count} of {self.asked.least} activations"
        if self.callbacks is not None and thread.process in self.callbacks.shared:
            return "an executor of several threads"
        wcet_ns = self._wcet_ns(found.series)
        if found.period_ns is None:
            is_timer = found.kind == "timer"
            return "a timer of an impossible period" if is_timer else "no two releases seen"
        if wcet_ns > found.period_ns:
            times = f"{format_time(wcet_ns)} of every {format_time(found.period_ns)}"
            what = "more than a cpu"
            if self.callbacks is not None and found.kind == "sporadic":
                what = "in bursts, which only flows have"
            return f"{what}: {times}, with the margin"
        return ""

    def _domain(self, thread: Thread) -> str:
        """Returns the domain that a thread belongs to: one asked for, its process's, or its own."""
        for name, pattern in self.asked.domains:
            if pattern.search(thread.name):
                return name
        process = thread.process
        if process is None:
            return _fresh(thread.name, thread.pid, self._taken)
        if process not in self._domains:
            name = self.processes.get(process, thread.name)
            self._domains[process] = _fresh(name, process, self._taken)
        return self._domains[process]

    def _name(self, pid: int) -> str:
        """Returns who woke a thread up, by name."""
        if pid == INTERRUPT:
            return "interrupt"
        return self.by_pid[pid].name if pid in self.by_pid else f"thread {pid}"

    def _chain(self, thread: Thread) -> tuple[str, ...]:
        """Returns the threads that wake one another, the first of them first, and `thread` last.

        Without flags an interrupt counts for the thread that it interrupts: then nobody knows.
        """
        pids = [thread.pid]
        while (
            self.knows_wakers
            and (before := self._waker(pids[0])) is not None
            and before not in pids
        ):
            pids.insert(0, before)
        return tuple(map(self._name, pids)) if len(pids) > 1 else ()

    def _waker(self, pid: int) -> int | None:
        """Returns the thread that nearly all wake-ups of another come from, if there is one."""
        wakers = self.by_pid[pid].wakers
        if wakers.total() < self.asked.least:
            return None
        ((waker, times),) = wakers.most_common(1)
        return waker if waker in self.by_pid and times >= _CHAIN * wakers.total() else None


def _fresh(name: str, number: int, taken: set[str]) -> str:
    """Returns the name as files may have it, with the number behind it if it is taken."""
    plain = plain_name(name, "unnamed")[: NAME_LIMIT - 11]
    fresh = next(
        one
        for one in chain([plain], (f"{plain}-{one}" for one in count(number)))
        if one not in taken
    )
    taken.add(fresh)
    return fresh
