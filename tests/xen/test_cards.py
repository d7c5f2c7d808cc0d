# SPDX-License-Identifier: BSD-2-Clause
"""Packets by a real card: a domain drives it, and a machine outside sends and receives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support import xen_images
from tests.support.promises import require_properties

from hyperperiod.analysis import Analysis
from hyperperiod.hosts import sim
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.xen.machine import HORIZON_REACHED, boot
from hyperperiod.hosts.xen.plan import XenOptions, plan
from hyperperiod.hosts.xen.run import run
from hyperperiod.model import (
    PRESETS,
    Device,
    Domain,
    FailedError,
    Flow,
    InputError,
    Interface,
    Scheduler,
    Source,
    System,
    Task,
    load_system,
)
from hyperperiod.model.words import TaskKind
from hyperperiod.resources import SYSTEMS
from hyperperiod.trace.format import Kind, item_of

MS = 1_000_000
US = 1_000
HORIZON_NS = 1_000 * MS
HYPERVISOR_NS = 60 * US
"""More than Xen takes of an item's way through three hops, its interrupts and switches."""
WIRE_NS = 10 * US
"""More than there is between the end of the last hop and the frame at the machine outside."""

LOOP = System(
    name="loop",
    policy=PRESETS["hsf-fp"],
    devices=(
        Device(name="eth0", driver="io", receive_ns=50 * US, send_ns=50 * US, queue=8, priority=0),
    ),
    domains=(
        Domain(
            name="io",
            priority=0,
            scheduler=Scheduler.FP,
            interface=Interface(period_ns=2 * MS, budget_ns=MS),
        ),
        Domain(
            name="control",
            priority=1,
            interface=Interface(period_ns=5 * MS, budget_ns=2 * MS),
            tasks=(
                Task(name="law", kind=TaskKind.EVENT, period_ns=10 * MS, wcet_ns=500 * US),
                Task(name="rest", period_ns=40 * MS, wcet_ns=4 * MS),
            ),
        ),
    ),
    flows=(
        Flow(
            name="loop",
            source=Source(kind="sporadic", period_ns=10 * MS, jitter_ns=MS),
            via="eth0",
            out="eth0",
            hops=("control.law",),
            deadline_ns=30 * MS,
        ),
    ),
)


TWO = load_system(SYSTEMS / "driver-domain.toml")


@pytest.fixture(autouse=True, scope="module")
def built() -> None:
    xen_images.image("arm64")
    xen_images.guest()


def test_who_is_outside_sees_each_reply_within_the_bound(tmp_path: Path) -> None:
    """From the instant at which a packet is sent to that at which its reply is there."""
    request = RunRequest(LOOP, HORIZON_NS, seed=3)
    rings = [arrivals(request, tmp_path / str(again)) for again in range(2)]
    assert rings[0] == rings[1]
    sent, came = rings[0]
    (flow,) = Analysis(LOOP).result().flows
    assert flow.response_bound_ns is not None
    took = [came[number] - sent[number] for number in came]
    assert len(took) > 60
    assert max(took) < flow.response_bound_ns + HYPERVISOR_NS


def arrivals(request: RunRequest, console: Path) -> tuple[dict[int, int], dict[int, int]]:
    """When each packet was to be sent, and when its reply was outside, by number."""
    machine = plan(request, XenOptions())
    with boot(machine, console) as running:
        running.wait_for(HORIZON_REACHED)
        running.stop()
        driver, _, outside = running.guest_rings()
    tick_ns = 1_000_000_000 // outside.header.frequency_hz
    found: list[dict[int, int]] = []
    for ring in (driver, outside):
        items = ring.records[ring.records["kind"] == Kind.ITEM]
        hop = 0 if ring is driver else 3
        times = {}
        for record in items:
            item = item_of(int(record["value"]))
            if item.hop == hop:
                times[item.number] = int(record["time_ns"]) * tick_ns
        found.append(times)
    assert np.diff(list(found[1].values())).min() > 0
    return found[0], found[1]


def test_a_full_ring_drops(tmp_path: Path) -> None:
    """Ten packets at once, a ring for three, and nobody receives until they are all there.

    The ring is full, not the queue of the flow: nobody takes one more for having left late.
    """
    (device,), (flow,) = LOOP.devices, LOOP.flows
    burst = LOOP.replace(
        devices=(device.replace(queue=3),),
        flows=(
            flow.replace(
                source=Source(kind="periodic", period_ns=50 * MS, burst=10),
                deadline_ns=200 * MS,
                queue=20,
            ),
        ),
    )
    request = RunRequest(burst, 200 * MS, trace_path=tmp_path / "run.hpt")
    (measured,) = run(request).flows
    (predicted,) = sim.run(request.system, request.horizon_ns, request.seed).flows
    assert (measured.items, measured.dropped) == (predicted.items, predicted.dropped)
    assert measured.dropped == 4 * 7
    assert measured.response_ns is not None
    assert predicted.response_ns is not None
    assert abs(measured.response_ns.max - predicted.response_ns.max) < 4 * HYPERVISOR_NS
    require_properties(tmp_path / "run.hpt")


def test_a_packet_every_15_us(tmp_path: Path) -> None:
    """The machine outside takes replies also where packets come faster than it wakes, or its card
    would be full and the driver could send no more."""
    given = {"receive_ns": 2 * US, "send_ns": 2 * US, "queue": 64}
    (device,), (flow,), (io, control) = LOOP.devices, LOOP.flows, LOOP.domains
    always = Interface(period_ns=2 * MS, budget_ns=2 * MS)
    law = control.tasks[0].replace(wcet_ns=2 * US)
    dense = System.of(
        {
            **vars(LOOP),
            "policy": PRESETS["partitioned-hsf-fp"],
            "pcpus": 2,
            "devices": (device.replace(**given),),
            "domains": (
                io.replace(pcpu=0, interface=always),
                control.replace(pcpu=1, interface=always, tasks=(law,)),
            ),
            "flows": (flow.replace(source=Source(kind="periodic", period_ns=15 * US), queue=64),),
        }
    )
    (measured,) = run(RunRequest(dense, 20 * MS, trace_path=tmp_path / "run.hpt")).flows
    assert (measured.items, measured.dropped) == (1334, 0)
    assert measured.items - measured.finished < 4
    require_properties(tmp_path / "run.hpt")


def flood(every_ns: int) -> System:
    """More packets than a card holds wait until their driver has budget."""
    (device,), (flow,), (io, control) = LOOP.devices, LOOP.flows, LOOP.domains
    law = control.tasks[0].replace(wcet_ns=2 * US)
    given = {
        "devices": (device.replace(receive_ns=2 * US, send_ns=2 * US, queue=64),),
        "domains": (
            io.replace(interface=Interface(period_ns=2 * MS, budget_ns=200 * US)),
            control.replace(tasks=(law,)),
        ),
        "flows": (
            flow.replace(source=Source(kind="periodic", period_ns=every_ns), out=None, queue=100),
        ),
    }
    return System.of({**vars(LOOP), **given})


def test_a_flood_comes_in_its_order(tmp_path: Path) -> None:
    (measured,) = run(RunRequest(flood(5 * US), 20 * MS, trace_path=tmp_path / "run.hpt")).flows
    assert measured.items == 4000
    assert measured.dropped > 3500
    require_properties(tmp_path / "run.hpt")


def test_a_card_that_is_idle_costs_nothing(tmp_path: Path) -> None:
    """A driver of eight cards receives of a flood by one of them what a driver of that one does."""
    alone = flood(5 * US)
    (device,) = alone.devices
    idle = [device.replace(name=f"eth{number}", priority=number) for number in range(1, 8)]
    eight = System.of({**vars(alone), "devices": (device, *idle)})
    finished = []
    for system in (alone, eight):
        trace = tmp_path / f"{len(system.devices)}.hpt"
        finished.append(run(RunRequest(system, 20 * MS, trace_path=trace)).flows[0].finished)
        require_properties(trace)
    assert finished[1] >= 0.9 * finished[0]


@pytest.mark.slow
def test_a_flood_of_which_packets_are_lost() -> None:
    with pytest.raises(FailedError, match=r"packet \d+ of flow loop was lost"):
        run(RunRequest(flood(US), 40 * MS))


def test_a_burst_that_the_card_has_no_room_for() -> None:
    """The machine outside sends one frame after the other, whichever card they are for."""
    burst = Source(kind="periodic", period_ns=50 * MS, burst=128)
    first, second = TWO.flows
    flows = (
        first.replace(source=burst, queue=300),
        second.replace(source=burst.replace(burst=129), queue=300),
    )
    with pytest.raises(InputError, match="may come at once: found 257; allowed: at most 256"):
        run(RunRequest(TWO.replace(flows=flows), MS))


def test_two_devices_of_one_driver() -> None:
    require_both_as_predicted(TWO, 100 * MS)


@pytest.mark.slow
def test_two_devices_of_two_drivers() -> None:
    """A flow comes by the card of one and goes by that of the other."""
    first, second = TWO.devices
    second = second.replace(driver="other", priority=None)
    other = Domain(name="other", interface=Interface(period_ns=MS, budget_ns=200 * US))
    two = {"devices": (first, second), "domains": (*TWO.domains, other)}
    flows = (TWO.flows[0].replace(out="eth1"), TWO.flows[1])
    require_both_as_predicted(System.of({**vars(TWO), **two, "flows": flows}), 200 * MS)


def require_both_as_predicted(system: System, horizon_ns: int) -> None:
    """Bursts of eight wait for one another, each of them for Xen."""
    measured = run(RunRequest(system, horizon_ns)).flows
    predicted = sim.run(system, horizon_ns, 1).flows
    for real, said, packets in zip(measured, predicted, (1, 8), strict=True):
        assert (real.items, real.dropped) == (said.items, 0)
        assert real.response_ns is not None
        assert said.response_ns is not None
        for one, other in (
            (real.response_ns.min, said.response_ns.min),
            (real.response_ns.max, said.response_ns.max),
        ):
            assert abs(one - other) < packets * HYPERVISOR_NS


def test_a_queue_that_the_driver_has_no_room_for() -> None:
    (device,) = LOOP.devices
    with pytest.raises(InputError, match="eth0: queue: found 16385; allowed: at most 16384 on Xen"):
        run(RunRequest(LOOP.replace(devices=(device.replace(queue=16_385),)), MS))


def test_a_domain_too_many_beside_the_machine_outside() -> None:
    more = tuple(Domain(name=f"d{number}", best_effort=True, pcpu=0) for number in range(30))
    with pytest.raises(InputError, match="domain: found 32; allowed: at most 31 on Xen"):
        run(RunRequest(LOOP.replace(domains=(*LOOP.domains, *more)), MS))


@pytest.mark.parametrize(
    ("drivers", "message"),
    [
        (["io"] * 9, "device: found 9; allowed: at most 8 on Xen"),
        (["io", "control", "gateway", "office"], "drivers: found 4; allowed: at most 3 on Xen"),
    ],
)
def test_more_than_the_board_has(drivers: list[str], message: str) -> None:
    device = TWO.devices[0].replace(priority=None)
    devices = [
        device.replace(name=f"eth{number}", driver=driver) for number, driver in enumerate(drivers)
    ]
    domains = [one.replace(scheduler=Scheduler.EDF) for one in TWO.domains]
    many = System.of({**vars(TWO), "devices": devices, "domains": domains})
    with pytest.raises(InputError, match=message):
        run(RunRequest(many, MS))
