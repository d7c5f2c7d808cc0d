# SPDX-License-Identifier: BSD-2-Clause
"""hyperperiodd over a kernel that is a log, and clients of its sockets.

The kernel is `fake_kernel.c`; parser, system, answers and sockets are those of the daemon itself,
under address and undefined-behaviour sanitizers.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.building import TOP, make

PROGRAMS = TOP / "build/linux-fake"


def program(name: str) -> Path:
    """A program of `daemon.mk`."""
    make("tests/linux/daemon.mk")
    return PROGRAMS / name


@dataclass
class Daemon:
    """A daemon with its sockets, kernel and log in a folder."""

    folder: Path
    process: subprocess.Popen[str]
    clients: list[socket.socket] = field(default_factory=list)

    @property
    def kernel(self) -> Path:
        return self.folder / "kernel"

    @property
    def calls(self) -> list[str]:
        """What the kernel was told so far."""
        return self.kernel.read_text().splitlines() if self.kernel.exists() else []

    def write(self, ending: str, text: str) -> Path:
        """Writes a file of the kernel's (fake_kernel.c), whole at once; its path."""
        new, path = self.folder / "new", self.folder / f"kernel.{ending}"
        new.write_text(text)
        return new.rename(path)

    @property
    def log(self) -> list[str]:
        return (self.folder / "log").read_text().splitlines()

    def connect(self, door: str = "control") -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(60)
        client.connect(str(self.folder / door))
        self.clients.append(client)
        return client

    def ask(self, request: str | bytes, client: socket.socket | None = None) -> dict[str, Any]:
        """The answer to a request."""
        if client is None:
            client = self.clients[0] if self.clients else self.connect()
        client.send(request if isinstance(request, bytes) else request.encode())
        answer: dict[str, Any] = json.loads(client.recv(1 << 18))
        return answer

    def does(self, *requests: str) -> dict[str, Any]:
        """Requests that must be performed; the last answer."""
        answer: dict[str, Any] = {}
        for request in requests:
            answer = self.ask(request)
            assert answer["ok"] is True, (request, answer)
        return answer

    def refuses(self, request: str | bytes) -> str:
        """A request that must be refused and change nothing; the reason."""
        before, calls = self.ask("status"), self.calls
        answer = self.ask(request)
        assert answer["ok"] is False, answer
        assert (self.ask("status"), self.calls) == (before, calls)
        error: str = answer["error"]
        assert "found" in error, error
        assert "allowed" in error, error
        return error

    def end(self) -> None:
        """Stops it, and looks that nothing was wrong inside."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.log


def command(folder: Path, *options: str) -> list[str]:
    """The command that starts a daemon in a folder."""
    (folder / "object").touch()
    return [
        str(program("hyperperiodd")), "--foreground", "--socket", str(folder / "control"),
        "--tasks", str(folder / "tasks"), "--object", str(folder / "object"), *options,
    ]  # fmt: skip


@contextmanager
def daemon_in(folder: Path, *options: str) -> Iterator[Daemon]:
    """A daemon that is ready; at the end it is stopped, and must have been well."""
    ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ready.bind(str(folder / "ready"))
    ready.settimeout(60)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command(folder, *options),
            env={
                "FAKE_KERNEL": str(folder / "kernel"),
                "NOTIFY_SOCKET": str(folder / "ready"),
                "ASAN_OPTIONS": "abort_on_error=0",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            },
            stderr=log,
            text=True,
        )
    daemon = Daemon(folder, process)
    try:
        while ready.recv(1024) != b"READY=1":
            pass
        yield daemon
        if process.poll() is None:
            daemon.end()
    finally:
        for client in daemon.clients:
            client.close()
        ready.close()
        (folder / "ready").unlink()
        process.kill()
        process.wait()
