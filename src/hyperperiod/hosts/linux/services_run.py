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
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.linux import script, services_script
from hyperperiod.hosts.linux.attend import RunOptions, perform
from hyperperiod.hosts.linux.machine import Machine
from hyperperiod.hosts.linux.run import Order, read_recorded, refuse_order, result_of
from hyperperiod.hosts.linux.services import services_images
from hyperperiod.hosts.linux.services_script import SERVICES, Clients
from hyperperiod.hosts.merge import Jobs
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import InputError
from hyperperiod.trace.format import RECORD, Records

MEMORY_MIB: Final = 2048
PAGE: Final = np.dtype([("asked_ns", "<u8"), ("there_ns", "<u8")])


class SessionOrder(NamedTuple):
    """A session that is wanted: the servers, from 0 to the horizon, and the clients."""

    order: Order
    clients: Clients


class ServiceSession(NamedTuple):
    """A session: the result of the run, its records, and the pages that came (PAGE)."""

    result: RunResult
    records: Records
    pages: NDArray[np.void]


def run_sessions(
    orders: Sequence[SessionOrder],
    progress: Callable[[int], None] | None = None,
    options: RunOptions | None = None,
) -> list[ServiceSession]:
    """Sessions one after the other on one machine, which takes time to boot.

    `progress` is called with how many of them are over. InputError for domains
    that are not these services, MissingError for what is not built, FailedError where a service
    does not run, a page does not come, or decisions are not those of the core. KeyboardInterrupt
    if Ctrl-C broke them off.
    """
    for one in orders:
        _refuse(one.order)
    images = services_images()
    systems = [one.order.system for one in orders]
    runs = [
        services_script.run(
            one.order.system, number, one.clients, one.order.horizon_ns, one.order.seed
        )
        for number, one in enumerate(orders)
    ]

    def machine(start_s: int) -> Machine:
        prepare = services_script.prepare()
        cpus = script.cpus_of(systems)
        text = script.init(runs, cpus=cpus, start_s=start_s, prepare=prepare)
        return Machine(images, {"init": text.encode()}, memory_mib=MEMORY_MIB)

    def watch(console: str, _now_s: int) -> None:
        if progress is not None:
            progress(max(0, console.count(script.BEGUN) - 1))

    # A session without its end is no session, even if it is the only one.
    left = perform(machine, watch, options or RunOptions(), alone=False)
    sessions = []
    for number, one in enumerate(orders):
        recorded = read_recorded(one.order, left, number, icount=True)
        result, records = result_of(one.order, recorded, _no_jobs())
        pages = np.frombuffer(recorded.files["requests"], PAGE)
        sessions.append(ServiceSession(result, records, pages))
    return sessions


def _refuse(order: Order) -> None:
    refuse_order(order)
    names = tuple(domain.name for domain in order.system.domains)
    if sorted(names) != sorted(SERVICES) or any(one.vcpus > 1 for one in order.system.domains):
        allowed = f"{', '.join(SERVICES)}, with a vcpu each"
        raise InputError(order.system.name, None, "domain", ", ".join(names), allowed)
    if order.system.pcpus > 1:
        raise InputError(order.system.name, None, "pcpus", str(order.system.pcpus), "1")
    for key in ("swaps", "changes", "stolen"):
        found = len(getattr(order.system, key))
        if found:
            raise InputError(order.system.name, None, key, str(found), "none with services")


def _no_jobs() -> Jobs:
    nothing = np.empty(0, RECORD)
    return Jobs(nothing, nothing, nothing)
