# SPDX-License-Identifier: BSD-2-Clause
"""A task, which releases jobs inside a domain, and what its keys must be together."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from hyperperiod.model.exclusions import Narrower, excluded
from hyperperiod.model.limits import Priority, VcpuIndex
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.model.values import Etf, Finding, Name, PositiveTime, Time, Word
from hyperperiod.model.words import TaskKind


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
    command: Annotated[tuple[Word, ...], AtLeast(1)] | None = key(
        "of a `busy` task: what it is on Linux, a program with its arguments,"
        ' `["tar", "-cf", "logs.tar", "logs"]`; see [runs](linux/runs.md#commands)',
        default=None,
        unset="none",
    )

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            name: str,
            kind: str = ...,
            period: int | str | None = ...,
            period_ns: int | str | None = ...,
            wcet: int | str | None = ...,
            wcet_ns: int | str | None = ...,
            deadline: int | str | None = ...,
            deadline_ns: int | str | None = ...,
            offset: int | str = ...,
            offset_ns: int | str = ...,
            jitter: int | str = ...,
            jitter_ns: int | str = ...,
            blocking: int | str = ...,
            blocking_ns: int | str = ...,
            etf: float | Fraction = ...,
            priority: int | None = ...,
            vcpu: int | None = ...,
            command: Sequence[str] | None = ...,
        ) -> None: ...

    def _settle(self) -> None:
        if self.deadline_ns is None:
            self._set(deadline_ns=self.period_ns)

    def _findings(self) -> Iterable[Finding]:
        if self.command is not None:
            yield from self._command_findings(self.command)
        if self.kind is TaskKind.BUSY:
            yield from excluded(Narrower.BUSY_TASK, self)
            return
        for key_text, value in (("period", self.period_ns), ("wcet", self.wcet_ns)):
            if value is None:
                allowed = f"a time above 0; kind {self.kind} needs {key_text}"
                yield Finding((key_text,), "nothing", allowed)
        # Every instant of a job's first period stays in range: the sums of three times do.
        latest_ns = self.offset_ns + self.jitter_ns + (self.deadline_ns or 0)
        if latest_ns >= TIME_LIMIT_NS:
            yield Finding(
                ("offset",), "offset + jitter + deadline above 2^62 ns", "a sum below 2^62 ns"
            )

    def _command_findings(self, command: tuple[str, ...]) -> Iterable[Finding]:
        """Yields findings on a task that is a command: endless work, for all that is known."""
        if self.kind is not TaskKind.BUSY:
            allowed = '"busy": nobody knows when a command wants to run, and for how long'
            yield Finding(("kind",), f'"{self.kind}" of a command', allowed)
        else:
            yield from excluded(Narrower.COMMAND, self)
        if not command[0]:
            yield Finding(("command", 0), "''", "a program: its name, or a path to it")

    @property
    def bcet_ns(self) -> int | None:
        """The shortest execution: etf * wcet rounded up; None for endless work."""
        if self.wcet_ns is None:
            return None
        return max(1, -(-self.etf.numerator * self.wcet_ns // self.etf.denominator))

    @property
    def utilization(self) -> Fraction:
        """wcet / period, 0 for busy tasks (their demand has no period)."""
        if self.wcet_ns is None or self.period_ns is None:
            return Fraction(0)
        return Fraction(self.wcet_ns, self.period_ns)


class DeviceTask(Task):
    """A task that is made of a device (`devices`), which is all that tells it from others."""
