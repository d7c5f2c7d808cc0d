# SPDX-License-Identifier: BSD-2-Clause
"""Devices for drawn systems with flows: packets come in through one and go out through another."""

from __future__ import annotations

import random

from hyperperiod.model import Device, Domain, Flow, Scheduler, System


def with_devices(rng: random.Random, one: System) -> System:
    """The system with one to three devices, driven by one or two of its domains.

    Flows lose the hops that they have in the domains which drive their devices. Event tasks that no
    flow releases any more are gone, too, and what is empty then.
    """
    drivers = rng.sample(one.domains, rng.randint(1, len(one.domains) - 1))
    devices = [
        draw_device(rng, f"eth{number}", rng.choice(drivers)) for number in range(rng.randint(1, 3))
    ]
    flows = [draw_through(rng, flow, devices) for flow in one.flows]
    used = {hop for flow in flows for hop in flow.hops}
    gone = {hop for flow in one.flows for hop in flow.hops} - used
    domains = tuple(
        domain.replace(
            tasks=tuple(task for task in domain.tasks if f"{domain.name}.{task.name}" not in gone)
        )
        for domain in one.domains
    )
    ends = {name for flow in flows for name in (flow.via, flow.out)}
    busy = {device.driver for device in devices if device.name in ends}
    domains = tuple(domain for domain in domains if domain.tasks or domain.name in busy)
    there = {domain.name for domain in domains}
    return System.of({
        **vars(one),
        "domains": domains,
        "devices": tuple(device for device in devices if device.driver in there),
        "flows": tuple(flows),
    })  # fmt: skip


def draw_device(rng: random.Random, name: str, driver: Domain) -> Device:
    return Device.of({
        "name": name,
        "driver": driver.name,
        "receive": rng.randint(1, 3),
        "send": rng.randint(1, 3),
        "queue": rng.choice((1, 2, 3, 8)),
        "etf": rng.choice((1.0, 0.3)),
        "priority": rng.randint(0, 3) if driver.scheduler is Scheduler.FP else None,
    })  # fmt: skip


def draw_through(rng: random.Random, flow: Flow, devices: list[Device]) -> Flow:
    """The flow through devices at one end or both, if it then has hops left and no clients."""
    into, out = rng.choice([*devices, None]), rng.choice([*devices, None])
    drivers = {one.driver for one in (into, out) if one}
    hops = tuple(hop for hop in flow.hops if hop.partition(".")[0] not in drivers)
    if not hops or flow.source.clients:
        return flow
    queue = None if into and rng.random() < 0.5 else flow.queue
    return flow.replace(hops=hops, queue=queue, via=into and into.name, out=out and out.name)
