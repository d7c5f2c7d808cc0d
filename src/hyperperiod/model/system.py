# SPDX-License-Identifier: BSD-2-Clause
"""A system: the one thing that every command reads.

The classes here are the definition from which the reader, the messages and the JSON Schema
all come. Fields carry their unit in the name (`period_ns`); files use the short key (`period`)
with a text such as "10ms". Objects are frozen. What a single value must be is said by its type;
what values must be together is said in `rules`, which runs whenever an object is made, from a
file or in Python. Defaults that depend on other fields (a deadline is the period, the only pcpu
is pcpu 0, a best-effort domain without tasks is a plain hog) are filled in here, once.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from hyperperiod.model import rules
from hyperperiod.model.policy import POLICY_SCHEMA, Policy, Scope, read_policy
from hyperperiod.model.values import (
    Etf,
    Name,
    PositiveTime,
    Time,
)

PCPU_LIMIT = 64
VCPU_LIMIT = 1024
TASK_LIMIT = 4096
PRIORITY_LIMIT = 2**31
FLOW_LIMIT = 1024
HOP_LIMIT = 256
QUEUE_LIMIT = 65536

Priority = Annotated[StrictInt, Field(ge=0, lt=PRIORITY_LIMIT)]
PcpuId = Annotated[StrictInt, Field(ge=0, lt=PCPU_LIMIT)]


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


class _Part(BaseModel):
    """What all parts of a system share: frozen, no unknown keys, fields by either name."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True
    )


def _key(alias: str, **kwargs: Any) -> Any:
    """A field whose key in files differs from its name here."""
    return Field(validation_alias=alias, serialization_alias=alias, **kwargs)


class Interface(_Part):
    """What a vcpu is promised: `budget_ns` of a pcpu in every `period_ns`."""

    period_ns: PositiveTime = _key("period")
    budget_ns: PositiveTime = _key("budget")

    @model_validator(mode="after")
    def _sound(self) -> Interface:
        rules.enforce(rules.interface(self))
        return self

    @property
    def bandwidth(self) -> Fraction:
        return Fraction(self.budget_ns, self.period_ns)


class PeriodRange(_Part):
    """The periods among which the analysis chooses: `min_ns`, a step on, ... up to `max_ns`."""

    min_ns: PositiveTime = _key("min")
    max_ns: PositiveTime = _key("max")
    step_ns: PositiveTime | None = _key("step", default=None)

    @model_validator(mode="after")
    def _sound(self) -> PeriodRange:
        rules.enforce(rules.period_range(self))
        return self


class Overheads(_Part):
    """What the machine takes for itself; the analysis and the simulator add it."""

    context_switch_ns: Time = _key("context_switch", default=0)
    pick_ns: Time = _key("pick", default=0)
    replenish_ns: Time = _key("replenish", default=0)
    wake_ns: Time = _key("wake", default=0)
    interrupt_ns: Time = _key("interrupt", default=0)
    migration_ns: Time = _key("migration", default=0)


class Task(_Part):
    """A source of jobs inside a domain."""

    name: Name
    kind: TaskKind = TaskKind.PERIODIC
    period_ns: PositiveTime | None = _key("period", default=None)
    wcet_ns: PositiveTime | None = _key("wcet", default=None)
    deadline_ns: PositiveTime | None = _key("deadline", default=None, validate_default=True)
    offset_ns: Time = _key("offset", default=0)
    jitter_ns: Time = _key("jitter", default=0)
    blocking_ns: Time = _key("blocking", default=0)
    etf: Etf = Fraction(1)
    priority: Priority | None = None
    vcpu: StrictInt | None = Field(default=None, ge=0, lt=VCPU_LIMIT)

    @field_validator("deadline_ns")
    @classmethod
    def _deadline_is_the_period(cls, value: int | None, info: ValidationInfo) -> int | None:
        return info.data.get("period_ns") if value is None else value

    @model_validator(mode="after")
    def _sound(self) -> Task:
        rules.enforce(rules.task(self))
        return self

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


class Domain(_Part):
    """A VM: tasks under a local scheduler on one or more vcpus, or a domain of domains."""

    name: Name
    scheduler: Scheduler = Scheduler.RM
    vcpus: StrictInt = Field(default=1, ge=1, le=VCPU_LIMIT)
    pcpu: PcpuId | None = None
    priority: Priority | None = None
    interface: Interface | None = None
    interface_period_ns: PositiveTime | None = _key("interface_period", default=None)
    interface_period_range: PeriodRange | None = None
    best_effort: StrictBool = False
    extra: StrictBool = False
    weight: StrictInt | None = Field(default=None, ge=1, le=65535)
    tasks: tuple[Task, ...] = _key("task", default=(), validate_default=True)
    domains: tuple[Domain, ...] = _key("domain", default=())

    @field_validator("tasks")
    @classmethod
    def _best_effort_without_tasks_is_a_hog(
        cls, tasks: tuple[Task, ...], info: ValidationInfo
    ) -> tuple[Task, ...]:
        if tasks or not info.data.get("best_effort"):
            return tasks
        vcpus = info.data.get("vcpus", 1)
        return tuple(
            Task(name="hog" if vcpus == 1 else f"hog.{vcpu}", kind=TaskKind.BUSY, vcpu=vcpu)
            for vcpu in range(vcpus)
        )

    @model_validator(mode="after")
    def _sound(self) -> Domain:
        rules.enforce(rules.domain(self))
        return self

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


class Source(_Part):
    """Where the items of a flow come from.

    Periodic or sporadic: `burst` of them at each release, like a task's. Closed: each of `clients`
    thinks for `think_ns` on average, sends an item, and thinks again when that has left.
    """

    kind: SourceKind = SourceKind.PERIODIC
    period_ns: PositiveTime | None = _key("period", default=None)
    offset_ns: Time = _key("offset", default=0)
    jitter_ns: Time = _key("jitter", default=0)
    burst: StrictInt = Field(default=1, ge=1, le=QUEUE_LIMIT)
    clients: StrictInt | None = Field(default=None, ge=1, le=QUEUE_LIMIT)
    think_ns: Time | None = _key("think", default=None)
    think_draw: ThinkDraw | None = None

    @model_validator(mode="after")
    def _sound(self) -> Source:
        rules.enforce(rules.source(self))
        return self

    @property
    def think_range_ns(self) -> tuple[int, int]:
        """The shortest and the longest time for which a client thinks; 0 without clients."""
        mean_ns = self.think_ns or 0
        constant = self.think_draw is ThinkDraw.CONSTANT
        return (mean_ns, mean_ns) if constant else (0, 2 * mean_ns)


class Flow(_Part):
    """Items that travel through tasks of several domains, each hop releasing the next.

    At most `queue` of them are on their way; those that come meanwhile are dropped. Default: 1, or
    as many as a closed source has clients.
    """

    name: Name
    source: Source
    hops: tuple[Name, ...]
    deadline_ns: PositiveTime = _key("deadline")
    queue: StrictInt = Field(default=None, ge=1, le=QUEUE_LIMIT, validate_default=True)

    @field_validator("queue", mode="before")
    @classmethod
    def _room_for_all_clients(cls, value: Any, info: ValidationInfo) -> Any:
        return default_queue(info.data.get("source")) if value is None else value

    @model_validator(mode="after")
    def _sound(self) -> Flow:
        rules.enforce(rules.flow(self))
        return self


def default_queue(source: Source | None) -> int:
    """Of a flow that does not say."""
    return (source.clients if source else None) or 1


PolicyField = Annotated[Policy, BeforeValidator(read_policy), WithJsonSchema(POLICY_SCHEMA)]


class Swap(_Part):
    """The running policy is replaced at `at_ns`."""

    at_ns: Time = _key("at")
    policy: PolicyField


class Change(_Part):
    """The interface of a domain is replaced at `at_ns`."""

    at_ns: Time = _key("at")
    domain: Name
    interface: Interface


class System(_Part):
    """Domains on pcpus under a policy."""

    name: Name
    description: str = Field(default="", max_length=4096)
    policy: PolicyField
    pcpus: StrictInt = Field(default=1, ge=1, le=PCPU_LIMIT)
    quantum_ns: PositiveTime | None = _key("quantum", default=None)
    sbf: Sbf = Sbf.GENERAL
    spare: Interface | None = None
    overheads: Overheads = Overheads()
    domains: tuple[Domain, ...] = _key("domain")
    flows: tuple[Flow, ...] = _key("flow", default=())
    swaps: tuple[Swap, ...] = _key("swap", default=())
    changes: tuple[Change, ...] = _key("change", default=())

    @field_validator("domains")
    @classmethod
    def _the_only_pcpu_is_pcpu_0(
        cls, domains: tuple[Domain, ...], info: ValidationInfo
    ) -> tuple[Domain, ...]:
        policy, pcpus = info.data.get("policy"), info.data.get("pcpus")
        if policy is None or pcpus != 1 or policy.scope is not Scope.PARTITIONED:
            return domains
        return tuple(
            domain.model_copy(update={"pcpu": 0}) if domain.pcpu is None else domain
            for domain in domains
        )

    @model_validator(mode="after")
    def _sound(self, info: ValidationInfo) -> System:
        pinned = bool(info.context and info.context.get("pinned"))
        rules.enforce([*rules.system(self), *(rules.missing_pins(self) if pinned else ())])
        return self

    @property
    def pinned(self) -> bool:
        """Whether every domain has its pcpu, where the policy wants one."""
        return not any(rules.missing_pins(self))
