# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's machine protocol: one JSON object a line over a Unix socket, as much as is needed here.

Asking a machine that counts its instructions does not change what it does: its clock stands
while it waits for us.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, BinaryIO

REPLY_TIMEOUT_S = 60.0


class MonitorError(Exception):
    """The machine refused a command, or is gone."""


class Monitor:
    """A connection to a running machine."""

    def __init__(self, path: Path) -> None:
        """Connect; OSError while nobody listens there."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(REPLY_TIMEOUT_S)
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self._read()  # the greeting
        self.ask("qmp_capabilities")

    def ask(self, command: str, file: BinaryIO | None = None, **arguments: Any) -> Any:
        """What the machine answers; MonitorError if it refuses or has gone.

        `file` is handed over with the command.
        """
        message = json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n"
        try:
            socket.send_fds(self._socket, [message], [] if file is None else [file.fileno()])
            while True:
                answer = self._read()
                if "error" in answer:
                    raise MonitorError(f"{command}: {answer['error']['desc']}")
                if "return" in answer:
                    return answer["return"]
        except (OSError, ValueError) as error:
            raise MonitorError(f"{command}: {error}") from None

    def wait_for(self, event: str) -> None:
        """Waits until something happens of itself, such as STOP; nothing may be asked meanwhile.

        MonitorError if it does not for as long as an answer may take.
        """
        try:
            while self._read().get("event") != event:
                pass
        except (OSError, ValueError) as error:
            raise MonitorError(f"{event}: {error}") from None

    def close(self) -> None:
        """Closes the connection to the machine's monitor."""
        self._lines.close()
        self._socket.close()

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise MonitorError("the machine has gone")
        answer: dict[str, Any] = json.loads(line)
        return answer
