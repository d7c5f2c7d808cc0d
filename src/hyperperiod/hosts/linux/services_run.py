# SPDX-License-Identifier: BSD-2-Clause
"""Real services on Linux, each in a server: a web server, a database, and the clients of the site.

A session is a run of a system whose domains are called `web`, `database` and `client`, and have one
vcpu each. What runs inside is not what the system says of tasks, but processes in cgroups that are
attached to the servers (`services_script`). Clients record when they asked for a page and when it
was there; the scheduler records its decisions, which are made again by the core that is built here.

Sessions run one after the other on one machine with one cpu, which counts instructions: it is the
same every time. What Apache, PHP, PostgreSQL and the kernel do for a page takes as many nanoseconds
as instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import numpy as np

from hyperperiod.hosts.linux import script, services_script
from hyperperiod.hosts.linux.attend import LinuxOptions, run_until_done
from hyperperiod.hosts.linux.machine import LinuxMachine, RunningLinux, boot
from hyperperiod.hosts.linux.run import read_recorded, refuse_request, result_of
from hyperperiod.hosts.linux.services import services_images
from hyperperiod.hosts.merge import Jobs
from hyperperiod.hosts.services import PAGE, ServiceSession, SessionRequest, refuse_other
from hyperperiod.trace.format import RECORD

MEMORY_MIB: Final = 2048


def run_sessions(
    requests: Sequence[SessionRequest],
    progress: Callable[[int], None] | None = None,
    folder: Path | None = None,
) -> list[ServiceSession]:
    """Sessions one after the other on one machine, which takes time to boot.

    `progress` is called with how many of them are over. InputError for domains
    that are not these services, MissingError for what is not built, FailedError where a service
    does not run, a page does not come, or decisions are not those of the core. KeyboardInterrupt
    if Ctrl-C broke them off.
    """
    for one in requests:
        refuse_request(one.run)
        refuse_other(one.run.system)
    images = services_images()
    runs = [
        services_script.run(one.run.system, number, one.clients, one.run.horizon_ns, one.run.seed)
        for number, one in enumerate(requests)
    ]

    def begin(start_s: int, console: Path) -> AbstractContextManager[RunningLinux]:
        text = script.booted(runs, start_s=start_s)
        first = f"{script.START}{services_script.prepare()}"
        return boot(LinuxMachine(images, text, first, memory_mib=MEMORY_MIB), console)

    def watch(console: str, _now_s: int) -> None:
        if progress is not None:
            progress(max(0, console.count(script.BEGUN) - 1))

    # A session without its end is no session, even if it is the only one.
    left = run_until_done(begin, watch, LinuxOptions(folder=folder), alone=False)
    sessions = []
    for number, one in enumerate(requests):
        recording = read_recorded(one.run, left, number, icount=True, services=True)
        _, records = result_of(one.run, recording, _no_jobs())
        pages = np.frombuffer(recording.files["requests"], PAGE)
        sessions.append(ServiceSession(records, pages))
    return sessions


def _no_jobs() -> Jobs:
    nothing = np.empty(0, RECORD)
    return Jobs(nothing, nothing, nothing)
