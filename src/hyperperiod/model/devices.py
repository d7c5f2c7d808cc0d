# SPDX-License-Identifier: BSD-2-Clause
"""The tasks that devices are for the domains that drive them, and flows through them.

A device's packets cost its driver time: a task `eth0 in` of the driver receives those that come
in, a task `eth0 out` sends those that go out. A flow `via` a device has `eth0 in` for its first
hop, one whose items go `out` through a device `eth0 out` for its last. These tasks and hops are
made here and nowhere else, whenever a system is made (`with_devices`); files have none of them
(`without_devices`). So all that is known of tasks and flows holds for devices, too.

The ring of a device is new: packets of all its flows wait there to be received, and one that finds
`queue` of them there is dropped. Packets that go out are items on their way, which the queue of
their flow bounds.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from hyperperiod.model.domain import Domain, default_tasks
from hyperperiod.model.errors import did_you_mean
from hyperperiod.model.flow import Device, Flow
from hyperperiod.model.task import DeviceTask, Task
from hyperperiod.model.values import NAME_LIMIT, Finding, duplicates
from hyperperiod.model.words import SourceKind, TaskKind


def devices_fit(
    devices: tuple[Device, ...], domains: tuple[Domain, ...], flows: tuple[Flow, ...]
) -> Iterator[Finding]:
    """Findings on devices and flows through them, in a system without the tasks made for them."""
    yield from duplicates(("device",), [one.name for one in devices])
    known = {one.name: (index, one) for index, one in enumerate(domains)}
    for index, device in enumerate(devices):
        here = ("device", index)
        too_long = len(device.task_out) - NAME_LIMIT
        if too_long > 0:
            allowed = f"at most {len(device.name) - too_long}: the names of its tasks are longer"
            yield Finding((*here, "name"), f"{len(device.name)} characters", allowed)
        if device.driver not in known:
            allowed = f"a domain that drives it: {', '.join(known)}"
            allowed += did_you_mean(device.driver, known)
            yield Finding((*here, "driver"), repr(device.driver), allowed)
        else:
            number, driver = known[device.driver]
            yield from _driver(device, driver, number, here)
    own = {one.name: {f"{one.name}.{task.name}" for task in one.tasks} for one in domains}
    beside = {one.name: own.get(one.driver, set()) for one in devices}
    made = {f"{one.driver}.{name}" for one in devices for name in (one.task_in, one.task_out)}
    for index, flow in enumerate(flows):
        yield from _flow_through(flow, beside, made, ("flow", index))


def _driver(
    device: Device, driver: Domain, number: int, here: tuple[str, int]
) -> Iterator[Finding]:
    """Findings on the driver of a device, the domain with that number."""
    if driver.domains:
        yield Finding((*here, "driver"), f"{driver.name!r}, with domains inside", "one with tasks")
    elif driver.vcpus != 1:
        found = f"{driver.name!r} with {driver.vcpus} vcpus"
        yield Finding((*here, "driver"), found, "a domain with one vcpu")
    wants = driver.scheduler.takes_priorities
    if wants and device.priority is None:
        allowed = f'a whole number from 0: scheduler "{driver.scheduler}" of {driver.name} needs it'
        yield Finding((*here, "priority"), "nothing", allowed)
    elif device.priority is not None and not wants:
        found = f'{device.priority} with scheduler "{driver.scheduler}" of {driver.name}'
        yield Finding((*here, "priority"), found, 'only with scheduler = "fp" or "gfp"')
    for index, task in enumerate(driver.tasks):
        if task.name in (device.task_in, device.task_out):
            path = ("domain", number, "task", index, "name")
            yield Finding(
                path, repr(task.name), f"another name: it is that of device {device.name}"
            )


def _flow_through(
    flow: Flow, beside: dict[str, set[str]], made: set[str], here: tuple[str, int]
) -> Iterator[Finding]:
    """Findings on the devices of a flow: `beside` them their drivers have tasks, `made` others."""
    through = []
    for where in ("via", "out"):
        name = getattr(flow, where)
        if name in beside:
            through.append(name)
        elif name is not None:
            allowed = f"a device: {', '.join(beside)}" if beside else "a [[device]] of that name"
            yield Finding((*here, where), repr(name), allowed + did_you_mean(name, beside))
    if through and flow.source.kind is SourceKind.CLOSED:
        allowed = '"periodic" or "sporadic": a client would wait for ever for a dropped packet'
        yield Finding((*here, "source", "kind"), f'"closed" through {through[0]}', allowed)
    for number, hop in enumerate(flow.hops):
        path = (*here, "hops", number)
        name = next((one for one in through if hop in beside[one]), None)
        if hop in made:
            yield Finding(path, repr(hop), "via or out: a device's task is no hop")
        elif name is not None:
            found = f"{hop!r}, in the domain that drives {name}"
            yield Finding(path, found, "tasks of other domains")


def with_devices(
    devices: tuple[Device, ...], domains: tuple[Domain, ...], flows: tuple[Flow, ...]
) -> tuple[tuple[Domain, ...], tuple[Flow, ...]]:
    """Returns domains and flows with the tasks and hops of devices that fit, which they lack."""
    named = {one.name: one for one in devices}
    made = {
        domain.name: tuple(
            task for one in devices if one.driver == domain.name for task in _tasks(one, flows)
        )
        for domain in domains
    }
    drivers = tuple(
        one.replace(tasks=(*_own_tasks(one), *made[one.name])) if made[one.name] else one
        for one in domains
    )
    return drivers, tuple(_through(flow, named) for flow in flows)


def _own_tasks(driver: Domain) -> tuple[Task, ...]:
    """The driver's tasks; a best-effort domain is not endlessly busy if it has those of devices."""
    return () if driver.tasks is default_tasks(driver) else driver.tasks


def _through(flow: Flow, devices: dict[str, Device]) -> Flow:
    """The flow with its hops in the drivers, and a queue."""
    hops = flow.hops
    queue = flow.queue
    if flow.via is not None:
        one = devices[flow.via]
        hops = (f"{one.driver}.{one.task_in}", *hops)
        queue = one.queue if flow.queue is None else flow.queue
    if flow.out is not None:
        one = devices[flow.out]
        hops = (*hops, f"{one.driver}.{one.task_out}")
    return flow.replace(hops=hops, queue=queue)


def _tasks(device: Device, flows: Sequence[Flow]) -> Iterator[Task]:
    """The tasks of a device through which there are flows."""
    for name, wcet_ns, through in (
        (device.task_in, device.receive_ns, [one for one in flows if one.via == device.name]),
        (device.task_out, device.send_ns, [one for one in flows if one.out == device.name]),
    ):
        if through:
            yield _task(device, name, wcet_ns, through)


def _task(device: Device, name: str, wcet_ns: int, through: Sequence[Flow]) -> Task:
    """A task with the rate of all these flows, due when the first of them is: no later will do."""
    rate = sum(
        (Fraction(one.source.burst, one.source.period_ns or 1) for one in through), Fraction()
    )
    return DeviceTask(
        name=name,
        kind=TaskKind.EVENT,
        period_ns=max(1, int(1 / rate)),
        wcet_ns=wcet_ns,
        deadline_ns=min(one.deadline_ns for one in through),
        etf=device.etf,
        priority=device.priority,
    )


def _without_made(domain: Domain) -> Domain:
    own = tuple(task for task in domain.tasks if not isinstance(task, DeviceTask))
    return domain if len(own) == len(domain.tasks) else domain.replace(tasks=own)


def without_devices(
    domains: tuple[Domain, ...], flows: tuple[Flow, ...], devices: tuple[Device, ...]
) -> tuple[tuple[Domain, ...], tuple[Flow, ...]]:
    """Returns domains and flows as a file has them: without what is made of devices."""
    rings = {one.name: one.queue for one in devices}
    made = {
        f"{domain.name}.{task.name}"
        for domain in domains
        for task in domain.tasks
        if isinstance(task, DeviceTask)
    }
    return tuple(map(_without_made, domains)), tuple(
        one.replace(
            hops=tuple(hop for hop in one.hops if hop not in made),
            queue=None if one.via and one.queue == rings.get(one.via) else one.queue,
        )
        for one in flows
    )
