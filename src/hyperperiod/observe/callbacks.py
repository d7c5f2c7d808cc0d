# SPDX-License-Identifier: BSD-2-Clause
"""Reads what callbacks of ROS 2 did, from the events of ros2_tracing as babeltrace2 prints them.

    [12.345678901] (+0.000001234) robot ros2:callback_start: { cpu_id = 1 },
        { vpid = 7, vtid = 8, procname = "laser" }, { callback = 0x55D0, is_intra_process = 0 }

is one line there. What a callback belongs to is said when programs start: a timer with its period,
a subscription with its topic, a service, each with a node. A callback is read as a thread whose
jobs go from its start to its end: what preempted it meanwhile is in its execution time, and when it
was released nobody says, so the start counts. It is woken by the callback that published on its
topic last. Its process is the thread that runs it, which is the executor.

Handles are those of a process, `vpid`. Without `vtid` among the contexts nobody knows who ran what.
Containers may use the same numbers; where a thread then seems to run two callbacks at once, neither
counts, and the line is damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.observe.babeltrace import PrintedEvent, printed_event
from hyperperiod.observe.ftrace import TraceLines
from hyperperiod.observe.jobs import Job, Thread

Key = tuple[str, str]
"""A handle in its process."""


class _Started(NamedTuple):
    callback: Key
    time_ns: int


class Callbacks:
    """The callbacks of a trace, as threads, and the periods (ns) of timers by their numbers."""

    def __init__(self, lines: TraceLines, *, keeps: bool) -> None:
        self.lines = lines
        self.keeps = keeps
        self.periods_ns: dict[int, int] = {}
        self.executors: dict[int, str] = {}
        self.shared: set[int] = set()
        """Executors with callbacks that several threads run."""
        # What was said of a handle, by the field that names it and its value.
        self._said: dict[tuple[str, Key], dict[str, str]] = {}
        self._threads: dict[Key, Thread] = {}
        self._open: dict[int, _Started] = {}
        self._sent: dict[str, int] = {}

    def read(self) -> list[Thread]:
        """Returns the callbacks that ran, in the order in which they first did."""
        for line in self.lines.whole_lines():
            self.lines.lines += 1
            event = printed_event(line)
            if event is None or event.time_ns >= TIME_LIMIT_NS:
                self.lines.pass_over(line)
                continue
            if self.lines.reach(event.time_ns):
                self._forget()
            if event.name.startswith("ros2:") and {"vpid", "vtid"} <= event.said.keys():
                try:
                    self._take(event)
                except (KeyError, ValueError):
                    self.lines.pass_over(line)
        self._forget()
        return list(self._threads.values())

    def _forget(self) -> None:
        """What has begun has no end any more, and nobody knows who sent what comes now."""
        for started in self._open.values():
            self._threads[started.callback].partial += 1
        self._open.clear()
        self._sent.clear()

    def _take(self, event: PrintedEvent) -> None:
        """Takes an event of ros2_tracing; KeyError if a field is missing, ValueError if one is no
        number, or if the thread runs another callback."""
        said, name = event.said, event.name.removeprefix("ros2:")
        process, tid = said["vpid"], int(said["vtid"])
        if name == "callback_start":
            self._start((process, said["callback"]), tid, event)
        elif name == "callback_end":
            started = self._open.get(tid)
            if started is not None and started.callback != (process, said["callback"]):
                self._interrupt(tid)
            elif started is not None:
                job = Job(started.time_ns, event.time_ns - started.time_ns, event.time_ns)
                self._threads[started.callback].add(job)
                del self._open[tid]
        elif name in ("rcl_publish", "rclcpp_intra_publish"):
            topic = self._known("publisher_handle", process, said).get("topic_name")
            started = self._open.get(tid)
            if topic is not None:
                self._sent[topic] = self._threads[started.callback].pid if started else 0
        else:
            for field, value in said.items():
                if field.endswith(("handle", "subscription", "callback")):
                    known = self._said.setdefault((field, (process, value)), {})
                    known.update({other: text for other, text in said.items() if other != field})

    def _interrupt(self, tid: int) -> None:
        """A job whose end is not seen. Raises ValueError: no thread runs two callbacks at once."""
        self._threads[self._open.pop(tid).callback].partial += 1
        raise ValueError(tid)

    def _start(self, callback: Key, tid: int, event: PrintedEvent) -> None:
        about = self._about(callback)
        thread = self._threads.get(callback)
        if thread is None:
            number, name = len(self._threads) + 1, about["name"]
            if any(other.name == name for other in self._threads.values()):
                name = f"{name}-{number}"
            thread = Thread(number, name, keeps=self.keeps)
            thread.process = tid
            self._threads[callback] = thread
            self.executors.setdefault(tid, event.said.get("procname") or f"executor-{tid}")
            if "period" in about:
                self.periods_ns[number] = int(about["period"])
        if thread.process != tid:
            self.shared |= {tid, thread.process or tid}
        thread.cpus.add(event.cpu)
        if about.get("topic_name") in self._sent:
            thread.wakers[self._sent[about["topic_name"]]] += 1
        before = self._open.get(tid)
        if before is not None:
            self._interrupt(tid)
        self._open[tid] = _Started(callback, event.time_ns)

    def _known(self, field: str, process: str, said: Mapping[str, str]) -> dict[str, str]:
        return self._said.get((field, (process, said.get(field, ""))), {})

    def _about(self, callback: Key) -> dict[str, str]:
        """Returns all that leads from a callback to its timer, topic and node, and its name."""
        process = callback[0]
        found = dict(self._said.get(("callback", callback), {}))
        for field in ("subscription", "subscription_handle", "service_handle", "timer_handle"):
            found |= self._known(field, process, found)
        node = self._known("node_handle", process, found)
        source = found.get("topic_name") or found.get("service_name")
        what = source or ("timer" if "period" in found else found.get("symbol", ""))
        words = [node.get("node_name", ""), what.strip("/").replace("/", "-")]
        return {**found, "name": "-".join(filter(None, words)) or f"callback-{callback[1]}"}
