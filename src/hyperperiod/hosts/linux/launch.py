# SPDX-License-Identifier: BSD-2-Clause
"""A command that runs in a server, with all processes and threads that it starts.

They are in a cgroup made for the command, which belongs to the server before the command begins. It
is below that of the caller, so that what limits the caller limits the command.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from hyperperiod.hosts.linux.members import KernelFiles
from hyperperiod.model import FailedError, InputError, MissingError

BEGIN = 'echo $$ >"$0" && exec "$@"'
"""Shell: enters the cgroup whose list of processes is $0, and becomes the command."""
SIGNALLED = 128
"""What shells add to the number of the signal that has ended a command."""


class Daemon(Protocol):
    """Whoever performs requests."""

    def ask(self, request: str) -> object: ...


def launch(
    server: str, command: Sequence[str], daemon: Daemon, host: KernelFiles | None = None
) -> int:
    """Runs a command in a server until it ends; its exit code, as shells have it.

    What it leaves running stays in the server. MissingError if no cgroup can be made; otherwise
    what the daemon refuses.
    """
    host = host or KernelFiles()
    ours = os.getpid()
    cgroup = f"{host.cgroup(ours).rstrip('/')}/hyperperiod-{ours}"
    folder = host.cgroups / cgroup.lstrip("/")
    try:
        folder.mkdir()
    except OSError as error:
        raise MissingError(f"no cgroup can be made in {folder.parent} ({error.strerror})") from None
    try:
        daemon.ask(f"attach {server} cgroup={cgroup}")
        words = ["/bin/sh", "-c", BEGIN, str(folder / "cgroup.procs"), *command]
        code = subprocess.run(words, check=False).returncode
    finally:
        # Unless processes are in it still; or server or daemon are gone.
        with suppress(OSError, InputError, FailedError):
            folder.rmdir()
            daemon.ask(f"detach {server} cgroup={cgroup}")
    return code if code >= 0 else SIGNALLED - code
