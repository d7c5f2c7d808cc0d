# SPDX-License-Identifier: BSD-2-Clause
"""Periodic tasks that say so, as the C library of the same functions (hosts/linux/api).

    from hyperperiod import rt

    with rt.Task(server="control", period_ns=10_000_000) as task:
        while work():
            if not task.wait_for_period():
                missed += 1

A task is the thread that makes it. Its server is one of hyperperiodd's that is open to the user; no
privilege is needed. Without a server a task waits for its periods all the same.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from types import TracebackType
from typing import Final, Self

SOCKET: Final = "/run/hyperperiod/tasks"
SOCKET_VARIABLE: Final = "HYPERPERIOD_TASKS"
TIME_LIMIT_NS: Final = 1 << 62
PRIORITIES: Final = 32768
ANSWER_BYTES: Final = 1024
NS_PER_S: Final = 1_000_000_000


class TaskError(Exception):
    """No daemon answers, or it refuses; the message says which, and what is allowed."""


class Clock:
    """CLOCK_MONOTONIC, in nanoseconds."""

    def now_ns(self) -> int:
        """This instant."""
        return time.monotonic_ns()

    def wait_ns(self, until_ns: int) -> None:
        """Returns at this instant or later."""
        while (left_ns := until_ns - self.now_ns()) > 0:
            time.sleep(left_ns / NS_PER_S)


class Task:
    """The calling thread as a task, until `leave` or the end of its block."""

    def __init__(
        self,
        server: str | None = None,
        period_ns: int | None = None,
        deadline_ns: int | None = None,
        priority: int | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        """ValueError for a value out of range, TaskError where the server is not to be had."""
        self._clock = clock or Clock()
        self._server: str | None = None
        self._period_ns: int | None = None
        self._deadline_ns: int | None = None
        self._priority: int | None = None
        self._release_ns = 0
        if priority is not None:
            self.set_priority(priority)
        if deadline_ns is not None:
            self.set_deadline(deadline_ns)
        if server is not None:
            self.set_server(server)
        if period_ns is not None:
            self.set_period(period_ns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def set_server(self, name: str) -> None:
        """The task belongs to this server from now on."""
        self._tell(name)
        self._server = name

    def set_period(self, period_ns: int) -> None:
        """The task's period; the job that it is in was released now."""
        _require("period_ns", period_ns, 1, TIME_LIMIT_NS - 1)
        self._period_ns = period_ns
        self._tell_again()
        self._release_ns = self._clock.now_ns()  # the daemon may have taken its time

    def set_deadline(self, deadline_ns: int) -> None:
        """Its deadline after each release; without one it is the period."""
        _require("deadline_ns", deadline_ns, 1, TIME_LIMIT_NS - 1)
        self._deadline_ns = deadline_ns
        self._tell_again()

    def set_priority(self, priority: int) -> None:
        """Its place among the tasks of a server that goes by priority: 0 is first."""
        _require("priority", priority, 0, PRIORITIES - 1)
        self._priority = priority
        self._tell_again()

    def wait_for_period(self) -> bool:
        """Ends the job and waits for the release of the next one; whether the deadline was met.

        If that release has passed, the next job begins at once: no job is left out.
        """
        if self._period_ns is None:
            raise ValueError("the task has no period: set_period comes first")
        now_ns = self._clock.now_ns()
        met = now_ns - self._release_ns <= (self._deadline_ns or self._period_ns)
        self._release_ns += self._period_ns
        if self._release_ns > now_ns:
            self._clock.wait_ns(self._release_ns)
        return met

    def leave(self) -> None:
        """The thread belongs to no server any more."""
        if self._server is not None:
            self._server = None
            _ask(f"leave thread={threading.get_native_id()}")

    def _tell_again(self) -> None:
        """What the server goes by has changed."""
        if self._server is not None:
            self._tell(self._server)

    def _tell(self, server: str) -> None:
        words = [f"enter {server} thread={threading.get_native_id()}"]
        if self._priority is not None:
            words.append(f"priority={self._priority}")
        deadline_ns = self._deadline_ns or self._period_ns
        if deadline_ns is not None:
            words.append(f"deadline_ns={deadline_ns}")
        _ask(" ".join(words))


def _require(what: str, found: int, least: int, most: int) -> None:
    if not least <= found <= most:
        raise ValueError(f"{what}: found {found}; allowed: {least} to {most}")


def _ask(request: str) -> None:
    path = os.environ.get(SOCKET_VARIABLE, SOCKET)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as daemon:
        try:
            daemon.connect(path)
            daemon.send(request.encode())
            answer = daemon.recv(ANSWER_BYTES).decode()
        except OSError as error:
            raise TaskError(f"{path}: no hyperperiodd answers ({error.strerror})") from None
    if not answer.startswith('{"ok": true'):
        raise TaskError(answer or "hyperperiodd has ended")
