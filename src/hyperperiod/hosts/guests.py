# SPDX-License-Identifier: BSD-2-Clause
"""What a guest is told, and the room that it needs for what it has to say.

A guest is given words: who it is, when the run begins and ends, and its tasks. On Xen it is an
executive or a Linux of its own; on Linux it is the process that does the tasks of a domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hyperperiod.hosts.channels import channels_of, hop_places
from hyperperiod.hosts.qemu import COUNTER_HZ, ICOUNT_RATE
from hyperperiod.hosts.rings import HEADER
from hyperperiod.model import (
    Domain,
    Flow,
    Scheduler,
    Source,
    System,
    Task,
    TaskKind,
    hops_of,
    overrun_of,
    tasks_of,
)
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.trace.format import RECORD

BY_CARD = "@"
"""Before the number of a card: that by which a flow comes is before its hops, the other behind."""
HOP = "h"
"""The kind of a task that is a hop."""
NEVER = 2**64
"""The sorting key of a task that comes after all others."""
LINUX_DEADLINES_NS = (100_000, 4_194_304_000)
"""What SCHED_DEADLINE takes for a period, as Linux is set when it starts."""
FLOW_LIMIT = 256
HOP_LIMIT = 1024
ITEM_LIMIT = 16_384
CLIENT_LIMIT = 256
"""What the program that runs a domain's tasks has room for (guests/executive/flow.h): flows of the
system, and in those that pass the domain all hops, items on their way, and clients of sources that
begin there. A system with more is refused before it runs."""


class Workload(NamedTuple):
    """What a guest does in place of its domain's tasks (guests/executive/latency.h).

    It begins `offset_ns` after the epoch, takes `span_ns` and needs a ring for so many records.
    """

    words: tuple[str, ...]
    offset_ns: int
    span_ns: int
    records: int

    @property
    def ring_bytes(self) -> int:
        """The room of the ring."""
        return ring_bytes(self.records)


def guest_words(
    system: System,
    number: int,
    *,
    epoch_ns: int,
    horizon_ns: int,
    seed: int,
    memory_bytes: int,
    rate: int = ICOUNT_RATE,
    counter_hz: int = COUNTER_HZ,
    wires: bool = True,
    workload: Workload | None = None,
) -> list[str]:
    """What the guest of domain `number` (from 0, in file order) is told.

    `wires`: items go from domain to domain by channels, of which it is told as well. With a
    `workload` it knows no tasks, and epoch and horizon are when that begins and how long it takes.
    """
    domain = system.domains[number]
    if workload is not None:
        domain = domain.replace(tasks=())
    ranks = task_ranks(domain)
    hops = {task for flow in hop_places(system) for where, task in flow if where == number}
    return [
        *(workload.words if workload else ("workload=tasks",)),
        f"domain={number}",
        f"vcpus={domain.vcpus}",
        f"scheduler={domain.scheduler.local}",
        *run_words(epoch_ns, horizon_ns, seed, memory_bytes, rate, counter_hz),
        *(
            _task(task, rank, is_hop=index in hops)
            for index, (task, rank) in enumerate(zip(domain.tasks, ranks, strict=True))
        ),
        *_overruns(system, domain),
        *flow_words(system, number),
        *(_wires(system, number) if wires else ()),
    ]


def run_words(
    epoch_ns: int,
    horizon_ns: int,
    seed: int,
    memory_bytes: int,
    rate: int = ICOUNT_RATE,
    counter_hz: int = COUNTER_HZ,
) -> list[str]:
    """What every guest is told of a run and its machine, whatever it does there."""
    return [
        f"epoch={epoch_ns * counter_hz // NS_PER_UNIT['s']}",
        f"horizon={horizon_ns}",
        f"seed={seed}",
        f"memory={memory_bytes}",
        f"rate={rate}",
    ]


def task_ranks(domain: Domain) -> list[int]:
    """The place of each task under fixed priority, 0 first; otherwise the file's order."""
    local = domain.scheduler.local
    keys = [(_static_key(local, task), index) for index, task in enumerate(domain.tasks)]
    places = {key: rank for rank, key in enumerate(sorted(keys))}
    return [places[key] for key in keys]


def _task(task: Task, rank: int, *, is_hop: bool) -> str:
    numbers = (
        task.period_ns or 0,
        task.wcet_ns or 0,
        task.bcet_ns or 0,
        task.deadline_ns or 0,
        task.offset_ns,
        task.jitter_ns,
        rank,
    )
    vcpu = "-" if task.vcpu is None else str(task.vcpu)
    kind = HOP if is_hop else task.kind.value[0]
    return ":".join([f"task={kind}", *map(str, numbers), vcpu])


def _static_key(scheduler: Scheduler, task: Task) -> int:
    """The key that an executive ranks a task by, lowest first; a busy task without one is last."""
    if scheduler is Scheduler.RM:
        return NEVER if task.kind is TaskKind.BUSY else task.period_ns or NEVER
    if scheduler is Scheduler.DM:
        return task.deadline_ns or NEVER
    if scheduler is Scheduler.FP:
        return NEVER if task.priority is None else task.priority
    return 0


def _overruns(system: System, domain: Domain) -> Iterator[str]:
    """The overruns of a domain's tasks, by the places of these among its tasks."""
    for index, task in enumerate(domain.tasks):
        one = overrun_of(system.overruns, domain.name, task.name)
        if one is not None:
            to_ns = "-" if one.to_ns is None else one.to_ns
            yield f"overrun={index}:{one.thousandths}:{one.from_ns}:{to_ns}:{one.every}"


def flow_words(system: System, number: int | None) -> Iterator[str]:
    """The flows in which a domain has a part; without one all whose items come by a card."""
    cards = [device.name for device in system.devices]
    for index, (flow, hops) in enumerate(zip(system.flows, hop_places(system), strict=True)):
        by_card = number is None and flow.via is not None
        if not by_card and all(where != number for where, _ in hops):
            continue
        places = [f"{where}.{task}" for where, task in hops]
        if flow.via is not None:
            places.insert(0, f"{BY_CARD}{cards.index(flow.via)}")
        if flow.out is not None:
            places.append(f"{BY_CARD}{cards.index(flow.out)}")
        numbers = map(str, (*_source(flow.source), flow.queue))
        yield ":".join([f"flow={index}", flow.source.kind.value[0], *numbers, ",".join(places)])


def _wires(system: System, number: int) -> Iterator[str]:
    """The channels of a domain."""
    for channel in channels_of(system):
        other = channel.other(number)
        if other is not None:
            yield f"wire={other}:{channel.port}:{channel.offset}:{channel.room}"


def _source(source: Source) -> tuple[int, int, int, int]:
    if source.clients is not None:
        min_ns, max_ns = source.think_range_ns
        return min_ns, source.offset_ns, max_ns, source.clients
    return source.period_ns or 0, source.offset_ns, source.jitter_ns, source.burst


def counted_flows(system: System) -> Iterator[tuple[str, int, int]]:
    """What there is of flows, and the most that a guest has room for."""
    places = hop_places(system)
    yield "flow", len(system.flows), FLOW_LIMIT
    for flow in system.flows:
        yield f"flow {flow.name}: queue", flow.queue, ITEM_LIMIT
    for number, domain in enumerate(system.domains):
        here = [
            (flow.queue, len(hops))
            for flow, hops in zip(system.flows, places, strict=True)
            if any(where == number for where, _ in hops)
        ]
        what = f"domain {domain.name}: "
        yield f"{what}items on their way", sum(queue for queue, _ in here), ITEM_LIMIT
        yield f"{what}hops of its flows", sum(hops for _, hops in here), HOP_LIMIT
        clients = sum(
            flow.source.clients or 0
            for flow, hops in zip(system.flows, places, strict=True)
            if hops[0][0] == number
        )
        yield f"{what}clients", clients, CLIENT_LIMIT


def guest_ring_bytes(system: System, number: int, horizon_ns: int) -> int:
    """What a ring takes with six records for each job of a domain, and some.

    An item has one record more, and one if it is dropped.
    """
    records = 6 * sum(job_counts(system, number, horizon_ns))
    for flow, hops in zip(system.flows, hop_places(system), strict=True):
        here = sum(where == number for where, _ in hops)
        records += (here + (hops[0][0] == number)) * _items(system, flow, horizon_ns)
    return ring_bytes(records)


def ring_bytes(records: int) -> int:
    """What a ring takes with so many records, and some."""
    return HEADER.itemsize + RECORD.itemsize * (records + 1024)


def job_counts(system: System, number: int, horizon_ns: int) -> list[int]:
    """For each task of a domain: so many jobs have records to be kept, at most."""
    jobs = [_own_jobs(task, horizon_ns) for task in system.domains[number].tasks]
    visits = [0] * len(jobs)
    for flow, hops in zip(system.flows, hop_places(system), strict=True):
        for where, task in hops:
            if where == number:
                visits[task] += _items(system, flow, horizon_ns)
    return [visit or own for visit, own in zip(visits, jobs, strict=True)]


def item_count(system: System, horizon_ns: int) -> int:
    """Returns how many items come from all sources up to the horizon at most."""
    return sum(_items(system, flow, horizon_ns) for flow in system.flows)


def _items(system: System, flow: Flow, horizon_ns: int) -> int:
    """How many items come from a flow's source up to the horizon at most.

    Each client sends the next one when it has thought and that before has been worked on.
    """
    source = flow.source
    if source.period_ns is not None:
        return source.burst * (2 + horizon_ns // source.period_ns)
    tasks = tasks_of(system)
    work_ns = sum(tasks[hop].task.bcet_ns or 0 for hop in hops_of(system)[system.flows.index(flow)])
    alone_ns = source.think_range_ns[0] + work_ns
    clients = source.clients or 0
    return clients + min(
        clients * (1 + horizon_ns // alone_ns), system.pcpus * horizon_ns // work_ns
    )


def _own_jobs(task: Task, horizon_ns: int) -> int:
    """Returns how many jobs a task that is no hop can have up to the horizon."""
    apart_ns = task.bcet_ns if task.kind is TaskKind.BUSY else task.period_ns
    return 1 if apart_ns is None else 2 + horizon_ns // apart_ns
