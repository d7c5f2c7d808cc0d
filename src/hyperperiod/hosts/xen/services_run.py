# SPDX-License-Identifier: BSD-2-Clause
"""Real services on Xen, each in a VM with a server: a web server, a database, and the clients.

One machine in QEMU with two pcpus runs all sessions. On one is dom0, a Linux of Debian with stock
`xl`, that carries the network between the VMs; on the other is a pool of our scheduler with three
Linux VMs (`services_script`). Decisions are made again by the core that is built here.

The machine counts instructions: one takes a nanosecond, whichever pcpu it is on. So it is the same
every time, and while dom0 works the VMs stand still, which their servers pay for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.qemu import console_log
from hyperperiod.hosts.replay import replay
from hyperperiod.hosts.rings import read_ring
from hyperperiod.hosts.services import (
    BATCH,
    PAGE,
    ServiceSession,
    SessionRequest,
    refuse_other,
    services_layer,
)
from hyperperiod.hosts.xen import services_script
from hyperperiod.hosts.xen.build.dom0 import Image
from hyperperiod.hosts.xen.dom0_machine import DOM0, Machine, Ran, require_exact_clock
from hyperperiod.hosts.xen.images import control_tool, dom0, hypervisor
from hyperperiod.hosts.xen.services_script import (
    BEFORE_NS,
    BEGUN,
    COMPLAINT,
    PACKETS,
    PAGES,
    RING,
    has_dom0,
)
from hyperperiod.model import FailedError, InputError, System
from hyperperiod.trace.format import Kind, Records

MEMORY_MIB: Final = 3072
LIMIT_S: Final = 8 * 3600
SESSIONS_MOST: Final = 100
"""What the ring has room for: one with 25 clients for a second writes 6600 records."""
BOOT_LINE: Final = f"{DOM0} timer_slop=0 hyperperiod=ring=32M spec-ctrl=no xpti=no pv-l1tf=no"
"""A ring of a million records, and no protection from what QEMU's processors do not do."""
SHOWN: Final = 2000
"""So much of the end of each log is shown of a machine that failed (characters)."""
FOLDERS: Final = ("dev", "proc", "sys", "run", "tmp")


def run_sessions(
    requests: Sequence[SessionRequest],
    progress: Callable[[int], None] = lambda _over: None,
    folder: Path | None = None,
) -> list[ServiceSession]:
    """Sessions one after the other on one machine, which takes time to boot.

    `progress` is called with how many of them are over; what the machine leaves stays in `folder`,
    if there is one. InputError for domains that are not these services and for more sessions than
    the ring has room for, MissingError for what is not built, FailedError where a service does not
    run, a page does not come, or decisions are not those of the core.
    """
    for one in requests:
        refuse_other(one.run.system, dom0=True)
    if len(requests) > SESSIONS_MOST:
        allowed = f"{SESSIONS_MOST} at most, which the scheduler's ring has room for"
        raise InputError("", None, "sessions", str(len(requests)), allowed)
    machine, session = _machine(requests[0].run.system), _session(requests)

    def watch(console: str) -> None:
        progress(max(0, len(re.findall(rf"{BEGUN} \d", console)) - 1))

    with console_log(folder) as console:
        ran = machine.run(console.parent, session, LIMIT_S, watch)
    _require_whole(ran)
    return _sessions(requests, ran)


def _require_whole(ran: Ran) -> None:
    """Raises FailedError where dom0 has complained, or has not come to its end and its ring."""
    complaint = re.search(rf"{COMPLAINT}.*", ran.log)
    if complaint or RING not in ran.results:
        raise _failed(complaint[0] if complaint else "dom0 did not come to its end", ran)


def _failed(what: str, ran: Ran) -> FailedError:
    """The error with the end of each log."""
    logs = [data for name, data in ran.results.items() if name.endswith(".log")]
    shown = [ran.log, *(data.decode(errors="replace") for data in logs)]
    return FailedError(what, "\n".join(one[-SHOWN:] for one in shown))


def _machine(system: System) -> Machine:
    require_exact_clock()
    return Machine(
        hypervisor("x86_64"),
        dom0(),
        pcpus=2,
        exact=True,
        shift=0,
        boot_line=BOOT_LINE + (services_script.SHARED_LINE if has_dom0(system) else ""),
        memory_mib=MEMORY_MIB,
    )


def _session(requests: Sequence[SessionRequest]) -> dict[str, bytes]:
    """The files of dom0's session."""
    image = dom0()
    busy: dict[str, bytes | str] = {"init": services_script.ALWAYS_BUSY.encode()}
    more = {f"{BATCH}.cpio": _guest(image, busy)} if has_dom0(requests[0].run.system) else {}
    return {
        "run": services_script.dom0_run(requests).encode(),
        "vif": services_script.VIF.encode(),
        "vmlinuz": image.kernel.read_bytes(),
        "guest.cpio": services_layer().read_bytes() + _own_files(image),
        "hyperperiod-xen": control_tool().read_bytes(),
        **more,
    }


def _own_files(image: Image) -> bytes:
    """An archive above that of the services, with what else a guest's first file system has.

    That is a shell, the driver of its network, its first program, and what dom0's orders start.
    """
    files: dict[str, bytes | str] = {
        "bin/sh": "busybox",
        "init": services_script.guest_init().encode(),
        "session": services_script.ORDERED.encode(),
        image.network_driver.name: image.network_driver.read_bytes(),
    }
    return _guest(image, files)


def _guest(image: Image, files: Mapping[str, bytes | str]) -> bytes:
    """An archive of busybox and these files, by whose `init` a guest begins."""
    busybox = image.busybox.read_bytes()
    return archive({**dict.fromkeys(FOLDERS), "bin/busybox": busybox, **files})


def _sessions(requests: Sequence[SessionRequest], ran: Ran) -> list[ServiceSession]:
    """The sessions of a machine that has come to its end, each from its own epoch on."""
    _pages("warm", ran)
    data = ran.results[RING]
    ring = read_ring(lambda at, size: data[at : at + size], 0, RING)
    records = replay(ring, int(ring.records["time_ns"][-1])).records
    swaps = records["time_ns"][records["kind"] == Kind.SWAP][-len(requests) :]
    found = []
    for number, (one, swap_ns) in enumerate(zip(requests, swaps, strict=True)):
        later_ns, pages = _pages(str(number), ran)
        epoch_ns = int(swap_ns) + later_ns + BEFORE_NS
        own = _since(records, epoch_ns, one.run.horizon_ns)
        found.append(ServiceSession(own, pages, _packets(ran.results.get(f"{PACKETS}{number}"))))
    return found


def _packets(received: bytes | None) -> int | None:
    """How many packets dom0 received of the VMs in a session; None where it was not asked."""
    if received is None:
        return None
    counts = [int(one) for one in received.split()]
    half = len(counts) // 2
    return sum(counts[half:]) - sum(counts[:half])


def _pages(number: str, ran: Ran) -> tuple[int, NDArray[np.void]]:
    """The pages of a session, and how much later than dom0 (ns) its guest looked at the clock.

    FailedError where clients say something else.
    """
    left = ran.results[number]
    *clocks, kind, pages = left.split(b"\n", 5) if left.count(b"\n") > 4 else (b"", b"")
    if kind != PAGES.encode() or not all(map(bytes.isdigit, clocks)) or len(pages) % PAGE.itemsize:
        raise _failed(f"session {number}: {left[-SHOWN:].decode(errors='replace')}", ran)
    dom0_us, guest_us = (int(s) * 10**6 + int(us) for s, us in (clocks[:2], clocks[2:]))
    return (guest_us - dom0_us) * 1000, np.frombuffer(pages, PAGE)


def _since(records: Records, epoch_ns: int, horizon_ns: int) -> Records:
    """The decisions from the one in force at the epoch to the horizon, and the times since then."""
    made = records[np.isin(records["kind"], (Kind.RUN, Kind.IDLE))]
    times = made["time_ns"].astype(np.int64) - epoch_ns
    first = max(0, int(np.searchsorted(times, 0, "right")) - 1)
    last = int(np.searchsorted(times, horizon_ns))
    chosen = made[first:last].copy()
    chosen["time_ns"] = times[first:last].clip(0)
    chosen["pcpu"] = 0
    end = chosen[-1:].copy()
    end["time_ns"], end["kind"] = horizon_ns, Kind.END
    return np.concatenate([chosen, end])
