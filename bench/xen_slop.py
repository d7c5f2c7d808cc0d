# SPDX-License-Identifier: BSD-2-Clause
"""How late budgets end on Xen with `timer_slop=0`, and with Xen's default.

Four servers that always want to run, under RTDS on one pcpu, for a virtual second: 1:0.1, 2:0.3,
5:1 and 10:2 ms. Xen's timers may be late by `timer_slop`, so that several are served at once; what
a server had too much is missing in its next budget. The machine counts instructions, so a
figure is the same each time.
"""

from collections.abc import Iterator
from dataclasses import replace

from bench.environment import SkippedError
from bench.results import Row

from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.replay import Replayed, replay
from hyperperiod.hosts.xen.images import current_executive, current_hypervisor
from hyperperiod.hosts.xen.machine import XenMachine, rings_at_horizon
from hyperperiod.hosts.xen.plan import XenOptions, plan
from hyperperiod.model import FailedError, MissingError, System
from hyperperiod.trace.format import Kind

MS = 1_000_000
HORIZON_NS = 1000 * MS
SERVERS_US = ((1_000, 100), (2_000, 300), (5_000, 1_000), (10_000, 2_000))
SLOPS_NS = (0, 50_000)


def served() -> System:
    """The four servers."""
    return System.of(
        {
            "name": "slop",
            "policy": "rtds",
            "domain": [
                {
                    "name": f"d{number}",
                    "interface": {"period": f"{period}us", "budget": f"{budget}us"},
                    "task": [{"name": "busy", "kind": "busy"}],
                }
                for number, (period, budget) in enumerate(SERVERS_US)
            ],
        }
    )


def measure() -> Iterator[Row]:
    """The latest pick, the least that a refill left of the longest budget, and who had how much."""
    try:
        current_hypervisor(), current_executive()
        machine = plan(RunRequest(served(), HORIZON_NS), XenOptions())
    except MissingError as error:
        raise SkippedError(str(error)) from None
    for slop_ns in SLOPS_NS:
        title = f"timer_slop {slop_ns // 1000} us"
        seen = recorded(replace(machine, arguments=f"{machine.arguments} timer_slop={slop_ns}"))
        yield Row(f"{title}: latest pick", seen.lateness_ns, "ns")
        yield Row(f"{title}: smallest budget of 2 ms", smallest_refill(seen, 3), "ns")
        yield Row(f"{title}: time of 200 ms", granted_ns(seen, 3), "ns")


def recorded(machine: XenMachine) -> Replayed:
    """What the hypervisor's core decided, every answer compared with the core built here."""
    try:
        (ring,), _ = rings_at_horizon(machine)
    except FailedError as error:
        raise SkippedError(str(error)) from None
    return replay(ring, HORIZON_NS)


def smallest_refill(seen: Replayed, vcpu: int) -> int:
    """The least that this server had after one of its refills."""
    records = seen.records
    chosen = records[(records["kind"] == Kind.REPLENISH) & (records["vcpu"] == vcpu)]
    return int(chosen["value"].astype("i8").min())


def granted_ns(seen: Replayed, vcpu: int) -> int:
    """How long this vcpu had the pcpu."""
    records = seen.records
    picks = records[(records["kind"] == Kind.RUN) | (records["kind"] == Kind.IDLE)]
    ends = [*picks["time_ns"][1:], HORIZON_NS]
    return sum(
        int(end) - int(pick["time_ns"])
        for pick, end in zip(picks, ends, strict=True)
        if pick["kind"] == Kind.RUN and pick["vcpu"] == vcpu
    )
