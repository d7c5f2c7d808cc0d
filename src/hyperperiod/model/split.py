# SPDX-License-Identifier: BSD-2-Clause
"""The system in which each vcpu is a domain of its own, and the way back.

A vcpu with a server and the tasks that are pinned to it is, for whoever judges it, a domain with
one vcpu. So what is known of those holds for guests whose vcpus differ: `split` makes of a domain
`linux` the domains `linux.0`, `linux.1`, ... with one vcpu each, the tasks of each and the hops of
flows renamed, and `joined` puts interfaces that were found for them back into the domain.

Split are the domains whose vcpus may differ (`is_split`). Where jobs move between these, no vcpu
has the tasks: the parts then are servers alone, and the domain as a whole is judged by what they
supply together.

`partitions_alone` splits a table of windows likewise: nobody pays under one and nobody is asked, so
what a partition gets does not depend on any other. It is a domain alone on a pcpu of which all is
stolen but its windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hyperperiod.model.changes import Change, vcpus_meant
from hyperperiod.model.domain import Domain
from hyperperiod.model.interface import TimeWindow
from hyperperiod.model.own_vcpu import VcpuKeys
from hyperperiod.model.policy import TABLE, parse_policy
from hyperperiod.model.stolen import Stolen
from hyperperiod.model.system import System


def split(system: System) -> System:
    """The system with each vcpu of such domains as a domain of its own; all others stay."""
    if not any(one.is_split for one in system.domains):
        return system
    names = task_names(system.domains)
    return system.replace(
        domains=tuple(part for domain in system.domains for part in parts_of(domain)),
        flows=tuple(
            flow.replace(hops=tuple(names.get(hop, hop) for hop in flow.hops))
            for flow in system.flows
        ),
        changes=tuple(one for change in system.changes for one in _changes(change, system.domains)),
    )


def parts_of(domain: Domain) -> tuple[Domain, ...]:
    """Returns the domains that `split` makes of one: a domain for each vcpu, or itself."""
    if not domain.is_split:
        return (domain,)
    plain = domain.replace(
        vcpus=1, pcpus=None, spread=False, together=False, apart=(), own_vcpus=(), tasks=()
    )
    return tuple(
        plain.replace(
            name=name,
            **keys._asdict(),
            tasks=()
            if domain.moves_jobs
            else tuple(
                task.replace(vcpu=None) for task in domain.tasks if task.vcpu in (None, index)
            ),
        )
        for index, (name, keys) in enumerate(zip(domain.vcpu_names, domain.each_vcpu, strict=True))
    )


def part_names(domain: Domain) -> tuple[str, ...]:
    """Returns the names of these domains in their order."""
    return domain.vcpu_names if domain.is_split else (domain.name,)


def joined(system: System, parts: System) -> System:
    """The system with what was found for its parts: interfaces, pcpus, priorities, the spare.

    `parts` is the system that `split` gave, with more keys.
    """
    found = iter(parts.domains)
    return system.replace(
        domains=tuple(
            _with_keys(domain, [next(found) for _ in part_names(domain)])
            for domain in system.domains
        ),
        spare=parts.spare,
    )


def _with_keys(domain: Domain, parts: Sequence[Domain]) -> Domain:
    """The domain with the keys of its parts, where these are others than its vcpus have."""
    if not domain.is_split:
        return parts[0]
    changes = [
        {
            name: getattr(part, name)
            for name in VcpuKeys._fields
            if getattr(part, name) != getattr(keys, name)
        }
        for part, keys in zip(parts, domain.each_vcpu, strict=True)
    ]
    if not domain.own_vcpus and all(change == changes[0] for change in changes):
        return domain.replace(**changes[0])
    return domain.with_vcpus(
        {name: None if value is False else value for name, value in change.items()}
        for change in changes
    )


def task_names(domains: Iterable[Domain]) -> dict[str, str]:
    """Returns `"part.task"` for each `"domain.task"` of the split domains whose jobs stay."""
    return {
        f"{domain.name}.{task.name}": f"{domain.vcpu_names[task.vcpu or 0]}.{task.name}"
        for domain in domains
        if domain.is_split and not domain.moves_jobs
        for task in domain.tasks
    }


def _changes(change: Change, domains: tuple[Domain, ...]) -> list[Change]:
    """The change as one of each part that it is about."""
    meant = [(domains[index], vcpu) for index, vcpu in vcpus_meant(domains, change.domain)]
    if any(not domain.is_split for domain, _ in meant):
        return [change]
    return [change.replace(domain=domain.vcpu_names[vcpu]) for domain, vcpu in meant]


def partitions_alone(system: System) -> System:
    """A system with a table as one in which each partition is alone on a pcpu.

    All of that pcpu is stolen but its windows, which its budget is just enough for; partition *n*
    of the file is on pcpu *n*. Other systems stay as they are.
    """
    if system.major_frame_ns is None:
        return system
    frame_ns = system.major_frame_ns
    alone = tuple(one.replace(windows=(), pcpu=i) for i, one in enumerate(system.domains))
    gaps = tuple(
        Stolen(period_ns=frame_ns, offset_ns=start_ns, duration_ns=end_ns - start_ns, pcpu=index)
        for index, one in enumerate(system.domains)
        for start_ns, end_ns in _gaps(one.windows, frame_ns)
    )
    return system.replace(
        major_frame_ns=None,
        policy=parse_policy(TABLE.rules),
        pcpus=len(alone),
        domains=alone,
        stolen=gaps,
    )


def _gaps(windows: Sequence[TimeWindow], frame_ns: int) -> Iterator[tuple[int, int]]:
    """The parts (ns) of a major frame that are in no window."""
    ordered = sorted(windows, key=lambda one: one.start_ns)
    ends = (0, *(one.end_ns for one in ordered))
    starts = (*(one.start_ns for one in ordered), frame_ns)
    return (
        (end_ns, start_ns)
        for end_ns, start_ns in zip(ends, starts, strict=True)
        if end_ns < start_ns
    )
