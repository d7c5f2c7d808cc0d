# SPDX-License-Identifier: BSD-2-Clause
"""Talking to hyperperiodd: a request is a packet of text, the answer one of JSON.

    with Client() as daemon:
        daemon.ask("set control budget_ns=2000000")

What the daemon refuses is an InputError that says what was found and what is allowed. Where there
is no daemon, or none can be, a MissingError says which of the two.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hyperperiod.model import FailedError, InputError, MissingError

SOCKET: Final = Path("/run/hyperperiod/control")
KERNEL: Final = Path("/sys/kernel/sched_ext/state")
REQUEST_BYTES: Final = 4096
ANSWER_BYTES: Final = 1 << 18
PATIENCE_S: Final = 120.0
"""How long an answer may take: a start loads the programs, which the kernel looks at first."""

Status = Mapping[str, Any]
"""The answer to `status` (docs/linux/control.md)."""


class Client:
    """A connection to the daemon, until its block ends."""

    def __init__(self, path: Path = SOCKET) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise _nobody_at(path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, request: str) -> dict[str, Any]:
        """The answer to a request; InputError for one that is refused."""
        answer, files = self._asked(request)
        for file in files:
            os.close(file)
        return answer

    def ask_file(self, request: str) -> tuple[dict[str, Any], bytes]:
        """The answer to a request, and what is in the file that comes with it."""
        answer, files = self._asked(request)
        with os.fdopen(files[0], "rb") as file:
            return answer, file.read()

    def _asked(self, request: str) -> tuple[dict[str, Any], list[int]]:
        data = request.encode("ascii", "replace")
        if len(data) > REQUEST_BYTES:
            raise InputError("", None, "request", f"{len(data)} bytes", f"at most {REQUEST_BYTES}")
        try:
            self._socket.send(data)
            reply, files, _, _ = socket.recv_fds(self._socket, ANSWER_BYTES, 1)
        except OSError as error:
            raise FailedError(f"hyperperiodd does not answer ({error.strerror})") from None
        if not reply:
            raise FailedError("hyperperiodd has ended the connection")
        answer: dict[str, Any] = json.loads(reply)
        if not answer["ok"]:
            raise _refusal(answer["error"])
        return answer, files

    def status(self) -> dict[str, Any]:
        """Everything that the daemon knows."""
        return self.ask("status")


def _refusal(error: str) -> InputError | FailedError:
    """What the daemon says (`KEY: found X, allowed Y`) as the errors of all commands."""
    key, _, rest = error.partition(": found ")
    found, separator, allowed = rest.partition(", allowed: ")
    if not separator:
        return FailedError(f"hyperperiodd: {error}")
    return InputError("", None, key, found, allowed)


def _nobody_at(path: Path, error: OSError) -> MissingError:
    if isinstance(error, PermissionError):
        return MissingError(
            f"{path} is not open to this user; hyperperiodd --group names a group that may use it"
        )
    if not KERNEL.exists():
        return MissingError(
            "this kernel has no sched_ext: Linux 6.16 or later with CONFIG_SCHED_CLASS_EXT has it;"
            " `hyperperiod run SYSTEM --on linux` boots one in QEMU"
        )
    return MissingError(
        f"hyperperiodd does not run: nobody answers at {path}; start it with:"
        " sudo systemctl start hyperperiodd"
    )
