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
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.linux import script, services_script
from hyperperiod.hosts.linux.attend import LinuxOptions, run_until_done
from hyperperiod.hosts.linux.machine import LinuxMachine, RunningLinux, boot
from hyperperiod.hosts.linux.run import read_recorded, refuse_request, result_of
from hyperperiod.hosts.linux.services import services_images
from hyperperiod.hosts.linux.services_script import SERVICES, Clients
from hyperperiod.hosts.merge import Jobs
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import InputError
from hyperperiod.trace.format import RECORD, Records

MEMORY_MIB: Final = 2048
PAGE: Final = np.dtype([("asked_ns", "<u8"), ("there_ns", "<u8")])


class SessionRequest(NamedTuple):
    """A session that is wanted: the servers, from 0 to the horizon, and the clients."""

    run: RunRequest
    clients: Clients


class ServiceSession(NamedTuple):
    """A session: the result of the run, its records, and the pages that came (PAGE)."""

    result: RunResult
    records: Records
    pages: NDArray[np.void]


def run_sessions(
    requests: Sequence[SessionRequest],
    progress: Callable[[int], None] | None = None,
    options: LinuxOptions | None = None,
) -> list[ServiceSession]:
    """Sessions one after the other on one machine, which takes time to boot.

    `progress` is called with how many of them are over. InputError for domains
    that are not these services, MissingError for what is not built, FailedError where a service
    does not run, a page does not come, or decisions are not those of the core. KeyboardInterrupt
    if Ctrl-C broke them off.
    """
    for one in requests:
        _refuse(one.run)
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
    left = run_until_done(begin, watch, options or LinuxOptions(), alone=False)
    sessions = []
    for number, one in enumerate(requests):
        recording = read_recorded(one.run, left, number, icount=True, services=True)
        result, records = result_of(one.run, recording, _no_jobs())
        pages = np.frombuffer(recording.files["requests"], PAGE)
        sessions.append(ServiceSession(result, records, pages))
    return sessions


def _refuse(request: RunRequest) -> None:
    refuse_request(request)
    names = tuple(domain.name for domain in request.system.domains)
    if sorted(names) != sorted(SERVICES) or any(one.vcpus > 1 for one in request.system.domains):
        allowed = f"{', '.join(SERVICES)}, with a vcpu each"
        raise InputError(request.system.name, None, "domain", ", ".join(names), allowed)
    if request.system.pcpus > 1:
        raise InputError(request.system.name, None, "pcpus", str(request.system.pcpus), "1")
    for key in ("swaps", "changes", "stolen"):
        found = len(getattr(request.system, key))
        if found:
            raise InputError(request.system.name, None, key, str(found), "none with services")


def _no_jobs() -> Jobs:
    nothing = np.empty(0, RECORD)
    return Jobs(nothing, nothing, nothing)
