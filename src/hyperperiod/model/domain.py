# SPDX-License-Identifier: BSD-2-Clause
"""A domain (a VM), the tasks or domains inside it, and what its keys must be together.

At the end: what the domains of a system must be beside each other, in names and priorities.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import lcm
from typing import TYPE_CHECKING, Any

from hyperperiod.model.exclusions import OUTER_ALLOWED, Narrower, excluded, several_interfaces
from hyperperiod.model.interface import WINDOW_LIMIT, Interface, PeriodRange, TimeWindow
from hyperperiod.model.limits import (
    DEPTH_LIMIT,
    VCPU_LIMIT,
    PcpuId,
    Priority,
    Vcpus,
    Weight,
)
from hyperperiod.model.own_vcpu import OwnVcpu, VcpuKeys
from hyperperiod.model.part import Part, key
from hyperperiod.model.policy import Order, Policy
from hyperperiod.model.task import Task
from hyperperiod.model.values import Finding, Name, Path, PositiveTime, duplicates, up_to
from hyperperiod.model.words import RESERVED_NAMES, GuestKind, Scheduler, TaskKind


class Domain(Part):
    """A VM: tasks under a local scheduler on one or more vcpus, or a domain of domains."""

    name: Name = key("what the VM is called; unique; not `idle`, `spare` or `stolen`")
    scheduler: Scheduler = key(
        "who is first inside: `rm`, `dm`, `fp`, `edf`, `fifo`; `grm`, `gdm`, `gfp`, `gedf`: the"
        " same, but jobs [move between the vcpus](semantics.md#global-guests) of the domain;"
        " `executor`: [callbacks of ROS 2](semantics.md#executors) in one thread, which the"
        " simulator has and exports of budgets take, while runs on Linux and Xen, and exports to"
        " `xen-dom0less`, `carts` and `rt-app`, refuse it;"
        " `fair`: everybody in turn (on Xen, in Linux guests only)",
        default=Scheduler.RM,
    )
    guest: GuestKind = key(
        "what runs its tasks on Xen: `executive`, a small program of ours, or `linux`, with a"
        " [thread](xen/linux-guests.md) for each, or `linux-rt`, the same on Debian's real-time"
        " kernel; other hosts do not look at it",
        default=GuestKind.EXECUTIVE,
    )
    vcpus: Vcpus = key(
        "each is as the keys below say, unless its own table says something else; together at most"
        " 1,024 per pcpu, or per system if global",
        default=None,
        unset="1, or as many as `vcpu` or `pcpus` has",
    )
    pcpu: PcpuId | None = key(
        "where it is pinned; required with several pcpus unless the policy is global; only"
        " [`fit`](fit.md), which chooses it, takes files without",
        default=None,
        unset="0 if there is one",
    )
    pcpus: tuple[PcpuId, ...] | None = key(
        "in place of `pcpu`: that of each vcpu, in order", default=None, unset="none"
    )
    priority: Priority | None = key(
        "smaller is higher; all domains with servers or none, but for"
        " [`psedf`](policies/psedf.md): there a domain without one is ordinary",
        default=None,
        unset="by period",
    )
    interface: Interface | None = key("`{ period, budget }`", default=None, unset="computed")
    interface_period_ns: PositiveTime | None = key(
        "the budget is computed for it", default=None, unset="none"
    )
    interface_period_range: PeriodRange | None = key(
        "`{ min, max, step }`: the best of these periods",
        default=None,
        unset="none",
    )
    windows: tuple[TimeWindow, ...] = key(
        "`[{ start, duration }, ...]` in every major frame, in place of all that servers have:"
        " [tables](semantics.md#tables)",
        default=(),
        unset="none",
    )
    best_effort: bool = key("no server; without tasks it is always busy", default=False)
    extra: bool = key("may use extra time, where the policy has it", default=False)
    weight: Weight | None = key(
        "1 to 65535, under [weights](policies/sedf.md#weights): of time that nobody wants if"
        " `best_effort`, else of what the others leave of the pcpu, in place of an interface; other"
        " policies do not look at it",
        default=None,
        unset="none",
    )
    spread: bool = key("for [`fit`](fit.md): its vcpus on different pcpus", default=False)
    together: bool = key("for `fit`: its vcpus on one pcpu", default=False)
    apart: tuple[Name, ...] = key(
        "for `fit`: domains with which it shares no pcpu", default=(), unset="none"
    )
    own_vcpus: tuple[OwnVcpu, ...] = key(
        "its vcpus in order, where they differ, `[[domain.vcpu]]`", default=(), name="vcpu"
    )
    tasks: tuple[Task, ...] = key("its tasks, `[[domain.task]]`", default=(), name="task")
    domains: tuple["Domain", ...] = key(
        "domains inside, `[[domain.domain]]`; analysis only", default=(), name="domain"
    )

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            name: str,
            scheduler: str = ...,
            guest: str = ...,
            vcpus: int = ...,
            pcpu: int | None = ...,
            pcpus: Sequence[int] | None = ...,
            priority: int | None = ...,
            interface: Interface | dict[str, Any] | None = ...,
            interface_period: int | str | None = ...,
            interface_period_ns: int | str | None = ...,
            interface_period_range: PeriodRange | dict[str, Any] | None = ...,
            windows: Sequence[TimeWindow | dict[str, Any]] = ...,
            best_effort: bool = ...,
            extra: bool = ...,
            weight: int | None = ...,
            spread: bool = ...,
            together: bool = ...,
            apart: Sequence[str] = ...,
            own_vcpus: Sequence[OwnVcpu | dict[str, Any]] = ...,
            tasks: Sequence[Task | dict[str, Any]] = ...,
            domains: Sequence["Domain | dict[str, Any]"] = ...,
        ) -> None: ...

    def _settle(self) -> None:
        if self.vcpus is None:
            self._set(vcpus=default_vcpus(self))
        if not self.tasks:
            self._set(tasks=default_tasks(self))

    def _findings(self) -> Iterable[Finding]:
        if self.domains:
            yield from _outer_domain(self)
        else:
            if self.best_effort:
                yield from excluded(Narrower.BEST_EFFORT_DOMAIN, self)
            if self.windows:
                yield from _partition(self)
            elif self.is_served:
                yield from _real_time_domain(self)
            yield from _own_vcpus(self)
        if self.scheduler is Scheduler.FAIR and not self.guest.is_linux:
            allowed = 'rm, dm, fp, edf, fifo or executor; "fair" beside guest = "linux" only'
            yield Finding(("scheduler",), '"fair"', allowed)
        if self.scheduler is Scheduler.EXECUTOR:
            yield from _executor(self)
        yield from duplicates(("task",), [task.name for task in self.tasks])
        yield from duplicates(("domain",), [inner.name for inner in self.domains])
        for index, member in enumerate(self.tasks):
            yield from _task_in_domain(self, index, member)

    @property
    def vcpu_names(self) -> tuple[str, ...]:
        """The domain's own name, or name.0, name.1, ... when there are several."""
        if self.vcpus == 1:
            return (self.name,)
        return tuple(f"{self.name}.{index}" for index in range(self.vcpus))

    @property
    def each_vcpu(self) -> tuple[VcpuKeys, ...]:
        """The keys of each vcpu in order: its own from `[[domain.vcpu]]`, or the domain's."""
        plain = VcpuKeys(
            pcpu=self.pcpu,
            priority=self.priority,
            interface=self.interface,
            interface_period_ns=self.interface_period_ns,
            interface_period_range=self.interface_period_range,
            best_effort=self.best_effort,
            extra=self.extra,
            weight=self.weight,
        )
        each = [plain] * self.vcpus
        if self.pcpus is not None:
            each = [keys._replace(pcpu=q) for keys, q in zip(each, self.pcpus, strict=False)]
        if self.own_vcpus:
            each = [_own_keys(keys, own) for keys, own in zip(each, self.own_vcpus, strict=False)]
        return tuple(each)

    def with_vcpus(self, changes: Iterable[Mapping[str, Any]]) -> "Domain":
        """Returns the domain with other keys in `[[domain.vcpu]]`, a mapping for each vcpu."""
        own = self.own_vcpus or (OwnVcpu(),) * self.vcpus
        pairs = zip(own, changes, strict=True)
        return self.replace(own_vcpus=tuple(one.replace(**change) for one, change in pairs))

    @property
    def is_served(self) -> bool:
        """Whether a vcpu of it has a server: it is not best effort."""
        if not self.own_vcpus:
            return not self.best_effort
        return not all(keys.best_effort for keys in self.each_vcpu)

    @property
    def is_plain(self) -> bool:
        """Whether its vcpus are all alike, as its own keys say, and on one pcpu."""
        return self.pcpus is None and not self.own_vcpus

    @property
    def is_split(self) -> bool:
        """Whether each vcpu is looked at by itself: they may differ, or jobs move between them.

        Equal vcpus under gedf are looked at together, by tests that know them to be equal.
        """
        if not self.is_plain:
            return True
        moves = self.vcpus > 1 and self.scheduler.is_global
        return moves and self.scheduler is not Scheduler.GEDF

    @property
    def moves_jobs(self) -> bool:
        """Whether a job may run on several of its vcpus."""
        if self.vcpus == 1:
            return False
        return self.scheduler.is_global or any(task.vcpu is None for task in self.tasks)

    @property
    def utilization(self) -> Fraction:
        """Returns the utilization of all tasks inside, at any depth."""
        # One fraction at the end: making and reducing one for each task took most of the time.
        top, bottom = 0, 1
        for task in self.tasks:
            if task.wcet_ns is not None and task.period_ns is not None:
                both = lcm(bottom, task.period_ns)
                top = top * (both // bottom) + task.wcet_ns * (both // task.period_ns)
                bottom = both
        return sum((inner.utilization for inner in self.domains), Fraction(top, bottom))


def default_vcpus(one: Domain) -> int:
    """Returns the number of vcpus of a domain that gives no `vcpus`."""
    return len(one.own_vcpus or one.pcpus or (None,))


def default_tasks(one: Domain) -> tuple[Task, ...]:
    """Returns the tasks of a domain that gives none: it is always busy if it has no server."""
    if one.is_served and not one.windows:
        return ()
    return _hogs(one.vcpus)


@cache
def _hogs(vcpus: int) -> tuple[Task, ...]:
    """Endless work for each vcpu; always the same objects, which a file's own tasks are not."""
    names = ["hog"] if vcpus == 1 else [f"hog.{vcpu}" for vcpu in range(vcpus)]
    return tuple(Task(name=name, kind=TaskKind.BUSY, vcpu=i) for i, name in enumerate(names))


def _own_keys(keys: VcpuKeys, own: OwnVcpu) -> VcpuKeys:
    """The keys of a vcpu over those of its domain; without a server some of these mean nothing."""
    if own.says_what_it_gets:
        keys = keys._replace(
            interface=own.interface,
            interface_period_ns=own.interface_period_ns,
            interface_period_range=own.interface_period_range,
            best_effort=bool(own.best_effort),
            weight=own.weight,
        )
        if keys.best_effort:
            keys = keys._replace(priority=None)
        if keys.best_effort or keys.weight is not None:
            keys = keys._replace(extra=False)
    given = {name: getattr(own, name) for name in ("pcpu", "priority", "extra")}
    return keys._replace(**{name: value for name, value in given.items() if value is not None})


def nested_domains(domains: tuple[Domain, ...], above: Path = ()) -> Iterator[tuple[Path, Domain]]:
    """Each domain at every depth, with its path in the file; outer ones before those in them."""
    for index, member in enumerate(domains):
        path = (*above, "domain", index)
        yield path, member
        yield from nested_domains(member.domains, path)


def _outer_domain(one: Domain) -> Iterator[Finding]:
    yield from excluded(Narrower.OUTER_DOMAIN, one)
    if one.vcpus != 1 and one.scheduler is not Scheduler.GEDF:
        yield Finding(("vcpus",), str(one.vcpus), OUTER_ALLOWED)
    for index, inner in enumerate(one.domains):
        yield from excluded(Narrower.INNER_DOMAIN, inner, ("domain", index))
    if _depth(one) > DEPTH_LIMIT:
        yield Finding(("domain",), "domains nested deeper", f"{DEPTH_LIMIT} levels")
    yield from several_interfaces(one)


def _depth(one: Domain) -> int:
    return 1 + max((_depth(inner) for inner in one.domains), default=0)


def _real_time_domain(one: Domain) -> Iterator[Finding]:
    if not one.tasks:  # who drives devices may have only theirs: see `without_tasks`
        return
    yield from several_interfaces(one)
    if one.weight is not None:  # it stands for an interface: a share of what the others leave
        yield from excluded(Narrower.WEIGHTED_DOMAIN, one)
    elif one.is_plain and one.interface is None and not any(map(_demands, one.tasks)):
        yield Finding(("interface",), f"no interface of {one.name}", _no_demand(one.tasks))


def _partition(one: Domain) -> Iterator[Finding]:
    """Yields findings on a domain with windows: all else that a vcpu may have means nothing."""
    yield from excluded(Narrower.PARTITION, one)
    if one.vcpus != 1:
        yield Finding(("vcpus",), str(one.vcpus), "one vcpu, which has the windows")
    if len(one.windows) > WINDOW_LIMIT:
        yield Finding(("windows",), f"{len(one.windows)} of them", f"at most {WINDOW_LIMIT}")


def _executor(one: Domain) -> Iterator[Finding]:
    """Yields findings on a domain whose tasks are the callbacks of one thread."""
    if one.vcpus != 1:
        allowed = "one vcpu: an executor is one thread; several threads are not covered"
        yield Finding(("vcpus",), str(one.vcpus), allowed)
    if one.domains:
        yield Finding(("domain",), "domains under an executor", "tasks, which are callbacks")
    for index, member in enumerate(one.tasks):
        if member.kind is TaskKind.BUSY:
            allowed = "callbacks that end: no other would ever run"
            yield Finding(("task", index, "kind"), '"busy" under an executor', allowed)


def _demands(one: Task) -> bool:
    return one.wcet_ns is not None and one.period_ns is not None


def _no_demand(tasks: Sequence[Task]) -> str:
    """Returns what is allowed in place of a computed interface, and which task prevents that."""
    one = tasks[0]
    return f"{{ period, budget }}: the {one.kind} task {one.name} gives no demand to compute it"


def _own_vcpus(one: Domain) -> Iterator[Finding]:
    """Yields findings on the vcpus of a domain that says more of them than their number."""
    for key_text, given in (("vcpu", one.own_vcpus or None), ("pcpus", one.pcpus)):
        if given is not None and len(given) != one.vcpus:
            yield Finding((key_text,), f"{len(given)} of them", f"{one.vcpus}, as many as vcpus")
    if one.vcpus > VCPU_LIMIT:
        yield Finding(("vcpu",), f"{one.vcpus} vcpus", f"at most {VCPU_LIMIT}")
    if one.pcpus is not None and one.pcpu is not None:
        yield Finding(("pcpus",), "pcpu and pcpus", "one of the two")
    if one.pcpus is not None and any(own.pcpu is not None for own in one.own_vcpus):
        yield Finding(("pcpus",), "pcpus, and a vcpu with a pcpu", "one of the two")
    for index, (own, keys) in enumerate(zip(one.own_vcpus, one.each_vcpu, strict=False)):
        here = ("vcpu", index)
        yield from several_interfaces(own, here)
        if keys.best_effort:
            yield from excluded(Narrower.BEST_EFFORT_VCPU, own, here)
        elif keys.weight is not None:
            yield from excluded(Narrower.WEIGHTED_VCPU, own, here)
    if not one.is_plain and one.tasks:
        yield from _vcpus_without_demand(one)


def _vcpus_without_demand(one: Domain) -> Iterator[Finding]:
    """Findings on the vcpus whose interface can only be given: nothing says how much they need."""
    for index, keys in enumerate(one.each_vcpu):
        if keys.best_effort or keys.weight is not None or keys.interface is not None:
            continue
        inside = [task for task in one.tasks if one.moves_jobs or task.vcpu in (None, index)]
        if not any(task.utilization for task in inside):
            path = ("vcpu", index, "interface") if one.own_vcpus else ("interface",)
            none = f"{{ period, budget }}: no task is on vcpu {index}"
            yield Finding(
                path, f"no interface of {one.name}", _no_demand(inside) if inside else none
            )


def _task_in_domain(one: Domain, index: int, member: Task) -> Iterator[Finding]:
    """Yields findings on a task in its domain: a vcpu that exists, a priority under fp."""
    here = ("task", index)
    if member.vcpu is not None and member.vcpu >= one.vcpus:
        yield Finding((*here, "vcpu"), str(member.vcpu), up_to(one.vcpus, "vcpus"))
    if one.scheduler.is_global:
        yield from excluded(Narrower.MOVING_TASK, member, here, scheduler=one.scheduler)
    if not one.scheduler.takes_priorities:
        yield from excluded(Narrower.TASK_BY_RULE, member, here, scheduler=one.scheduler)
    elif member.priority is None and (one.is_served or member.kind is not TaskKind.BUSY):
        yield Finding(
            (*here, "priority"),
            "nothing",
            f'a whole number from 0: scheduler "{one.scheduler}" needs it',
        )


def without_tasks(domains: tuple[Domain, ...]) -> Iterator[Finding]:
    """Findings on domains with a server and nothing inside, at any depth."""
    for path, member in nested_domains(domains):
        if member.is_served and not (member.tasks or member.domains or member.windows):
            yield Finding(
                (*path, "task"),
                "a domain without tasks",
                "at least one [[domain.task]], or best_effort",
            )


def unique_names(domains: tuple[Domain, ...]) -> Iterator[Finding]:
    """Findings on names of domains, at any depth, or of their vcpus that are not theirs alone."""
    taken: dict[str, str] = {}
    for path, member in nested_domains(domains):
        for name in dict.fromkeys((member.name, *member.vcpu_names)):
            if name in RESERVED_NAMES:
                allowed = f"a name other than {', '.join(RESERVED_NAMES)}"
                yield Finding((*path, "name"), repr(name), allowed)
            elif taken.get(name) is not None:
                yield Finding(
                    (*path, "name"),
                    f"{name!r} a second time",
                    "each domain once (several vcpus are called name.0, name.1, ...)",
                )
            taken[name] = member.name


def priorities(domains: tuple[Domain, ...], policies: Iterable[Policy]) -> Iterator[Finding]:
    """Findings on the domains that lack a priority, where some domains with a server have one.

    Under fp-edf a domain without one is ordinary, and where only deadlines count nobody asks.
    `policies` are all that the system runs under, one after the other.
    """
    orders = {policy.order for policy in policies}
    if Order.FP not in orders or Order.FP_EDF in orders:
        return
    served = [
        (("domain", index, *(("vcpu", number) if member.own_vcpus else ()), "priority"), keys)
        for index, member in enumerate(domains)
        for number, keys in enumerate(member.each_vcpu)
        if not keys.best_effort
    ]
    without = [path for path, keys in served if keys.priority is None]
    if len(without) == len(served):
        return
    for path in dict.fromkeys(without):
        yield Finding(path, "nothing", "a priority for every domain with a server, or for none")
