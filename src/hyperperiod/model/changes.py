# SPDX-License-Identifier: BSD-2-Clause
"""What is other than at the start while a system runs, or other than was promised.

Its policy (a swap), interfaces and pcpus (a change), and how long the jobs of a task take (an
overrun). Of an overrun the analysis knows nothing, and computes interfaces as if it were not there:
who is hurt by a task that breaks its promise is what a run with an overrun shows. Below the
records: what the swaps, changes and overruns of a system must be together.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from hyperperiod.model.domain import Domain
from hyperperiod.model.interface import Interface
from hyperperiod.model.limits import PcpuId
from hyperperiod.model.part import Part, key
from hyperperiod.model.pcpus import policy_fits
from hyperperiod.model.policy import TABLE, Policy, PolicyChoice, Scope
from hyperperiod.model.task import Task
from hyperperiod.model.units import TIME_LIMIT_NS, format_time
from hyperperiod.model.values import (
    Finding,
    Name,
    OverrunFactor,
    Path,
    Positive,
    PositiveTime,
    Time,
    up_to,
)
from hyperperiod.model.words import TaskKind


class Swap(Part):
    """The running policy is replaced at `at_ns`."""

    at_ns: Time = key("when; in order of time")
    policy: PolicyChoice = key("the new one, of the same scope")

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            at: int | str,
            policy: Policy | str | dict[str, Any],
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            at_ns: int | str,
            policy: Policy | str | dict[str, Any],
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...


class Change(Part):
    """The interface or the pcpu of a domain's vcpus, or of one of them, is replaced at `at_ns`."""

    at_ns: Time = key(
        "when it is asked for; an interface takes effect at the server's next refill, a pcpu at"
        " once; see [semantics](semantics.md#time-and-parameters)"
    )
    domain: Name = key('the domain whose vcpus these are, or one vcpu, as in `"linux.1"`')
    interface: Interface | None = key("`{ period, budget }`", default=None, unset="as it was")
    pcpu: PcpuId | None = key(
        "where they go, under a partitioned policy", default=None, unset="where they were"
    )

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            at: int | str,
            domain: str,
            interface: Interface | dict[str, Any] | None = ...,
            pcpu: int | None = ...,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            at_ns: int | str,
            domain: str,
            interface: Interface | dict[str, Any] | None = ...,
            pcpu: int | None = ...,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...


class Overrun(Part):
    """Some jobs of a task take `factor` times their execution time, rounded up."""

    task: Name = key('whose jobs, as `"domain.task"`; of any kind but `busy`')
    factor: OverrunFactor = key(
        "what their execution times are multiplied by: above 1, at most 1000, at most 3 decimals"
    )
    from_ns: Time = key("jobs that are released from here on", default=0)
    to_ns: PositiveTime | None = key(
        "jobs that are released before this", default=None, unset="the end of the run"
    )
    every: Positive = key(
        "of these, every so many-th job of the task, counted from the first one of the run; of a"
        " hop, item of its flow",
        default=1,
    )

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            task: str,
            factor: float | Fraction,
            from_ns: int | str = ...,
            to: int | str | None = ...,
            to_ns: int | str | None = ...,
            every: int = ...,
        ) -> None: ...

    def _findings(self) -> Iterable[Finding]:
        if (self.factor * 1000).denominator != 1:
            yield Finding(("factor",), str(self.factor), "a whole number of thousandths")
        if self.to_ns is not None and self.to_ns <= self.from_ns:
            yield Finding(("to",), format_time(self.to_ns), f"after {format_time(self.from_ns)}")

    @property
    def thousandths(self) -> int:
        """The factor in whole thousandths, as hosts are told it."""
        return int(self.factor * 1000)

    def longest_ns(self, task: Task) -> int | None:
        """Returns the longest time (ns) of a job with this overrun; None for endless work."""
        return None if task.wcet_ns is None else -(-task.wcet_ns * self.thousandths // 1000)


def swaps_in_order(swaps: tuple[Swap, ...], policy: Policy, pcpus: int) -> Iterator[Finding]:
    """Findings on swaps out of order, or to a policy that cannot follow the system's own."""
    last_ns = -1
    for index, swap in enumerate(swaps):
        if swap.at_ns <= last_ns:
            yield Finding(
                ("swap", index, "at"), format_time(swap.at_ns), "swaps in order of time, one each"
            )
        last_ns = max(last_ns, swap.at_ns)
        if swap.policy.scope is not policy.scope:
            yield Finding(
                ("swap", index, "policy"),
                f"{swap.policy}, which is {swap.policy.scope}",
                f"a {policy.scope} policy, like {policy}",
            )
        if swap.policy.name == TABLE.name:
            allowed = "servers: a table is one from the begin, with windows"
            yield Finding(("swap", index, "policy"), str(swap.policy), allowed)
        yield from policy_fits(("swap", index, "policy"), swap.policy, pcpus)


def vcpus_meant(domains: tuple[Domain, ...], name: str) -> list[tuple[int, int]]:
    """The vcpus that a change of that name is about: (domain, vcpu), all of a domain or one."""
    return [
        (index, number)
        for index, member in enumerate(domains)
        for number, vcpu in enumerate(member.vcpu_names)
        if name in (member.name, vcpu)
    ]


def changes_of_vcpus(
    changes: tuple[Change, ...], domains: tuple[Domain, ...], policy: Policy, pcpus: int
) -> Iterator[Finding]:
    """Findings on changes of what is not there, or twice of one vcpu at an instant."""
    seen: set[tuple[int, int, int]] = set()
    for index, change in enumerate(changes):
        here = ("change", index)
        meant = vcpus_meant(domains, change.domain)
        served = [one for one in meant if not domains[one[0]].each_vcpu[one[1]].best_effort]
        if not meant or (change.interface is not None and len(served) < len(meant)):
            yield Finding((*here, "domain"), repr(change.domain), _names_of_served(domains))
        if any((change.at_ns, *one) in seen for one in meant):
            yield Finding(
                (*here, "at"), format_time(change.at_ns), "one change of a domain at an instant"
            )
        seen |= {(change.at_ns, *one) for one in meant}
        if change.interface is None and change.pcpu is None:
            yield Finding((*here, "interface"), "nothing", "interface or pcpu, or both")
        yield from _move(here, change, policy, pcpus)


def _names_of_served(domains: tuple[Domain, ...]) -> str:
    names = [member.name for member in domains if member.is_served]
    return f"the name of a domain with a server: {', '.join(names[:8]) or 'there is none'}"


def _move(here: Path, change: Change, policy: Policy, pcpus: int) -> Iterator[Finding]:
    if change.pcpu is None:
        return
    if policy.scope is Scope.GLOBAL and pcpus > 1:
        allowed = f"no pcpu: under the global policy {policy} vcpus move"
        yield Finding((*here, "pcpu"), str(change.pcpu), allowed)
    elif change.pcpu >= pcpus:
        yield Finding((*here, "pcpu"), str(change.pcpu), up_to(pcpus, "pcpus"))


def overrun_of(overruns: Iterable[Overrun], domain: str, task: str) -> Overrun | None:
    """The overrun of a task, by the names of its domain and its own; None if it has none."""
    return next((one for one in overruns if one.task == f"{domain}.{task}"), None)


def overruns_of_tasks(
    overruns: tuple[Overrun, ...], domains: tuple[Domain, ...]
) -> Iterator[Finding]:
    """Findings on overruns of tasks that are not there, that never end, or twice of one."""
    tasks = {f"{domain.name}.{task.name}": task for domain in domains for task in domain.tasks}
    finite = [name for name, task in tasks.items() if task.kind is not TaskKind.BUSY]
    shown = ", ".join(finite[:8]) or "there is none"
    seen: set[str] = set()
    for index, one in enumerate(overruns):
        here, task = ("overrun", index), tasks.get(one.task)
        if task is None:
            yield Finding((*here, "task"), repr(one.task), f"domain.task of a task: {shown}")
        elif task.kind is TaskKind.BUSY:
            allowed = f"a task whose jobs end: {shown}"
            yield Finding((*here, "task"), f"the busy task {one.task!r}", allowed)
        elif one.task in seen:
            yield Finding((*here, "task"), f"{one.task!r} a second time", "one overrun of a task")
        elif (one.longest_ns(task) or 0) >= TIME_LIMIT_NS:
            yield Finding((*here, "factor"), "jobs of 2^62 ns and more", "jobs below 2^62 ns")
        seen.add(one.task)
