# SPDX-License-Identifier: BSD-2-Clause
"""What clients see of real services in VMs by the server of dom0, which carries their packets.

A web server, a database and their clients, each in a VM with a server under RTDS, a VM that always
runs, and dom0, all on one pcpu (docs/linux/services.md). Sessions differ in dom0's server, and each
has several seeds: what is kept are means over these and where they lie with a confidence of 95 %.
The machine counts instructions, so that a session is the same each time.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from bench.environment import SkippedError
from bench.results import Row

from hyperperiod.experiments.confidence import mean_interval
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.services import BATCH, DOM0, Clients, ServiceSession, SessionRequest
from hyperperiod.hosts.xen.services_run import run_sessions
from hyperperiod.model import MissingError, System
from hyperperiod.trace.format import Kind
from hyperperiod.trace.interval_arrays import interval_array

S: Final = 1_000_000_000
RAMP_NS, HORIZON_NS = S // 2, 11 * S // 10
THINK_NS: Final = S // 4
CLIENTS: Final = 10
NO_SERVER: Final = {"best_effort": True}
SEEDS: Final = ((1, 2, 3, 4), (5, 6, 7, 8))
"""The seeds of the sessions on each machine; on the next one the database is as new."""
VMS: Final = {"web": ("10ms", "2ms"), "database": ("10ms", "2ms"), "client": ("5ms", "500us")}
SOME: Final = ("20ms", "6ms")
"""With this of the VM that always runs, a fifth of the pcpu is promised to nobody but dom0."""
SETTINGS: Final = (
    {
        "200 us in 1 ms": (("1ms", "200us"), SOME),
        "100 us in 1 ms": (("1ms", "100us"), SOME),
        "1 ms in 10 ms": (("10ms", "1ms"), SOME),
        "400 us in 10 ms": (("10ms", "400us"), SOME),
        "200 us in 10 ms": (("10ms", "200us"), SOME),
        "none": ((), SOME),
    },
    {
        "100 us in 1 ms; 8 ms in 20 ms": (("1ms", "100us"), ("20ms", "8ms")),
        "none; 10 ms in 20 ms": ((), ("20ms", "10ms")),
        "100 us in 1 ms; best effort": (("1ms", "100us"), ()),
        "none; best effort": ((), ()),
    },
)
"""Servers of dom0 and of the VM that always runs; each set of them has machines of its own."""


class Seen(NamedTuple):
    """What a session came to after its ramp; 95 of 100 pages came in `late_ns` or sooner.

    Of dom0: its share of the pcpu, and what it took for a page and for a packet.
    """

    pages_hz: float
    median_ns: float
    late_ns: float
    dom0: float
    page_ns: float
    packet_ns: float


SHOWN: Final = {
    "pages": ("pages/s", 1.0),
    "median": ("ms", 1e-6),
    "late": ("ms", 1e-6),
    "share": ("%", 100.0),
    "page": ("us", 1e-3),
    "packet": ("us", 1e-3),
}
"""By what names and in which units rows have these."""


def measure() -> Iterator[Row]:
    """The rows of each setting."""
    for settings in SETTINGS:
        found: dict[str, list[Seen]] = {name: [] for name in settings}
        for seeds in SEEDS:
            wanted = [(name, seed) for seed in seeds for name in settings]
            try:
                ran = run_sessions([request(*settings[name], seed) for name, seed in wanted])
            except MissingError as error:
                raise SkippedError(str(error)) from None
            for (name, _), session in zip(wanted, ran, strict=True):
                found[name].append(seen(session))
        for name, sessions in found.items():
            yield from rows(name, sessions)


def request(dom0: Sequence[str], batch: Sequence[str], seed: int) -> SessionRequest:
    """A session with these servers; what is inside domains is said to be endless work."""
    domains = [
        {
            "name": name,
            "task": [{"name": "work", "kind": "busy"}],
            **({"interface": {"period": server[0], "budget": server[1]}} if server else NO_SERVER),
        }
        for name, server in {DOM0: dom0, **VMS, BATCH: batch}.items()
    ]
    system = System.of({"name": "dom0", "policy": "rtds", "domain": domains})
    run = RunRequest(system, RAMP_NS + HORIZON_NS, seed)
    return SessionRequest(run, Clients(CLIENTS, THINK_NS))


def seen(session: ServiceSession) -> Seen:
    """What the records of a session, in which dom0 is vcpu 0, and its pages say after the ramp.

    One page has to have come by then, and dom0 have a server of its own: else packets are unknown.
    """
    came = session.pages[session.pages["there_ns"] >= RAMP_NS]
    responses = came["there_ns"] - came["asked_ns"]
    intervals = interval_array(session.records, 0)
    own = intervals[(intervals["kind"] == Kind.RUN) & (intervals["vcpu"] == 0)]
    lengths = own["end_ns"].clip(RAMP_NS) - own["start_ns"].clip(RAMP_NS)
    used_ns = int(lengths.sum())
    assert session.packets is not None, "dom0 has a server of its own"
    return Seen(
        len(came) * S / HORIZON_NS,
        float(np.percentile(responses, 50)),
        float(np.percentile(responses, 95)),
        used_ns / HORIZON_NS,
        used_ns / len(came),
        used_ns / len(came) * len(session.pages) / session.packets,
    )


def rows(name: str, sessions: Sequence[Seen]) -> Iterator[Row]:
    """The means over sessions, and where they lie."""
    for values, (what, (unit, scale)) in zip(
        zip(*sessions, strict=True), SHOWN.items(), strict=True
    ):
        scaled = [value * scale for value in values]
        yield Row(f"{name}: {what}", fmean(scaled), unit)
        interval = mean_interval(scaled)
        assert interval is not None, "several seeds"
        yield Row(f"{name}: {what} from", interval.low, unit)
        yield Row(f"{name}: {what} to", interval.high, unit)
