# SPDX-License-Identifier: BSD-2-Clause
"""Rules about pcpus: how many a policy may have, which domain is on which, how much fits on one.

At the end: what the partitions of a table of windows must be beside each other, as ARINC 653 has
them. A major frame is laid out once and comes again and again from time 0; a domain with windows
is a partition, which runs in them and nowhere else, with work or without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hyperperiod.model.domain import Domain, nested_domains
from hyperperiod.model.exclusions import Narrower, excluded
from hyperperiod.model.interface import Interface
from hyperperiod.model.limits import PCPU_LIMIT, TASK_LIMIT, VCPU_LIMIT
from hyperperiod.model.policy import ONE_PCPU_ONLY, TABLE, Policy, Scope
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Finding, Path, up_to


def policy_fits(path: Path, policy: Policy, pcpus: int) -> Iterator[Finding]:
    """A finding on the policy at `path` where it is for one pcpu and there are several."""
    if policy.name == ONE_PCPU_ONLY and pcpus != 1:
        yield Finding(path, f"hsf-fp on {pcpus} pcpus", "pcpus = 1, or partitioned-hsf-fp")


def pins(domains: tuple[Domain, ...], policy: Policy, pcpus: int) -> Iterator[Finding]:
    """Findings on pins that mean nothing; those that are missing are left to `missing_pins`."""
    moving = policy.scope is Scope.GLOBAL and pcpus > 1
    for index, member in enumerate(domains):
        here = ("domain", index)
        beyond = [(path, pcpu) for path, pcpu in _pins_of(member) if pcpu >= pcpus]
        for path, pcpu in beyond:
            yield Finding((*here, *path), str(pcpu), up_to(pcpus, "pcpus"))
        if moving and not beyond:
            yield from excluded(Narrower.MOVING_DOMAIN, member, here, policy=policy)
            for number, own in enumerate(member.own_vcpus):
                at = (*here, "vcpu", number)
                yield from excluded(Narrower.MOVING_VCPU, own, at, policy=policy)


def _pins_of(member: Domain) -> Iterator[tuple[Path, int]]:
    """Each pcpu that a domain names, with its place below the domain."""
    if member.pcpu is not None:
        yield ("pcpu",), member.pcpu
    for number, pcpu in enumerate(member.pcpus or ()):
        yield ("pcpus", number), pcpu
    for number, own in enumerate(member.own_vcpus):
        if own.pcpu is not None:
            yield ("vcpu", number, "pcpu"), own.pcpu


def wishes(
    domains: tuple[Domain, ...], reserved: tuple[int, ...], policy: Policy, pcpus: int
) -> Iterator[Finding]:
    """Findings on what is asked of a placement that no placement, or not the one given, has."""
    for number, pcpu in enumerate(reserved):
        if pcpu >= pcpus:
            yield Finding(("reserved", number), str(pcpu), up_to(pcpus, "pcpus"))
    homes = {member.name: {keys.pcpu for keys in member.each_vcpu} - {None} for member in domains}
    for index, member in enumerate(domains):
        here = ("domain", index)
        for number, name in enumerate(member.apart):
            path = (*here, "apart", number)
            if name == member.name or name not in homes:
                yield Finding(path, repr(name), "the name of another domain")
            elif homes[name] & homes[member.name]:
                yield Finding(path, f"{name!r} on one pcpu with {member.name}", "different pcpus")
        if policy.scope is Scope.PARTITIONED:
            yield from _wishes_of(here, member, len(homes[member.name]), pcpus)


def _wishes_of(here: Path, member: Domain, in_use: int, pcpus: int) -> Iterator[Finding]:
    """Findings on `spread` and `together` of a domain whose vcpus are on so many pcpus."""
    pinned = sum(keys.pcpu is not None for keys in member.each_vcpu)
    if member.spread and member.together:
        yield Finding((*here, "together"), "spread and together", "one of the two")
    if member.spread and (member.vcpus > pcpus or in_use < pinned):
        found = f"{member.vcpus} vcpus on {min(pcpus, in_use) if pinned else pcpus} pcpus"
        yield Finding((*here, "spread"), found, "a pcpu for each vcpu")
    if member.together and in_use > 1:
        yield Finding((*here, "together"), f"vcpus on {in_use} pcpus", "all on one pcpu")


def missing_pins(domains: tuple[Domain, ...], policy: Policy, pcpus: int) -> Iterator[Finding]:
    """Findings on the domains that a partitioned policy still has to be told a pcpu for."""
    if policy.scope is not Scope.PARTITIONED or policy.name == TABLE.name:
        return
    for index, member in enumerate(domains):
        open_ = [number for number, keys in enumerate(member.each_vcpu) if keys.pcpu is None]
        if open_:
            whole = len(open_) == member.vcpus
            yield Finding(
                ("domain", index, *(() if whole else ("vcpu", open_[0])), "pcpu"),
                "nothing",
                f"{up_to(pcpus, 'pcpus')}: policy {policy} pins every domain"
                " (hyperperiod fit chooses pcpus)",
            )


def capacity(domains: tuple[Domain, ...], policy: Policy) -> Iterator[Finding]:
    """Findings on more vcpus than a lock domain has room for, and on more tasks than a system.

    A lock domain is a pcpu under a partitioned policy, all pcpus under a global one.
    """
    vcpus_on: Counter[int | None] = Counter()
    for member in domains:
        if policy.scope is Scope.GLOBAL:
            vcpus_on[None] += member.vcpus
        else:
            vcpus_on.update(keys.pcpu for keys in member.each_vcpu if keys.pcpu is not None)
    for pcpu, vcpus in vcpus_on.items():
        if vcpus > VCPU_LIMIT:
            where = "" if pcpu is None else f" on pcpu {pcpu}"
            yield Finding(("domain",), f"{vcpus} vcpus{where}", f"at most {VCPU_LIMIT}")
    tasks = sum(len(member.tasks) for _, member in nested_domains(domains))
    if tasks > TASK_LIMIT:
        yield Finding(("domain",), f"{tasks} tasks", f"at most {TASK_LIMIT}")


def with_interface(one: Domain, frame_ns: int) -> Domain:
    """The domain with what its windows come to in every major frame (ns) as its interface.

    One that has an interface, no windows, or more than the frame is left as it is.
    """
    total_ns = _total_ns(one)
    if one.interface is not None or not 0 < total_ns <= frame_ns:
        return one
    return one.replace(interface=Interface(period_ns=frame_ns, budget_ns=total_ns))


def _total_ns(one: Domain) -> int:
    return sum(window.duration_ns for window in one.windows)


def table_fits(
    domains: Sequence[Domain], policy: Policy, frame_ns: int | None
) -> Iterator[Finding]:
    """Findings on windows without a table, on a table without windows, and on those that clash."""
    tabled = policy.name == TABLE.name
    without = f'policy = "{TABLE}"; {policy} has no table'
    if frame_ns and not tabled:
        yield Finding(("major_frame",), format_time(frame_ns), without)
    if tabled and not frame_ns:
        yield Finding(("major_frame",), "nothing", "a time: how long the table is")
    for index, one in enumerate(domains):
        here = ("domain", index)
        if bool(one.windows) is not tabled:
            allowed = "windows of each domain: [{ start, duration }, ...]"
            found = f"{len(one.windows)} of them" if one.windows else "none"
            yield Finding((*here, "windows"), found, allowed if tabled else without)
        elif one.windows and frame_ns:
            yield from _partition_fits(here, one, frame_ns)
        if one.windows and one.pcpu is None and one.pcpus is None:
            yield Finding((*here, "pcpu"), "nothing", "a number: on which pcpu the windows are")
    if tabled and len(domains) > PCPU_LIMIT:
        yield Finding(("domain",), f"{len(domains)} partitions", f"at most {PCPU_LIMIT}")
    yield from _overlaps(domains)


def _partition_fits(here: Path, one: Domain, frame_ns: int) -> Iterator[Finding]:
    """Findings on windows that end after the major frame (ns), and on an interface beside them."""
    given = one.interface
    if given is not None and (given.period_ns, given.budget_ns) != (frame_ns, _total_ns(one)):
        allowed = "no interface beside windows, which say what the domain gets"
        yield Finding((*here, "interface"), one.name, allowed)
    for number, window in enumerate(one.windows):
        if window.end_ns > frame_ns:
            yield Finding(
                (*here, "windows", number),
                f"the end at {format_time(window.end_ns)}",
                f"up to the major frame, {format_time(frame_ns)}",
            )


def _overlaps(domains: Sequence[Domain]) -> Iterator[Finding]:
    """Findings on windows that begin before another one on their pcpu is over."""
    laid = sorted(
        (one.pcpu, window.start_ns, window.end_ns, index, number)
        for index, one in enumerate(domains)
        for number, window in enumerate(one.windows)
        if one.pcpu is not None
    )
    for (pcpu, _, end_ns, earlier, _), (other, start_ns, _, index, number) in pairwise(laid):
        if pcpu == other and start_ns < end_ns:
            yield Finding(
                ("domain", index, "windows", number),
                f"the start at {format_time(start_ns)}",
                f"from {format_time(end_ns)} on, where a window of {domains[earlier].name} is over",
            )
