# SPDX-License-Identifier: BSD-2-Clause
"""A system: the one thing that every command reads.

The classes here are the definition from which the reader, the messages, the JSON Schema and the
tables of keys in `docs/formats.md` all come. Fields carry their unit in the name (`period_ns`);
files use the short key (`period`) with a text such as "10ms". Objects are frozen. What a single
value must be is said by its type; what values must be together is said in `rules`, which runs
whenever an object is made, from a file or in Python. Defaults that depend on other fields (a
deadline is the period, the only pcpu is pcpu 0, a best-effort domain without tasks is a plain hog)
are filled in here, once.
"""

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Annotated

from hyperperiod.model import rules
from hyperperiod.model.part import Part, key
from hyperperiod.model.policy import PolicyChoice, Scope
from hyperperiod.model.values import (
    Etf,
    Finding,
    Name,
    PositiveTime,
    Text,
    Time,
    Whole,
)

PCPU_LIMIT = 64
VCPU_LIMIT = 1024
TASK_LIMIT = 4096
PRIORITY_LIMIT = 2**31
FLOW_LIMIT = 1024
HOP_LIMIT = 256
QUEUE_LIMIT = 65536

Priority = Annotated[int, Whole(0, PRIORITY_LIMIT - 1)]
PcpuId = Annotated[int, Whole(0, PCPU_LIMIT - 1)]
Vcpus = Annotated[int, Whole(1, VCPU_LIMIT)]
VcpuIndex = Annotated[int, Whole(0, VCPU_LIMIT - 1)]
Pcpus = Annotated[int, Whole(1, PCPU_LIMIT)]
Weight = Annotated[int, Whole(1, 65535)]
Items = Annotated[int, Whole(1, QUEUE_LIMIT)]
Prose = Annotated[str, Text(4096)]


class Scheduler(StrEnum):
    """Who is first inside a domain."""

    RM = "rm"
    DM = "dm"
    FP = "fp"
    EDF = "edf"
    FIFO = "fifo"
    GEDF = "gedf"  # edf on all vcpus of the domain together; analysis only


class TaskKind(StrEnum):
    """How the jobs of a task come."""

    PERIODIC = "periodic"
    SPORADIC = "sporadic"
    BUSY = "busy"
    EVENT = "event"


class SourceKind(StrEnum):
    """How the items of a flow come."""

    PERIODIC = "periodic"
    SPORADIC = "sporadic"
    CLOSED = "closed"  # from clients that wait for the item before


class ThinkDraw(StrEnum):
    """How long a client thinks: whole nanoseconds from 0 to twice the mean, or always the mean."""

    UNIFORM = "uniform"
    CONSTANT = "constant"


class Sbf(StrEnum):
    """Which supply bound the analysis uses."""

    GENERAL = "general"
    HARMONIC = "harmonic"
    EDP = "edp"


class Interface(Part):
    """What a vcpu is promised: `budget_ns` of a pcpu in every `period_ns`."""

    period_ns: PositiveTime = key("how often the budget comes")
    budget_ns: PositiveTime = key("how much of a pcpu each vcpu gets in every period")

    def _findings(self) -> Iterable[Finding]:
        return rules.interface(self)

    @property
    def bandwidth(self) -> Fraction:
        return Fraction(self.budget_ns, self.period_ns)


class PeriodRange(Part):
    """The periods among which the analysis chooses: `min_ns`, a step on, ... up to `max_ns`."""

    min_ns: PositiveTime = key("the shortest period")
    max_ns: PositiveTime = key("the longest period")
    step_ns: PositiveTime | None = key(
        "from one period to the next", default=None, unset="the quantum, or 1 ms"
    )

    def _findings(self) -> Iterable[Finding]:
        return rules.period_range(self)


class Overheads(Part):
    """What the machine takes for itself; the analysis and the simulator add it."""

    context_switch_ns: Time = key(
        "another vcpu runs here than the one before; going idle is free", default=0
    )
    pick_ns: Time = key("every pick", default=0)
    replenish_ns: Time = key("each refill that was noticed since the last pick", default=0)
    wake_ns: Time = key("each arrival since the last pick", default=0)
    interrupt_ns: Time = key("a pick that a timer or a kick made", default=0)
    migration_ns: Time = key("the vcpu ran on another pcpu before", default=0)


class Task(Part):
    """A source of jobs inside a domain."""

    name: Name = key("what the task is called; unique in the domain")
    kind: TaskKind = key(
        "how its jobs come: `periodic`, `sporadic`, `event`, or `busy`, which is one endless job;"
        " see [semantics](semantics.md#tasks)",
        default=TaskKind.PERIODIC,
    )
    period_ns: PositiveTime | None = key(
        "from one release to the next, at least; required, except for `busy`",
        default=None,
        unset="none",
    )
    wcet_ns: PositiveTime | None = key(
        "the longest execution time of a job; required, except for `busy`",
        default=None,
        unset="none",
    )
    deadline_ns: PositiveTime | None = key(
        "how long after its release a job must be done", default=None, unset="the period"
    )
    offset_ns: Time = key("when the first job is released", default=0)
    jitter_ns: Time = key("how late a release may be", default=0)
    blocking_ns: Time = key(
        "how long work of lower priority may hold the task up: a lock, a section that cannot be"
        " preempted; analysis only",
        default=0,
    )
    etf: Etf = key("each job takes [etf * wcet, wcet], uniformly", default=Fraction(1))
    priority: Priority | None = key(
        "smaller is higher; required for scheduler `fp`, only there", default=None, unset="none"
    )
    vcpu: VcpuIndex | None = key(
        "pins the task to one vcpu of the domain", default=None, unset="any"
    )

    def _settle(self) -> None:
        if self.deadline_ns is None:
            self._set(deadline_ns=self.period_ns)

    def _findings(self) -> Iterable[Finding]:
        return rules.task(self)

    @property
    def bcet_ns(self) -> int | None:
        """The shortest execution: etf * wcet rounded up; None for endless work."""
        return None if self.wcet_ns is None else max(1, ceil(self.etf * self.wcet_ns))

    @property
    def utilization(self) -> Fraction:
        """wcet / period, 0 for busy tasks (their demand has no period)."""
        if self.wcet_ns is None or self.period_ns is None:
            return Fraction(0)
        return Fraction(self.wcet_ns, self.period_ns)


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
        return rules.domain(self)

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


class Source(Part):
    """Where the items of a flow come from.

    Periodic or sporadic: `burst` of them at each release, like a task's. Closed: each of `clients`
    thinks for `think_ns` on average, sends an item, and thinks again when that has left.
    """

    kind: SourceKind = key(
        "`periodic` or `sporadic` releases, or `closed`: clients that wait for the item before",
        default=SourceKind.PERIODIC,
    )
    period_ns: PositiveTime | None = key(
        "from one release to the next, at least; required, except for `closed`",
        default=None,
        unset="none",
    )
    offset_ns: Time = key(
        "when the first release is, or when all clients begin to think", default=0
    )
    jitter_ns: Time = key("how late a release may be", default=0)
    burst: Items = key("how many items each release brings", default=1)
    clients: Items | None = key(
        "how many, 1 to 65536; each has one item on its way or thinks; `closed` only",
        default=None,
        unset="none",
    )
    think_ns: Time | None = key(
        'for how long a client thinks on average; may be `"0s"`; `closed` only',
        default=None,
        unset="none",
    )
    think_draw: ThinkDraw | None = key(
        "`uniform`: a whole number of nanoseconds from 0 to 2 * `think`; `constant`: always"
        " `think`; `closed` only",
        default=None,
        unset="`uniform`",
    )

    def _findings(self) -> Iterable[Finding]:
        return rules.source(self)

    @property
    def think_range_ns(self) -> tuple[int, int]:
        """The shortest and the longest time for which a client thinks; 0 without clients."""
        mean_ns = self.think_ns or 0
        constant = self.think_draw is ThinkDraw.CONSTANT
        return (mean_ns, mean_ns) if constant else (0, 2 * mean_ns)


class Flow(Part):
    """Items that travel through tasks of several domains, each hop releasing the next.

    At most `queue` of them are on their way; those that come meanwhile are dropped. Default: 1, or
    as many as a closed source has clients.
    """

    name: Name = key("what the flow is called; unique")
    source: Source = key(
        "`{ kind, period, offset, jitter, burst }`, or [closed](#closed-sources); see the table"
        " below"
    )
    hops: tuple[Name, ...] = key(
        'tasks as `"domain.task"`, in order; each of kind `event`, without offset or jitter'
    )
    deadline_ns: PositiveTime = key("from the release at the source to the end of the last hop")
    queue: Items = key(
        "most items on their way; more are dropped", default=None, unset="1, or the clients"
    )

    def _settle(self) -> None:
        if self.queue is None:
            self._set(queue=default_queue(self.source))

    def _findings(self) -> Iterable[Finding]:
        return rules.flow(self)


def default_queue(source: Source) -> int:
    """Of a flow that does not say."""
    return source.clients or 1


class Swap(Part):
    """The running policy is replaced at `at_ns`."""

    at_ns: Time = key("when; in order of time")
    policy: PolicyChoice = key("the new one, of the same scope")


class Change(Part):
    """The interface of a domain is replaced at `at_ns`."""

    at_ns: Time = key("when it is asked for; it takes effect at the server's next refill")
    domain: Name = key("the domain whose interface it is")
    interface: Interface = key("`{ period, budget }`")


class System(Part):
    """Domains on pcpus under a policy."""

    name: Name = key("what the system is called")
    description: Prose = key("what it is; free text", default="", unset="empty")
    policy: PolicyChoice = key("a name, rules joined by `+`, or `{ budget, order, slack, scope }`")
    pcpus: Pcpus = key("how many pcpus there are, 1 to 64", default=1)
    quantum_ns: PositiveTime | None = key(
        "budgets and periods are multiples of it; equals take turns", default=None, unset="none"
    )
    sbf: Sbf = key(
        'the supply bound: or `"harmonic"` or `"edp"`, refused where they are not sound; see'
        " [domains](analysis/domains.md)",
        default=Sbf.GENERAL,
    )
    spare: Interface | None = key(
        "`{ period, budget }`, for policies with a spare", default=None, unset="computed"
    )
    overheads: Overheads = key(
        "what the machine takes for itself, `[overheads]`", default=Overheads()
    )
    domains: tuple[Domain, ...] = key("its domains, `[[domain]]`; at least one", name="domain")
    flows: tuple[Flow, ...] = key("its flows, `[[flow]]`", default=(), name="flow")
    swaps: tuple[Swap, ...] = key(
        "other policies from some instants on, `[[swap]]`", default=(), name="swap"
    )
    changes: tuple[Change, ...] = key(
        "other interfaces from some instants on, `[[change]]`", default=(), name="change"
    )

    def _settle(self) -> None:
        if self.pcpus == 1 and self.policy.scope is Scope.PARTITIONED:
            at_home = (one if one.pcpu is not None else one.replace(pcpu=0) for one in self.domains)
            self._set(domains=tuple(at_home))

    def _findings(self) -> Iterable[Finding]:
        return rules.system(self)

    @property
    def pinned(self) -> bool:
        """Whether every domain has its pcpu, where the policy wants one."""
        return not any(rules.missing_pins(self))
