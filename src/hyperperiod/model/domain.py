# SPDX-License-Identifier: BSD-2-Clause
"""A domain (a VM), the tasks or domains inside it, and what its keys must be together.

At the end: what the domains of a system must be beside each other, in names and priorities.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from hyperperiod.model.exclusions import Narrower, excluded, several_interfaces
from hyperperiod.model.interface import Interface, PeriodRange
from hyperperiod.model.limits import DEPTH_LIMIT, PcpuId, Priority, Vcpus, Weight
from hyperperiod.model.part import Part, key
from hyperperiod.model.policy import Order, Policy
from hyperperiod.model.task import Task
from hyperperiod.model.values import Finding, Name, Path, PositiveTime, duplicates, up_to
from hyperperiod.model.words import RESERVED_NAMES, Scheduler, TaskKind


class Domain(Part):
    """A VM: tasks under a local scheduler on one or more vcpus, or a domain of domains."""

    name: Name = key("what the VM is called; unique; not `idle` or `spare`")
    scheduler: Scheduler = key(
        "who is first inside: `rm`, `dm`, `fp`, `edf`, `fifo`; `gedf`: jobs move between the vcpus"
        " of the domain (analysis only)",
        default=Scheduler.RM,
    )
    vcpus: Vcpus = key(
        "each has the interface; together at most 1,024 per pcpu, or per system if global",
        default=1,
    )
    pcpu: PcpuId | None = key(
        "where it is pinned; required with several pcpus unless the policy is global; only"
        " [`fit`](fit.md), which chooses it, takes files without",
        default=None,
        unset="0 if there is one",
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
    best_effort: bool = key("no server; without tasks it is always busy", default=False)
    extra: bool = key("may use extra time, where the policy has it", default=False)
    weight: Weight | None = key(
        "1 to 65535, under [weights](policies/sedf.md#weights): of time that nobody wants if"
        " `best_effort`, else of what the others leave of the pcpu, in place of an interface; other"
        " policies do not look at it",
        default=None,
        unset="none",
    )
    tasks: tuple[Task, ...] = key("its tasks, `[[domain.task]]`", default=(), name="task")
    domains: tuple["Domain", ...] = key(
        "domains inside, `[[domain.domain]]`; analysis only", default=(), name="domain"
    )

    def _settle(self) -> None:
        if self.best_effort and not self.tasks:
            names = ["hog"] if self.vcpus == 1 else [f"hog.{vcpu}" for vcpu in range(self.vcpus)]
            hogs = (Task(name=one, kind=TaskKind.BUSY, vcpu=i) for i, one in enumerate(names))
            self._set(tasks=tuple(hogs))

    def _findings(self) -> Iterable[Finding]:
        if self.domains:
            yield from _outer_domain(self)
        elif self.best_effort:
            yield from excluded(Narrower.BEST_EFFORT_DOMAIN, self)
        else:
            yield from _real_time_domain(self)
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
    def utilization(self) -> Fraction:
        """What the tasks inside, at any depth, ask for on the whole."""
        own = sum((task.utilization for task in self.tasks), Fraction(0))
        return own + sum((inner.utilization for inner in self.domains), Fraction(0))


def nested_domains(domains: tuple[Domain, ...], above: Path = ()) -> Iterator[tuple[Path, Domain]]:
    """Each domain at every depth, with its path in the file; outer ones before those in them."""
    for index, member in enumerate(domains):
        path = (*above, "domain", index)
        yield path, member
        yield from nested_domains(member.domains, path)


def _outer_domain(one: Domain) -> Iterator[Finding]:
    yield from excluded(Narrower.OUTER_DOMAIN, one)
    if one.scheduler is not Scheduler.GEDF:
        yield from excluded(Narrower.OUTER_DOMAIN_NOT_GEDF, one)
    for index, inner in enumerate(one.domains):
        yield from excluded(Narrower.INNER_DOMAIN, inner, ("domain", index))
    if _depth(one) > DEPTH_LIMIT:
        yield Finding(("domain",), "domains nested deeper", f"{DEPTH_LIMIT} levels")
    yield from several_interfaces(one)


def _depth(one: Domain) -> int:
    return 1 + max((_depth(inner) for inner in one.domains), default=0)


def _real_time_domain(one: Domain) -> Iterator[Finding]:
    if not one.tasks:
        yield Finding(
            ("task",), "a domain without tasks", "at least one [[domain.task]], or best_effort"
        )
        return
    yield from several_interfaces(one)
    if one.weight is not None:  # it stands for an interface: a share of what the others leave
        yield from excluded(Narrower.WEIGHTED_DOMAIN, one)
    elif one.interface is None and one.utilization == 0:
        yield Finding(
            ("interface",), "nothing", "{ period, budget }: busy tasks give no demand to compute it"
        )


def _task_in_domain(one: Domain, index: int, member: Task) -> Iterator[Finding]:
    """What a task must be as a member of its domain: a vcpu that exists, a priority under fp."""
    here = ("task", index)
    if member.vcpu is not None and member.vcpu >= one.vcpus:
        yield Finding((*here, "vcpu"), str(member.vcpu), up_to(one.vcpus, "vcpus"))
    if one.scheduler is Scheduler.GEDF:
        yield from excluded(Narrower.GEDF_TASK, member, here)
    if one.scheduler is not Scheduler.FP:
        yield from excluded(Narrower.TASK_BY_RULE, member, here, scheduler=one.scheduler)
    elif member.priority is None and not (one.best_effort and member.kind is TaskKind.BUSY):
        yield Finding(
            (*here, "priority"), "nothing", 'a whole number from 0: scheduler "fp" needs it'
        )


def unique_names(domains: tuple[Domain, ...]) -> Iterator[Finding]:
    """Findings on names of domains, at any depth, or of their vcpus that are not theirs alone."""
    taken: dict[str, str] = {}
    for path, member in nested_domains(domains):
        for name in dict.fromkeys((member.name, *member.vcpu_names)):
            if name in RESERVED_NAMES:
                yield Finding((*path, "name"), repr(name), "a name other than idle and spare")
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
    served = [(i, member) for i, member in enumerate(domains) if not member.best_effort]
    given = [index for index, member in served if member.priority is not None]
    if not given or len(given) == len(served):
        return
    for index, member in served:
        if member.priority is None:
            yield Finding(
                ("domain", index, "priority"),
                "nothing",
                "a priority for every domain with a server, or for none",
            )
